//! The root folder of an unprivileged world.
//!
//! In a user namespace the kernel refuses to stack on a folder that has mounts below it, because
//! that would show what they hide. So the root cannot be stacked on as a whole: its skeleton
//! (folders, links, small files) is made anew, and every folder without mounts gets a layer.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::layers::{Layer, Shown, folders_above_mounts, holds_files, is_readable};
use crate::world::mounts::HostMount;

/// Most bytes of single files that are copied into a skeleton; the rest are left out.
const COPIED_BYTES: u64 = 8 << 20;

/// Folders whose content no package can rely on: they start empty, instead of being split into
/// hundreds of layers where somebody has a mount below them.
const EMPTY_FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];

/// A skeleton's layers, outer ones first, and how many files of the host it leaves out.
pub struct Skeleton {
    /// Layers to put on the skeleton.
    pub layers: Vec<Layer>,
    /// Files left out because they are too large together, or not readable.
    pub left_out: u32,
}

/// Makes the skeleton of this host's root in the empty folder `target`.
pub fn make_skeleton(mounts: &[HostMount], hidden: &Path, target: &Path) -> io::Result<Skeleton> {
    let split = folders_above_mounts(mounts);
    let mut skeleton = Skeleton {
        layers: Vec::new(),
        left_out: 0,
    };
    let mut budget = COPIED_BYTES;
    let mut pending = vec![Path::new("/").to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let at = entry.path();
            let made = target.join(at.strip_prefix("/").unwrap_or(&at));
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                symlink(fs::read_link(&at)?, made)?;
            } else if EMPTY_FOLDERS.iter().any(|empty| at == Path::new(empty)) {
                fs::create_dir(&made)?;
                fs::set_permissions(&made, Permissions::from_mode(0o1777))?;
            } else if kind.is_dir() {
                fs::create_dir(made)?;
                let kernels_own = ["/dev", "/proc", "/sys"]
                    .iter()
                    .any(|own| at == Path::new(own));
                let unfit = mounts
                    .iter()
                    .any(|mount| mount.at == at && !holds_files(mount));
                if kernels_own || unfit || at.starts_with(hidden) || !is_readable(&at) {
                    continue;
                }
                if split.contains(&at) {
                    pending.push(at);
                } else {
                    skeleton.layers.push(Layer {
                        at,
                        shown: Shown::Overlaid,
                    });
                }
            } else if kind.is_file() {
                let bytes = entry.metadata()?.len();
                if bytes <= budget && fs::copy(&at, made).is_ok() {
                    budget -= bytes;
                } else {
                    skeleton.left_out += 1;
                }
            }
        }
    }
    skeleton
        .layers
        .sort_by(|left, right| left.at.cmp(&right.at));
    Ok(skeleton)
}
