//! Which processors serve interrupts.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use datamill_protocol::{FactorOffer, FactorStage};

use crate::changes::{
    Change, check_writable, format_list, parse_list, read_setting, write_setting,
};
use crate::factors::HostFactor;
use crate::state::Host;

/// Processors that serve interrupts: `default` leaves them, `first` and `last` are one processor
/// online, a list names some.
pub struct IrqAffinity {
    online: BTreeSet<u32>,
    files: Vec<PathBuf>,
}

impl IrqAffinity {
    /// The interrupts of a host.
    pub fn new(host: &Host) -> Self {
        let online = host.read("/sys/devices/system/cpu/online");
        Self {
            online: online
                .ok()
                .and_then(|list| parse_list(&list))
                .unwrap_or_default(),
            files: interrupts(host),
        }
    }

    /// The processors that a level means; none leaves interrupts alone.
    fn wanted(&self, level: &str) -> Result<Option<BTreeSet<u32>>, String> {
        let one = |processor: Option<&u32>| processor.map(|processor| BTreeSet::from([*processor]));
        let wanted = match level {
            "default" => return Ok(None),
            "first" => one(self.online.first()),
            "last" => one(self.online.last()),
            list => parse_list(list),
        };
        let wanted = wanted.ok_or("this host does not tell which processors it has")?;
        match wanted.difference(&self.online).next() {
            Some(processor) => Err(format!("this host has no processor {processor} online")),
            None => Ok(Some(wanted)),
        }
    }

    /// Whether interrupts may be moved, as far as that shows without touching one.
    fn check_movable(&self, level: &str) -> Result<(), String> {
        self.wanted(level)?;
        match self.files.first() {
            Some(file) => check_writable(file),
            None => Err("this host shows no interrupt in /proc/irq".to_owned()),
        }
    }

    /// Interrupts that can be moved, with where they are: writing an unmovable one fails even with
    /// what it reads.
    fn movable(&self) -> Result<Vec<(PathBuf, String)>, String> {
        let mut movable = Vec::new();
        for file in &self.files {
            check_writable(file)?;
            let Ok(before) = read_setting(file) else {
                continue;
            };
            if write_setting(file, &before).is_ok() {
                movable.push((file.clone(), before));
            }
        }
        Ok(movable)
    }
}

impl HostFactor for IrqAffinity {
    fn name(&self) -> &'static str {
        "irq_affinity"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = FactorOffer::of(self.name(), FactorStage::Host, &["default"]);
        for level in ["first", "last"] {
            offer.add(level, self.check_movable(level));
        }
        offer
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match level {
            "default" | "first" | "last" => Ok(()),
            list if parse_list(list).is_some() => Ok(()),
            _ => Err("default, first, last, or a list of processors such as 0-1,3".to_owned()),
        }
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        let Some(wanted) = self.wanted(level)? else {
            return Ok(Vec::new());
        };
        let movable = self.movable()?;
        if movable.is_empty() {
            return Err("no interrupt of this host can be moved".to_owned());
        }
        let after = format_list(&wanted);
        let changes = movable
            .into_iter()
            .filter(|(_, before)| parse_list(before).as_ref() != Some(&wanted))
            .map(|(path, before)| Change::Setting {
                path,
                before,
                after: after.clone(),
            });
        Ok(changes.collect())
    }

    fn read_back(&self, asked: &str) -> Result<(String, String), String> {
        let Some(wanted) = self.wanted(asked)? else {
            let left = "Interrupts were left where they are.".to_owned();
            return Ok((asked.to_owned(), left));
        };
        let movable = self.movable()?;
        let there = movable
            .iter()
            .filter(|(_, now)| parse_list(now).as_ref() == Some(&wanted))
            .count();
        let evidence = format!(
            "{there} of {} interrupts that can be moved are served by {}; {} cannot be moved.",
            movable.len(),
            format_list(&wanted),
            self.files.len() - movable.len(),
        );
        let observed = if there == movable.len() {
            asked
        } else {
            "mixed"
        };
        Ok((observed.to_owned(), evidence))
    }
}

/// Files that say which processors serve an interrupt, by its number.
pub(super) fn interrupts(host: &Host) -> Vec<PathBuf> {
    let mut numbered: Vec<(u32, PathBuf)> = fs::read_dir(host.path("/proc/irq"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, entry.path().join("smp_affinity_list")))
        })
        .filter(|(_, file)| file.exists())
        .collect();
    numbered.sort();
    numbered.into_iter().map(|(_, file)| file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    fn host_with_interrupts() -> FakeHost {
        let host = FakeHost::new();
        host.write("/sys/devices/system/cpu/online", "0-3");
        host.write("/proc/irq/24/smp_affinity_list", "0-3");
        host.write("/proc/irq/9/smp_affinity_list", "3");
        host.write("/proc/irq/default_smp_affinity", "f");
        host
    }

    #[test]
    fn only_interrupts_that_are_elsewhere_are_moved() {
        let host = host_with_interrupts();
        let factor = IrqAffinity::new(&host.host);
        assert_eq!(factor.plan("last").unwrap().len(), 1);
        assert_eq!(factor.plan("0-1").unwrap().len(), 2);
        assert!(factor.plan("default").unwrap().is_empty());
    }

    #[test]
    fn a_processor_that_is_not_there_is_named() {
        let host = host_with_interrupts();
        let factor = IrqAffinity::new(&host.host);
        assert!(factor.plan("0,7").unwrap_err().contains("no processor 7"));
    }

    #[test]
    fn a_part_of_the_interrupts_elsewhere_is_no_level() {
        let host = host_with_interrupts();
        let factor = IrqAffinity::new(&host.host);
        assert_eq!(factor.read_back("last").unwrap().0, "mixed");
        assert_eq!(factor.read_back("default").unwrap().0, "default");
    }
}
