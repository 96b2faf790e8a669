//! The threads of this host, and the processors on which each may run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fault::fault_point;
use super::processors::{Processors, format_list, parse_list};

/// Flags of the kernel's threads, and of those that it lets nobody move.
const KERNEL_THREAD: u64 = 0x0020_0000;
const BOUND: u64 = 0x0400_0000;

/// Passes over all threads: new ones begin while others are moved.
const MOST_PASSES: u32 = 8;

/// Words of a mask of as many processors as the kernel can have.
const MASK_WORDS: usize = 128;

/// A thread, told from a later one with its number by when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadId {
    /// Its number.
    pub number: i32,
    /// When it began, in ticks since the boot.
    pub began: u64,
}

/// A thread as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Which one.
    pub id: ThreadId,
    /// The process that it belongs to.
    pub process: i32,
    /// The parent of that process.
    pub parent: i32,
    /// Whether it is the kernel's.
    pub of_kernel: bool,
    /// Whether the kernel lets nobody move it.
    pub is_bound: bool,
    /// Where it may run.
    pub processors: Processors,
}

/// All threads of a host whose `/proc` this is, but those that end while they are read.
pub fn list_threads(proc: &Path) -> Vec<Thread> {
    let mut threads = Vec::new();
    for process in numbers(proc) {
        for number in numbers(&proc.join(format!("{process}/task"))) {
            let folder = proc.join(format!("{process}/task/{number}"));
            threads.extend(read_thread(&folder, process, number));
        }
    }
    threads
}

/// Threads of neither a process nor those below it.
pub fn leave_out_family(threads: Vec<Thread>, process: i32) -> Vec<Thread> {
    let parents: BTreeMap<i32, i32> = threads.iter().map(|it| (it.process, it.parent)).collect();
    let is_family = |mut number: i32| {
        for _ in 0..=parents.len() {
            if number == process {
                return true;
            }
            match parents.get(&number) {
                Some(parent) => number = *parent,
                None => return false,
            }
        }
        false
    };
    threads
        .into_iter()
        .filter(|thread| !is_family(thread.process))
        .collect()
}

/// Where threads might run, by list of processors.
pub type Places = BTreeMap<String, Vec<ThreadId>>;

/// Where threads may run now.
pub fn note_places(threads: &[Thread]) -> Places {
    let mut places = Places::new();
    for thread in threads {
        let list = format_list(&thread.processors);
        places.entry(list).or_default().push(thread.id);
    }
    places
}

/// Where a thread is to run that must leave some processors.
fn beside(before: &Processors, shielded: &Processors, rest: &Processors) -> Processors {
    let left: Processors = before.difference(shielded).copied().collect();
    if left.is_empty() { rest.clone() } else { left }
}

/// Moves everything but this process and those below it off some processors, and this process onto them.
pub fn clear_processors(
    proc: &Path,
    shielded: &Processors,
    rest: &Processors,
) -> Result<(), String> {
    // SAFETY: no pointers involved.
    let own = unsafe { libc::getpid() };
    for _ in 0..MOST_PASSES {
        let mut moved = false;
        for thread in leave_out_family(list_threads(proc), own) {
            if thread.is_bound || thread.processors.is_disjoint(shielded) {
                continue;
            }
            let wanted = beside(&thread.processors, shielded, rest);
            moved |= place(thread.id.number, &wanted)
                .map_err(|error| format!("moving thread {}: {error}", thread.id.number))?;
        }
        if !moved {
            break;
        }
    }
    for thread in list_threads(proc).iter().filter(|it| it.process == own) {
        place(thread.id.number, shielded).map_err(|error| format!("moving the worker: {error}"))?;
    }
    Ok(())
}

/// Lets threads run where they could before `clear_processors`: those that were noted, and those that began
/// since, which have what their process or the nearest noted one above it had. What chose other processors for
/// itself meanwhile keeps them.
pub fn restore_places(
    proc: &Path,
    places: &Places,
    worker: ThreadId,
    shielded: &Processors,
    rest: &Processors,
) -> Result<(), String> {
    let before: BTreeMap<ThreadId, Processors> = places
        .iter()
        .flat_map(|(list, threads)| threads.iter().map(move |thread| (*thread, list)))
        .filter_map(|(thread, list)| Some((thread, parse_list(list)?)))
        .collect();
    let everywhere: Processors = shielded.union(rest).copied().collect();
    for _ in 0..MOST_PASSES {
        let threads = list_threads(proc);
        let leaders: BTreeMap<i32, &Thread> = threads
            .iter()
            .filter(|thread| thread.id.number == thread.process)
            .map(|thread| (thread.process, thread))
            .collect();
        let mut moved = false;
        for thread in &threads {
            if thread.is_bound {
                continue;
            }
            let had = find_before(thread, &before, &leaders).unwrap_or(&everywhere);
            let is_worker = thread.process == worker.number
                && leaders
                    .get(&thread.process)
                    .is_some_and(|it| it.id == worker);
            let given = match is_worker {
                true => shielded.clone(),
                false => beside(had, shielded, rest),
            };
            if thread.processors == given && given != *had {
                moved |= place(thread.id.number, had)
                    .map_err(|error| format!("moving thread {} back: {error}", thread.id.number))?;
            }
        }
        if !moved {
            return Ok(());
        }
    }
    Ok(())
}

/// What a thread could use before: noted of itself, else of its process, else of the nearest one above.
fn find_before<'a>(
    thread: &Thread,
    before: &'a BTreeMap<ThreadId, Processors>,
    leaders: &BTreeMap<i32, &Thread>,
) -> Option<&'a Processors> {
    if let Some(noted) = before.get(&thread.id) {
        return Some(noted);
    }
    let mut process = thread.process;
    for _ in 0..=leaders.len() {
        let leader = leaders.get(&process)?;
        if let Some(noted) = before.get(&leader.id) {
            return Some(noted);
        }
        process = leader.parent;
    }
    None
}

/// Places a thread; tells whether the kernel did it. One that ended, and one that its control group keeps
/// elsewhere, stays where it is.
fn place(thread: i32, processors: &Processors) -> io::Result<bool> {
    let mut words = [0u64; MASK_WORDS];
    for number in processors {
        words[*number as usize / 64] |= 1 << (number % 64);
    }
    // SAFETY: the size is that of the words, which the kernel only reads.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            thread,
            size_of_val(&words),
            words.as_ptr(),
        )
    };
    fault_point();
    if done == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ESRCH | libc::EINVAL) => Ok(false),
        _ => Err(error),
    }
}

fn numbers(folder: &Path) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn read_thread(folder: &Path, process: i32, number: i32) -> Option<Thread> {
    let stat = fs::read(folder.join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    // Behind the name: state (3), parent (4), ... flags (9), ... start (22).
    let field = |place: usize| fields.get(place - 3)?.parse::<u64>().ok();
    let status = fs::read(folder.join("status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let flags = field(9)?;
    Some(Thread {
        id: ThreadId {
            number,
            began: field(22)?,
        },
        process,
        parent: i32::try_from(field(4)?).ok()?,
        of_kernel: flags & KERNEL_THREAD != 0,
        is_bound: flags & BOUND != 0,
        processors: parse_list(allowed.trim())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> Processors {
        parse_list(list).unwrap()
    }

    fn thread(number: i32, process: i32, parent: i32, list: &str) -> Thread {
        Thread {
            id: ThreadId { number, began: 1 },
            process,
            parent,
            of_kernel: false,
            is_bound: false,
            processors: set(list),
        }
    }

    #[test]
    fn a_thread_keeps_what_it_had_of_the_other_processors() {
        assert_eq!(beside(&set("0-3"), &set("3"), &set("0-2")), set("0-2"));
        assert_eq!(beside(&set("2-3"), &set("3"), &set("0-2")), set("2"));
        assert_eq!(beside(&set("3"), &set("3"), &set("0-2")), set("0-2"));
    }

    #[test]
    fn what_began_since_has_what_the_nearest_noted_process_above_had() {
        let noted = [
            thread(1, 1, 0, "0-1"),
            thread(5, 5, 1, "0"),
            thread(6, 5, 1, "0-1"),
        ];
        let before: BTreeMap<ThreadId, Processors> = noted
            .iter()
            .map(|it| (it.id, it.processors.clone()))
            .collect();
        // A thread and a child of the process that was kept to processor 0, and an orphan.
        let now = [
            noted[0].clone(),
            noted[1].clone(),
            thread(7, 5, 1, "0"),
            thread(8, 8, 5, "0"),
            thread(9, 9, 1, "0"),
        ];
        let leaders: BTreeMap<i32, &Thread> = now
            .iter()
            .filter(|it| it.id.number == it.process)
            .map(|it| (it.process, it))
            .collect();
        let found = |it: &Thread| format_list(find_before(it, &before, &leaders).unwrap());
        let expected = ["0-1", "0", "0", "0", "0-1"];
        for (thread, expected) in now.iter().zip(expected) {
            assert_eq!(found(thread), expected, "{thread:?}");
        }
    }

    #[test]
    fn this_process_is_among_the_threads_and_not_beside_its_family() {
        let own = std::process::id() as i32;
        let threads = list_threads(Path::new("/proc"));
        assert!(threads.iter().any(|it| it.process == own));
        let others = leave_out_family(threads, own);
        assert!(!others.iter().any(|it| it.process == own));
        assert!(!others.is_empty());
    }
}
