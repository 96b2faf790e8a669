//! Which overlays make up a world.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::world::mounts::HostMount;

/// Types of file systems that hold files worth showing to a package; all others are the kernel's own.
const STORED: [&str; 16] = [
    "9p", "bcachefs", "btrfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "jfs", "nfs",
    "nfs4", "squashfs", "tmpfs", "xfs", "zfs",
];

/// Folders of the root that get mounts of their own.
const KERNEL_FOLDERS: [&str; 3] = ["/dev", "/proc", "/sys"];

/// What is shown at one place of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The host's folder below a private layer.
    Overlaid,
    /// The host's mount as it is, because it refuses writes anyway.
    ReadOnly,
}

/// One place of the world, with the host's folder that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Place in the world; the same on the host.
    pub at: PathBuf,
    /// What is shown there.
    pub shown: Shown,
}

impl Layer {
    /// Name of the folder that holds the changes made at this place.
    pub fn name(&self) -> String {
        let place = self.at.to_string_lossy();
        place.replace('%', "%25").replace('/', "%2F")
    }
}

/// Layers for the host's other mounts, outer ones first; the root is not among them.
pub fn plan_mounted_layers(mounts: &[HostMount], hidden: &Path) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    for mount in mounts {
        let wanted = mount.at != Path::new("/")
            && !mount.at.starts_with(hidden)
            && holds_files(mount)
            && !KERNEL_FOLDERS
                .iter()
                .any(|folder| mount.at.starts_with(folder))
            && mount.at.is_dir()
            && is_readable(&mount.at);
        if wanted {
            let shown = if mount.read_only {
                Shown::ReadOnly
            } else {
                Shown::Overlaid
            };
            layers.push(Layer {
                at: mount.at.clone(),
                shown,
            });
        }
    }
    layers
}

/// Files and folders of a package, relative to its root, that the host does not have: what is in
/// such a folder, before or after `setup.sh`, is the package's.
pub fn own_places(package: &Path, host: &Path) -> io::Result<Vec<PathBuf>> {
    let mut places = Vec::new();
    for entry in fs::read_dir(package)? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        let shared = host.join(&name);
        if entry.file_type()?.is_dir() && shared.is_dir() {
            let below = own_places(&entry.path(), &shared)?;
            places.extend(below.into_iter().map(|place| name.join(place)));
        } else {
            places.push(name);
        }
    }
    Ok(places)
}

/// Single files that are mounted, as containers do with `/etc/resolv.conf`.
pub fn mounted_files(mounts: &[HostMount]) -> Vec<PathBuf> {
    mounts
        .iter()
        .filter(|mount| {
            !KERNEL_FOLDERS
                .iter()
                .any(|folder| mount.at.starts_with(folder))
        })
        // A network namespace that has a name is mounted on a file, and nothing can be read there.
        .filter(|mount| mount.kind != "nsfs" && mount.at.is_file())
        .map(|mount| mount.at.clone())
        .collect()
}

/// Whether a mount holds files, not the kernel's own objects.
pub fn holds_files(mount: &HostMount) -> bool {
    STORED.contains(&mount.kind.as_str())
}

/// Whether this process may list a folder and enter it.
pub fn is_readable(folder: &Path) -> bool {
    access(folder, Access::READ_OK | Access::EXEC_OK).is_ok()
}

/// Folders that have a mount at or below them, and so cannot be shown as one piece.
pub fn folders_above_mounts(mounts: &[HostMount]) -> BTreeSet<PathBuf> {
    mounts
        .iter()
        .flat_map(|mount| mount.at.ancestors().skip(1).map(Path::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(at: &str, kind: &str, read_only: bool) -> HostMount {
        HostMount {
            at: PathBuf::from(at),
            kind: kind.to_owned(),
            read_only,
            root: PathBuf::from("/"),
            device: "8:1".to_owned(),
        }
    }

    #[test]
    fn disks_are_shown_and_the_kernels_own_file_systems_are_not() {
        let mounts = [
            mount("/", "ext4", false),
            mount("/dev", "tmpfs", false),
            mount("/sys/fs/cgroup", "tmpfs", false),
            mount("/tmp", "tmpfs", false),
            mount("/usr", "squashfs", true),
            mount("/var", "autofs", false),
        ];
        let planned = plan_mounted_layers(&mounts, Path::new("/nowhere"));
        let expected =
            [("/tmp", Shown::Overlaid), ("/usr", Shown::ReadOnly)].map(|(at, shown)| Layer {
                at: PathBuf::from(at),
                shown,
            });
        assert_eq!(planned, expected);
    }

    #[test]
    fn mounted_files_are_copied_and_namespaces_are_none() {
        let file = std::env::current_exe().unwrap();
        let at = file.to_str().unwrap();
        assert_eq!(
            mounted_files(&[mount(at, "ext4", false)]),
            [Path::new(at).to_owned()]
        );
        assert!(mounted_files(&[mount(at, "nsfs", false)]).is_empty());
    }

    #[test]
    fn different_places_have_different_names() {
        let name = |at: &str| {
            Layer {
                at: PathBuf::from(at),
                shown: Shown::Overlaid,
            }
            .name()
        };
        assert_ne!(name("/a/b"), name("/a%2Fb"));
        assert_eq!(name("/"), "%2F");
    }
}
