//! A world that a process has entered.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use datamill_probe::{Confinement, Family};
use serde::{Deserialize, Serialize};

use super::confined::{Confining, give};
use crate::resources::{Members, Resources, ScriptBounds};

/// Where programs are looked for, behind the compiler wrappers.
pub const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

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
            Some(confining) if confining.owner() != 0 => give(path, confining.owner()),
            _ => Ok(()),
        }
    }

    /// The bounds of a script in it, which may fill `disk_bytes` of the disk, 0 for what is good for it.
    pub fn script_bounds(&self, whose: Members, disk_bytes: u64) -> Option<ScriptBounds<'_>> {
        let disk = (!self.in_memory).then_some((&self.space, disk_bytes));
        let resources = self.resources.as_deref();
        resources.map(|resources| ScriptBounds::new(resources, whose, disk))
    }

    /// Folder of the package that runs beside `run.sh`.
    pub fn background(&self) -> PathBuf {
        self.tools.join(BACKGROUND)
    }
}

/// Name, in the folder of the worker's own, of the folder with the background package.
pub const BACKGROUND: &str = "background";

/// Opens a package's `run.sh`; the folder of a factor, which has none, gets an empty file.
pub fn open_run_script(path: &Path) -> std::io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => File::open("/dev/null"),
        opened => opened,
    }
}
