//! Ctrl-C and polite termination, which wait until somebody looks: as a descriptor instead of a handler.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// The signals that end a worker: SIGTERM, and those of SIGINT, SIGHUP and SIGQUIT that are not ignored.
///
/// `nohup` ignores SIGHUP, and a shell without job control the other two for what it runs in the background: blocked,
/// they would come all the same. SIGTERM also tells that the parent has died, and always counts.
///
/// Looking takes none of them from the kernel: one stays pending through `exec`, so that whatever this process becomes
/// sees it too.
pub struct EndingSignals {
    descriptor: OwnedFd,
}

impl EndingSignals {
    /// Blocks the signals and listens to them instead.
    pub fn listen() -> io::Result<Self> {
        let set = listed();
        // SAFETY: the set lives on this stack.
        unsafe {
            // A parent may have left it ignored, and then the kernel would not keep how children ended.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            if libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Self::of(&set)
    }

    /// Listens to none: for what must be brought to its end.
    pub fn none() -> io::Result<Self> {
        // SAFETY: an all-zero set is valid, and lives on this stack.
        Self::of(&unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut set);
            set
        })
    }

    fn of(set: &libc::sigset_t) -> io::Result<Self> {
        // SAFETY: the set outlives the call, which returns a descriptor of our own.
        unsafe {
            let descriptor = libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                descriptor: OwnedFd::from_raw_fd(descriptor),
            })
        }
    }

    /// Whether one is pending.
    pub fn is_pending(&self) -> bool {
        let mut entry = libc::pollfd {
            fd: self.descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry, as said.
        unsafe { libc::poll(&mut entry, 1, 0) > 0 }
    }

    /// Takes one from the kernel; tells who sent it, 0 for a process outside this PID namespace.
    pub fn take(&self) -> Option<libc::pid_t> {
        // SAFETY: an all-zero record is valid, and the buffer has the size given.
        unsafe {
            let mut seen: libc::signalfd_siginfo = mem::zeroed();
            let size = size_of_val(&seen);
            let count = libc::read(
                self.descriptor.as_raw_fd(),
                ptr::from_mut(&mut seen).cast(),
                size,
            );
            (count == size as isize).then_some(seen.ssi_pid as libc::pid_t)
        }
    }
}

impl AsFd for EndingSignals {
    /// Readable while a signal is pending.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn listed() -> libc::sigset_t {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a signal to a listening thread is noticed; where it is blocked, it ends with the thread.
    fn is_noticed(signal: i32) -> bool {
        let listen = move || {
            let signals = EndingSignals::listen().unwrap();
            // SAFETY: to this thread alone, which blocks or ignores it.
            unsafe { libc::raise(signal) };
            signals.is_pending()
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
