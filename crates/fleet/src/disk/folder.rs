//! The folder in which a worker of a fleet keeps what must outlive it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// Time in which the processes of a worker that was killed, which the kernel ends, are gone.
const SURVIVORS_END_WITHIN: Duration = Duration::from_secs(10);

/// The subfolder `fleet` of a state folder.
#[derive(Debug, Clone)]
pub struct FleetFolder {
    state: PathBuf,
    root: PathBuf,
}

impl FleetFolder {
    /// Makes the folder, if it is missing, for its owner alone.
    pub fn open(state: &Path) -> io::Result<Self> {
        let root = state.join("fleet");
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(state)?;
        let state = fs::canonicalize(state)?;
        let folder = Self {
            root: state.join("fleet"),
            state,
        };
        for path in [
            root,
            folder.spool(),
            folder.work(),
            folder.cache(),
            folder.files(),
        ] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&path)?;
        }
        // Trials of other workers on this machine must not see it.
        datamill_host::note_folder(&folder.root);
        Ok(folder)
    }

    /// The state folder that it lies in.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Who this worker is.
    pub fn identity(&self) -> PathBuf {
        self.root.join("identity.json")
    }

    /// What the machine's owner allows.
    pub fn policy(&self) -> PathBuf {
        self.root.join("policy.toml")
    }

    /// The attempt that was taken and has no report yet.
    pub fn journal(&self) -> PathBuf {
        self.root.join("journal.json")
    }

    /// The newest orders that were seen.
    pub fn seen(&self) -> PathBuf {
        self.root.join("seen.json")
    }

    /// Reports that wait for their receipts.
    pub fn spool(&self) -> PathBuf {
        self.root.join("spool")
    }

    /// Folders of attempts while they are made.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Unpacked packages and builds.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Files as they came from the coordinator.
    pub fn files(&self) -> PathBuf {
        self.cache().join("files")
    }

    /// Throws away what can be fetched or built again.
    pub fn make_room(&self) {
        for name in ["files", "builds", "packages", "folders"] {
            fs::remove_dir_all(self.cache().join(name)).ok();
        }
        fs::create_dir_all(self.files()).ok();
    }

    /// Takes the folder for this process; none when another worker has it and keeps it.
    pub fn lock(&self) -> io::Result<Option<File>> {
        let deadline = Instant::now() + SURVIVORS_END_WITHIN;
        loop {
            let taken = self.try_lock()?;
            if taken.is_some() || Instant::now() >= deadline {
                return Ok(taken);
            }
            sleep(Duration::from_millis(20));
        }
    }

    fn try_lock(&self) -> io::Result<Option<File>> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.root.join("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
