//! Ending every process that a measured one left behind.

use std::fs;

use libc::pid_t;

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
    pub(crate) fn kill(self, leader: pid_t) {
        match self {
            // SAFETY: signals only; -1 means everything in this namespace but its process 1.
            Self::PidNamespace => unsafe {
                libc::kill(-1, libc::SIGKILL);
            },
            Self::Subreaper => {
                // SAFETY: signals only; the leader made a session, hence a group, of its own.
                unsafe { libc::kill(-leader, libc::SIGKILL) };
                for child in children_of_self() {
                    // SAFETY: signals only.
                    unsafe { libc::kill(child, libc::SIGKILL) };
                }
            }
        }
    }

    /// Kills and reaps what is left of the family after its leader was reaped; returns how many
    /// processes had to be killed, those included that [`Self::kill`] has `killed_already`.
    pub(crate) fn end(self, leader: pid_t, killed_already: bool) -> u32 {
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
            self.kill(leader);
            match reap(ANY_CHILD, 0) {
                Reaped::Nothing => return killed,
                Reaped::Killed => killed += 1,
                Reaped::Ended | Reaped::StillRunning => {}
            }
        }
    }
}

/// Kills and reaps the orphans that this process, a child subreaper, has adopted.
pub fn end_orphans() {
    while !matches!(reap(ANY_CHILD, libc::WNOHANG), Reaped::Nothing) {
        for child in children_of_self() {
            // SAFETY: signals only.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        if matches!(reap(ANY_CHILD, 0), Reaped::Nothing) {
            return;
        }
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
    let own = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<pid_t>().ok())
        .filter(|pid| parent_of(*pid) == Some(own))
        .collect()
}

fn parent_of(pid: pid_t) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces and parentheses of its own.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}
