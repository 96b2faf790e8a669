//! The trial's private world: what the package sees as the machine, thrown away afterwards.

mod copy;
mod devices;
mod enclosure;
mod layers;
mod mounts;
mod plain;
mod skeleton;
mod stacked;

use std::fs::File;
use std::path::{Path, PathBuf};

use datamill_probe::Family;
use datamill_protocol::{Failure, IsolationKind};

pub use copy::copy_tree;
pub use enclosure::{EncloseError, enclose};
pub use plain::{clear_scratch, remove_scratch};
pub use stacked::impossible_failure;

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
    /// Folder of the worker's own binary and compiler wrappers, as this process sees it.
    pub tools: PathBuf,
    /// How left processes are found.
    pub family: Family,
    /// File on the file system that receives the package's changes.
    pub space: File,
    /// Things worth knowing about the world.
    pub notices: Vec<String>,
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
        IsolationKind::Overlay => stacked::enter(request, false),
        IsolationKind::UserNamespace => stacked::enter(request, true),
        IsolationKind::Plain => plain::enter(request),
    }
}
