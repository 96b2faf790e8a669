//! `/dev` of a stacked world: the host's devices, and nothing else of the host's.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::mount::{MountFlags, mount};

use crate::world::mounts::{HostMount, bind_read_only, bind_tree};

/// Devices that every program may expect.
const USUAL_DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Links that every program may expect.
const USUAL_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Shows the empty folder `private` at `dev`, with the usual devices in it.
pub fn make_devices(private: &Path, dev: &Path) -> io::Result<()> {
    bind_tree(private, dev)?;
    for name in USUAL_DEVICES {
        let device = Path::new("/dev").join(name);
        if device.exists() {
            show_device(&device, &dev.join(name))?;
        }
    }
    for (name, target) in USUAL_LINKS {
        symlink(target, dev.join(name))?;
    }
    Ok(())
}

/// Shows devices that a package asked for and was allowed; what cannot be shown is told, one sentence each.
///
/// Without rights over the host, the trial's root may not open a device of the host's root: it gets a
/// node of its own.
pub fn show_asked_devices(
    asked: &[String],
    stage: &Path,
    dev: &Path,
    own_nodes: bool,
) -> io::Result<Vec<String>> {
    let mut gaps = Vec::new();
    if asked.is_empty() {
        return Ok(gaps);
    }
    let nodes = stage.join("nodes");
    fs::create_dir_all(&nodes)?;
    if own_nodes {
        mount(
            "tmpfs",
            &nodes,
            "tmpfs",
            MountFlags::NOSUID,
            c"mode=755,size=64k",
        )?;
    }
    for (number, path) in asked.iter().enumerate() {
        if let Err(error) = show_asked_device(path, &nodes.join(number.to_string()), dev, own_nodes)
        {
            gaps.push(format!("The device {path} is not shown: {error}."));
        }
    }
    Ok(gaps)
}

fn show_asked_device(path: &str, node: &Path, dev: &Path, own_node: bool) -> io::Result<()> {
    let original = fs::canonicalize(path)?;
    let refused = |cause: &str| io::Error::other(cause.to_owned());
    let inner = Path::new(path)
        .strip_prefix("/dev")
        .map_err(|_| refused("it is not in /dev"))?;
    let data = fs::metadata(&original)?;
    let kind = if data.file_type().is_char_device() {
        FileType::CharacterDevice
    } else if data.file_type().is_block_device() {
        FileType::BlockDevice
    } else {
        return Err(refused("it is not a device"));
    };
    let at = dev.join(inner);
    if let Some(folder) = at.parent() {
        fs::create_dir_all(folder)?;
    }
    if own_node {
        mknodat(CWD, node, kind, Mode::from_raw_mode(0o666), data.rdev())?;
        fs::set_permissions(node, fs::Permissions::from_mode(0o666))?;
        return show_device(node, &at);
    }
    show_device(&original, &at)
}

/// Shows the devices that the host has mounted one by one, as containers do: an overlay of the
/// host's `/dev` shows what is below them.
pub fn show_mounted_devices(mounts: &[HostMount], dev: &Path) -> io::Result<()> {
    for mount in mounts {
        let Ok(name) = mount.at.strip_prefix("/dev") else {
            continue;
        };
        let is_device = fs::metadata(&mount.at).is_ok_and(|data| {
            data.file_type().is_char_device() || data.file_type().is_block_device()
        });
        // The place of a device in a folder of its own need not exist in the overlay, and the
        // multiplexer of terminals would open the host's.
        if is_device && name.components().count() == 1 && name != Path::new("ptmx") {
            show_device(&mount.at, &dev.join(name))?;
        }
    }
    Ok(())
}

/// Puts new terminals, new message queues and `shared_memory` where the host has its own.
pub fn mount_private_parts(
    mounts: &[HostMount],
    shared_memory: &Path,
    dev: &Path,
) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let terminals = private_folder(dev, "pts")?;
    let options = c"newinstance,ptmxmode=0666,mode=0600";
    mount("devpts", &terminals, "devpts", flags, options)?;
    let multiplexer = dev.join("ptmx");
    let kind = fs::symlink_metadata(&multiplexer).map(|data| data.file_type());
    // The device, too, opens terminals of the pts beside it.
    if !kind.is_ok_and(|kind| kind.is_char_device() || kind.is_symlink()) {
        fs::remove_file(&multiplexer).ok();
        symlink("pts/ptmx", multiplexer)?;
    }
    if mounts.iter().any(|mount| mount.kind == "mqueue") {
        let queues = private_folder(dev, "mqueue")?;
        mount("mqueue", &queues, "mqueue", flags | MountFlags::NODEV, c"")?;
    }
    bind_tree(shared_memory, &private_folder(dev, "shm")?)
}

/// Shows a device so that it can be used, but its mode and owner on the host cannot be changed.
fn show_device(device: &Path, at: &Path) -> io::Result<()> {
    if fs::symlink_metadata(at).is_err() {
        File::create(at)?;
    }
    bind_read_only(device, at)
}

/// A folder to mount on; a link in its place could lead to the host.
fn private_folder(dev: &Path, name: &str) -> io::Result<PathBuf> {
    let folder = dev.join(name);
    if !fs::symlink_metadata(&folder).is_ok_and(|data| data.is_dir()) {
        fs::remove_file(&folder).ok();
        fs::create_dir(&folder)?;
    }
    Ok(folder)
}
