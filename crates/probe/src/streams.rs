//! What the standard streams of a measured process are connected to.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::watching::OutputStream;

/// Room in each output pipe, so that a talkative program rarely waits for its reader.
const PIPE_BYTES: i32 = 1 << 20;

/// Where one output stream of a measured process goes.
#[derive(Debug)]
pub enum Output {
    /// It is read, and its first [`output_bytes`](crate::Launch::output_bytes) are kept in this file.
    Kept(File),
    /// It is read, and nothing but its tail is kept.
    Read,
    /// It is read and hashed, and nothing but its tail is kept.
    Hashed,
    /// The process writes to this file itself; nothing is seen of it.
    Direct(File),
}

/// The file that a process reads, or `/dev/null`.
pub(crate) fn open_input(file: Option<File>) -> io::Result<OwnedFd> {
    let file = file.map_or_else(|| File::open("/dev/null"), Ok)?;
    above_standard(file.into())
}

/// What a process writes to, and what is read of it; `owner` is to be able to open it again, as
/// `> /dev/stdout` does.
pub(crate) fn open_output(
    output: Output,
    keep_bytes: u64,
    owner: Option<u32>,
) -> io::Result<(OwnedFd, OutputStream)> {
    if let Output::Direct(file) = output {
        return Ok((above_standard(file.into())?, OutputStream::unseen()));
    }
    let (read, write) = output_pipe()?;
    if owner.is_some() {
        std::os::unix::fs::fchown(&write, owner, owner)?;
    }
    let stream = match output {
        Output::Kept(file) => OutputStream::kept(read, file, keep_bytes),
        Output::Hashed => OutputStream::hashed(read),
        Output::Read | Output::Direct(_) => OutputStream::read(read),
    };
    Ok((write, stream))
}

/// A pipe whose reading end never blocks.
fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: pipe2 made both and nobody else owns them.
    let (read, write) = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
    // SAFETY: descriptors of ours. The size is a wish: unprivileged users may have used up theirs.
    unsafe {
        libc::fcntl(read.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE_BYTES);
        if libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok((read, above_standard(write)?))
}

/// Moves a descriptor above the standard streams, so that connecting those cannot overwrite it.
fn above_standard(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    // SAFETY: duplicates a descriptor of ours.
    let moved = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) };
    if moved < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fresh from fcntl.
    Ok(unsafe { OwnedFd::from_raw_fd(moved) })
}
