//! What a world is asked for, and why there may be none.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use datamill_protocol::{Failure, FailureKind, Needs, Phase};

use super::confined::TrialIdentity;
use crate::trouble::failure;

/// Name, in the plain world's scratch folder and in its stored builds, of the package's private copy.
pub const PLAIN_TREE: &str = "tree";

/// What a world is made of.
pub struct WorldRequest<'a> {
    /// Root of the unpacked package.
    pub package: &'a Path,
    /// Layers of a shared build to lay over the package.
    pub build: Option<&'a Path>,
    /// Where changes go.
    pub changes: Changes<'a>,
    /// Folder of this trial alone.
    pub scratch: &'a Path,
    /// Binary of the worker.
    pub worker: &'a Path,
    /// What the trial's factors want of it.
    pub settings: WorldSettings<'a>,
    /// What it keeps from the host.
    pub confines: Confines<'a>,
}

/// What of the host a trial gets and does not get.
#[derive(Clone, Copy, Default)]
pub struct Confines<'a> {
    /// The ids that the trial has on the host, if they are its own.
    pub identity: Option<&'a TrialIdentity>,
    /// What its package needs; absent for nothing.
    pub needs: Option<&'a Needs>,
    /// Places that it must not see, besides those that no trial sees.
    pub covered: &'a [PathBuf],
}

/// What the factors of a trial want of its world.
#[derive(Clone, Copy, Default)]
pub struct WorldSettings<'a> {
    /// Length of the path that run.sh is started in; absent leaves it in the package's place.
    pub directory_length: Option<usize>,
    /// File system of the package and of the changes; absent leaves both where they are.
    pub root_filesystem: Option<RootFilesystem>,
    /// Whether the kernel is going to be asked to drop its caches.
    pub drops_caches: bool,
    /// Root of the unpacked package that runs beside `run.sh`.
    pub background: Option<&'a Path>,
    /// Whether that package shares the session of `run.sh`.
    pub shares_session: bool,
}

impl WorldSettings<'_> {
    /// Whether the package and its shared build are copied for the trial, not shown from where they are kept.
    pub fn copies_package(&self) -> bool {
        !matches!(self.root_filesystem, None | Some(RootFilesystem::Memory))
    }
}

/// Levels of the factor `root_filesystem`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootFilesystem {
    /// The package is shown from the worker's cache; changes go into memory.
    Memory,
    /// Package and changes in a file system in memory.
    Tmpfs,
    /// Package and changes in an image of this type, in the trial's scratch folder.
    Image(&'static str),
}

impl RootFilesystem {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Memory,
        Self::Tmpfs,
        Self::Image("ext4"),
        Self::Image("xfs"),
        Self::Image("btrfs"),
    ];

    /// The level's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Tmpfs => "tmpfs",
            Self::Image(kind) => kind,
        }
    }
}

/// Where the changes that a package makes to its world go.
#[derive(Clone, Copy)]
pub enum Changes<'a> {
    /// Into memory, at most so many bytes; 0 leaves the bound to the kernel.
    Memory(u64),
    /// Into a folder on the disk, to become the layers of a shared build.
    Disk(&'a Path),
}

/// Why there is no world.
pub enum WorldError {
    /// This host does not allow this kind of world.
    Impossible(String),
    /// The disk cannot receive the changes; memory might.
    NoDiskLayer(String),
    /// Another kind of world would not help.
    Failed(Failure),
}

/// Opens the switch of the caches, which the world itself shows read-only.
pub fn open_caches(settings: &WorldSettings<'_>) -> Result<Option<File>, WorldError> {
    if !settings.drops_caches {
        return Ok(None);
    }
    match File::options().write(true).open(DROP_CACHES) {
        Ok(file) => Ok(Some(file)),
        Err(error) => Err(factor_failed(
            "drop_caches",
            format!("opening {DROP_CACHES}: {error}"),
        )),
    }
}

/// The kernel's switch that drops its caches.
pub const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// The trial fails because one of its factors cannot be set.
pub fn factor_failed(name: &str, cause: impl Display) -> WorldError {
    WorldError::Failed(factor_failure(name, cause))
}

/// The failure of a factor that cannot be set.
pub fn factor_failure(name: &str, cause: impl Display) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Factor,
        format!("The factor {name} could not be set: {cause}."),
        "Leave the level out of the experiment, or give this host what the reason names; `datamill factors` lists what it offers.",
    )
}

/// The failure of a kind of world that was asked for and is impossible.
pub fn impossible_failure(reason: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Isolation,
        format!("The private world could not be made: {reason}."),
        "Ask for isolation = \"auto\", or give the worker what the reason names.",
    )
}

/// The worker's binary, as a path that can be shown inside a world.
pub fn own_binary() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    if path.is_file() {
        Ok(path)
    } else {
        Err(io::Error::other("it was replaced while it ran"))
    }
}
