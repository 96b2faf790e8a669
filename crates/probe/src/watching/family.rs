//! Ending every process that a measured one left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use libc::pid_t;

use crate::bounds::Bounds;

/// How the descendants of a measured process are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The caller is process 1 of its own PID namespace: every other process in it belongs to the family.
    PidNamespace,
    /// The caller is a child subreaper without other children: orphans become its children.
    Subreaper,
}

impl Family {
    /// Kills the whole family, the measured process included.
    pub(crate) fn kill(self, leader: pid_t, bounds: Option<&dyn Bounds>) {
        match self {
            Self::PidNamespace => {
                // The kernel lets nobody fork meanwhile: one call gets them all.
                // SAFETY: signals only; -1 means everything in this namespace but its process 1.
                unsafe { libc::kill(-1, libc::SIGKILL) };
                // Who is frozen dies only when thawed.
                if let Some(bounds) = bounds {
                    bounds.kill();
                }
            }
            Self::Subreaper => {
                // SAFETY: signals only; the leader made a session, hence a group, of its own.
                unsafe { libc::kill(-leader, libc::SIGKILL) };
                match bounds.filter(|bounds| !bounds.groups().is_empty()) {
                    Some(bounds) => bounds.kill(),
                    None => stop_descendants(),
                }
                for child in children_of_self() {
                    // SAFETY: signals only.
                    unsafe { libc::kill(child, libc::SIGKILL) };
                }
            }
        }
    }

    /// Kills and reaps what is left of the family after its leader was reaped; returns how many
    /// processes had to be killed, those included that [`Self::kill`] has `killed_already`.
    pub(crate) fn end(
        self,
        leader: pid_t,
        killed_already: bool,
        bounds: Option<&dyn Bounds>,
    ) -> u32 {
        let mut killed = 0;
        loop {
            match reap(ANY_CHILD, libc::WNOHANG) {
                Reaped::Nothing => return killed,
                Reaped::StillRunning => break,
                Reaped::Killed if killed_already => killed += 1,
                // The family may well kill its own.
                Reaped::Killed | Reaped::Ended => {}
            }
        }
        loop {
            self.kill(leader, bounds);
            // Killing looks at every process of the machine: once for many of them, not for each.
            for _ in 0..REAPED_BETWEEN_KILLS {
                match reap(ANY_CHILD, 0) {
                    Reaped::Nothing => return killed,
                    Reaped::Killed => killed += 1,
                    Reaped::Ended | Reaped::StillRunning => {}
                }
                if self == Self::Subreaper && !has_ended_child() {
                    // What is left may be grandchildren that just became children.
                    break;
                }
            }
        }
    }
}

/// Processes that are reaped before the family is killed again.
const REAPED_BETWEEN_KILLS: u32 = 512;

/// Rounds in which a family that goes on forking is looked for.
const STOPPING_ROUNDS: u32 = 100;

fn has_ended_child() -> bool {
    // SAFETY: an all-zero record is valid and stays so when no child has ended.
    unsafe {
        let mut ended: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
        libc::waitid(libc::P_ALL, 0, &mut ended, options) == 0 && ended.si_pid() != 0
    }
}

/// Kills and reaps the orphans that this process, a child subreaper, has adopted.
pub fn end_orphans() {
    while !matches!(reap(ANY_CHILD, libc::WNOHANG), Reaped::Nothing) {
        stop_descendants();
        for child in children_of_self() {
            // SAFETY: signals only.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        if matches!(reap(ANY_CHILD, 0), Reaped::Nothing) {
            return;
        }
    }
}

/// Stops every descendant, until none is found that runs, and then kills them: what is stopped does not
/// fork, while killing one at a time would leave the others time to.
fn stop_descendants() {
    let mut stopped = BTreeSet::new();
    for _ in 0..STOPPING_ROUNDS {
        let fresh: Vec<pid_t> = descendants_of_self()
            .into_iter()
            .filter(|pid| !stopped.contains(pid))
            .collect();
        if fresh.is_empty() {
            break;
        }
        for pid in fresh {
            // SAFETY: signals only.
            unsafe { libc::kill(pid, libc::SIGSTOP) };
            stopped.insert(pid);
        }
    }
    for pid in descendants_of_self() {
        // SAFETY: signals only.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

const ANY_CHILD: pid_t = -1;

pub(crate) enum Reaped {
    Nothing,
    StillRunning,
    Killed,
    Ended,
}

pub(crate) fn reap(child: pid_t, options: i32) -> Reaped {
    let mut status = 0;
    // SAFETY: valid pointer.
    match unsafe { libc::waitpid(child, &mut status, options | libc::__WALL) } {
        0 => Reaped::StillRunning,
        // SAFETY: errno of this thread.
        -1 if unsafe { *libc::__errno_location() } == libc::EINTR => Reaped::Ended,
        -1 => Reaped::Nothing,
        _ if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL => Reaped::Killed,
        _ => Reaped::Ended,
    }
}

/// Direct children of this process, orphans that it adopted included.
fn children_of_self() -> Vec<pid_t> {
    let own = own_pid();
    let parents = parents();
    let children = parents.into_iter().filter(|(_, parent)| *parent == own);
    children.map(|(pid, _)| pid).collect()
}

/// Everything below this process, by one look at all processes.
fn descendants_of_self() -> Vec<pid_t> {
    let mut children: BTreeMap<pid_t, Vec<pid_t>> = BTreeMap::new();
    for (pid, parent) in parents() {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut next = children.remove(&own_pid()).unwrap_or_default();
    while let Some(pid) = next.pop() {
        found.push(pid);
        next.extend(children.remove(&pid).unwrap_or_default());
    }
    found
}

fn own_pid() -> pid_t {
    // SAFETY: no pointers involved.
    unsafe { libc::getpid() }
}

/// Every process, with its parent.
fn parents() -> Vec<(pid_t, pid_t)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<pid_t>().ok())
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect()
}

fn parent_of(pid: pid_t) -> Option<pid_t> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces and parentheses of its own.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}
