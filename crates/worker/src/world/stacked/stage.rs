//! Where a stacked world is put together, and where its changes and maybe its package lie.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use datamill_protocol::{IsolationKind, Phase};
use rustix::fs::syncfs;
use rustix::mount::{MountPropagationFlags, mount_change};

use super::building::{Building, impossible};
use crate::trouble::{disk_full, is_full};
use crate::world::copy::copy_tree;
use crate::world::mounts::{mount_memory, read_host_mounts};
use crate::world::request::{Changes, RootFilesystem, WorldError, factor_failed};
use crate::world::root_filesystem::{leave_free, make_image, tree_bytes};

impl Building<'_> {
    /// Makes the stage and the file system that the trial wants for its changes.
    pub(super) fn make_stage(&mut self) -> Result<(), WorldError> {
        let preparing = || impossible("preparing private mounts");
        self.seclude_mounts().map_err(preparing())?;
        let mut bytes = match self.request.changes {
            Changes::Memory(bytes) => bytes,
            Changes::Disk(_) => 0,
        };
        let filesystem = self.request.settings.root_filesystem;
        let copies = self.request.settings.copies_package();
        let copied = if copies { self.package_bytes()? } else { 0 };
        let image = match filesystem {
            Some(RootFilesystem::Image(_)) if self.kind == IsolationKind::UserNamespace => {
                let cause = "an image cannot be mounted in a user namespace";
                return Err(factor_failed("root_filesystem", cause));
            }
            Some(RootFilesystem::Image(kind)) => {
                Some(make_image(kind, &self.stage, bytes, copied)?)
            }
            _ => None,
        };
        if bytes > 0 && filesystem == Some(RootFilesystem::Tmpfs) {
            bytes += copied;
        }
        self.mount_stage(bytes).map_err(preparing())?;
        self.take_ownership().map_err(preparing())?;
        if let Some(image) = image {
            let root = self.stage.join("root");
            self.private = root.join("changes");
            fs::create_dir(&root)
                .and_then(|()| image.mount(&root))
                .and_then(|()| fs::create_dir(&self.private))
                .map_err(|error| factor_failed("root_filesystem", error))?;
        }
        if copies {
            self.copy_package().map_err(copying)?;
        }
        if let Some(RootFilesystem::Image(kind)) = filesystem
            && bytes > 0
        {
            leave_free(kind, &self.stage.join("root"), bytes)
                .map_err(|error| factor_failed("root_filesystem", error))?;
        }
        Ok(())
    }

    fn seclude_mounts(&mut self) -> io::Result<()> {
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )?;
        self.mounts = read_host_mounts()?;
        Ok(())
    }

    fn mount_stage(&self, bytes: u64) -> io::Result<()> {
        mount_memory(&self.stage, bytes, 0o755)?;
        for folder in ["world", "skeleton", "tools", "memory", "base", "dev", "shm"] {
            fs::create_dir(self.stage.join(folder))?;
        }
        fs::set_permissions(self.stage.join("shm"), Permissions::from_mode(0o1777))
    }

    fn package_bytes(&self) -> Result<u64, WorldError> {
        let mut bytes = 0;
        for tree in [Some(&self.package), self.build.as_ref()]
            .into_iter()
            .flatten()
        {
            bytes += tree_bytes(tree).map_err(copying)?;
        }
        Ok(bytes)
    }

    /// Puts package and shared build where the trial's changes go, so that what is measured lies there.
    fn copy_package(&mut self) -> io::Result<()> {
        let place = self.private.with_file_name("copies");
        let copy = |name: &str, tree: &Path| {
            let target = place.join(name);
            fs::create_dir_all(&target)?;
            copy_tree(tree, &target).map(|()| target)
        };
        self.package = copy("package", &self.package)?;
        self.build = match &self.build {
            Some(build) => Some(copy("build", build)?),
            None => None,
        };
        // What is still to be written would be written while the trial runs.
        Ok(syncfs(File::open(&place)?)?)
    }
}

fn copying(error: io::Error) -> WorldError {
    if is_full(&error) {
        let message = format!("copying the package for root_filesystem: {error}");
        WorldError::Failed(disk_full(Phase::Isolate, message))
    } else {
        factor_failed("root_filesystem", format!("copying the package: {error}"))
    }
}
