//! Worlds made of overlays over the host's root, as root or in a user namespace.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use datamill_probe::Family;
use datamill_protocol::{FailureKind, IsolationKind, Phase};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{chdir, chroot, pivot_root};

use super::confined::{FIRST_ID, TrialIdentity, bring_loopback_up};
use super::covers::{Cover, CoverSearch, ShownFolder, find_folders, make_way};
use super::layers::{Layer, Shown, mounted_files, own_places, plan_mounted_layers};
use super::mounts::{HostMount, bind_read_only, bind_tree, make_read_only, mount_overlay};
use super::skeleton::make_skeleton;
use super::working_directory::make_directory;
use super::{
    Changes, World, WorldError, WorldFacts, WorldRequest, copy_tree, factor_failed, open_caches,
    open_run_script,
};
use crate::package::{RUN, check_against_host};
use crate::trouble::{disk_full, failure, is_full};

/// Place of the worker's own files in a stacked world.
pub const TOOLS: &str = "/.datamill";

/// Name of the layer of the root.
pub const ROOT_LAYER: &str = "%2F";

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

    fn show_layers(&mut self, layers: Vec<Layer>, world: &Path) -> Result<(), WorldError> {
        for layer in layers {
            let at = below(world, &layer.at);
            let shown = match layer.shown {
                Shown::ReadOnly => bind_read_only(&layer.at, &at)
                    .and_then(|()| self.cover_by_mounts(&layer.at, world))
                    .map_err(impossible_at(&layer.at)),
                Shown::Overlaid => self.stack(&layer, &layer.at, &at, self.request.changes),
            };
            match shown {
                Ok(()) => {}
                Err(WorldError::Impossible(cause)) => {
                    self.show_as_it_is(&layer.at, &at, &cause);
                    self.cover_by_mounts(&layer.at, world)
                        .map_err(impossible("covering what the trial must not see"))?;
                }
                Err(other) => return Err(other),
            }
        }
        if self.kind != IsolationKind::UserNamespace {
            for file in mounted_files(&self.mounts) {
                if self.is_covered(&file) || !is_open_to_all(&file) {
                    continue;
                }
                // The copy goes to the private layer; what cannot be copied shows as below the mount.
                fs::copy(&file, below(world, &file)).ok();
            }
        }
        Ok(())
    }

    /// Shows a folder that cannot be stacked on read-only, or leaves it empty.
    fn show_as_it_is(&mut self, folder: &Path, at: &Path, cause: &str) {
        let how = match bind_tree(folder, at).and_then(|()| make_read_only(at)) {
            Ok(()) => "is shown read-only",
            Err(_) => "is not shown",
        };
        self.notices.push(format!(
            "The host's {} {how} in the private world: {cause}.",
            folder.display()
        ));
    }

    /// Puts a private layer, the build's and the package's part of this place over a folder.
    pub(super) fn stack(
        &self,
        layer: &Layer,
        base: &Path,
        at: &Path,
        changes: Changes<'_>,
    ) -> Result<(), WorldError> {
        let name = layer.name();
        let private = self.private.join(&name);
        let (upper, work) = match changes {
            Changes::Memory(_) => (private.join("upper"), private.join("work")),
            Changes::Disk(layers) => (
                layers.join(&name),
                layers.with_extension("work").join(&name),
            ),
        };
        for folder in [&upper, &work] {
            fs::create_dir_all(folder).map_err(impossible("making a private layer"))?;
        }
        let (upper, work) = match (&self.changes, changes) {
            (Some(owned), Changes::Disk(layers)) => {
                let layers = owned.join(layers.file_name().unwrap_or_default());
                (
                    layers.join(&name),
                    layers.with_extension("work").join(&name),
                )
            }
            _ => (upper, work),
        };
        let original = base;
        let owned = self.as_owned(base, &name);
        let base = owned.as_path();
        take_attributes(base, &upper).map_err(impossible("making a private layer"))?;
        let inner = layer.at.strip_prefix("/").unwrap_or(&layer.at);
        let package = Some(self.package.join(inner)).filter(|path| is_real_folder(path));
        // A build brings these attributes, or those that its setup.sh gave, in its layer.
        if let (Some(package), None) = (&package, &self.build) {
            keep_attributes(package, base, &upper).map_err(impossible("making a private layer"))?;
        }
        let mut lowers: Vec<PathBuf> = Vec::new();
        lowers.extend(
            self.build
                .as_ref()
                .map(|build| build.join(&name))
                .filter(|path| path.is_dir()),
        );
        lowers.extend(package);
        let nested =
            !lowers.is_empty() && (self.origins.iter()).any(|lower| is_inside(lower, original));
        let covers = self
            .cover_layer(&layer.at, base)
            .map_err(impossible("covering what the trial must not see"))?;
        lowers.extend(covers);
        lowers.push(if nested {
            self.stack_base(&name, base)?
        } else {
            base.to_owned()
        });
        let mounted = self.mount(&lowers, &upper, &work, at);
        let mounted = match mounted {
            Err(error) if nested && error.raw_os_error() == Some(libc::EINVAL) => {
                // The host's root is an overlay itself and the kernel stacks no deeper.
                let copied = self.copy_lowers(&name, &lowers[..lowers.len() - 1], base)?;
                self.mount(&copied, &upper, &work, at)
            }
            other => other,
        };
        match (mounted, changes) {
            (Ok(()), _) => Ok(()),
            (Err(error), Changes::Memory(_)) => Err(impossible_at(&layer.at)(error)),
            (Err(error), Changes::Disk(_)) => {
                // Memory tells whether it is the disk or the folder that cannot be stacked.
                self.stack(layer, base, at, Changes::Memory(0))?;
                Err(WorldError::NoDiskLayer(format!(
                    "stacking on {}: {error}",
                    layer.at.display()
                )))
            }
        }
    }

    /// An overlay of the folder alone. Overlayfs refuses layers that contain one another, and the
    /// cache with the package usually lies below the root; as an overlay, the root does not contain it.
    fn stack_base(&self, name: &str, base: &Path) -> Result<PathBuf, WorldError> {
        let folder = self.stage.join("base").join(name);
        let [upper, work, at] = ["upper", "work", "at"].map(|part| folder.join(part));
        if at.exists() {
            return Ok(at);
        }
        for part in [&upper, &work, &at] {
            fs::create_dir_all(part).map_err(impossible("making a private layer"))?;
        }
        self.mount(&[base.to_owned()], &upper, &work, &at)
            .map_err(impossible_at(base))?;
        Ok(at)
    }

    fn copy_lowers(
        &self,
        name: &str,
        lowers: &[PathBuf],
        base: &Path,
    ) -> Result<Vec<PathBuf>, WorldError> {
        let mut copied = Vec::new();
        for (index, lower) in lowers.iter().enumerate() {
            let copy = self.stage.join("base").join(format!("{name}.{index}"));
            if !copy.exists() {
                fs::create_dir(&copy)
                    .and_then(|()| copy_tree(lower, &copy))
                    .map_err(impossible("copying the package into memory"))?;
            }
            copied.push(copy);
        }
        copied.push(base.to_owned());
        Ok(copied)
    }

    pub(super) fn mount(
        &self,
        lowers: &[PathBuf],
        upper: &Path,
        work: &Path,
        at: &Path,
    ) -> io::Result<()> {
        let lowers: Vec<&Path> = lowers.iter().map(PathBuf::as_path).collect();
        mount_overlay(&lowers, upper, work, at, self.kind)
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

pub(super) fn below(world: &Path, place: &Path) -> PathBuf {
    world.join(place.strip_prefix("/").unwrap_or(place))
}

/// Gives the top layer the mode and owner of what it covers: they become those of the place.
fn take_attributes(base: &Path, upper: &Path) -> io::Result<()> {
    let data = fs::metadata(base)?;
    // Owners that a user namespace does not know cannot be given there.
    std::os::unix::fs::chown(upper, Some(data.uid()), Some(data.gid())).ok();
    fs::set_permissions(upper, Permissions::from_mode(data.mode() & 0o7777))
}

/// Does the same for every folder that a package and its base both have: of the two, the overlay
/// would show the package's.
fn keep_attributes(package: &Path, base: &Path, upper: &Path) -> io::Result<()> {
    for entry in fs::read_dir(package)? {
        let entry = entry?;
        let [base, upper] = [base, upper].map(|folder| folder.join(entry.file_name()));
        if entry.file_type()?.is_dir() && is_real_folder(&base) {
            fs::create_dir_all(&upper)?;
            keep_attributes(&entry.path(), &base, &upper)?;
            take_attributes(&base, &upper)?;
        }
    }
    Ok(())
}

fn is_open_to_all(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.mode() & 0o004 != 0)
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

/// Whether a folder lies below another one on the same file system.
fn is_inside(folder: &Path, base: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|data| data.dev()).ok();
    folder.starts_with(base) && device(folder) == device(base)
}

fn impossible_at(place: &Path) -> impl FnOnce(io::Error) -> WorldError {
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

/// The failure of a kind of world that was asked for and is impossible.
pub fn impossible_failure(reason: &str) -> datamill_protocol::Failure {
    failure(
        Phase::Isolate,
        FailureKind::Isolation,
        format!("The private world could not be made: {reason}."),
        "Ask for isolation = \"auto\", or give the worker what the reason names.",
    )
}
