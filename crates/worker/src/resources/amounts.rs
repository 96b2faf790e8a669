//! How much of the machine a trial may use.

use std::fs;
use std::path::Path;

use datamill_protocol::TrialLimits;

use super::hierarchy::Hierarchies;

/// Processes and threads that a trial may have on a machine of few processors.
const USUAL_PROCESSES: u64 = 4096;
/// Processes and threads for each processor, where that is more.
const PROCESSES_PER_PROCESSOR: u64 = 64;
/// Share of the machine's process numbers that one trial may have at most.
const SHARE_OF_NUMBERS: u64 = 4;
/// Open files that each process may have.
const USUAL_DESCRIPTORS: u64 = 65_536;
/// Part of the memory, one in so many, that is kept for the worker and the host, within bounds.
const RESERVED_PART: u64 = 16;
const LEAST_RESERVE: u64 = 128 << 20;
const MOST_RESERVE: u64 = 2 << 30;
/// On small machines never more than one part in so many.
const SMALL_MACHINES_RESERVED_PART: u64 = 4;
/// Bytes of a private world for each file in it.
const BYTES_PER_FILE: u64 = 8192;
const LEAST_FILES: u64 = 1 << 18;

/// How much of the machine a trial may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amounts {
    /// Processes and threads at a time.
    pub processes: u64,
    /// Numbers of processes that the whole machine has.
    pub process_numbers: u64,
    /// Memory, in bytes, files in memory included.
    pub memory_bytes: u64,
    /// Whether the memory is what others on the machine have left, and clearly less than it could be.
    pub is_crowded: bool,
    /// Files in the private world, in bytes.
    pub world_bytes: u64,
    /// Open files of each process.
    pub descriptors: u64,
}

/// What a trial has used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// Its processes and threads.
    Processes,
    /// Its memory.
    Memory,
    /// The machine's memory, while the trial was within its own.
    MachineMemory,
    /// The disk that it writes to.
    Disk,
}

/// What of a machine decides how much of it a trial may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    processors: u64,
    process_numbers: u64,
    /// Memory that this process may use altogether.
    memory_bytes: u64,
    /// Memory that is free or can be freed at once.
    available_bytes: u64,
}

/// Decides how much a trial may use: what its limits say, else what suits this machine.
pub fn choose_amounts(limits: &TrialLimits, hierarchies: Option<&Hierarchies>) -> Amounts {
    choose_on(limits, &look_at_machine(hierarchies))
}

/// Most files and folders in a private world of so many bytes.
pub fn files_in_world(bytes: u64) -> u64 {
    (bytes / BYTES_PER_FILE).max(LEAST_FILES)
}

fn choose_on(limits: &TrialLimits, machine: &Machine) -> Amounts {
    let asked = |asked: u64, usual: u64| if asked > 0 { asked } else { usual };
    let reserve = (machine.memory_bytes / RESERVED_PART)
        .clamp(LEAST_RESERVE, MOST_RESERVE)
        .min(machine.memory_bytes / SMALL_MACHINES_RESERVED_PART);
    let largest = machine.memory_bytes - reserve;
    let left = machine.available_bytes.saturating_sub(reserve / 2);
    let wanted = asked(limits.memory_bytes, largest);
    let memory_bytes = wanted.min(left.max(LEAST_RESERVE)).min(largest);
    let processes = USUAL_PROCESSES
        .max(PROCESSES_PER_PROCESSOR * machine.processors)
        .min(machine.process_numbers / SHARE_OF_NUMBERS);
    Amounts {
        processes: asked(limits.processes, processes),
        process_numbers: machine.process_numbers,
        memory_bytes,
        is_crowded: memory_bytes < wanted.min(largest) / 4 * 3,
        world_bytes: asked(limits.world_bytes, machine.memory_bytes / 2),
        descriptors: asked(limits.descriptors, USUAL_DESCRIPTORS),
    }
}

fn look_at_machine(hierarchies: Option<&Hierarchies>) -> Machine {
    let total = memory_field("MemTotal:");
    let allowed = hierarchies.and_then(allowed_memory).unwrap_or(u64::MAX);
    // SAFETY: no pointers involved.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    Machine {
        processors: u64::try_from(processors).unwrap_or(1),
        process_numbers: number_in(Path::new("/proc/sys/kernel/pid_max")).unwrap_or(32_768),
        memory_bytes: total.min(allowed),
        available_bytes: memory_field("MemAvailable:"),
    }
}

/// Memory that the groups above the trial's allow; absent where they allow all.
fn allowed_memory(hierarchies: &Hierarchies) -> Option<u64> {
    match hierarchies {
        Hierarchies::Unified(parent) => parent
            .ancestors()
            .filter_map(|folder| number_in(&folder.join("memory.max")))
            .min(),
        Hierarchies::Separate(parents) => {
            let (_, parent) = parents.iter().find(|(name, _)| *name == "memory")?;
            let text = fs::read_to_string(parent.join("memory.stat")).ok()?;
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("hierarchical_memory_limit "))?;
            line.trim().parse().ok()
        }
    }
}

/// A field of `/proc/meminfo`, in bytes; what the kernel does not tell is no bound.
pub fn memory_field(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .map_or(u64::MAX / 2, |kibibytes| kibibytes * 1024)
}

fn number_in(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn machine(memory_bytes: u64, available_bytes: u64) -> Machine {
        Machine {
            processors: 8,
            process_numbers: 32_768,
            memory_bytes,
            available_bytes,
        }
    }

    fn limits(memory_bytes: u64) -> TrialLimits {
        TrialLimits {
            memory_bytes,
            ..TrialLimits::default()
        }
    }

    #[test]
    fn a_trial_may_use_the_machine_but_for_a_reserve() {
        let amounts = choose_on(&limits(0), &machine(24 * GIB, 24 * GIB));
        assert_eq!(amounts.memory_bytes, 24 * GIB - 24 * GIB / 16);
        assert_eq!((amounts.processes, amounts.is_crowded), (4096, false));
        let small = choose_on(&limits(0), &machine(GIB / 4, GIB / 4));
        assert_eq!(small.memory_bytes, GIB / 4 - GIB / 16);
    }

    #[test]
    fn memory_that_others_use_is_not_given_twice() {
        let amounts = choose_on(&limits(0), &machine(24 * GIB, 8 * GIB));
        assert_eq!(amounts.memory_bytes, 8 * GIB - 24 * GIB / 32);
        assert!(amounts.is_crowded);
        // Who asks for less than there is gets it, and is not in a crowd.
        let asked = choose_on(&limits(GIB), &machine(24 * GIB, 8 * GIB));
        assert_eq!((asked.memory_bytes, asked.is_crowded), (GIB, false));
    }

    #[test]
    fn a_machine_with_few_process_numbers_keeps_most_of_them() {
        let few = Machine {
            process_numbers: 4096,
            ..machine(GIB, GIB)
        };
        assert_eq!(choose_on(&limits(0), &few).processes, 1024);
        let many = Machine {
            processors: 256,
            process_numbers: 4 << 20,
            ..machine(GIB, GIB)
        };
        assert_eq!(choose_on(&limits(0), &many).processes, 64 * 256);
    }
}
