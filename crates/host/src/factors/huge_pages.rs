//! Transparent huge pages, without the kernel's second thoughts.

use std::path::PathBuf;

use datamill_protocol::FactorOffer;

use super::HostFactor;
use super::file_setting::FileSetting;
use crate::changes::{Change, check_writable, read_setting};
use crate::state::Host;

/// When the kernel uses huge pages for ordinary memory.
pub struct HugePages {
    setting: FileSetting,
    /// The kernel computes it anew whenever it begins or ceases to use huge pages, and not to what
    /// it computed at boot.
    reserve: PathBuf,
}

impl HugePages {
    /// The factor on a host.
    pub fn new(host: &Host) -> Self {
        Self {
            setting: FileSetting::single(
                "transparent_huge_pages",
                &[
                    ("always", "always"),
                    ("madvise", "madvise"),
                    ("never", "never"),
                ],
                host.path("/sys/kernel/mm/transparent_hugepage/enabled"),
                "this kernel has no /sys/kernel/mm/transparent_hugepage: it was built without them, or this is a container",
            ),
            reserve: host.path("/proc/sys/vm/min_free_kbytes"),
        }
    }
}

impl HostFactor for HugePages {
    fn name(&self) -> &'static str {
        self.setting.name()
    }

    fn offer(&self) -> FactorOffer {
        self.setting.offer()
    }

    fn check(&self, level: &str) -> Result<(), String> {
        self.setting.check(level)
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        let mut changes = self.setting.plan(level)?;
        if !changes.is_empty() && self.reserve.exists() {
            check_writable(&self.reserve)?;
            let before = read_setting(&self.reserve)?;
            // Made first, it is undone last. What is written by hand the kernel does not lower, so
            // that the level changes huge pages and no other share of memory.
            changes.insert(
                0,
                Change::Setting {
                    path: self.reserve.clone(),
                    after: before.clone(),
                    before,
                },
            );
        }
        Ok(changes)
    }

    fn read_back(&self, asked: &str) -> Result<(String, String), String> {
        self.setting.read_back(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    #[test]
    fn the_kernels_reserve_is_noted_first_and_so_put_back_last() {
        let fake = FakeHost::new();
        fake.write(
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never",
        );
        fake.write("/proc/sys/vm/min_free_kbytes", "29528");
        let factor = HugePages::new(&fake.host);
        let changes = factor.plan("never").unwrap();
        let reserve = Change::Setting {
            path: fake.host.path("/proc/sys/vm/min_free_kbytes"),
            before: "29528".to_owned(),
            after: "29528".to_owned(),
        };
        assert_eq!(changes.len(), 2);
        assert_eq!(changes[0], reserve);
        assert!(factor.plan("always").unwrap().is_empty());
    }
}
