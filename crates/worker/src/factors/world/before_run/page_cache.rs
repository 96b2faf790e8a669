//! The kernel's cache of files: filled, and looked at.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr;

/// Pages of some files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pages {
    /// All of them.
    pub all: u64,
    /// In memory now.
    pub resident: u64,
}

impl Pages {
    /// These and others.
    pub fn and(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            resident: self.resident + other.resident,
        }
    }
}

/// Reads a file to its end; returns what of it is in memory then.
pub fn fill(file: &File) -> io::Result<Pages> {
    let mut buffer = vec![0; 1 << 18];
    let mut offset = 0;
    loop {
        match file.read_at(&mut buffer, offset) {
            Ok(0) => return resident_pages(file),
            Ok(count) => offset += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Asks the kernel which pages of a file are in memory, without touching them.
pub fn resident_pages(file: &File) -> io::Result<Pages> {
    let bytes = file.metadata()?.len() as usize;
    if bytes == 0 {
        return Ok(Pages::default());
    }
    // SAFETY: no pointers involved.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let mut flags = vec![0u8; bytes.div_ceil(page)];
    // SAFETY: a mapping of this function's own, unmapped before it returns; one flag a page.
    let asked = unsafe {
        let mapped = libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let asked = match libc::mincore(mapped, bytes, flags.as_mut_ptr()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        libc::munmap(mapped, bytes);
        asked
    };
    asked?;
    Ok(Pages {
        all: flags.len() as u64,
        resident: flags.iter().filter(|flag| **flag & 1 == 1).count() as u64,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scratch::TemporaryFolder;
    use crate::world::filesystem_of;

    #[test]
    fn a_file_that_was_just_written_is_in_memory() {
        let folder = TemporaryFolder::new("page-cache");
        let path = folder.path().join("file");
        fs::write(&path, vec![1; 10_000]).unwrap();
        let pages = fill(&File::open(&path).unwrap()).unwrap();
        assert_eq!(pages.all, pages.resident);
        assert!((1..=3).contains(&pages.all), "{pages:?}");
    }

    #[test]
    fn a_file_in_memory_is_seen_to_leave_it() {
        let folder = TemporaryFolder::new("page-cache");
        let path = folder.path().join("file");
        fs::write(&path, vec![1; 100_000]).unwrap();
        let file = File::open(&path).unwrap();
        if matches!(filesystem_of(&file), Ok(Some("tmpfs"))) {
            eprintln!("skipped: the temporary folder is in memory");
            return;
        }
        file.sync_all().unwrap();
        // SAFETY: no pointers involved.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        assert_eq!(resident_pages(&file).unwrap().resident, 0);
    }
}
