//! Ctrl-C and polite termination, which wait until somebody looks.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The signals that end a worker: SIGTERM, and those of SIGINT, SIGHUP and SIGQUIT that are not ignored.
///
/// `nohup` ignores SIGHUP, and a shell without job control the other two for what it runs in the background: blocked,
/// they would come all the same. SIGTERM also tells that the parent has died, and always counts.
pub fn ending_signals() -> libc::sigset_t {
    // SAFETY: the set and the dispositions live on this stack; nothing is set.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGTERM);
        for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            let mut action: libc::sigaction = mem::zeroed();
            let is_known = libc::sigaction(signal, ptr::null(), &mut action) == 0;
            if !(is_known && action.sa_sigaction == libc::SIG_IGN) {
                libc::sigaddset(&mut set, signal);
            }
        }
        set
    }
}

/// A pending signal that ends a worker, as `ending_signals` lists them. It is never taken from the kernel: it stays pending through `exec`, so
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
            let set = ending_signals();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a signal to a listening thread is noticed; where it is blocked, it ends with the thread.
    fn is_noticed(signal: i32) -> bool {
        let listen = move || {
            let termination = Termination::listen().unwrap();
            // SAFETY: to this thread alone, which blocks or ignores it.
            unsafe { libc::raise(signal) };
            termination.is_pending()
        };
        std::thread::spawn(listen).join().unwrap()
    }

    #[test]
    fn a_signal_that_is_ignored_from_the_start_does_not_count() {
        for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            // SAFETY: the disposition of a signal that no other test of this binary raises.
            let before = unsafe { libc::signal(signal, libc::SIG_IGN) };
            let is_ignored = !is_noticed(signal);
            // SAFETY: as above.
            unsafe { libc::signal(signal, before) };
            assert!(is_ignored, "{signal}");
        }
        assert!(is_noticed(libc::SIGTERM));
    }
}
