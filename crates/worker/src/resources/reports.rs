//! What the kernel reports of a trial's group: which limit was reached, who was killed for memory.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use datamill_probe::Alarm;

use super::group::{Design, Group, Members};

/// Most bytes of one of the kernel's short tables.
const TABLE_BYTES: usize = 4096;

/// Counts since the group was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Refused processes.
    pub refused_processes: u64,
    /// Times that the group's memory limit was in the way.
    pub full_memory: u64,
    /// Processes killed for want of memory, in the group or on the whole machine.
    pub killed_for_memory: u64,
}

impl Counts {
    /// What was added since an earlier look.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            refused_processes: self.refused_processes - earlier.refused_processes,
            full_memory: self.full_memory - earlier.full_memory,
            killed_for_memory: self.killed_for_memory - earlier.killed_for_memory,
        }
    }
}

/// The kernel's tables about a group, open and ready to be polled.
pub struct Reports {
    processes: Vec<Table>,
    full_memory: Table,
    killed_for_memory: Vec<Table>,
    /// The separate design counts what was killed for memory in a file of its own.
    bell: Option<OwnedFd>,
    alarms: Vec<Alarm>,
}

/// A table of names and numbers, or a number alone.
struct Table {
    file: File,
    name: &'static str,
}

impl Reports {
    /// Opens the tables of a group.
    pub fn open(group: &Group) -> io::Result<Self> {
        let table = |controller: &str, file: &str, of: Option<Members>, name: &'static str| {
            let file = group.open(controller, file, of)?;
            io::Result::Ok(Table { file, name })
        };
        let of_members = |controller: &str, file: &str, name: &'static str| {
            let all = [Members::Measured, Members::Beside];
            let tables = all.map(|whose| table(controller, file, Some(whose), name));
            tables.into_iter().collect::<io::Result<Vec<_>>>()
        };
        let mut processes = vec![table("pids", "pids.events", None, "max")?];
        let (full_memory, killed_for_memory, bell) = match group.design {
            Design::Unified => (
                table("memory", "memory.events", None, "oom")?,
                vec![table("memory", "memory.events", None, "oom_kill")?],
                None,
            ),
            Design::Separate => {
                // A refusal is counted where the process is, or where the limit is: kernels differ.
                processes.extend(of_members("pids", "pids.events", "max")?);
                (
                    table("memory", "memory.failcnt", None, "")?,
                    of_members("memory", "memory.oom_control", "oom_kill")?,
                    Some(ring_when_full(group)?),
                )
            }
        };
        let alarms = match &bell {
            Some(bell) => vec![Alarm {
                descriptor: bell.as_raw_fd(),
                events: libc::POLLIN,
            }],
            None => [&processes[0], &full_memory]
                .map(|table| Alarm {
                    descriptor: table.file.as_raw_fd(),
                    events: libc::POLLPRI,
                })
                .to_vec(),
        };
        Ok(Self {
            processes,
            full_memory,
            killed_for_memory,
            bell,
            alarms,
        })
    }

    /// What to poll for.
    pub fn alarms(&self) -> &[Alarm] {
        &self.alarms
    }

    /// Whether nobody needs to look without an alarm: the separate design is silent about processes.
    pub fn tell_everything(&self) -> bool {
        self.bell.is_none()
    }

    /// Reads them, which silences the alarms; returns whether the bell of full memory rang as well.
    pub fn read(&self) -> (Counts, bool) {
        let mut rung = [0u8; 8];
        let has_rung = self.bell.as_ref().is_some_and(|bell| {
            // SAFETY: the buffer has the size given; the counter never blocks.
            unsafe { libc::read(bell.as_raw_fd(), rung.as_mut_ptr().cast(), 8) == 8 }
        });
        let counts = Counts {
            refused_processes: self.processes.iter().map(Table::read).sum(),
            full_memory: self.full_memory.read(),
            killed_for_memory: self.killed_for_memory.iter().map(Table::read).sum(),
        };
        (counts, has_rung)
    }
}

impl Table {
    fn read(&self) -> u64 {
        let mut buffer = [0u8; TABLE_BYTES];
        let length = self.file.read_at(&mut buffer, 0).unwrap_or(0);
        find_number(&String::from_utf8_lossy(&buffer[..length]), self.name)
    }
}

/// A number by its name; with an empty name the number that stands alone.
fn find_number(text: &str, name: &str) -> u64 {
    let number = text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        if !name.is_empty() && words.next() != Some(name) {
            return None;
        }
        words.next()?.parse().ok()
    });
    number.unwrap_or(0)
}

/// A counter that the kernel raises when the group, or one above it, is out of memory.
fn ring_when_full(group: &Group) -> io::Result<OwnedFd> {
    // SAFETY: no pointers involved; a fresh descriptor is owned below.
    let bell = unsafe {
        let bell = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
        if bell < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(bell)
    };
    let watched = group.open("memory", "memory.oom_control", None)?;
    let order = format!("{} {}", bell.as_raw_fd(), watched.as_raw_fd());
    group.set("memory", "cgroup.event_control", &order)?;
    Ok(bell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_name_or_alone() {
        let events = "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n";
        assert_eq!(find_number(events, "oom"), 2);
        assert_eq!(find_number(events, "oom_kill"), 1);
        assert_eq!(find_number("42\n", ""), 42);
        assert_eq!(find_number("", "max"), 0);
    }
}
