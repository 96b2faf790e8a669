//! The pages of memory in which the kernel keeps programs, drawn anew for each trial.
//!
//! Two equal files may be executed in times that differ by a quarter, for as long as each lies where it is: of
//! sixteen copies of a loop on an AMD EPYC two took 2% and 25% less than all others, until they were read again.
//! What lies in one place for all trials of a build, or of a command, is a difference that nobody made.

mod command;
mod page_cache;
#[cfg(test)]
mod tests;

pub use command::find_program;
pub use page_cache::{LockedFiles, Pages, fill, resident_pages};

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

/// Larger programs take long to be read again, alone and together; so do many.
const LARGEST_BYTES: u64 = 64 << 20;
const MOST_BYTES: u64 = 256 << 20;
const MOST_PROGRAMS: usize = 2000;
/// Files and folders that are looked at.
const MOST_ENTRIES: usize = 50_000;
/// What is held while programs are read again.
const HELD_BYTES: usize = 4 << 20;
const READ_BYTES: usize = 1 << 18;

/// Compiled programs and libraries that were found in memory.
#[derive(Debug, Default)]
pub struct Programs {
    /// Those that are not too many and not too large, the smallest first.
    pub found: Vec<PathBuf>,
    /// Whether there are, or may be, others.
    pub has_more: bool,
}

/// Has the kernel keep programs and libraries in other pages of its memory.
///
/// What others execute at the same time stays where it is, and so does all of a file system that is memory. All of
/// a program that was in memory in part is read.
pub fn place_anew(programs: &[PathBuf]) {
    let dropped: Vec<_> = programs
        .iter()
        .filter(|program| drop_pages(program).is_ok())
        .collect();
    // Pages that were given back last are taken first: these keep the kernel from taking the same ones.
    let held = vec![1u8; HELD_BYTES];
    let mut buffer = vec![0u8; READ_BYTES];
    for program in dropped {
        read_again(program, &mut buffer).ok();
    }
    drop(std::hint::black_box(held));
}

/// Finds the compiled programs and libraries in folders that are in memory: up to 64 MB each, 256 MB and 2,000
/// together, in up to 50,000 files and folders.
pub fn find_programs<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Programs {
    let mut sized = Vec::new();
    let (mut entries, mut has_more) = (0, false);
    let mut folders: Vec<_> = folders.into_iter().map(Path::to_owned).collect();
    'all: while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                has_more = true;
                break 'all;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    let path = entry.path();
                    match program_bytes(&path) {
                        Some(bytes) if bytes > LARGEST_BYTES => has_more = true,
                        Some(bytes) => sized.push((bytes, path)),
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }
    sized.sort();
    let all = sized.len();
    let mut left = MOST_BYTES;
    let found: Vec<_> = sized
        .into_iter()
        .take(MOST_PROGRAMS)
        .map_while(|(bytes, path)| {
            left = left.checked_sub(bytes)?;
            Some(path)
        })
        .collect();
    has_more |= found.len() < all;
    Programs { found, has_more }
}

/// Size of what the kernel or a program's loader maps as code, if some of it is in memory: an ELF file that may be
/// executed, or has the name of a library.
fn program_bytes(path: &Path) -> Option<u64> {
    let facts = fs::symlink_metadata(path).ok()?;
    let may_run = facts.permissions().mode() & 0o111 != 0;
    let is_library = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().contains(".so"));
    if !facts.is_file() || !(may_run || is_library) {
        return None;
    }
    let file = open_unfollowed(path).ok()?;
    // Before it is read: a trial that begins with a cold machine finds its programs on the disk. Of a file that is
    // another user's the kernel says that all of it is in memory.
    if resident_pages(&file).ok()?.resident == 0 {
        return None;
    }
    let mut magic = [0; 4];
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
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // Pages that are not on the disk yet would stay. Unlike fsync this does not have the disk empty its own cache,
    // which takes milliseconds for each file.
    // SAFETY: no pointers involved.
    unsafe { libc::sync_file_range(program.as_raw_fd(), 0, 0, all) };
    Ok(fadvise(&program, 0, None, Advice::DontNeed)?)
}

fn read_again(program: &Path, buffer: &mut [u8]) -> io::Result<()> {
    let mut program = open_unfollowed(program)?.take(LARGEST_BYTES);
    while program.read(buffer)? > 0 {}
    Ok(())
}
