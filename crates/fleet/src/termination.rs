//! Ctrl-C and polite termination, which wait until somebody looks.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A pending SIGINT, SIGTERM, SIGHUP or SIGQUIT. It is never taken from the kernel: it stays pending through `exec`, so
/// that whoever this process becomes sees it too.
pub struct Termination {
    signals: OwnedFd,
}

impl Termination {
    /// Blocks the signals and listens to them instead.
    pub fn listen() -> io::Result<Self> {
        // SAFETY: the set lives on this stack; signalfd returns a descriptor of our own.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
                libc::sigaddset(&mut set, signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                signals: OwnedFd::from_raw_fd(descriptor),
            })
        }
    }

    /// Whether a signal is pending.
    pub fn is_pending(&self) -> bool {
        let mut entry = libc::pollfd {
            fd: self.signals.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry, as said.
        unsafe { libc::poll(&mut entry, 1, 0) > 0 }
    }

    /// Waits for a signal; inside the runtime only.
    pub async fn wait(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open for as long as this borrows it, and the registration ends before.
        let listening =
            unsafe { AsyncFd::register_with_interest(self.signals.as_fd(), Interest::READABLE)? };
        let mut ready = listening.readable().await?;
        ready.retain_ready();
        Ok(())
    }
}

impl AsFd for Termination {
    /// Readable while a signal is pending.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}
