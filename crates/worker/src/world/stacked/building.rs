//! A stacked world in the making.

use std::io;
use std::path::{Path, PathBuf};

use datamill_protocol::{IsolationKind, Phase};

use crate::trouble::{disk_full, is_full};
use crate::world::confined::TrialIdentity;
use crate::world::covers::{Cover, ShownFolder};
use crate::world::mounts::HostMount;
use crate::world::request::{WorldError, WorldRequest};

/// Place of the worker's own files in a stacked world.
pub const TOOLS: &str = "/.datamill";

/// Name of the layer of the root.
pub const ROOT_LAYER: &str = "%2F";

/// A stacked world in the making.
pub(super) struct Building<'a> {
    pub(super) request: &'a WorldRequest<'a>,
    pub(super) kind: IsolationKind,
    /// The ids that the trial has on the host; absent where they are those of the worker.
    pub(super) identity: Option<&'a TrialIdentity>,
    /// The folder above that of the changes as the trial's ids own it, where it is not on the stage.
    pub(super) changes: Option<PathBuf>,
    /// Where package and shared build lie on the host.
    pub(super) origins: Vec<PathBuf>,
    /// What of the host is not shown.
    pub(super) covers: Vec<Cover>,
    /// What of that is shown because the trial asked for it.
    pub(super) folders: Vec<ShownFolder>,
    /// Places that are shown by layers of their own.
    pub(super) places: Vec<PathBuf>,
    /// A tmpfs on the scratch folder, seen by this process and its children only.
    pub(super) stage: PathBuf,
    /// Folder of the private layers: on the stage, or on a file system of the trial's own.
    pub(super) private: PathBuf,
    /// Root of the package, or of its copy on that file system.
    pub(super) package: PathBuf,
    /// Layers of a shared build, or their copy.
    pub(super) build: Option<PathBuf>,
    pub(super) mounts: Vec<HostMount>,
    pub(super) notices: Vec<String>,
    /// What this kind of world usually stops and does not here.
    pub(super) gaps: Vec<String>,
}

pub(super) fn below(world: &Path, place: &Path) -> PathBuf {
    world.join(place.strip_prefix("/").unwrap_or(place))
}

pub(super) fn impossible_at(place: &Path) -> impl FnOnce(io::Error) -> WorldError {
    impossible(format!("stacking on {}", place.display()))
}

pub(super) fn impossible(doing: impl Into<String>) -> impl FnOnce(io::Error) -> WorldError {
    let doing = doing.into();
    move |error| {
        if is_full(&error) {
            WorldError::Failed(disk_full(Phase::Isolate, format!("{doing}: {error}")))
        } else {
            WorldError::Impossible(format!("{doing}: {error}"))
        }
    }
}
