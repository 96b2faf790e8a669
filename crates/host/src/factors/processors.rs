//! Factors of the processors: governor, frequency, turbo, simultaneous multithreading.

use std::fs;
use std::path::PathBuf;

use datamill_protocol::{FactorOffer, FactorStage};

use super::HostFactor;
use super::file_setting::FileSetting;
use crate::changes::{Change, check_writable, read_setting};
use crate::state::Host;

const NO_CPUFREQ: &str =
    "this host has no cpufreq: its frequencies are set by the firmware or the hypervisor";

/// Who chooses the processors' frequencies.
pub fn governor(host: &Host) -> FileSetting {
    let policies = policies(host);
    let governors = policies
        .first()
        .and_then(|policy| fs::read_to_string(policy.join("scaling_available_governors")).ok())
        .unwrap_or_default();
    FileSetting {
        name: "governor",
        levels: governors
            .split_ascii_whitespace()
            .map(|name| (name.to_owned(), name.to_owned()))
            .collect(),
        aliases: &[],
        lacks: Vec::new(),
        files: policies
            .into_iter()
            .map(|policy| policy.join("scaling_governor"))
            .collect(),
        absent: NO_CPUFREQ,
    }
}

/// Whether processors may exceed their nominal frequency.
pub fn turbo(host: &Host) -> FileSetting {
    let absent = "this host shows neither intel_pstate/no_turbo nor cpufreq/boost";
    let inverted = host.path("/sys/devices/system/cpu/intel_pstate/no_turbo");
    if inverted.exists() {
        return FileSetting::single("turbo", &[("on", "0"), ("off", "1")], inverted, absent);
    }
    let boost = host.path("/sys/devices/system/cpu/cpufreq/boost");
    FileSetting::single("turbo", &[("on", "1"), ("off", "0")], boost, absent)
}

/// Whether a core runs two threads.
pub fn smt(host: &Host) -> FileSetting {
    let file = host.path("/sys/devices/system/cpu/smt/control");
    let state = read_setting(&file).unwrap_or_default();
    let absent = match state.as_str() {
        "notsupported" | "notimplemented" => "the processors of this host have one thread a core",
        "forceoff" => "it was switched off when the kernel started",
        _ => "this kernel has no /sys/devices/system/cpu/smt/control",
    };
    let mut factor = FileSetting::single("smt", &[("on", "on"), ("off", "off")], file, absent);
    if !matches!(state.as_str(), "on" | "off") {
        factor.files.clear();
    }
    factor
}

/// Fixed frequency of all processors.
pub struct CpuFrequency {
    policies: Vec<PathBuf>,
}

impl CpuFrequency {
    /// The frequencies of a host.
    pub fn new(host: &Host) -> Self {
        Self {
            policies: policies(host),
        }
    }

    /// The frequency in kHz that a level means for a policy; none leaves it alone.
    fn frequency_khz(policy: &std::path::Path, level: &str) -> Result<Option<u64>, String> {
        let bound = |file: &str| {
            let text = read_setting(&policy.join(file))?;
            text.parse::<u64>()
                .map_err(|_| format!("{} reads `{text}`", policy.join(file).display()))
        };
        let (lowest, highest) = (bound("cpuinfo_min_freq")?, bound("cpuinfo_max_freq")?);
        match level {
            "default" => Ok(None),
            "min" => Ok(Some(lowest)),
            "max" => Ok(Some(highest)),
            _ => match level.parse() {
                Ok(khz) if (lowest..=highest).contains(&khz) => Ok(Some(khz)),
                _ => Err(format!("the processors run at {lowest} to {highest} kHz")),
            },
        }
    }
}

impl HostFactor for CpuFrequency {
    fn name(&self) -> &'static str {
        "cpu_frequency"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = FactorOffer::of(self.name(), FactorStage::Host, &["default"]);
        for level in ["min", "max"] {
            offer.add(level, self.plan(level).map(drop));
        }
        offer
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match level {
            "default" | "min" | "max" => Ok(()),
            _ if level.parse::<u32>().is_ok_and(|khz| khz > 0) => Ok(()),
            _ => Err("default, min, max, or a frequency in kHz".to_owned()),
        }
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        if self.policies.is_empty() && level != "default" {
            return Err(NO_CPUFREQ.to_owned());
        }
        let mut changes = Vec::new();
        for policy in &self.policies {
            let Some(khz) = Self::frequency_khz(policy, level)? else {
                continue;
            };
            let after = khz.to_string();
            let mut bounds = Vec::new();
            for file in ["scaling_max_freq", "scaling_min_freq"] {
                let path = policy.join(file);
                check_writable(&path)?;
                bounds.push(Change::Setting {
                    before: read_setting(&path)?,
                    after: after.clone(),
                    path,
                });
            }
            // The lower bound may never pass the upper one, on the way back neither.
            let lowest = read_setting(&policy.join("scaling_min_freq"))?;
            if lowest.parse::<u64>().is_ok_and(|lowest| khz < lowest) {
                bounds.reverse();
            }
            changes.append(&mut bounds);
        }
        Ok(changes)
    }

    fn read_back(&self, asked: &str) -> Result<(String, String), String> {
        let mut observed = asked.to_owned();
        let mut seen = Vec::new();
        for policy in &self.policies {
            let bound = |file: &str| read_setting(&policy.join(file));
            let (low, high) = (bound("scaling_min_freq")?, bound("scaling_max_freq")?);
            seen.push(format!("{} has {low} to {high} kHz", policy.display()));
            if let Some(khz) = Self::frequency_khz(policy, asked)? {
                let wanted = khz.to_string();
                if low != wanted || high != wanted {
                    observed = format!("{low} to {high}");
                }
            }
        }
        if seen.is_empty() {
            seen.push("There is no cpufreq to change".to_owned());
        }
        Ok((observed, format!("{}.", seen.join(", "))))
    }
}

/// Folders of the processors' frequency policies, in order of their numbers.
fn policies(host: &Host) -> Vec<PathBuf> {
    let folder = host.path("/sys/devices/system/cpu/cpufreq");
    let mut numbered: Vec<(u32, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix("policy")?.parse().ok()?;
            Some((number, entry.path()))
        })
        .collect();
    numbered.sort();
    numbered.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    fn host_with_cpufreq(low: &str, high: &str) -> FakeHost {
        let host = FakeHost::new();
        for number in 0..2 {
            let file =
                |name: &str| format!("/sys/devices/system/cpu/cpufreq/policy{number}/{name}");
            host.write(&file("cpuinfo_min_freq"), "800000");
            host.write(&file("cpuinfo_max_freq"), "3000000");
            host.write(&file("scaling_min_freq"), low);
            host.write(&file("scaling_max_freq"), high);
            host.write(&file("scaling_governor"), "powersave");
            host.write(
                &file("scaling_available_governors"),
                "performance powersave",
            );
        }
        host
    }

    fn files(changes: &[Change]) -> Vec<String> {
        changes
            .iter()
            .map(|change| match change {
                Change::Setting { path, after, .. } => {
                    format!("{}={after}", path.file_name().unwrap().to_string_lossy())
                }
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_host_without_cpufreq_has_only_its_default_frequency() {
        let offer = CpuFrequency::new(&FakeHost::new().host).offer();
        assert_eq!(offer.levels, ["default"]);
        assert!(
            offer
                .missing
                .iter()
                .all(|missing| missing.reason == NO_CPUFREQ)
        );
    }

    #[test]
    fn the_lower_bound_never_passes_the_upper_one() {
        let host = host_with_cpufreq("800000", "2000000");
        let changes = CpuFrequency::new(&host.host).plan("max").unwrap();
        assert_eq!(
            files(&changes[..2]),
            ["scaling_max_freq=3000000", "scaling_min_freq=3000000"]
        );
        let host = host_with_cpufreq("2000000", "3000000");
        let changes = CpuFrequency::new(&host.host).plan("min").unwrap();
        assert_eq!(
            files(&changes[..2]),
            ["scaling_min_freq=800000", "scaling_max_freq=800000"]
        );
        assert_eq!(changes.len(), 4);
    }

    #[test]
    fn a_frequency_that_the_processors_do_not_have_is_refused_with_the_range() {
        let host = host_with_cpufreq("800000", "3000000");
        let refused = CpuFrequency::new(&host.host).plan("5000000").unwrap_err();
        assert!(refused.contains("800000 to 3000000 kHz"), "{refused}");
    }

    #[test]
    fn governors_are_those_that_the_kernel_lists() {
        let host = host_with_cpufreq("800000", "3000000");
        let offer = governor(&host.host).offer();
        assert_eq!(offer.levels, ["performance", "powersave"]);
        assert_eq!(offer.current.as_deref(), Some("powersave"));
        assert_eq!(governor(&host.host).plan("performance").unwrap().len(), 2);
    }

    #[test]
    fn turbo_is_read_upside_down_where_the_kernel_has_it_so() {
        let host = FakeHost::new();
        host.write("/sys/devices/system/cpu/intel_pstate/no_turbo", "1");
        assert_eq!(turbo(&host.host).offer().current.as_deref(), Some("off"));
    }

    #[test]
    fn processors_with_one_thread_a_core_have_no_smt() {
        let host = FakeHost::new();
        host.write("/sys/devices/system/cpu/smt/control", "notsupported");
        let offer = smt(&host.host).offer();
        assert!(offer.levels.is_empty());
        assert!(offer.reason.contains("one thread a core"));
    }
}
