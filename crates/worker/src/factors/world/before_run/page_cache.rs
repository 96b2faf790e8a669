//! The kernel's caches of files: dropped, filled with the package, and looked at.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr;

use datamill_protocol::{FactorFacts, Failure};

use crate::factors::fact::fact;
use crate::world::{World, factor_failure, filesystem_of};

/// Levels of the factor `drop_caches`; their numbers are the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DroppedCaches {
    /// None of them.
    None = 0,
    /// Contents of files.
    Page = 1,
    /// Directory entries and inodes.
    Inode = 2,
    /// All of that.
    All = 3,
}

impl DroppedCaches {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::None, Self::Page, Self::Inode, Self::All];

    /// The level's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Page => "page",
            Self::Inode => "inode",
            Self::All => "all",
        }
    }
}

/// Counts of directory entries: all, then those that nobody uses.
const DENTRIES: &str = "/proc/sys/fs/dentry-state";

/// Pages of some files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Pages {
    all: u64,
    /// In memory now.
    resident: u64,
}

impl Pages {
    fn and(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            resident: self.resident + other.resident,
        }
    }
}

/// Writes changed pages to the disks and has the kernel drop its caches; tells what shows that it did.
pub fn drop_caches(world: &World, caches: DroppedCaches) -> Result<FactorFacts, Failure> {
    let name = "drop_caches";
    let told = |observed: Option<DroppedCaches>, evidence: String| {
        let observed = observed.map(|caches| caches.name().to_owned());
        Ok(fact(name, caches.name(), observed, evidence))
    };
    if caches == DroppedCaches::None {
        return told(Some(caches), "Nothing was dropped.".to_owned());
    }
    let failed = |error: io::Error| factor_failure(name, error);
    let mut switch = world
        .caches
        .as_ref()
        .ok_or_else(|| failed(io::Error::other("its switch was not opened")))?;
    let empties_pages = caches != DroppedCaches::Inode;
    let on_disk = !matches!(filesystem_of(&world.run_script), Ok(Some("tmpfs")) | Err(_));
    let filled = (empties_pages && on_disk)
        .then(|| fill(&world.run_script))
        .transpose()
        .map_err(failed)?;
    // SAFETY: no pointers involved.
    unsafe { libc::sync() };
    let unused_before = unused_entries();
    writeln!(switch, "{}", caches as u8).map_err(failed)?;
    let unused_after = unused_entries();
    let left = match filled {
        Some(_) => Some(resident_pages(&world.run_script).map_err(failed)?),
        None => None,
    };

    // Looking at other files now would bring their names and inodes back.
    let mut evidence = String::new();
    let pages_gone = match (filled, left) {
        (Some(before), Some(after)) => {
            evidence.push_str(&format!(
                "Of the package's run.sh, {} of {} pages were in memory before and {} after.",
                before.resident, before.all, after.resident
            ));
            // Others may have dropped them since they were read: then nothing is shown.
            (before.resident > 0).then_some(after.resident == 0)
        }
        _ if !empties_pages => None,
        _ => {
            evidence.push_str("The package lies in memory, where its files are not dropped, so that the page cache shows nothing.");
            None
        }
    };
    let entries_gone = match (unused_before, unused_after) {
        (Some(before), Some(after)) => {
            evidence.push_str(&format!(
                "{}Unused directory entries went from {before} to {after}.",
                if evidence.is_empty() { "" } else { " " }
            ));
            // Others may have left new ones since: then nothing is shown.
            (after < before).then_some(true)
        }
        _ => None,
    };
    let gone = match caches {
        DroppedCaches::None | DroppedCaches::Page => pages_gone,
        DroppedCaches::Inode => entries_gone,
        DroppedCaches::All if pages_gone == Some(false) => pages_gone,
        DroppedCaches::All => pages_gone.and(entries_gone),
    };
    let observed = match gone {
        Some(true) => Some(caches),
        Some(false) => Some(DroppedCaches::None),
        None => None,
    };
    told(observed, evidence)
}

/// Reads all files of the package, so that `run.sh` finds them in memory.
pub fn preload_package(world: &World, on: bool) -> FactorFacts {
    let level = if on { "on" } else { "off" };
    let told = |observed: Option<&str>, evidence: String| {
        fact(
            "cache_preload",
            level,
            observed.map(str::to_owned),
            evidence,
        )
    };
    if !on {
        return told(Some(level), "Nothing was read before run.sh.".to_owned());
    }
    let files = package_files(world);
    for path in &files {
        let read = File::open(path).and_then(|file| fill(&file));
        if let Err(error) = read {
            return told(None, format!("Reading {}: {error}.", path.display()));
        }
    }
    let pages = package_pages(world);
    let observed = (pages.all > 0 && pages.resident == pages.all).then_some(level);
    told(
        observed,
        format!(
            "{} of {} pages of the package's {} files were in memory afterwards.",
            pages.resident,
            pages.all,
            files.len()
        ),
    )
}

/// Reads a file to its end; returns what of it is in memory then.
fn fill(file: &File) -> io::Result<Pages> {
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

fn package_pages(world: &World) -> Pages {
    package_files(world)
        .iter()
        .filter_map(|path| resident_pages(&File::open(path).ok()?).ok())
        .fold(Pages::default(), Pages::and)
}

/// Asks the kernel which pages of a file are in memory, without touching them.
fn resident_pages(file: &File) -> io::Result<Pages> {
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

fn unused_entries() -> Option<u64> {
    let mut text = String::new();
    File::open(DENTRIES).ok()?.read_to_string(&mut text).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Regular files of the package, and what its `setup.sh` has put into folders of its own.
fn package_files(world: &World) -> Vec<PathBuf> {
    let mut pending: Vec<PathBuf> = world.places.iter().map(|it| world.root.join(it)).collect();
    for entry in fs::read_dir(&world.root).into_iter().flatten().flatten() {
        if !world.foreign.contains(&entry.file_name()) {
            pending.push(entry.path());
        }
    }
    pending.sort();
    pending.dedup();
    let mut files = Vec::new();
    while let Some(path) = pending.pop() {
        let Ok(data) = fs::symlink_metadata(&path) else {
            continue;
        };
        if data.is_file() {
            files.push(path);
        } else if data.is_dir() {
            pending.extend(names_below(&path));
        }
    }
    files
}

fn names_below(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::TemporaryFolder;

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
