//! A file as a block device that clears itself.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82 as libc::Ioctl;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A as libc::Ioctl;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// Version of Linux from which on a device gets its file and its flags in one call: with two, a
/// worker killed between them would leave a device behind.
pub const OLDEST_KERNEL: (u32, u32) = (5, 8);

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
    fn the_structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(size_of::<LoopConfiguration>(), 304);
    }
}
