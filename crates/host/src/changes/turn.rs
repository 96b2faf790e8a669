//! Turns at changing the host: one process at a time has one, and the machine's lock notes the state folder of each.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::journal::{Journal, JournalError};
use crate::state::Host;

/// Time in which a dead worker's processes, killed by the kernel, are gone.
const SURVIVORS_END_WITHIN: Duration = Duration::from_secs(15);
/// Lock file of the process that changes the host, the same for all state folders.
const HOST_LOCK: &str = "/run/datamill.lock";

/// Other state folders whose journals say that the machine is not as it was: of workers that died.
///
/// Their changes are to be undone before anybody takes the machine as it is for its natural state.
pub fn abandoned_states(host: &Host) -> Vec<PathBuf> {
    let text = fs::read_to_string(host.path(HOST_LOCK)).unwrap_or_default();
    let is_abandoned =
        |state: &PathBuf| state != host.state() && !Journal::is_empty(&host.with_state(state));
    noted_states(&text).filter(is_abandoned).collect()
}

fn noted_states(text: &str) -> impl Iterator<Item = PathBuf> {
    text.lines()
        .map(PathBuf::from)
        .filter(|it| it.is_absolute())
}

/// Notes in the machine's lock whose journal is about to be used, beside those that are not empty.
fn note_state(turn: &mut File, host: &Host) -> io::Result<()> {
    let mut text = String::new();
    turn.read_to_string(&mut text)?;
    let state = std::path::absolute(host.state())?;
    let keeps = |it: &PathBuf| *it != state && !Journal::is_empty(&host.with_state(it));
    let mut states: Vec<PathBuf> = noted_states(&text).filter(keeps).collect();
    states.push(state);
    let lines: Vec<String> = states
        .iter()
        .map(|state| format!("{}\n", state.display()))
        .collect();
    turn.rewind()?;
    turn.set_len(0)?;
    turn.write_all(lines.concat().as_bytes())
}

/// Locks the machine; where this process may not, it changes no more than its own user could.
pub fn take_turn(host: &Host) -> Result<Option<File>, JournalError> {
    let path = host.path(HOST_LOCK);
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path);
    let Ok(mut file) = opened else {
        return Ok(None);
    };
    lock_for_process(&file, &path)?;
    lock_for_family(&file, &path)?;
    note_state(&mut file, host).map_err(|error| JournalError::Unusable { path, error })?;
    Ok(Some(file))
}

/// Locks a file for this process, whose number others are told; fails at once where another has it.
pub fn lock_for_process(file: &File, path: &Path) -> Result<(), JournalError> {
    // SAFETY: an all-zero flock is valid; the calls take a descriptor of ours and that structure.
    unsafe {
        let mut wanted: libc::flock = mem::zeroed();
        wanted.l_type = libc::F_WRLCK as libc::c_short;
        wanted.l_whence = libc::SEEK_SET as libc::c_short;
        if libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &wanted) == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if !matches!(error.raw_os_error(), Some(libc::EACCES | libc::EAGAIN)) {
            return Err(JournalError::Unusable {
                path: path.to_owned(),
                error,
            });
        }
        let known = libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &mut wanted) == 0;
        Err(JournalError::Held {
            pid: Some(wanted.l_pid).filter(|pid| known && *pid > 0),
        })
    }
}

/// Locks an open file for this process and those that inherit it; waits for a dead worker's processes to end.
pub fn lock_for_family(file: &File, path: &Path) -> Result<(), JournalError> {
    let deadline = Instant::now() + SURVIVORS_END_WITHIN;
    loop {
        // SAFETY: a descriptor of ours.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::WouldBlock {
            let path = path.to_owned();
            return Err(JournalError::Unusable { path, error });
        }
        if Instant::now() >= deadline {
            return Err(JournalError::Survived);
        }
        sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_are_taken_for_noted_states() {
        let noted: Vec<PathBuf> = noted_states("/a state\n\nrelative\n/b\n/c").collect();
        assert_eq!(noted, ["/a state", "/b", "/c"].map(PathBuf::from));
    }
}
