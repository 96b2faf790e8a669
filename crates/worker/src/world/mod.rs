//! The trial's private world: what the package sees as the machine, thrown away afterwards.

mod confined;
mod copy;
mod covers;
mod devices;
mod enclosure;
mod layers;
mod loop_device;
mod mounts;
mod owning;
mod plain;
mod root_filesystem;
mod showing;
mod sight;
mod skeleton;
mod stacked;
mod stage;
mod working_directory;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use datamill_probe::{Confinement, Family};
use datamill_protocol::{Failure, FailureKind, IsolationKind, Needs, Phase};
use serde::{Deserialize, Serialize};

use confined::Confining;
pub use confined::{TrialIdentity, do_confined, open_confined};
pub use copy::copy_tree;
pub use enclosure::{Companion, EncloseError, enclose, enclose_within};
pub use loop_device::detach_abandoned;
pub use mounts::{bind_read_only, bind_tree};
pub use plain::{clear_scratch, remove_scratch};
pub use root_filesystem::{RootFilesystem, filesystem_of};
pub use sight::{Sight, explain_folders};
pub use stacked::{ROOT_LAYER, impossible_failure};

use crate::resources::Resources;
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

/// How far a trial was kept apart from the host, for its record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldFacts {
    /// Id of the host that the scripts ran as; absent where they ran as the worker's user.
    pub owner: Option<u32>,
    /// Places of the host that were not shown.
    pub covered: u32,
    /// What this kind of world usually stops and did not here, one sentence each.
    pub gaps: Vec<String>,
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

/// Where the changes that a package makes to its world go.
#[derive(Clone, Copy)]
pub enum Changes<'a> {
    /// Into memory, at most so many bytes; 0 leaves the bound to the kernel.
    Memory(u64),
    /// Into a folder on the disk, to become the layers of a shared build.
    Disk(&'a Path),
}

/// A world that this process has entered.
pub struct World {
    /// Folder that the package is unpacked in, as this process sees it.
    pub root: PathBuf,
    /// Folder that `run.sh` is started in: the same one, maybe by a longer path.
    pub directory: PathBuf,
    /// Whether `run.sh` leads a session of its own, or shares that of this process.
    pub own_session: bool,
    /// Names at the root that are the host's or the worker's.
    pub foreign: BTreeSet<OsString>,
    /// Files and folders of the package in folders of the host, relative to the root.
    pub places: Vec<PathBuf>,
    /// The package's `run.sh` in the layer that shows it.
    pub run_script: File,
    /// The kernel's switch that drops its caches, if it is going to be needed.
    pub caches: Option<File>,
    /// Folder of the worker's own binary and compiler wrappers, as this process sees it.
    pub tools: PathBuf,
    /// How left processes are found.
    pub family: Family,
    /// File on the file system that receives the package's changes.
    pub space: File,
    /// What its processes may use of the host; absent for what is no package.
    pub resources: Option<Rc<Resources>>,
    /// Whether changes to it go to memory that is its own, rather than to a disk.
    pub in_memory: bool,
    /// Things worth knowing about the world.
    pub notices: Vec<String>,
    /// How far it is apart from the host.
    pub facts: WorldFacts,
    /// What confines the package's processes; absent where nothing does.
    pub confining: Option<Confining>,
}

impl World {
    /// What the package's processes are launched with.
    pub fn confinement(&self) -> std::io::Result<Option<&Confinement>> {
        self.confining
            .as_ref()
            .map(Confining::confinement)
            .transpose()
    }

    /// User to whom files belong that this process makes for the package, if it is another.
    pub fn give(&self, path: &Path) -> std::io::Result<()> {
        match &self.confining {
            Some(confining) if confining.owner() != 0 => confined::give(path, confining.owner()),
            _ => Ok(()),
        }
    }

    /// Folder of the package that runs beside `run.sh`.
    pub fn background(&self) -> PathBuf {
        self.tools.join(BACKGROUND)
    }
}

/// Name, in the folder of the worker's own, of the folder with the background package.
const BACKGROUND: &str = "background";

/// Opens a package's `run.sh`; the folder of a factor, which has none, gets an empty file.
fn open_run_script(path: &Path) -> std::io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => File::open("/dev/null"),
        opened => opened,
    }
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

/// Makes the world and enters it; this process must be enclosed for the same kind.
pub fn enter_world(kind: IsolationKind, request: &WorldRequest<'_>) -> Result<World, WorldError> {
    match kind {
        IsolationKind::Confined | IsolationKind::UserNamespace | IsolationKind::Overlay => {
            stacked::enter(request, kind)
        }
        IsolationKind::Plain => plain::enter(request),
        IsolationKind::Guest => Err(WorldError::Impossible(
            "a guest is no world of the host".to_owned(),
        )),
    }
}

/// Opens the switch of the caches, which the world itself shows read-only.
fn open_caches(settings: &WorldSettings<'_>) -> Result<Option<File>, WorldError> {
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
fn factor_failed(name: &str, cause: impl Display) -> WorldError {
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
