//! What a stacked world shows besides files: the kernel's folders, the worker, the background package.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use datamill_protocol::{IsolationKind, Needs};

use super::building::{Building, TOOLS, below};
use super::devices::{make_devices, mount_private_parts, show_asked_devices, show_mounted_devices};
use super::layers::{Layer, Shown};
use crate::world::copy::copy_tree;
use crate::world::entered::BACKGROUND;
use crate::world::mounts::{
    bind_read_only, bind_tree, make_read_only, mount_devices_tree, mount_processes,
    protect_processes,
};
use crate::world::request::Changes;

impl Building<'_> {
    /// Shows `/proc`, `/sys` and `/dev`.
    pub(super) fn show_kernel_folders(&mut self, world: &Path, needs: &Needs) -> io::Result<()> {
        let [proc, sys, dev] = ["proc", "sys", "dev"].map(|name| world.join(name));
        if let Err(error) = mount_processes(&proc) {
            bind_tree(Path::new("/proc"), &proc)?;
            self.notices.push(format!(
                "The private world shows the host's processes: {error}."
            ));
        }
        protect_processes(&proc)?;
        // One made anew shows the devices of this network namespace, and nothing mounted below it.
        if self.kind != IsolationKind::Confined || mount_devices_tree(&sys).is_err() {
            bind_tree(Path::new("/sys"), &sys)?;
            make_read_only(&sys)?;
        }
        self.show_devices(&dev, needs)
    }

    fn show_devices(&mut self, dev: &Path, needs: &Needs) -> io::Result<()> {
        let layer = Layer {
            at: PathBuf::from("/dev"),
            shown: Shown::Overlaid,
        };
        let own = Changes::Memory(0);
        // In a user namespace an overlay opens no devices.
        if self.kind != IsolationKind::Overlay
            || self.stack(&layer, Path::new("/dev"), dev, own).is_err()
        {
            make_devices(&self.stage.join("dev"), dev)?;
            self.give(dev)?;
            let asked =
                show_asked_devices(&needs.devices, &self.stage, dev, self.identity.is_some());
            self.gaps.extend(asked?);
        } else {
            show_mounted_devices(&self.mounts, dev)?;
        }
        // On the stage, so that one bound holds for all that the trial keeps in memory.
        mount_private_parts(&self.mounts, &self.stage.join("shm"), dev)
    }

    /// Shows the worker and its folder.
    pub(super) fn show_tools(&self, world: &Path) -> io::Result<()> {
        let tools = self.stage.join("tools");
        let place = below(world, Path::new(TOOLS));
        fs::create_dir_all(&place)?;
        self.give(&tools)?;
        bind_tree(&tools, &place)?;
        let binary = place.join("datamill-worker");
        File::create(&binary)?;
        // Read-only, because it is the host's own.
        bind_read_only(self.request.worker, &binary)
    }

    /// Lays the background package, below a private layer, into the worker's folder.
    pub(super) fn show_background(&self, world: &Path) -> io::Result<()> {
        let Some(package) = self.request.settings.background else {
            return Ok(());
        };
        let place = below(world, Path::new(TOOLS)).join(BACKGROUND);
        let folder = self.stage.join("memory").join(BACKGROUND);
        let [upper, work] = ["upper", "work"].map(|part| folder.join(part));
        for folder in [&place, &upper, &work] {
            fs::create_dir_all(folder)?;
            self.give(folder)?;
        }
        let package = &self.as_packages(package, BACKGROUND)?;
        self.mount(&[package.to_owned()], &upper, &work, &place)
            .or_else(|_| copy_tree(package, &place))
    }
}
