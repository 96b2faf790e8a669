//! What else runs on this host: its processes, but for this one and those below it.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;

use datamill_protocol::ProcessUse;

use super::disturbance::ticks_per_second;

/// Processes that are named.
const MOST_NAMED: usize = 5;

/// The host's processes, seen through its own `/proc`, also from within a world that has another.
#[derive(Debug)]
pub struct OtherProcesses {
    proc: File,
    /// The process that opened it, as this `/proc` numbers it; those below it are not the others.
    own: u32,
}

/// One look at the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessLook(BTreeMap<u32, Seen>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    name: String,
    parent: u32,
    ticks: u64,
    started: u64,
}

impl OtherProcesses {
    /// Opens `/proc`; absent when there is none.
    pub fn open() -> Option<Self> {
        let proc = File::options()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_CLOEXEC)
            .open("/proc")
            .ok()?;
        let own = fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()?;
        Some(Self { proc, own })
    }

    /// Looks now: names and processor times of all processes that this user may see.
    pub fn look(&self) -> ProcessLook {
        let numbers = self.list().unwrap_or_default();
        let seen: BTreeMap<u32, Seen> = numbers
            .into_iter()
            .filter_map(|pid| Some((pid, parse_stat(&self.read_stat(pid).ok()?)?)))
            .collect();
        ProcessLook(leave_out_family(seen, self.own))
    }

    fn read_stat(&self, pid: u32) -> io::Result<String> {
        let mut bytes = Vec::with_capacity(512);
        self.open_below(&format!("{pid}/stat"), 0)?
            .read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn open_below(&self, path: &str, flags: i32) -> io::Result<File> {
        let path = CString::new(path)?;
        let flags = flags | libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: a NUL-terminated path, and a folder that is open as long as this lives.
        let opened = unsafe { libc::openat(self.proc.as_raw_fd(), path.as_ptr(), flags) };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        Ok(unsafe { File::from_raw_fd(opened) })
    }

    fn list(&self) -> io::Result<Vec<u32>> {
        // A description of its own: reading a folder moves in it.
        let folder = self.open_below(".", libc::O_DIRECTORY)?;
        // SAFETY: the descriptor becomes the stream's, which closes it.
        let stream = unsafe { libc::fdopendir(std::os::fd::IntoRawFd::into_raw_fd(folder)) };
        if stream.is_null() {
            return Err(io::Error::last_os_error());
        }
        let mut numbers = Vec::new();
        loop {
            // SAFETY: a valid stream; what it returns is valid until the next call.
            let entry = unsafe { libc::readdir(stream) };
            if entry.is_null() {
                break;
            }
            // SAFETY: a name that ends with NUL within the entry.
            let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
            numbers.extend(name.to_str().ok().and_then(|name| name.parse::<u32>().ok()));
        }
        // SAFETY: opened above, closed once.
        unsafe { libc::closedir(stream) };
        Ok(numbers)
    }
}

impl ProcessLook {
    /// Processes of a later look that used most between the two, busiest first.
    ///
    /// One that began in between used all that it has; one that ended is not seen.
    pub fn busiest_until(&self, later: &Self) -> Vec<ProcessUse> {
        let ns_per_tick = 1_000_000_000 / ticks_per_second();
        let mut used: Vec<ProcessUse> = later
            .0
            .iter()
            .map(|(pid, seen)| {
                let before = self.0.get(pid).filter(|it| it.started == seen.started);
                let ticks = seen.ticks.saturating_sub(before.map_or(0, |it| it.ticks));
                ProcessUse {
                    name: seen.name.clone(),
                    pid: *pid,
                    processor_time_ns: ticks * ns_per_tick,
                }
            })
            .filter(|used| used.processor_time_ns > 0)
            .collect();
        used.sort_by_key(|used| (std::cmp::Reverse(used.processor_time_ns), used.pid));
        used.truncate(MOST_NAMED);
        used
    }
}

/// Leaves out a process and all that are below it.
fn leave_out_family(mut seen: BTreeMap<u32, Seen>, own: u32) -> BTreeMap<u32, Seen> {
    let is_family = |mut pid: u32| {
        // Parents lead to number 0; a look at a changing host may hold a circle.
        for _ in 0..seen.len() + 1 {
            if pid == own {
                return true;
            }
            match seen.get(&pid) {
                Some(process) => pid = process.parent,
                None => return false,
            }
        }
        false
    };
    let family: Vec<u32> = seen.keys().copied().filter(|pid| is_family(*pid)).collect();
    for pid in family {
        seen.remove(&pid);
    }
    seen
}

/// Name, parent, processor time and start of a line of `/proc/PID/stat`, whose name may hold anything.
fn parse_stat(line: &str) -> Option<Seen> {
    let (head, rest) = line.rsplit_once(')')?;
    let name = head.split_once('(')?.1;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Behind the name: state (3), parent (4), ... user time (14), system time (15), ... start (22).
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Seen {
        name: name.to_owned(),
        parent: u32::try_from(number(4)?).ok()?,
        ticks: number(14)? + number(15)?,
        started: number(22)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(parent: u32, ticks: u64, started: u64) -> Seen {
        Seen {
            name: "p".to_owned(),
            parent,
            ticks,
            started,
        }
    }

    #[test]
    fn a_name_with_parentheses_and_spaces_hides_no_field() {
        let line =
            "7 (a ) (b) S 3 1 1 0 -1 4194560 1 2 3 4 120 30 9 9 20 0 1 0 4711 1000 2 184 1\n";
        let expected = Seen {
            name: "a ) (b".to_owned(),
            ..seen(3, 150, 4711)
        };
        assert_eq!(parse_stat(line), Some(expected));
        assert_eq!(parse_stat("7 (cut off"), None);
    }

    #[test]
    fn a_process_and_those_below_it_are_not_the_others() {
        let all = BTreeMap::from([
            (1, seen(0, 1, 1)),
            (2, seen(1, 1, 1)),
            (3, seen(2, 1, 1)),
            (4, seen(3, 1, 1)),
            (5, seen(1, 1, 1)),
            // A circle ends all the same.
            (8, seen(9, 1, 1)),
            (9, seen(8, 1, 1)),
        ]);
        let left = leave_out_family(all, 2);
        assert_eq!(left.keys().copied().collect::<Vec<_>>(), [1, 5, 8, 9]);
    }

    #[test]
    fn the_busiest_come_first_and_a_number_used_again_is_another_process() {
        let before = ProcessLook(BTreeMap::from([
            (1, seen(0, 10, 1)),
            (2, seen(1, 500, 1)),
            (3, seen(1, 7, 1)),
        ]));
        let after = ProcessLook(BTreeMap::from([
            (1, seen(0, 11, 1)),
            (2, seen(1, 30, 9)),
            (3, seen(1, 7, 1)),
        ]));
        let busiest = before.busiest_until(&after);
        let pids: Vec<u32> = busiest.iter().map(|used| used.pid).collect();
        assert_eq!(pids, [2, 1]);
        assert_eq!(
            busiest[0].processor_time_ns,
            30 * (1_000_000_000 / ticks_per_second())
        );
    }

    #[test]
    fn this_process_does_not_see_itself_but_its_parent() {
        let others = OtherProcesses::open().unwrap();
        let look = others.look();
        assert!(!look.0.contains_key(&std::process::id()));
        assert!(look.0.contains_key(&std::os::unix::process::parent_id()));
    }
}
