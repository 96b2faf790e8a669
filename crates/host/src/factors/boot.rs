//! Factors of how the machine was booted, which only a worker of a fleet sets: it boots the machine before the trial.

use datamill_protocol::{FactorOffer, FactorStage};

use super::HostFactor;
use crate::boot::{
    BOOT_PARAMETERS, BootState, DEFAULT_PARAMETERS, KERNEL_RELEASE, check_boots, check_parameters,
    list_kernels,
};
use crate::changes::Change;
use crate::state::Host;

/// Why a machine that no fleet boots has nothing else.
const REASON: &str = "it needs a worker of a fleet, which boots the machine before the trial";

/// Parameters that are added to the machine's own command line.
pub struct BootParameters {
    host: Host,
}

/// Which of the kernels that are installed runs.
pub struct KernelRelease {
    host: Host,
}

impl BootParameters {
    /// The factor on a host.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone() }
    }

    fn current(&self) -> Result<String, String> {
        let added = BootState::read(&self.host)?.added;
        Ok(if added.is_empty() {
            DEFAULT_PARAMETERS.to_owned()
        } else {
            added
        })
    }
}

impl KernelRelease {
    /// The factor on a host.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone() }
    }

    fn releases(&self) -> Vec<String> {
        let installed = list_kernels(&self.host);
        installed.into_iter().map(|kernel| kernel.release).collect()
    }
}

fn reach(current: &str, level: &str) -> Result<Vec<Change>, String> {
    match current == level {
        true => Ok(Vec::new()),
        false => Err(REASON.to_owned()),
    }
}

impl HostFactor for BootParameters {
    fn name(&self) -> &'static str {
        BOOT_PARAMETERS
    }

    fn offer(&self) -> FactorOffer {
        match self.current() {
            Ok(current) => {
                let mut offer =
                    FactorOffer::of(self.name(), FactorStage::Host, &[current.as_str()]);
                if current != DEFAULT_PARAMETERS {
                    offer.add(DEFAULT_PARAMETERS, Err(REASON.to_owned()));
                }
                offer.current = Some(current);
                offer
            }
            Err(cause) => FactorOffer::none(self.name(), FactorStage::Host, &cause),
        }
    }

    fn check(&self, level: &str) -> Result<(), String> {
        check_parameters(level)
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        reach(&self.current()?, level)
    }

    fn read_back(&self, _asked: &str) -> Result<(String, String), String> {
        let state = BootState::read(&self.host)?;
        Ok((
            self.current()?,
            format!("/proc/cmdline reads `{}`.", state.line),
        ))
    }
}

impl HostFactor for KernelRelease {
    fn name(&self) -> &'static str {
        KERNEL_RELEASE
    }

    fn offer(&self) -> FactorOffer {
        let running = match BootState::read(&self.host) {
            Ok(state) => state.release,
            Err(cause) => return FactorOffer::none(self.name(), FactorStage::Host, &cause),
        };
        let mut offer = FactorOffer::of(self.name(), FactorStage::Host, &[running.as_str()]);
        for release in self.releases() {
            if release != running {
                offer.add(&release, Err(REASON.to_owned()));
            }
        }
        offer.current = Some(running);
        offer
    }

    fn check(&self, level: &str) -> Result<(), String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_.@+-~".contains(c);
        if !level.is_empty() && level.len() <= 64 && level.chars().all(is_name) {
            return Ok(());
        }
        Err("the release of an installed kernel, as `uname -r` says it".to_owned())
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        let running = BootState::read(&self.host)?.release;
        if running != level && !self.releases().iter().any(|release| release == level) {
            return Err("no kernel of this release is in /boot or /lib/modules".to_owned());
        }
        reach(&running, level)
    }

    fn read_back(&self, _asked: &str) -> Result<(String, String), String> {
        let release = BootState::read(&self.host)?.release;
        let evidence = format!("/proc/sys/kernel/osrelease reads {release}.");
        Ok((release, evidence))
    }
}

/// What a worker of a fleet, which boots the machine before trials, offers in the place of an offer of this host.
pub fn offer_with_boots(host: &Host, offer: FactorOffer) -> FactorOffer {
    if offer.name != BOOT_PARAMETERS && offer.name != KERNEL_RELEASE {
        return offer;
    }
    let state = match check_boots(host).and_then(|()| BootState::read(host)) {
        Ok(state) => state,
        Err(cause) => {
            let current = offer.current;
            let mut none = FactorOffer::none(&offer.name, FactorStage::Host, &cause);
            none.current = current;
            return none;
        }
    };
    // What the machine boots by itself comes first: it is what others may be compared with.
    let levels = match offer.name == KERNEL_RELEASE {
        false => vec![DEFAULT_PARAMETERS.to_owned()],
        true => {
            let mut levels = vec![state.own_release.clone()];
            let others = KernelRelease::new(host).releases();
            levels.extend(
                others
                    .into_iter()
                    .filter(|release| *release != state.own_release),
            );
            levels
        }
    };
    let named: Vec<&str> = levels.iter().map(String::as_str).collect();
    let mut offered = FactorOffer::of(&offer.name, FactorStage::Host, &named);
    offered.current = offer.current;
    offered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    fn booted(line: &str) -> FakeHost {
        let host = FakeHost::new();
        host.write("/proc/cmdline", line);
        host.write("/proc/sys/kernel/osrelease", "6.1.0-50-amd64");
        host.write("/boot/vmlinuz-6.1.0-50-amd64", "x");
        host.write("/boot/vmlinuz-6.1.0-49-amd64", "x");
        host
    }

    #[test]
    fn only_the_level_that_the_machine_was_booted_with_is_there_without_a_fleet() {
        let host = booted("quiet");
        let parameters = BootParameters::new(&host.host);
        assert_eq!(parameters.offer().levels, ["default"]);
        assert!(parameters.plan("default").unwrap().is_empty());
        assert!(
            parameters
                .plan("mitigations=off")
                .unwrap_err()
                .contains("fleet")
        );
        let kernels = KernelRelease::new(&host.host);
        assert_eq!(kernels.offer().levels, ["6.1.0-50-amd64"]);
        assert_eq!(kernels.offer().missing[0].level, "6.1.0-49-amd64");
        assert!(kernels.plan("6.6.0-1-amd64").unwrap_err().contains("/boot"));
    }

    #[test]
    fn what_was_added_for_a_trial_is_read_back_from_the_command_line() {
        let host = booted("quiet datamill.own=6.1.0-50-amd64 mitigations=off nosmt");
        let parameters = BootParameters::new(&host.host);
        let (observed, evidence) = parameters.read_back("mitigations=off nosmt").unwrap();
        assert_eq!(observed, "mitigations=off nosmt");
        assert!(evidence.contains("datamill.own"), "{evidence}");
        assert!(parameters.plan("mitigations=off nosmt").unwrap().is_empty());
        assert!(parameters.plan("default").is_err());
        let release = KernelRelease::new(&host.host).read_back("").unwrap().0;
        assert_eq!(release, "6.1.0-50-amd64");
    }
}
