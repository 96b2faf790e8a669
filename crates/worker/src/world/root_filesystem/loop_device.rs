//! A file as a block device that clears itself.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the kernel may take to detach a device.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOP_CLR_FD: libc::Ioctl = 0x4C01 as libc::Ioctl;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82 as libc::Ioctl;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A as libc::Ioctl;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// Version of Linux from which on a device gets its file and its flags in one call: with two, a
/// worker killed between them would leave a device behind.
pub const OLDEST_KERNEL: (u32, u32) = (5, 8);

/// Name of an image in the trial's scratch folder, which no other program gives its files.
pub const IMAGE_NAME: &str = "datamill-trial-image";
/// Name that older workers gave it.
const OLD_IMAGE_NAME: &str = "image";

/// Another worker may take the free device first.
const ATTEMPTS: usize = 64;

/// A loop device; the kernel clears it when nobody has it open or mounted any more, whatever
/// happens to this process.
pub struct LoopDevice {
    path: PathBuf,
    _open: File,
}

/// The kernel's `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    real_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// The kernel's `struct loop_config`.
#[repr(C)]
struct LoopConfiguration {
    file: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

impl LoopDevice {
    /// Takes a free device for `file`.
    pub fn attach(file: &File) -> io::Result<Self> {
        let control = File::options()
            .read(true)
            .write(true)
            .open("/dev/loop-control")?;
        let mut last = io::Error::other("every loop device is taken");
        for _ in 0..ATTEMPTS {
            // SAFETY: no pointers involved.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = File::options().read(true).write(true).open(&path)?;
            match configure(&device, file) {
                Ok(()) => {
                    return Ok(Self {
                        path,
                        _open: device,
                    });
                }
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Detaches devices that dead workers left attached to their images, one sentence each.
///
/// They clear themselves as soon as nobody has them open or mounted; one that somebody still has, a
/// living worker too, goes then and not before.
pub fn detach_abandoned() -> Vec<String> {
    let known = datamill_host::list_folders();
    let mut told = Vec::new();
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(image) = image_of(&name, &known) else {
            continue;
        };
        let device = PathBuf::from("/dev").join(&name);
        let Ok(file) = File::options().read(true).open(&device) else {
            continue;
        };
        // SAFETY: no pointers involved.
        if unsafe { libc::ioctl(file.as_raw_fd(), LOOP_CLR_FD) } != 0 {
            continue;
        }
        drop(file);
        if is_soon_gone(|| image_of(&name, &known).as_ref() != Some(&image)) {
            told.push(format!(
                "root_filesystem: {} is detached from the deleted image {image}.",
                device.display()
            ));
        }
    }
    told
}

/// Whether a device is detached within a second: the kernel does it behind our back, later on a busy machine.
fn is_soon_gone(is_gone: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if is_gone() {
            return true;
        }
        if begun.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Where the image of a trial was that a loop device is attached to; images are deleted as they are made.
fn image_of(device: &str, known: &[PathBuf]) -> Option<String> {
    let backing = Path::new("/sys/block")
        .join(device)
        .join("loop/backing_file");
    let text = fs::read_to_string(backing).ok()?;
    let image = text.trim().strip_suffix(" (deleted)")?;
    is_image_of_a_trial(Path::new(image), known).then(|| image.to_owned())
}

/// Whether a path is that of a trial's image, by its name; the old name says so only in a folder of datamill's own.
fn is_image_of_a_trial(path: &Path, known: &[PathBuf]) -> bool {
    let has_name = |wanted| path.file_name().is_some_and(|name| name == wanted);
    let is_in_scratch = || path.parent().is_some_and(|it| it.ends_with("scratch"));
    let is_below_known = || known.iter().any(|folder| path.starts_with(folder));
    has_name(IMAGE_NAME) || (has_name(OLD_IMAGE_NAME) && is_in_scratch() && is_below_known())
}

fn configure(device: &File, file: &File) -> io::Result<()> {
    // SAFETY: integers and arrays of integers, for which all-zero is valid.
    let mut wanted: LoopConfiguration = unsafe { std::mem::zeroed() };
    wanted.file = file.as_raw_fd() as u32;
    // Reading past the page cache of the image's own disk, where that disk allows it: what the trial
    // reads is otherwise cached twice.
    wanted.info.flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    // SAFETY: the structure has the kernel's layout and outlives the call.
    if unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &wanted) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_of_trials_are_ours() {
        let known = [PathBuf::from("/state/fleet")];
        let is_ours = |path| is_image_of_a_trial(Path::new(path), &known);
        assert!(is_ours(
            "/x/bundle/.work/scratch/world/datamill-trial-image"
        ));
        assert!(is_ours("/mnt/t7/datamill-trial-image"));
        assert!(is_ours("/state/fleet/t1.1/scratch/image"));
        for other in [
            "/scratch/alice/image",
            "/scratch/image",
            "/x/bundle/.work/scratch/world/image",
            "/state/fleet/files/image",
            "/state/fleet-2/t1.1/scratch/image",
            "/x/datamill-trial-image/disk",
            "datamill-trial-image-2",
            "",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn the_structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(size_of::<LoopConfiguration>(), 304);
    }
}
