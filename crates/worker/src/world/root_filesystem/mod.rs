//! The file system that holds the package and receives the trial's changes.

mod loop_device;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use datamill_host::kernel_version;
use datamill_protocol::Phase;
use rustix::fs::{FallocateFlags, fallocate, statvfs, syncfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

pub use loop_device::detach_abandoned;

use crate::trouble::disk_full;
use crate::world::entered::SEARCH_PATH;
use crate::world::request::{RootFilesystem, WorldError, factor_failed};
use loop_device::{IMAGE_NAME, LoopDevice, OLDEST_KERNEL};

/// Size of an image when the trial's world is not bounded.
const USUAL_BYTES: u64 = 8 << 30;

impl RootFilesystem {
    /// Why this host cannot make one, besides that it needs a private world.
    pub fn missing_reason(self) -> Option<String> {
        let Self::Image(kind) = self else {
            return None;
        };
        if !rustix::process::geteuid().is_root() {
            return Some("mounting an image needs root".to_owned());
        }
        if find_program(kind).is_none() {
            return Some(format!("mkfs.{kind} is not installed"));
        }
        if !kernel_knows(kind) {
            return Some(format!("this kernel has no {kind}"));
        }
        if File::options()
            .read(true)
            .write(true)
            .open("/dev/loop-control")
            .is_err()
        {
            return Some("there are no loop devices".to_owned());
        }
        (kernel_version() < OLDEST_KERNEL).then(|| {
            format!(
                "loop devices that clear themselves need Linux {}.{}",
                OLDEST_KERNEL.0, OLDEST_KERNEL.1
            )
        })
    }
}

/// An image that is no file any more: gone from the disk as soon as nobody has it mounted.
pub struct Image {
    kind: &'static str,
    device: LoopDevice,
}

/// Makes a file system of at least so many free bytes on the disk of `scratch`.
///
/// To be called before anything is mounted there, outside the measured time.
pub fn make_image(
    kind: &'static str,
    scratch: &Path,
    bound_bytes: u64,
    copied_bytes: u64,
) -> Result<Image, WorldError> {
    let failed = |doing: String| {
        move |error: io::Error| factor_failed("root_filesystem", format!("{doing}: {error}"))
    };
    let bytes = image_bytes(kind, scratch, bound_bytes, copied_bytes)
        .map_err(failed(format!("looking at {}", scratch.display())))??;
    let path = scratch.join(IMAGE_NAME);
    let image = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|file| {
            // Nothing to remove later, not even for whoever finds a killed worker's folder.
            fs::remove_file(&path)?;
            file.set_len(bytes)?;
            Ok(file)
        })
        .map_err(failed(format!("making an image in {}", scratch.display())))?;
    let device =
        LoopDevice::attach(&image).map_err(failed("attaching a loop device".to_owned()))?;
    make_filesystem(kind, device.path()).map_err(failed(format!("mkfs.{kind}")))?;
    Ok(Image { kind, device })
}

impl Image {
    /// Mounts it; it lasts as long as this mount and its copies in other namespaces.
    pub fn mount(self, at: &Path) -> io::Result<()> {
        // Otherwise the kernel writes ext4's tables while the trial runs.
        let options = if self.kind == "ext4" {
            c"noinit_itable"
        } else {
            c""
        };
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        Ok(mount(self.device.path(), at, self.kind, flags, options)?)
    }
}

/// Takes what is free in a mounted image beyond so many bytes, by a file that is never written.
///
/// An image has room for what its file system keeps for itself, which nobody knows to the byte: what is left
/// of that would let the trial write more than its world may hold.
pub fn leave_free(kind: &str, root: &Path, bytes: u64) -> io::Result<()> {
    let disk = statvfs(root)?;
    // As root, a trial may write what ext4 keeps back for root; what btrfs calls free is not all for data.
    let free = match kind {
        "btrfs" => disk.f_bavail,
        _ => disk.f_bfree,
    };
    let mut taken = free.saturating_mul(disk.f_frsize).saturating_sub(bytes);
    let reserve = File::create_new(root.join("reserve"))?;
    while taken >= disk.f_frsize {
        match fallocate(&reserve, FallocateFlags::empty(), 0, taken) {
            Ok(()) => break,
            Err(Errno::NOSPC) => taken -= (taken / 16).max(disk.f_frsize),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(syncfs(reserve)?)
}

/// What a file system needs beside the files in it; the smallest xfs is of 300 MiB, the smallest
/// btrfs of 109.
fn own_bytes(kind: &str) -> u64 {
    match kind {
        "ext4" => 64 << 20,
        "xfs" => 320 << 20,
        _ => 160 << 20,
    }
}

/// Size of an image, or the failure that the disk is too full for it.
fn image_bytes(
    kind: &str,
    scratch: &Path,
    bound_bytes: u64,
    copied_bytes: u64,
) -> io::Result<Result<u64, WorldError>> {
    let disk = statvfs(scratch)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let beside = own_bytes(kind) + 2 * copied_bytes;
    let wanted = match bound_bytes {
        0 => beside + USUAL_BYTES.min(free / 2),
        bytes => beside.saturating_add(bytes),
    };
    if wanted <= free {
        return Ok(Ok(wanted));
    }
    let message = format!(
        "An image of {} MiB for root_filesystem does not fit on the disk of {}, which has {} MiB free.",
        wanted >> 20,
        scratch.display(),
        free >> 20
    );
    Ok(Err(WorldError::Failed(disk_full(Phase::Isolate, message))))
}

fn make_filesystem(kind: &str, device: &Path) -> io::Result<()> {
    let program = find_program(kind).ok_or_else(|| io::Error::other("it is not installed"))?;
    // Discarding would only punch holes where there are none; ext4's tables read as zeroes anyway.
    let options: &[&str] = match kind {
        "ext4" => &[
            "-q",
            "-F",
            "-E",
            "nodiscard,lazy_itable_init=1,lazy_journal_init=1",
        ],
        "xfs" => &["-q", "-f", "-K"],
        _ => &["-q", "-f", "-K"],
    };
    let made = Command::new(program)
        .args(options)
        .arg(device)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    Err(io::Error::other(format!("{}: {said}", made.status)))
}

fn find_program(kind: &str) -> Option<PathBuf> {
    SEARCH_PATH
        .split(':')
        .map(|folder| Path::new(folder).join(format!("mkfs.{kind}")))
        .find(|path| path.is_file())
}

/// Whether the kernel has a file system built in or loaded, or could load it.
fn kernel_knows(kind: &str) -> bool {
    let listed = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if listed.lines().any(|line| line.trim() == kind) {
        return true;
    }
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let modules = Path::new("/lib/modules").join(release).join("modules.dep");
    let file = format!("/{kind}.ko");
    fs::read_to_string(modules).is_ok_and(|text| text.contains(&file))
}

/// Bytes of the files of a tree, rounded up to blocks as most file systems do.
pub fn tree_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        if data.is_dir() {
            bytes += tree_bytes(&entry.path())?;
        } else if !data.file_type().is_char_device() {
            bytes += data.size();
        }
        bytes = bytes.next_multiple_of(4096) + 4096;
    }
    Ok(bytes)
}

/// Name of a file system that a file is on, as far as it is one of the levels.
pub fn filesystem_of(file: &File) -> io::Result<Option<&'static str>> {
    let magic = rustix::fs::fstatfs(file)?.f_type as u64;
    Ok(match magic {
        0xEF53 => Some("ext4"),
        0x5846_5342 => Some("xfs"),
        0x9123_683E => Some("btrfs"),
        0x0102_1994 => Some("tmpfs"),
        _ => None,
    })
}
