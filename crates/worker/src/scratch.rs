//! Folders that are ours to fill and to remove.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock, syncfs};

/// Prefix of folders that are being made; whoever finds one unlocked may remove it.
const UNFINISHED: &str = ".unfinished-";

/// A folder in the making: locked while its maker lives, renamed when it is complete, removed otherwise.
pub struct UnfinishedFolder {
    path: PathBuf,
    lock: File,
}

impl UnfinishedFolder {
    /// Makes an empty folder beside the final one, and removes those that dead workers left there.
    pub fn make_in(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        // Nobody else may take a folder for abandoned between its making and its locking.
        let turn = File::open(parent)?;
        flock(turn.as_fd(), FlockOperation::LockExclusive)?;
        remove_abandoned(parent);
        let nanos = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let path = parent.join(format!("{UNFINISHED}{}-{nanos}", std::process::id()));
        fs::create_dir(&path)?;
        let lock = File::open(&path)?;
        flock(lock.as_fd(), FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, lock })
    }

    /// Where it is being made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it to the disk and gives it its final name; returns `false` when another worker was quicker.
    pub fn finish(self, target: &Path) -> io::Result<bool> {
        syncfs(self.lock.as_fd())?;
        match fs::rename(&self.path, target) {
            Ok(()) => {}
            Err(error) if target.is_dir() => {
                drop(error);
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        if let Some(parent) = target.parent() {
            File::open(parent)?.sync_all()?;
        }
        Ok(true)
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        remove_tree(&self.path).ok();
    }
}

fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            continue;
        }
        if let Ok(folder) = File::open(entry.path())
            && flock(folder.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            remove_tree(&entry.path()).ok();
        }
    }
}

/// Removes a folder with everything in it, also folders that their owner made inaccessible.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_folders(path);
            fs::remove_dir_all(path)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn open_folders(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o700)).ok();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_folders(&entry.path());
        }
    }
}

/// A folder of a test's own.
#[cfg(test)]
pub struct TemporaryFolder(PathBuf);

#[cfg(test)]
impl TemporaryFolder {
    /// Makes an empty one.
    pub fn new(purpose: &str) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("datamill-{purpose}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        remove_tree(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_a_dead_worker_left_is_removed() {
        let parent = TemporaryFolder::new("scratch");
        let abandoned = parent.path().join(".unfinished-1-1");
        fs::create_dir(&abandoned).unwrap();
        let made = UnfinishedFolder::make_in(parent.path()).unwrap();
        assert!(!abandoned.exists() && made.path().exists());
    }

    #[test]
    fn a_folder_in_the_making_is_left_alone() {
        let parent = TemporaryFolder::new("scratch");
        let first = UnfinishedFolder::make_in(parent.path()).unwrap();
        let _second = UnfinishedFolder::make_in(parent.path()).unwrap();
        assert!(first.path().exists());
    }

    #[test]
    fn many_folders_made_at_once_do_not_remove_one_another() {
        let parent = TemporaryFolder::new("scratch");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let made = UnfinishedFolder::make_in(parent.path()).unwrap();
                        fs::write(made.path().join("file"), "x").unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_second_of_two_equal_folders_gives_way() {
        let parent = TemporaryFolder::new("scratch");
        let target = parent.path().join("done");
        let folders = [0, 1].map(|_| UnfinishedFolder::make_in(parent.path()).unwrap());
        for folder in &folders {
            fs::write(folder.path().join("file"), "x").unwrap();
        }
        let finished = folders.map(|folder| folder.finish(&target).unwrap());
        assert_eq!(finished, [true, false]);
    }
}
