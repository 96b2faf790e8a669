//! `shield`: processors that are the trial's alone.

use std::fs;
use std::path::{Path, PathBuf};

use datamill_protocol::{FactorOffer, FactorStage};

use super::irq_affinity::interrupts;
use crate::changes::{
    Change, Processors, Thread, ThreadId, check_writable, find_group, format_list, format_mask,
    leave_out_family, list_threads, note_places, parse_list, parse_mask, read_setting,
    write_setting,
};
use crate::factors::HostFactor;
use crate::state::Host;

/// Name of the factor.
pub const SHIELD: &str = "shield";

/// Masks of what the kernel places itself: work without a processor of its own, and interrupts to come.
const MASKS: [&str; 2] = [
    "/sys/devices/virtual/workqueue/cpumask",
    "/proc/irq/default_smp_affinity",
];

/// Processors that are kept free of other processes, of movable interrupts and of the kernel's movable
/// threads, and on which the trial runs: `off`, `first` and `last` are one processor online, a list names some.
pub struct Shield {
    root: Host,
    proc: PathBuf,
    online: Processors,
    interrupts: Vec<PathBuf>,
}

/// The processors of a level, and all others.
struct Split {
    shielded: Processors,
    rest: Processors,
}

impl Shield {
    /// The processors of a host.
    pub fn new(host: &Host) -> Self {
        let online = host.read("/sys/devices/system/cpu/online");
        Self {
            root: host.clone(),
            proc: host.path("/proc"),
            online: (online.ok().and_then(|list| parse_list(&list))).unwrap_or_default(),
            interrupts: interrupts(host),
        }
    }

    fn split(&self, level: &str) -> Result<Option<Split>, String> {
        let one = |processor: Option<&u32>| processor.map(|processor| [*processor].into());
        let shielded: Option<Processors> = match level {
            "off" => return Ok(None),
            "first" => one(self.online.first()),
            "last" => one(self.online.last()),
            list => parse_list(list),
        };
        let shielded = shielded.ok_or("this host does not tell which processors it has")?;
        if let Some(processor) = shielded.difference(&self.online).next() {
            return Err(format!("this host has no processor {processor} online"));
        }
        let rest: Processors = self.online.difference(&shielded).copied().collect();
        if rest.is_empty() {
            return Err(format!(
                "this host has {} processors online, and everything but the trial needs one of them",
                self.online.len()
            ));
        }
        Ok(Some(Split { shielded, rest }))
    }

    /// Whether what is not the trial's may be moved, as far as that shows without moving it.
    fn check_rights(&self) -> Result<(), String> {
        // Only where the kernel's own threads are seen, all processes of the machine are.
        let of_kernel = |name: String| name == "kthreadd";
        if !self.root.read("/proc/2/comm").is_ok_and(of_kernel) {
            return Err(
                "the other processes of this machine cannot be seen, as in a container".to_owned(),
            );
        }
        // SAFETY: no pointers involved.
        if unsafe { libc::geteuid() } != 0 {
            return Err("needs root to move the processes of other users".to_owned());
        }
        Ok(())
    }

    fn masks(&self) -> Vec<PathBuf> {
        let paths = MASKS.map(|path| self.root.path(path));
        paths.into_iter().filter(|path| path.exists()).collect()
    }

    fn check_level(&self, level: &str) -> Result<(), String> {
        self.split(level)?;
        self.check_rights()?;
        self.masks()
            .iter()
            .try_for_each(|path| check_writable(path))
    }

    fn plan_masks(&self, split: &Split) -> Result<Vec<Change>, String> {
        let mut changes = Vec::new();
        for path in self.masks() {
            check_writable(&path)?;
            let before = read_setting(&path)?;
            let now = parse_mask(&before).ok_or_else(|| {
                format!("{} reads `{before}`, which is not a mask", path.display())
            })?;
            let left: Processors = now.difference(&split.shielded).copied().collect();
            let wanted = if left.is_empty() { &split.rest } else { &left };
            if *wanted != now {
                let after = format_mask(wanted, &before);
                changes.push(Change::Setting {
                    path,
                    before,
                    after,
                });
            }
        }
        Ok(changes)
    }

    fn plan_interrupts(&self, split: &Split) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, before, now) in self.served_by(&split.shielded) {
            // One that the kernel keeps where it is refuses even what it reads.
            if write_setting(&path, &before).is_err() {
                continue;
            }
            let left: Processors = now.difference(&split.shielded).copied().collect();
            let after = format_list(if left.is_empty() { &split.rest } else { &left });
            changes.push(Change::Setting {
                path,
                before,
                after,
            });
        }
        changes
    }

    /// Interrupts that some processors may serve, with what their file reads.
    fn served_by(&self, processors: &Processors) -> Vec<(PathBuf, String, Processors)> {
        let serving = |path: &PathBuf| {
            let before = read_setting(path).ok()?;
            let now = parse_list(&before)?;
            (!now.is_disjoint(processors)).then(|| (path.clone(), before, now))
        };
        self.interrupts.iter().filter_map(serving).collect()
    }

    fn look(&self, split: &Split) -> Seen {
        let threads = list_threads(&self.proc);
        let own = own_thread(&self.proc);
        let worker = threads.iter().find(|it| Some(it.id) == own);
        let is_kept = worker.is_some_and(|it| it.processors.is_subset(&split.shielded));
        let intruders: Vec<Thread> = leave_out_family(threads, std::process::id() as i32)
            .into_iter()
            .filter(|it| !it.processors.is_disjoint(&split.shielded))
            .collect();
        let (kernel, others): (Vec<_>, Vec<_>) = intruders.into_iter().partition(|it| it.of_kernel);
        let movable = (self.served_by(&split.shielded).into_iter())
            .filter(|(path, before, _)| write_setting(path, before).is_ok())
            .count();
        let masks = self.masks().into_iter().filter(|path| {
            let mask = read_setting(path).ok().and_then(|text| parse_mask(&text));
            mask.is_none_or(|mask| !mask.is_disjoint(&split.shielded))
        });
        Seen {
            is_kept,
            others: others.len(),
            bound: kernel.iter().filter(|it| it.is_bound).count(),
            kernel: kernel.iter().filter(|it| !it.is_bound).count(),
            interrupts: movable,
            unmovable: self.served_by(&split.shielded).len() - movable,
            masks: masks.map(|path| path.display().to_string()).collect(),
        }
    }
}

/// What may still run on shielded processors.
struct Seen {
    is_kept: bool,
    others: usize,
    bound: usize,
    kernel: usize,
    interrupts: usize,
    unmovable: usize,
    masks: Vec<String>,
}

impl Seen {
    fn holds(&self) -> bool {
        self.is_kept && self.others == 0 && self.interrupts == 0 && self.masks.is_empty()
    }

    fn tell(&self, split: &Split) -> String {
        let mut told = format!(
            "On processors {} may run: {}, {} threads of other processes, {} threads of the kernel that belong there and {} others of it, {} interrupts that could be moved and {} that cannot",
            format_list(&split.shielded),
            if self.is_kept {
                "the trial, and it nowhere else"
            } else {
                "the trial, and it elsewhere, too"
            },
            self.others,
            self.bound,
            self.kernel,
            self.interrupts,
            self.unmovable,
        );
        if !self.masks.is_empty() {
            told.push_str(&format!("; {} still names them", self.masks.join(" and ")));
        }
        told.push('.');
        told
    }
}

impl HostFactor for Shield {
    fn name(&self) -> &'static str {
        SHIELD
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = FactorOffer::of(self.name(), FactorStage::Host, &["off"]);
        for level in ["first", "last"] {
            offer.add(level, self.check_level(level));
        }
        offer
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match level {
            "off" | "first" | "last" => Ok(()),
            list if parse_list(list).is_some() => Ok(()),
            _ => Err("off, first, last, or a list of processors such as 0-1,3".to_owned()),
        }
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        let Some(split) = self.split(level)? else {
            return Ok(Vec::new());
        };
        self.check_rights()?;
        let mut changes = self.plan_masks(&split)?;
        changes.extend(self.plan_interrupts(&split));
        let processors = format_list(&split.shielded);
        // In a group nothing of the trial can leave; without one it is placed, and could place itself anew.
        if let Ok((path, home)) = find_group(&self.proc) {
            changes.push(Change::ProcessorGroup {
                path,
                home,
                processors: processors.clone(),
            });
        }
        let worker = own_thread(&self.proc).ok_or("this process cannot be seen in /proc")?;
        changes.push(Change::Places {
            shielded: processors,
            rest: format_list(&split.rest),
            worker,
            before: note_places(&list_threads(&self.proc)),
        });
        Ok(changes)
    }

    fn read_back(&self, asked: &str) -> Result<(String, String), String> {
        let Some(split) = self.split(asked)? else {
            let left = "Processes and interrupts were left where they are.".to_owned();
            return Ok((asked.to_owned(), left));
        };
        let seen = self.look(&split);
        let observed = if seen.holds() { asked } else { "mixed" };
        Ok((observed.to_owned(), seen.tell(&split)))
    }
}

/// The first thread of this process.
fn own_thread(proc: &Path) -> Option<ThreadId> {
    let number = i32::try_from(std::process::id()).ok()?;
    let stat = fs::read_to_string(proc.join(format!("{number}/stat"))).ok()?;
    let began = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?;
    Some(ThreadId {
        number,
        began: began.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    fn host() -> FakeHost {
        let host = FakeHost::new();
        host.write("/sys/devices/system/cpu/online", "0-3");
        host.write("/proc/2/comm", "kthreadd");
        host.write(MASKS[0], "f");
        host.write(MASKS[1], "f");
        host.write("/proc/irq/9/smp_affinity_list", "3");
        host.write("/proc/irq/24/smp_affinity_list", "0-3");
        host.write("/proc/irq/25/smp_affinity_list", "0-1");
        host
    }

    fn settings(changes: &[Change]) -> Vec<(String, String)> {
        let told = |change: &Change| match change {
            Change::Setting { path, after, .. } => Some((
                path.file_name()?.to_string_lossy().into_owned(),
                after.clone(),
            )),
            _ => None,
        };
        changes.iter().filter_map(told).collect()
    }

    #[test]
    fn what_may_be_on_a_shielded_processor_leaves_it_and_the_rest_stays() {
        let host = host();
        let shield = Shield::new(&host.host);
        let split = shield.split("2-3").unwrap().unwrap();
        let masks = settings(&shield.plan_masks(&split).unwrap());
        assert_eq!(
            masks.iter().map(|it| it.1.as_str()).collect::<Vec<_>>(),
            ["3", "3"]
        );
        let moved = settings(&shield.plan_interrupts(&split));
        // Number 9 has nowhere else: it goes to all others. Number 25 is elsewhere already.
        assert_eq!(
            moved.iter().map(|it| it.1.as_str()).collect::<Vec<_>>(),
            ["0-1", "0-1"]
        );
    }

    #[test]
    fn one_processor_is_left_for_everything_else() {
        let host = host();
        let shield = Shield::new(&host.host);
        assert!(
            shield
                .split("0-3")
                .err()
                .unwrap()
                .contains("needs one of them")
        );
        assert!(shield.split("7").err().unwrap().contains("no processor 7"));
        assert!(shield.split("off").unwrap().is_none());
        assert!(shield.check("all").is_err());
    }

    #[test]
    fn where_other_processes_are_out_of_sight_nothing_is_shielded() {
        let host = FakeHost::new();
        host.write("/sys/devices/system/cpu/online", "0-3");
        let offer = Shield::new(&host.host).offer();
        assert_eq!(offer.levels, ["off"]);
        assert!(
            offer.missing[0].reason.contains("as in a container"),
            "{offer:?}"
        );
    }
}
