//! Worlds made of overlays over the host's root, as root or in a user namespace.

mod building;
mod devices;
mod layers;
mod owning;
mod showing;
mod skeleton;
mod stacking;
mod stage;
mod working_directory;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use datamill_probe::Family;
use datamill_protocol::{FailureKind, IsolationKind, Phase};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{chdir, chroot, pivot_root};

pub use building::ROOT_LAYER;

use crate::package::{RUN, check_against_host};
use crate::trouble::failure;
use crate::world::confined::{FIRST_ID, bring_loopback_up};
use crate::world::covers::{CoverSearch, find_folders, make_way};
use crate::world::entered::{World, WorldFacts, open_run_script};
use crate::world::request::{Changes, WorldError, WorldRequest, factor_failed, open_caches};
use building::{Building, TOOLS, impossible};
use layers::{Layer, Shown, own_places, plan_mounted_layers};
use skeleton::make_skeleton;
use working_directory::make_directory;

/// Builds the world on the trial's scratch folder and makes it this process' root.
pub fn enter(request: &WorldRequest<'_>, kind: IsolationKind) -> Result<World, WorldError> {
    check_against_host(request.package, Path::new("/")).map_err(WorldError::Failed)?;
    let caches = open_caches(&request.settings)?;
    let needs = request.confines.needs.cloned().unwrap_or_default();
    let mut building = Building {
        request,
        kind,
        identity: request.confines.identity,
        changes: None,
        origins: vec![request.package.to_owned()],
        covers: Vec::new(),
        folders: Vec::new(),
        places: Vec::new(),
        stage: request.scratch.to_owned(),
        private: request.scratch.join("memory"),
        package: request.package.to_owned(),
        build: request.build.map(Path::to_owned),
        mounts: Vec::new(),
        notices: Vec::new(),
        gaps: Vec::new(),
    };
    building.origins.extend(building.build.clone());
    let search = CoverSearch::begin();
    building.make_stage()?;
    if !needs.network
        && let Err(error) = bring_loopback_up()
    {
        let gap = format!("The trial's own network has no loopback device: {error}.");
        building.gaps.push(gap);
    }
    building.covers = search.end(request.confines.covered, &building.mounts);
    building.folders = find_folders(&needs.folders, request.confines.covered, &building.mounts)
        .map_err(|cause| WorldError::Failed(unshown_failure(&cause)))?;
    let is_confined = kind == IsolationKind::Confined;
    make_way(&mut building.covers, &building.folders, is_confined);
    let confining = building.plan_confinement(&needs)?;
    let (base, mut layers) = building.plan()?;
    building.add_folders(&mut layers);
    let world = building.stage.join("world");
    let root = Layer {
        at: PathBuf::from("/"),
        shown: Shown::Overlaid,
    };
    building.stack(&root, &base, &world, request.changes)?;
    building.show_layers(layers, &world)?;
    building
        .show_kernel_folders(&world, &needs)
        .map_err(impossible("mounting /proc, /sys and /dev"))?;
    building
        .show_tools(&world)
        .map_err(impossible("showing the worker inside the world"))?;
    building
        .show_background(&world)
        .map_err(impossible("showing the background package"))?;
    let space = match request.changes {
        Changes::Memory(_) => &building.private,
        Changes::Disk(layers) => layers,
    };
    let space = File::open(space).map_err(impossible("opening the private world"))?;
    let run_script = building.open_run_script()?;
    let places =
        own_places(&building.package, Path::new("/")).map_err(impossible("listing the package"))?;
    let mut foreign = names_in(Path::new("/")).map_err(impossible("listing the root"))?;
    move_root(&world).map_err(impossible("entering the private world"))?;
    let root = PathBuf::from("/");
    let directory = match request.settings.directory_length {
        None => root.clone(),
        Some(length) => make_directory(&root, length)
            .map_err(|error| factor_failed("working_directory_length", error))?,
    };
    if let Some(confining) = &confining {
        // Another kind of world is tried where the kernel refuses this one.
        confining
            .confinement()
            .map_err(impossible("locking the world's mounts"))?;
    }
    for own in [Path::new(TOOLS), &directory] {
        foreign.extend(own.iter().nth(1).map(ToOwned::to_owned));
    }
    Ok(World {
        root,
        directory,
        own_session: !request.settings.shares_session,
        foreign,
        places,
        run_script,
        caches,
        tools: PathBuf::from(TOOLS),
        family: Family::PidNamespace,
        space,
        resources: None,
        in_memory: matches!(request.changes, Changes::Memory(_)),
        notices: building.notices,
        facts: WorldFacts {
            owner: building.identity.map(|_| FIRST_ID),
            covered: u32::try_from(building.covers.len()).unwrap_or(u32::MAX),
            gaps: building.gaps,
        },
        confining,
    })
}

impl Building<'_> {
    /// The package's `run.sh` in the layer that shows it, unless this trial's own `setup.sh` replaces it.
    fn open_run_script(&self) -> Result<File, WorldError> {
        let built = self
            .build
            .as_ref()
            .map(|build| build.join(ROOT_LAYER).join(RUN));
        let shown = built
            .filter(|path| path.is_file())
            .unwrap_or_else(|| self.package.join(RUN));
        open_run_script(&shown).map_err(impossible("opening run.sh"))
    }

    /// The folder to stack the root on, and the layers to put on it.
    fn plan(&mut self) -> Result<(PathBuf, Vec<Layer>), WorldError> {
        if self.kind != IsolationKind::UserNamespace {
            return Ok((
                PathBuf::from("/"),
                plan_mounted_layers(&self.mounts, &self.stage),
            ));
        }
        let skeleton = self.stage.join("skeleton");
        let made = make_skeleton(&self.mounts, &self.stage, &skeleton)
            .map_err(impossible("copying the host's root folder"))?;
        if made.left_out > 0 {
            self.notices.push(format!(
                "{} files of the host are not shown in the private world: a user namespace cannot stack on their folders.",
                made.left_out
            ));
        }
        Ok((skeleton, made.layers))
    }

    /// Gives each folder that the trial asked for a layer of its own, in its place among the others.
    fn add_folders(&mut self, layers: &mut Vec<Layer>) {
        layers.retain(|layer| !self.is_covered(&layer.at));
        let folders = self.folders.iter().map(|folder| &folder.at);
        let missing: Vec<PathBuf> = folders
            .filter(|at| layers.iter().all(|layer| layer.at != **at))
            .cloned()
            .collect();
        layers.extend(missing.into_iter().map(|at| Layer {
            at,
            shown: Shown::Overlaid,
        }));
        layers.sort_by(|left, right| left.at.cmp(&right.at));
        self.places = layers.iter().map(|layer| layer.at.clone()).collect();
    }
}

fn names_in(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect()
}

/// Makes `world` the root and lets go of the host's.
fn move_root(world: &Path) -> io::Result<()> {
    chdir(world)?;
    match pivot_root(".", ".") {
        Ok(()) => unmount(".", UnmountFlags::DETACH)?,
        // A host that runs from its initial memory disk cannot exchange its root.
        Err(_) => chroot(".")?,
    }
    Ok(chdir("/")?)
}

/// The failure of a trial that asked for a folder which cannot be shown.
fn unshown_failure(cause: &str) -> datamill_protocol::Failure {
    failure(
        Phase::Isolate,
        FailureKind::BadPackage,
        format!("{}.", capitalised(cause)),
        "Name another folder in folders = [...] of the package, or make this one on the machine.",
    )
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
