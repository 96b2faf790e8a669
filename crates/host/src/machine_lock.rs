//! The file that everybody locks who measures on this machine or sets it, whatever user, state folder or network.

use std::fs::{File, OpenOptions, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Folders that all users may write, the first of which that a machine has receives the lock.
const FOLDERS: [&str; 3] = ["/run/lock", "/dev/shm", "/tmp"];
/// Name of the locked file.
const NAME: &str = "datamill-host.lock";

/// Where the file is; `None` on a machine without a place for it.
pub fn machine_lock_path() -> Option<PathBuf> {
    let folder = FOLDERS
        .iter()
        .map(Path::new)
        .find(|folder| folder.is_dir())?;
    Some(folder.canonicalize().ok()?.join(NAME))
}

/// Opens the file for locking; the first user makes it for all.
pub fn open_machine_lock(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW);
    if let Ok(file) = options.open(path) {
        return Some(file);
    }
    let made = options.write(true).create(true).mode(0o666).open(path);
    // The mask of the user who makes it must not shut others out.
    if let Ok(file) = &made {
        file.set_permissions(Permissions::from_mode(0o666)).ok();
    }
    // Another worker may have made it meanwhile.
    let again = || {
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .ok()
    };
    made.ok().or_else(again)
}

/// Waits until nobody measures on this machine, and keeps others from it until the file is closed: for tests that
/// change the machine's settings. `None` where there is nothing to lock.
#[doc(hidden)]
pub fn wait_for_machine() -> Option<File> {
    let file = open_machine_lock(&machine_lock_path()?)?;
    // SAFETY: a descriptor of ours.
    let lock = |how| unsafe { libc::flock(file.as_raw_fd(), how) };
    if lock(libc::LOCK_EX | libc::LOCK_NB) != 0 {
        eprintln!("waiting until nobody measures on this machine");
        assert_eq!(lock(libc::LOCK_EX), 0);
    }
    Some(file)
}
