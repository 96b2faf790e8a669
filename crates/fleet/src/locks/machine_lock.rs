//! One measurement at a time on a machine, also by workers that share neither state folder nor network.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use datamill_host::{machine_lock_path, open_machine_lock};
use rustix::fs::{FlockOperation, flock};

/// Variable that says who waits for whom.
const VARIABLE: &str = "DATAMILL_HOST_LOCK";
/// Its value by which workers wait only for those with the same state folder.
const BY_STATE_FOLDER: &str = "state-folder";

/// What became of taking the machine's lock.
pub(crate) enum MachineLock {
    /// It is held as long as this lives.
    Taken(OwnedFd),
    /// Somebody else measures.
    Busy,
    /// Nobody asks for it here, or nothing can be locked.
    Needless,
}

/// Takes the machine's lock if it is free.
pub(crate) fn try_take_machine() -> io::Result<MachineLock> {
    match lock_path().and_then(|path| open_machine_lock(&path)) {
        Some(file) => lock(file),
        None => Ok(MachineLock::Needless),
    }
}

fn lock(file: File) -> io::Result<MachineLock> {
    match flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(MachineLock::Taken(file.into())),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(MachineLock::Busy),
        Err(error) => Err(error.into()),
    }
}

/// The machine's lock among the descriptors that this process was given open, if it is there.
///
/// # Safety
/// Nobody else in this process may have opened the lock.
pub(crate) unsafe fn adopt_machine() -> Option<OwnedFd> {
    let path = lock_path()?;
    let found = fs::read_dir("/proc/self/fd")
        .ok()?
        .flatten()
        .find(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == path))?;
    let descriptor: RawFd = found.file_name().to_str()?.parse().ok()?;
    // SAFETY: it is open under this number, and the caller promises that it is nobody's.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn lock_path() -> Option<PathBuf> {
    if std::env::var(VARIABLE).is_ok_and(|value| value == BY_STATE_FOLDER) {
        return None;
    }
    machine_lock_path()
}

/// Leaves a lock open through the next `exec`, or not.
pub(crate) fn set_inherited(descriptor: &OwnedFd, inherited: bool) -> io::Result<()> {
    let flags = if inherited { 0 } else { libc::FD_CLOEXEC };
    // SAFETY: no pointers involved.
    if unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, flags) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_of_two_workers_finds_the_machine_busy() {
        let path = std::env::temp_dir().join(format!("datamill-lock-{}", std::process::id()));
        let first = lock(open_machine_lock(&path).unwrap()).unwrap();
        let second = lock(open_machine_lock(&path).unwrap()).unwrap();
        assert!(matches!(first, MachineLock::Taken(_)));
        assert!(matches!(second, MachineLock::Busy));
        drop(first);
        let third = lock(open_machine_lock(&path).unwrap()).unwrap();
        assert!(matches!(third, MachineLock::Taken(_)));
        fs::remove_file(&path).unwrap();
    }
}
