//! How often the kernel lets profilers sample.

use std::path::PathBuf;

use datamill_protocol::{FactorOffer, FactorStage};

use super::HostFactor;
use crate::changes::{Change, plan_setting, read_setting};
use crate::state::Host;

const FILE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
const HIGHEST: u32 = 1_000_000;

/// Most samples a second: `default` leaves the host's, a number sets it.
pub struct SamplingRate {
    file: PathBuf,
}

impl SamplingRate {
    /// That of a host.
    pub fn new(host: &Host) -> Self {
        Self {
            file: host.path(FILE),
        }
    }
}

impl HostFactor for SamplingRate {
    fn name(&self) -> &'static str {
        "perf_sampling_rate"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = FactorOffer::of(self.name(), FactorStage::Host, &["default"]);
        for level in ["1", "100000"] {
            offer.add(level, self.plan(level).map(drop));
        }
        offer.current = read_setting(&self.file).ok();
        offer
    }

    fn check(&self, level: &str) -> Result<(), String> {
        let fits = |rate: &u32| (1..=HIGHEST).contains(rate) && rate.to_string() == level;
        if level == "default" || level.parse().is_ok_and(|rate| fits(&rate)) {
            return Ok(());
        }
        Err(format!("default, or 1 to {HIGHEST} samples a second"))
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        if level == "default" {
            return Ok(Vec::new());
        }
        if !self.file.exists() {
            return Err(format!("this kernel has no {FILE}"));
        }
        Ok(plan_setting(&self.file, level)?.into_iter().collect())
    }

    fn read_back(&self, asked: &str) -> Result<(String, String), String> {
        let now = read_setting(&self.file)?;
        let evidence = format!("{FILE} reads {now}.");
        Ok((
            if asked == "default" {
                asked.to_owned()
            } else {
                now
            },
            evidence,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    #[test]
    fn a_rate_is_a_whole_number_without_ornaments() {
        let factor = SamplingRate::new(&FakeHost::new().host);
        for level in ["default", "1", "100000"] {
            assert!(factor.check(level).is_ok());
        }
        for level in ["0", "007", "+5", "many", "1000001"] {
            assert!(factor.check(level).is_err(), "{level}");
        }
    }

    #[test]
    fn the_rate_that_the_kernel_has_is_read_back() {
        let host = FakeHost::new();
        host.write(FILE, "100000");
        let factor = SamplingRate::new(&host.host);
        assert_eq!(factor.plan("1000").unwrap().len(), 1);
        assert_eq!(factor.read_back("1000").unwrap().0, "100000");
    }
}
