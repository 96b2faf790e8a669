//! Ctrl-C and polite termination, as a descriptor instead of a handler.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The pending interruption of this process, readable once SIGINT, SIGTERM or SIGHUP came.
pub struct Interrupt(OwnedFd);

impl Interrupt {
    /// Blocks the signals and listens to them instead.
    pub fn listen() -> io::Result<Self> {
        // SAFETY: the set lives on this stack; signalfd returns a descriptor of our own.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&mut set, signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(descriptor)))
        }
    }

    /// Whether an interruption is pending.
    pub fn is_pending(&self) -> bool {
        let mut entry = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry, as said.
        unsafe { libc::poll(&mut entry, 1, 0) > 0 }
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
