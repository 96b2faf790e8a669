//! What the worker does in a world where the package has been: with the package's rights, so that no
//! link or file that the package left there leads it to do more than the package could.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::path::PathBuf;

use datamill_probe::Confinement;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::enclosure::fork_into;
use super::entered::World;

/// Does something with the package's rights, without any descriptor of this process, and returns what
/// it told; in a world without confinement, with this process' rights.
pub fn do_confined<T: Serialize + DeserializeOwned>(
    world: &World,
    body: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    match world.confinement()? {
        None => body(),
        Some(confinement) => ask_child(confinement, 0, || {
            let told = body();
            told.map_err(|error| Told::of(&error))
        }),
    }
}

/// Opens a file with the package's rights; `open` also tells where the file really is.
pub fn open_confined(
    world: &World,
    open: impl FnOnce() -> io::Result<(File, PathBuf)>,
) -> io::Result<(File, PathBuf)> {
    match world.confinement()? {
        None => open(),
        // The child's descriptors are this process' own.
        Some(confinement) => {
            let (opened, path) = ask_child(confinement, libc::CLONE_FILES, || {
                open()
                    .map(|(file, path)| (file.into_raw_fd(), path))
                    .map_err(|error| Told::of(&error))
            })?;
            // SAFETY: the child opened it in the shared table and nobody else owns it.
            Ok((unsafe { OwnedFd::from_raw_fd(opened) }.into(), path))
        }
    }
}

/// An error as it crosses from one process to another.
#[derive(Serialize, Deserialize)]
struct Told {
    errno: Option<i32>,
    message: String,
}

impl Told {
    fn of(error: &io::Error) -> Self {
        Self {
            errno: error.raw_os_error(),
            message: error.to_string(),
        }
    }

    fn error(self) -> io::Error {
        match self.errno {
            Some(errno) => io::Error::from_raw_os_error(errno),
            None => io::Error::other(self.message),
        }
    }
}

fn ask_child<T: Serialize + DeserializeOwned>(
    confinement: &Confinement,
    flags: i32,
    body: impl FnOnce() -> Result<T, Told>,
) -> io::Result<T> {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
    match fork_into(flags)? {
        0 => {
            // SAFETY: this process ends below.
            let told = if unsafe { confinement.enter() } {
                if flags & libc::CLONE_FILES == 0 {
                    close_all_but(writing.as_raw_fd());
                }
                body()
            } else {
                Err(Told::of(&io::Error::last_os_error()))
            };
            let text = serde_json::to_vec(&told).unwrap_or_default();
            let mut writing = std::mem::ManuallyDrop::new(File::from(writing));
            writing.write_all(&text).ok();
            // SAFETY: ends this process without running the parent's clean-up.
            unsafe { libc::_exit(0) }
        }
        child => {
            let mut text = Vec::new();
            // With a shared table the pipe stays open until this process closes its end, too.
            if flags & libc::CLONE_FILES != 0 {
                wait_for(child);
            }
            drop(writing);
            let read = File::from(reading).read_to_end(&mut text);
            if flags & libc::CLONE_FILES == 0 {
                wait_for(child);
            }
            read?;
            let told: Result<T, Told> = serde_json::from_slice(&text)
                .map_err(|_| io::Error::other("the process that looked at the world was lost"))?;
            told.map_err(Told::error)
        }
    }
}

fn wait_for(child: libc::pid_t) {
    // SAFETY: no pointers to be written; the process is a child of this one.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::__WALL) };
}

fn close_all_but(kept: i32) {
    let kept = kept as libc::c_uint;
    // SAFETY: nobody uses them in this process any more.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, kept.saturating_sub(1), 0);
        libc::syscall(libc::SYS_close_range, kept + 1, libc::c_uint::MAX, 0);
    }
}
