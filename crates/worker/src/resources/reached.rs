//! Saying which limit ended a trial, and whose fault that is.

use datamill_protocol::{Failure, FailureKind, Phase};

use super::amounts::{Reached, files_in_world};
use super::kept::Resources;
use crate::trouble::failure;

/// The failure of a script, by its name, that reached a limit.
pub fn reached_failure(
    resources: &Resources,
    phase: Phase,
    name: &str,
    reached: Reached,
) -> Failure {
    let amounts = &resources.amounts;
    let memory = in_words(amounts.memory_bytes);
    let (kind, message, remedy) = match reached {
        Reached::Processes => (
            FailureKind::ProcessLimit,
            format!(
                "{name} reached the limit of {} processes and threads and was killed with everything it had started.",
                amounts.processes
            ),
            "Start fewer at a time, or raise the limit processes.",
        ),
        Reached::Memory if amounts.is_crowded => (
            FailureKind::MemoryKilled,
            format!(
                "{name} used the {memory} of memory that others had left on this machine, and was killed with everything it had started."
            ),
            "Find out what else needs memory on this machine; the trial is attempted again.",
        ),
        Reached::Memory => (
            FailureKind::MemoryLimit,
            format!(
                "{name} reached the memory limit of {memory}, in which files in memory count, and was killed with everything it had started."
            ),
            "Use less memory, run it on a machine with more, or raise the limit memory if the experiment sets it.",
        ),
        Reached::MachineMemory => (
            FailureKind::MemoryKilled,
            format!(
                "The machine was out of memory while {name} ran, and its kernel killed a process of the trial, which was within its own {memory}."
            ),
            "Find out what else needs memory on this machine; the trial is attempted again.",
        ),
        Reached::Disk => (
            FailureKind::DiskLimit,
            format!(
                "{name} wrote so much to the disk that little was left, and was killed with everything it had started."
            ),
            "Write less, free space on the disk, or raise the limit world if the experiment sets it.",
        ),
    };
    failure(phase, kind, message, remedy)
}

/// The failure of a script that has filled its private world; `message` says how it ended.
pub fn world_failure(resources: &Resources, phase: Phase, message: &str) -> Failure {
    failure(
        phase,
        FailureKind::DiskLimit,
        format!(
            "The private world was full, which holds {} in at most {} files: {message}",
            in_words(resources.amounts.world_bytes),
            files_in_world(resources.amounts.world_bytes)
        ),
        "Write less, or raise the limit world.",
    )
}

/// The failure of a script that could open no more files; `message` says how it ended.
pub fn descriptor_failure(resources: &Resources, phase: Phase, message: &str) -> Failure {
    failure(
        phase,
        FailureKind::DescriptorLimit,
        format!(
            "A process may have {} files open: {message}",
            resources.amounts.descriptors
        ),
        "Close files that are not needed, or raise the limit descriptors.",
    )
}

/// Bytes in the largest unit that keeps three digits exact enough to be recognised.
fn in_words(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes >> shift > 0);
    match unit {
        None => format!("{bytes} bytes"),
        Some((name, shift)) if bytes.trailing_zeros() >= shift => {
            format!("{} {name}", bytes >> shift)
        }
        Some((name, shift)) => format!("{:.1} {name}", bytes as f64 / (1u64 << shift) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_a_unit_that_fits() {
        assert_eq!(in_words(20 << 30), "20 GiB");
        assert_eq!(in_words(512 << 20), "512 MiB");
        assert_eq!(in_words((3 << 30) / 2), "1.5 GiB");
        assert_eq!(in_words(100), "100 bytes");
    }
}
