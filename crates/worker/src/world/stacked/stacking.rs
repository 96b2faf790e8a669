//! Overlays over the folders of the host, one for each place that has a layer.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use datamill_protocol::IsolationKind;

use super::building::{Building, below, impossible, impossible_at};
use super::layers::{Layer, Shown, mounted_files};
use crate::world::copy::copy_tree;
use crate::world::mounts::{bind_read_only, bind_tree, make_read_only, mount_overlay};
use crate::world::request::{Changes, WorldError};

impl Building<'_> {
    pub(super) fn show_layers(
        &mut self,
        layers: Vec<Layer>,
        world: &Path,
    ) -> Result<(), WorldError> {
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
