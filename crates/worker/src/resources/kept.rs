//! What keeps a trial within what it may use: a control group, or limits and looks.

use std::cell::Cell;
use std::fs;

use datamill_host::kernel_version;
use datamill_protocol::{IsolationKind, ResourceFacts, ResourceMeans, TrialLimits};

use super::amounts::{Amounts, Reached, choose_amounts};
use super::group::{Design, Group, remove_all_abandoned};
use super::hierarchy::{Hierarchies, find_hierarchies};
use super::reports::{Counts, Reports};
use super::watching::Watch;

/// The first kernel whose PID namespaces each have a bound of their own. Before it the file is the whole
/// machine's, which nobody may touch here.
const BOUND_EACH_SINCE: (u32, u32) = (6, 14);
/// Numbers that the kernel no longer gives once it has begun again from below.
const KEPT_BACK: u64 = 300;

/// Bytes of memory to which each process of a trial is held where no control group keeps them all;
/// a trial that allows less is held to less.
pub fn memory_ceiling() -> Option<u64> {
    match find_hierarchies() {
        Ok(_) => None,
        Err(_) => Some(choose_amounts(&TrialLimits::default(), None).memory_bytes),
    }
}

/// What keeps the processes of one trial within what they may use.
pub struct Resources {
    pub(super) amounts: Amounts,
    pub(super) keeping: Keeping,
}

pub(super) enum Keeping {
    /// A control group of the trial's own.
    Group {
        group: Box<Group>,
        reports: Reports,
        seen: Cell<Counts>,
    },
    /// Limits of each process, and a look at the machine now and then.
    Watch { watch: Watch, reason: String },
}

impl Resources {
    /// Makes a trial's group, or the next best; what dead workers left of theirs is removed.
    pub fn prepare(limits: &TrialLimits) -> Self {
        let hierarchies = find_hierarchies();
        let amounts = choose_amounts(limits, hierarchies.as_ref().ok());
        let grouped = hierarchies.and_then(|hierarchies| {
            make_group(&hierarchies, &amounts).map_err(|error| error.to_string())
        });
        let keeping = match grouped {
            Ok((group, reports)) => {
                let (seen, _) = reports.read();
                Keeping::Group {
                    group: Box::new(group),
                    reports,
                    seen: Cell::new(seen),
                }
            }
            Err(reason) => Keeping::Watch {
                watch: Watch::begin(),
                reason,
            },
        };
        Self { amounts, keeping }
    }

    /// The same for what is no trial: an executable of a factor.
    pub fn prepare_usual() -> Self {
        Self::prepare(&TrialLimits::default())
    }

    /// What is in force, for the record.
    pub fn facts(&self) -> ResourceFacts {
        let (means, reason) = match &self.keeping {
            Keeping::Group { group, .. } => match group.design {
                Design::Unified => (ResourceMeans::CgroupV2, String::new()),
                Design::Separate => (ResourceMeans::CgroupV1, String::new()),
            },
            Keeping::Watch { reason, .. } => (ResourceMeans::Rlimits, reason.clone()),
        };
        ResourceFacts {
            means,
            reason,
            processes: self.amounts.processes,
            memory_bytes: self.amounts.memory_bytes,
            world_bytes: self.amounts.world_bytes,
            descriptors: self.amounts.descriptors,
        }
    }

    /// Bounds the namespaces that this process has just entered for such a world, where no control group
    /// does: without a processor for its looks the worker would see too late how many processes there are.
    pub fn bound_namespaces(&self, kind: IsolationKind) {
        let is_shared = matches!(kind, IsolationKind::Plain | IsolationKind::Guest);
        if matches!(self.keeping, Keeping::Watch { .. }) && !is_shared {
            // Far beyond the limit: a bomb that the kernel refuses first burns out between two looks, and
            // nobody says what it was.
            let half = self.amounts.process_numbers / 2;
            bound_process_numbers(half.max(most_refused(self.amounts.processes)));
        }
    }

    /// Most bytes of files in the trial's private world.
    pub fn world_bytes(&self) -> u64 {
        self.amounts.world_bytes
    }

    /// Which limit a failed script seems to have reached, by what it said and used, where the kernel
    /// refuses instead of reporting.
    pub fn suspect(&self, peak_memory_bytes: u64, says: impl Fn(&str) -> bool) -> Option<Reached> {
        let Keeping::Watch { .. } = &self.keeping else {
            return None;
        };
        if peak_memory_bytes > self.amounts.memory_bytes / 4 * 3 {
            return Some(Reached::Memory);
        }
        self.suspect_processes(says)
    }

    /// The same for a script that did not end in its time.
    pub fn suspect_processes(&self, says: impl Fn(&str) -> bool) -> Option<Reached> {
        let Keeping::Watch { .. } = &self.keeping else {
            return None;
        };
        let cannot_fork = ["Resource temporarily unavailable", "Cannot fork"];
        let is_refused = cannot_fork.into_iter().any(says);
        is_refused.then_some(Reached::Processes)
    }

    /// Ends what is left of the trial and removes its group; the error is a sentence.
    pub fn release(self) -> Result<(), String> {
        match self.keeping {
            Keeping::Group { group, reports, .. } => {
                drop(reports);
                group.remove()
            }
            Keeping::Watch { .. } => Ok(()),
        }
    }

    /// Whether a limit was reached since the last script.
    pub(super) fn look(&self) -> Option<Reached> {
        match &self.keeping {
            Keeping::Watch { watch, .. } => watch.look(&self.amounts),
            Keeping::Group { reports, seen, .. } => {
                let (counts, has_rung) = reports.read();
                judge_counts(&counts.since(&seen.get()), has_rung)
            }
        }
    }

    /// Looks once more after a script, and forgets it for the next one.
    pub(super) fn settle(&self) -> Option<Reached> {
        let reached = match &self.keeping {
            // What others do on the machine must not be held against a script that has ended.
            Keeping::Watch { .. } => None,
            Keeping::Group { .. } => self.look(),
        };
        if let Keeping::Group { reports, seen, .. } = &self.keeping {
            seen.set(reports.read().0);
        }
        reached
    }
}

/// Processes beyond which the kernel refuses more, where it only refuses: who is refused tries again for
/// ever, and it is a look at the machine, which must find too many, that ends the trial.
pub(super) fn most_refused(processes: u64) -> u64 {
    processes.saturating_mul(2)
}

/// Gives the PID namespace that this process has just entered, as its first one, numbers for so many
/// processes and threads; an older kernel is left as it is.
fn bound_process_numbers(most: u64) {
    if kernel_version() >= BOUND_EACH_SINCE {
        let numbers = most.saturating_add(KEPT_BACK);
        fs::write("/proc/sys/kernel/pid_max", numbers.to_string()).ok();
    }
}

/// Ends what dead workers left running in groups of theirs, and removes the groups.
pub fn remove_abandoned_groups() {
    if let Ok(hierarchies) = find_hierarchies() {
        remove_all_abandoned(&hierarchies);
    }
}

fn make_group(hierarchies: &Hierarchies, amounts: &Amounts) -> std::io::Result<(Group, Reports)> {
    let group = Group::make(hierarchies)?;
    group.set("pids", "pids.max", &amounts.processes.to_string())?;
    let memory = amounts.memory_bytes.to_string();
    match group.design {
        Design::Unified => {
            group.set("memory", "memory.max", &memory)?;
            // Older kernels kill one process; the report of it ends the others.
            group.set("memory", "memory.oom.group", "1").ok();
            group.set("", "cgroup.max.descendants", "64").ok();
        }
        Design::Separate => {
            group.set("memory", "memory.limit_in_bytes", &memory)?;
            // What lies in connections is counted apart, and only where it has a limit.
            group
                .set("memory", "memory.kmem.tcp.limit_in_bytes", &memory)
                .ok();
        }
    }
    let reports = Reports::open(&group)?;
    Ok((group, reports))
}

fn judge_counts(new: &Counts, has_rung: bool) -> Option<Reached> {
    if new.refused_processes > 0 {
        Some(Reached::Processes)
    } else if new.full_memory > 0 && (new.killed_for_memory > 0 || has_rung) {
        Some(Reached::Memory)
    } else if new.killed_for_memory > 0 {
        Some(Reached::MachineMemory)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(refused_processes: u64, full_memory: u64, killed_for_memory: u64) -> Counts {
        Counts {
            refused_processes,
            full_memory,
            killed_for_memory,
        }
    }

    #[test]
    fn who_was_killed_without_reaching_its_limit_was_killed_for_the_machine() {
        assert_eq!(
            judge_counts(&counts(0, 0, 1), false),
            Some(Reached::MachineMemory)
        );
        assert_eq!(judge_counts(&counts(0, 3, 1), false), Some(Reached::Memory));
    }

    #[test]
    fn memory_that_was_full_and_freed_again_is_no_end() {
        assert_eq!(judge_counts(&counts(0, 9, 0), false), None);
        // The bell rings as well when somebody above is out of memory.
        assert_eq!(judge_counts(&counts(0, 0, 0), true), None);
        assert_eq!(judge_counts(&counts(0, 1, 0), true), Some(Reached::Memory));
    }
}
