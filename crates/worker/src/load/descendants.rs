//! Processes that descend from this one, and the processor time that they used.

use std::fs;

use libc::pid_t;

/// One process, as `/proc/PID/stat` tells of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: pid_t,
    /// Number of its session's leader; 0 when that is outside the PID namespace.
    pub session: pid_t,
    parent: pid_t,
    /// Of itself and of the children that it waited for, in clock ticks.
    time_ticks: u64,
    started_ticks: u64,
}

/// The living descendants of the calling process.
pub struct Descendants(Vec<Process>);

impl Descendants {
    /// Finds them; one that ends meanwhile may be missing.
    pub fn find() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let all: Vec<Process> = entries
            .filter(|entry| entry.file_name().to_string_lossy().parse::<pid_t>().is_ok())
            .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
            .filter_map(|text| parse_process(&text))
            .collect();
        Self(descendants_of(std::process::id() as pid_t, all))
    }

    /// Processor time of all of them and of the children that they waited for; its resolution is that
    /// of the kernel's clock ticks.
    pub fn processor_time_ns(&self) -> u64 {
        let ticks: u64 = self.0.iter().map(|process| process.time_ticks).sum();
        // SAFETY: no pointers involved.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        ticks * (1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1))
    }

    /// The child that was started first: later ones may be adopted orphans.
    pub fn oldest_child(&self) -> Option<&Process> {
        let own = std::process::id() as pid_t;
        let children = self.0.iter().filter(|process| process.parent == own);
        children.min_by_key(|process| (process.started_ticks, process.pid))
    }
}

/// Processor time of all descendants that ended and were waited for.
pub fn ended_time_ns() -> u64 {
    // SAFETY: an all-zero rusage is valid, and so is the pointer.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime]
        .iter()
        .map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000)
        .sum()
}

fn parse_process(stat: &str) -> Option<Process> {
    // The name in parentheses may hold spaces and parentheses of its own.
    let (before, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Process {
        pid: before.split(' ').next()?.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        time_ticks: number(11)? + number(12)? + number(13)? + number(14)?,
        started_ticks: number(19)?,
    })
}

fn descendants_of(ancestor: pid_t, all: Vec<Process>) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut rest = all;
    loop {
        let is_ours = |process: &Process| {
            process.parent == ancestor || found.iter().any(|it| it.pid == process.parent)
        };
        let (ours, others): (Vec<Process>, Vec<Process>) = rest.into_iter().partition(is_ours);
        if ours.is_empty() {
            return found;
        }
        found.extend(ours);
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = "7 (a) b (c) S 3 7 5 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 99 0 0";
        let expected = Process {
            pid: 7,
            parent: 3,
            session: 5,
            time_ticks: 100,
            started_ticks: 99,
        };
        assert_eq!(parse_process(line), Some(expected));
    }

    #[test]
    fn grandchildren_are_found_in_any_order() {
        let process = |pid, parent| Process {
            pid,
            session: 0,
            parent,
            time_ticks: 1,
            started_ticks: 0,
        };
        let all = vec![process(9, 8), process(3, 2), process(8, 1), process(4, 9)];
        let mut pids: Vec<_> = descendants_of(1, all).iter().map(|it| it.pid).collect();
        pids.sort();
        assert_eq!(pids, [4, 8, 9]);
    }
}
