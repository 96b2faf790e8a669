//! Whose the parts of a stacked world are, and what of the host is missing from them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use datamill_protocol::{IsolationKind, Needs};

use super::building::{Building, below, impossible};
use crate::world::confined::{Confining, FIRST_ID, folder_of_mount, give};
use crate::world::covers::{CoveredPlace, make_cover_layer, mount_cover};
use crate::world::request::{Changes, WorldError};

impl Building<'_> {
    /// What confines the package's processes; nothing in a world whose package is root of the host.
    pub(super) fn plan_confinement(&self, needs: &Needs) -> Result<Option<Confining>, WorldError> {
        if self.kind == IsolationKind::Overlay {
            return Ok(None);
        }
        let planned = Confining::plan(self.identity, needs);
        planned
            .map(Some)
            .map_err(impossible("confining the package"))
    }

    /// Shows package, build and changes so that they are the trial's own; where the kernel or a file
    /// system does not allow it, the trial's root stays the host's root, without its rights.
    pub(super) fn take_ownership(&mut self) -> io::Result<()> {
        let Some(identity) = self.identity else {
            return Ok(());
        };
        let stage = self.stage.clone();
        let place = |name: &str| folder_of_mount(&stage.join("owned"), name);
        let owned = || -> io::Result<_> {
            identity.show_base(Path::new("/"), &place(ROOT)?)?;
            let package = place("package")?;
            identity.show_own(&self.package, &package)?;
            let build = match &self.build {
                None => None,
                Some(build) => {
                    let at = place("build")?;
                    identity.show_own(build, &at)?;
                    Some(at)
                }
            };
            let changes = match self.request.changes {
                Changes::Disk(layers) if layers.parent().is_some() => {
                    let at = place("changes")?;
                    identity.show_changes(layers.parent().unwrap_or(layers), &at)?;
                    Some(at)
                }
                _ => None,
            };
            Ok((package, build, changes))
        };
        match owned() {
            Ok((package, build, changes)) => {
                (self.package, self.build, self.changes) = (package, build, changes);
            }
            Err(error) => {
                self.identity = None;
                self.gaps.push(format!(
                    "The trial's root is the host's user root, although without its rights: files cannot be shown with other owners here: {error}."
                ));
            }
        }
        Ok(())
    }

    /// A folder of the host with owners that the trial knows; the folder itself where that is impossible.
    pub(super) fn as_owned(&self, base: &Path, name: &str) -> PathBuf {
        let Some(identity) = self.identity.filter(|_| base.is_absolute()) else {
            return base.to_owned();
        };
        let owned = self.stage.join("owned");
        if base == Path::new("/") {
            return owned.join(ROOT);
        }
        let at = owned.join(name);
        if at.exists() {
            return at;
        }
        let shown = folder_of_mount(&owned, name).and_then(|at| {
            match self
                .folders
                .iter()
                .find(|folder| base.starts_with(&folder.at))
            {
                Some(folder) => identity.show_folder(&folder.at, base, &at)?,
                None => identity.show_base(base, &at)?,
            }
            Ok(at)
        });
        shown.unwrap_or_else(|_| base.to_owned())
    }

    /// The same of a folder with the package's own files.
    pub(super) fn as_packages(&self, folder: &Path, name: &str) -> io::Result<PathBuf> {
        let Some(identity) = self.identity else {
            return Ok(folder.to_owned());
        };
        let at = folder_of_mount(&self.stage.join("owned"), name)?;
        identity.show_own(folder, &at)?;
        Ok(at)
    }

    /// Gives what this process made in the world to the package's root.
    pub(super) fn give(&self, path: &Path) -> io::Result<()> {
        self.identity.map_or(Ok(()), |_| give(path, FIRST_ID))
    }

    /// Whether nothing of a place is shown.
    pub(super) fn is_covered(&self, place: &Path) -> bool {
        let folder = self
            .folders
            .iter()
            .find(|folder| place.starts_with(&folder.at));
        self.covers.iter().any(|cover| {
            let is_asked_for = folder.is_some_and(|folder| folder.at.starts_with(&cover.at));
            place.starts_with(&cover.at) && !is_asked_for
        })
    }

    /// A layer that covers what lies in a place, if anything in it is covered.
    pub(super) fn cover_layer(&self, at: &Path, base: &Path) -> io::Result<Option<PathBuf>> {
        let name = at.to_string_lossy().replace('/', "%");
        let target = self.stage.join("covers").join(name);
        if target.exists() {
            return Ok(Some(target));
        }
        fs::create_dir_all(&target)?;
        let mounts = self.mounts.iter().map(|mount| &mount.at);
        let shown = mounts.filter(|at| !self.is_covered(at));
        let others: Vec<PathBuf> = shown.chain(&self.places).cloned().collect();
        let place = CoveredPlace {
            at,
            base,
            others: &others,
            owner: self.identity.map_or(0, |_| FIRST_ID),
            in_user_namespace: self.kind == IsolationKind::UserNamespace,
        };
        let made = make_cover_layer(&self.covers, &self.folders, &place, &target)?;
        Ok(made.then_some(target))
    }

    /// Covers what lies in a place that is shown without an overlay.
    pub(super) fn cover_by_mounts(&self, at: &Path, world: &Path) -> io::Result<()> {
        for cover in self.covers.iter().filter(|cover| cover.at.starts_with(at)) {
            let place = below(world, &cover.at);
            if fs::symlink_metadata(&place).is_ok() {
                mount_cover(&place)?;
            }
        }
        Ok(())
    }
}

/// Name, on the stage, of the host's root with the trial's owners.
const ROOT: &str = "root of the host";
