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

/// Files whose pages the kernel keeps in memory as long as this lives.
#[derive(Debug, Default)]
pub struct LockedFiles(Vec<Mapping>);

#[derive(Debug)]
struct Mapping {
    start: *mut libc::c_void,
    bytes: usize,
}

impl LockedFiles {
    /// Reads a file into memory, where it stays; an empty one needs nothing.
    pub fn lock(&mut self, file: &File) -> io::Result<()> {
        let bytes = file.metadata()?.len() as usize;
        if bytes == 0 {
            return Ok(());
        }
        let mapping = Mapping::of(file, bytes)?;
        // SAFETY: the mapping is this value's own and of that size.
        match unsafe { libc::mlock(mapping.start, bytes) } {
            0 => {
                self.0.push(mapping);
                Ok(())
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Asks the kernel which of their pages are in memory, and how many it holds locked for this process.
    pub fn look(&self) -> io::Result<(Pages, u64)> {
        let mut pages = Pages::default();
        for mapping in &self.0 {
            pages = pages.and(mapping.resident()?);
        }
        let status = std::fs::read_to_string("/proc/self/status")?;
        let locked = status
            .lines()
            .find_map(|line| line.strip_prefix("VmLck:"))
            .and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok())
            .ok_or_else(|| io::Error::other("/proc/self/status tells no locked memory"))?;
        Ok((pages, locked * 1024 / page_bytes() as u64))
    }
}

impl Mapping {
    fn of(file: &File, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping, which nothing reads through.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start, bytes })
    }

    fn resident(&self) -> io::Result<Pages> {
        let mut flags = vec![0u8; self.bytes.div_ceil(page_bytes())];
        // SAFETY: the mapping is this value's own; one flag a page.
        if unsafe { libc::mincore(self.start, self.bytes, flags.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Pages {
            all: flags.len() as u64,
            resident: flags.iter().filter(|flag| **flag & 1 == 1).count() as u64,
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by this value, and unmapped, which unlocks it, once.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

fn page_bytes() -> usize {
    // SAFETY: no pointers involved.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Asks the kernel which pages of a file are in memory, without touching them.
pub fn resident_pages(file: &File) -> io::Result<Pages> {
    let bytes = file.metadata()?.len() as usize;
    if bytes == 0 {
        return Ok(Pages::default());
    }
    Mapping::of(file, bytes)?.resident()
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

    #[test]
    fn locked_files_are_in_memory_until_they_are_let_go() {
        let folder = TemporaryFolder::new("page-cache");
        let mut locked = LockedFiles::default();
        for (name, bytes) in [("empty", 0), ("one", 1), ("many", 50_000)] {
            let path = folder.path().join(name);
            fs::write(&path, vec![1; bytes]).unwrap();
            let file = File::open(&path).unwrap();
            file.sync_all().unwrap();
            if let Err(error) = locked.lock(&file) {
                eprintln!("skipped: this user may lock too little memory: {error}");
                return;
            }
            // SAFETY: no pointers involved.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        }
        let (pages, held) = locked.look().unwrap();
        assert_eq!(pages.resident, pages.all);
        assert!(pages.all >= 2 && held >= pages.all, "{pages:?} {held}");
        drop(locked);
        assert_eq!(LockedFiles::default().look().unwrap().1, held - pages.all);
    }
}
