//! Bounding the processes of a trial by the numbers that its namespace has for them.

use std::fs;

use datamill_host::kernel_version;

/// The first kernel whose PID namespaces each have a bound of their own. Before it the file is the whole
/// machine's, which nobody may touch here.
const BOUND_EACH_SINCE: (u32, u32) = (6, 14);
/// Numbers that the kernel no longer gives once it has begun again from below.
const KEPT_BACK: u64 = 300;

/// Gives the PID namespace that this process has just entered, as its first one, numbers for so many
/// processes and threads; an older kernel is left as it is.
pub fn bound_process_numbers(most: u64) {
    if kernel_version() >= BOUND_EACH_SINCE {
        let numbers = most.saturating_add(KEPT_BACK);
        fs::write("/proc/sys/kernel/pid_max", numbers.to_string()).ok();
    }
}
