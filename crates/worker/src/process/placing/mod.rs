//! The pages of memory in which the kernel keeps programs, drawn anew for each trial.
//!
//! Two equal files may be executed in times that differ by a quarter, for as long as each lies where it is: of
//! sixteen copies of a loop on an AMD EPYC two took 2% and 25% less than all others, until they were read again.
//! What lies in one place for all trials of a build, or of a command, is a difference that nobody made.

mod command;

pub use command::find_program;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise, fdatasync};

/// Larger programs take long to be read again, alone and together.
const LARGEST_BYTES: u64 = 64 << 20;
const MOST_BYTES: u64 = 256 << 20;
/// Files and folders that are looked at.
const MOST_ENTRIES: usize = 50_000;
/// What is read at once, and what is held meanwhile.
const READ_BYTES: usize = 4 << 20;

/// Has the kernel keep programs and libraries in other pages of its memory; returns how many it dropped.
///
/// What others execute at the same time stays where it is, and so does all of a file system that is memory.
/// Nothing that trials see changes: what is dropped is read again at once.
pub fn place_anew(programs: &[PathBuf]) -> usize {
    let dropped = programs
        .iter()
        .filter(|program| drop_pages(program).is_ok())
        .count();
    // Pages that were given back last are taken first: these keep the kernel from taking the same ones.
    let held = vec![1u8; READ_BYTES];
    let mut buffer = vec![0u8; 1 << 18];
    for program in programs {
        read_whole(program, &mut buffer).ok();
    }
    drop(std::hint::black_box(held));
    dropped
}

/// The compiled programs and libraries in a folder.
///
/// Those of more than 64 MB are left out. None are found where all others have more than 256 MB together, or where
/// the folder has more than 50,000 entries.
pub fn find_programs(folder: &Path) -> Vec<PathBuf> {
    let (mut programs, mut bytes, mut entries) = (Vec::new(), 0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                return Vec::new();
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    if let Some(size) = program_bytes(&entry.path()) {
                        bytes += size;
                        programs.push(entry.path());
                    }
                }
                _ => {}
            }
            if bytes > MOST_BYTES {
                return Vec::new();
            }
        }
    }
    programs
}

/// Size of what the kernel or a program's loader maps as code: an ELF file that may be executed, or has the name of a
/// library. `None` for what is something else, or too large.
fn program_bytes(path: &Path) -> Option<u64> {
    let facts = fs::symlink_metadata(path).ok()?;
    let may_run = facts.permissions().mode() & 0o111 != 0;
    let is_library = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().contains(".so"));
    if !(may_run || is_library) || facts.len() > LARGEST_BYTES {
        return None;
    }
    let mut magic = [0; 4];
    let file = open_unfollowed(path).ok()?;
    file.read_exact_at(&mut magic, 0).ok()?;
    (&magic == b"\x7fELF").then_some(facts.len())
}

/// Opens what a package may have made: no pipe is waited for, and no link followed.
fn open_unfollowed(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

fn drop_pages(program: &Path) -> io::Result<()> {
    let program = open_unfollowed(program)?;
    // Pages that are not on the disk yet would stay.
    fdatasync(&program)?;
    Ok(fadvise(&program, 0, None, Advice::DontNeed)?)
}

fn read_whole(program: &Path, buffer: &mut [u8]) -> io::Result<()> {
    let mut program = open_unfollowed(program)?;
    while program.read(buffer)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::scratch::TemporaryFolder;
    use crate::world::filesystem_of;

    const PAGE: usize = 4096;
    const PAGES: usize = 40;

    fn write_program(path: &Path, mode: u32) {
        let mut content = vec![7u8; PAGES * PAGE];
        content[..4].copy_from_slice(b"\x7fELF");
        fs::write(path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Numbers of the frames that hold a file; none where the kernel does not tell them.
    fn frames(path: &Path) -> Option<Vec<u64>> {
        let file = File::open(path).unwrap();
        let bytes = PAGES * PAGE;
        // SAFETY: a new mapping, whose first byte of each page is read while it lasts.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                std::os::fd::AsRawFd::as_raw_fd(&file),
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        let pagemap = File::open("/proc/self/pagemap").unwrap();
        let mut found = Vec::new();
        for page in 0..PAGES {
            let address = start as usize + page * PAGE;
            // SAFETY: inside of the mapping.
            unsafe { ptr::read_volatile(address as *const u8) };
            let mut entry = [0; 8];
            pagemap
                .read_exact_at(&mut entry, (address / PAGE * 8) as u64)
                .unwrap();
            found.push(u64::from_ne_bytes(entry) & ((1 << 55) - 1));
        }
        // SAFETY: this function's own mapping, unmapped once.
        unsafe { libc::munmap(start, bytes) };
        found.iter().any(|frame| *frame != 0).then_some(found)
    }

    #[test]
    fn a_program_lies_elsewhere_afterwards_and_says_the_same() {
        let folder = TemporaryFolder::new("placing");
        let path = folder.path().join("deep");
        fs::create_dir(&path).unwrap();
        let path = path.join("program");
        write_program(&path, 0o755);
        let content = fs::read(&path).unwrap();
        let file = File::open(&path).unwrap();
        if matches!(filesystem_of(&file), Ok(Some("tmpfs"))) {
            eprintln!("skipped: the temporary folder is in memory");
            return;
        }
        drop(file);
        let Some(before) = frames(&path) else {
            eprintln!("skipped: the kernel does not tell this user where a file lies");
            return;
        };
        assert_eq!(place_anew(&find_programs(folder.path())), 1);
        let after = frames(&path).unwrap();
        assert_ne!(before, after);
        assert_eq!(fs::read(&path).unwrap(), content);
    }

    #[test]
    fn only_what_is_mapped_as_code_is_read_again() {
        let folder = TemporaryFolder::new("placing");
        let place = |name: &str| folder.path().join(name);
        write_program(&place("object.o"), 0o644);
        fs::write(place("script"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(place("script"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(place("empty.so"), "").unwrap();
        std::os::unix::fs::symlink("/bin/sh", place("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            place("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o755),
            0,
        )
        .unwrap();
        assert_eq!(find_programs(folder.path()).len(), 0);
        write_program(&place("libz.so.1"), 0o644);
        write_program(&place("program"), 0o755);
        assert_eq!(find_programs(folder.path()).len(), 2);
        // One that is too large is left alone; too much of them together leaves all alone.
        let large = |name: &str, bytes| {
            write_program(&place(name), 0o755);
            let file = OpenOptions::new().write(true).open(place(name)).unwrap();
            file.set_len(bytes).unwrap();
        };
        large("large", LARGEST_BYTES + 1);
        assert_eq!(find_programs(folder.path()).len(), 2);
        for name in ["a", "b", "c", "d"] {
            large(name, LARGEST_BYTES);
        }
        assert_eq!(find_programs(folder.path()).len(), 0);
        assert_eq!(find_programs(&place("gone")).len(), 0);
        assert_eq!(place_anew(&[place("gone")]), 0);
    }
}
