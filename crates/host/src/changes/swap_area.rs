//! Swap areas: which are in use, taking them out of use and back, and files that are made to be one.

use std::ffi::{CString, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::fault::fault_point;

/// A swap area in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapArea {
    /// Its device or file.
    pub path: PathBuf,
    /// Bytes that it can take; the header of a file is not among them.
    pub bytes: u64,
    /// Its priority; negative when the kernel chose it.
    pub priority: i32,
}

/// Reads what `/proc/swaps` says.
pub fn parse_swap_areas(text: &str) -> Vec<SwapArea> {
    text.lines().skip(1).filter_map(parse_area).collect()
}

fn parse_area(line: &str) -> Option<SwapArea> {
    let mut fields = line.split_ascii_whitespace();
    let path = unescape_kernel_path(fields.next()?.as_bytes());
    // The kernel adds this word to the name of a file that was removed while in use.
    let mut fields = fields.skip_while(|word| *word == "\\040(deleted)");
    let (_kind, kibibytes, _used) = (fields.next()?, fields.next()?, fields.next()?);
    Some(SwapArea {
        path: PathBuf::from(path),
        bytes: kibibytes.parse::<u64>().ok()?.checked_mul(1024)?,
        priority: fields.next()?.parse().ok()?,
    })
}

/// Undoes the kernel's `\040` for a blank, and so on.
pub fn unescape_kernel_path(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let digits = tail
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes)
}

/// Swap areas that this kernel uses.
pub fn swap_areas_in_use() -> Result<Vec<SwapArea>, String> {
    match fs::read_to_string("/proc/swaps") {
        Ok(text) => Ok(parse_swap_areas(&text)),
        // A kernel that cannot swap.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("/proc/swaps: {error}")),
    }
}

/// Takes an area into use; a negative priority leaves it to the kernel.
pub(crate) fn swap_on(path: &Path, priority: i32) -> io::Result<()> {
    const PREFER: i32 = 0x8000;
    let flags = if priority < 0 {
        0
    } else {
        PREFER | (priority & 0x7fff)
    };
    let path = c_string(path)?;
    // SAFETY: a NUL-terminated path.
    match unsafe { libc::swapon(path.as_ptr(), flags) } {
        0 => {
            fault_point();
            Ok(())
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Takes an area out of use, bringing what is in it back into memory.
pub(crate) fn swap_off(path: &Path) -> io::Result<()> {
    let path = c_string(path)?;
    // SAFETY: a NUL-terminated path.
    match unsafe { libc::swapoff(path.as_ptr()) } {
        0 => {
            fault_point();
            Ok(())
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes a file that can be a swap area: all of it on the disk, without holes, and with a header.
pub(crate) fn make_swap_file(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    fault_point();
    reserve(&mut file, bytes)?;
    fault_point();
    let data = file.metadata()?;
    if data.len() != bytes || data.blocks() * 512 < bytes {
        return Err(io::Error::other(
            "its file system stores files with holes, which cannot be swapped to",
        ));
    }
    let page = page_bytes();
    let last_page = u32::try_from(bytes / page - 1)
        .map_err(|_| io::Error::other("a swap area has fewer than 2^32 pages"))?;
    // swap_header of the kernel: version 1, the last page, no bad pages, the signature at the end.
    let mut header = vec![0u8; page as usize];
    header[1024..1028].copy_from_slice(&1u32.to_ne_bytes());
    header[1028..1032].copy_from_slice(&last_page.to_ne_bytes());
    let signature = header.len() - 10;
    header[signature..].copy_from_slice(b"SWAPSPACE2");
    file.write_all_at(&header, 0)?;
    fault_point();
    Ok(())
}

/// Reserves blocks without writing them where the file system can, and writes them otherwise.
fn reserve(file: &mut File, bytes: u64) -> io::Result<()> {
    const DO_NOT_COPY_ON_WRITE: libc::c_int = 0x0080_0000;
    let mut flags: libc::c_int = 0;
    // btrfs swaps only to files that it does not copy on write; others refuse or ignore the flag.
    // SAFETY: both requests take a pointer to an int, which lives on this stack.
    unsafe {
        if libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &mut flags) == 0 {
            flags |= DO_NOT_COPY_ON_WRITE;
            libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS, &flags);
        }
    }
    let length =
        libc::off_t::try_from(bytes).map_err(|_| io::Error::other("it is larger than a file"))?;
    // SAFETY: a descriptor of ours.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::EOPNOTSUPP) {
        return Err(error);
    }
    let zeros = vec![0u8; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let count = left.min(zeros.len() as u64);
        file.write_all(&zeros[..count as usize])?;
        left -= count;
    }
    file.sync_data()
}

/// Size of the kernel's pages.
pub(crate) fn page_bytes() -> u64 {
    // SAFETY: no pointers involved.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::other("a path holds a NUL byte"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_in_use_are_read() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/sda2                               partition\t1000\t\t0\t\t-2\n\
                    /my\\040swap                              file\t\t20\t\t4\t\t7\n";
        let expected = [("/dev/sda2", 1_024_000, -2), ("/my swap", 20_480, 7)].map(
            |(path, bytes, priority)| SwapArea {
                path: PathBuf::from(path),
                bytes,
                priority,
            },
        );
        assert_eq!(parse_swap_areas(text), expected);
    }

    #[test]
    fn a_swap_file_is_all_on_the_disk_and_has_a_header() {
        let path = std::env::temp_dir().join(format!("datamill-swap-{}", std::process::id()));
        let made = make_swap_file(&path, 1 << 20);
        let content = fs::read(&path).unwrap();
        let blocks = fs::metadata(&path).unwrap().blocks();
        fs::remove_file(&path).unwrap();
        made.unwrap();
        let page = page_bytes() as usize;
        assert!(blocks * 512 >= 1 << 20);
        assert_eq!(&content[page - 10..page], b"SWAPSPACE2");
        let last_page = (1u32 << 20) / page as u32 - 1;
        assert_eq!(content[1028..1032], last_page.to_ne_bytes());
    }
}
