//! Killing what is in a control group, and in those inside it.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Dir, FileType, OFlags};

use super::hierarchy::{open_at, read_at};

/// Groups inside one another that are looked into.
const MOST_DEPTH: u32 = 32;

/// Rounds of killing while there is still somebody.
const MOST_ROUNDS: u32 = 50;

/// Time that one killing may take; after it the caller goes on with something else.
const MOST_TIME: Duration = Duration::from_secs(2);

/// Kills every process in a group and in those inside it.
pub fn kill_members(folder: BorrowedFd<'_>) {
    if write(folder, "cgroup.kill", "1") {
        return;
    }
    // Nobody who is frozen forks; where there is no freezer, killing everybody repeatedly has to do.
    write(folder, "freezer.state", "FROZEN");
    let started = Instant::now();
    for _ in 0..MOST_ROUNDS {
        let members = list_members(folder, 0);
        for pid in &members {
            // SAFETY: a signal only, to a process that was just seen in the group.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        // The frozen ones die when thawed, and are listed until then.
        thaw(folder);
        if members.is_empty() || started.elapsed() >= MOST_TIME {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
        write(folder, "freezer.state", "FROZEN");
    }
    thaw(folder);
}

/// Thaws a group and those inside it.
pub fn thaw(folder: BorrowedFd<'_>) {
    walk(folder, 0, &mut |group| {
        write(group, "freezer.state", "THAWED");
    });
}

fn list_members(folder: BorrowedFd<'_>, depth: u32) -> Vec<libc::pid_t> {
    let mut members = Vec::new();
    walk(folder, depth, &mut |group| {
        let listed = read_at(group, "cgroup.procs").unwrap_or_default();
        // 0 stands for a process of another PID namespace: for this one it is not there.
        members.extend(
            listed
                .lines()
                .filter_map(|line| line.parse().ok())
                .filter(|pid: &libc::pid_t| *pid > 0),
        );
    });
    members
}

fn walk(folder: BorrowedFd<'_>, depth: u32, visit: &mut impl FnMut(BorrowedFd<'_>)) {
    visit(folder);
    if depth >= MOST_DEPTH {
        return;
    }
    let Ok(entries) = Dir::read_from(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy();
        if entry.file_type() == FileType::Directory
            && name != "."
            && name != ".."
            && let Ok(inner) = open_at(folder, &name, OFlags::RDONLY | OFlags::DIRECTORY)
        {
            walk(inner.as_fd(), depth + 1, visit);
        }
    }
}

fn write(folder: BorrowedFd<'_>, file: &str, text: &str) -> bool {
    open_at(folder, file, OFlags::WRONLY)
        .is_ok_and(|mut file| file.write_all(text.as_bytes()).is_ok())
}
