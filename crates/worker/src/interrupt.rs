//! Ctrl-C and polite termination, as a descriptor instead of a handler.

use std::cell::Cell;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use datamill_fleet::ending_signals;
use datamill_probe::Interruption;
use libc::pid_t;

/// The pending interruption of this process: SIGTERM, or SIGINT, SIGHUP or SIGQUIT where it is not ignored.
///
/// In the worker itself any of them counts. In the process that carries a trial only those of the
/// worker and of people outside count: the scripts beside it know its number as `$PPID`.
pub struct Interrupt {
    signals: OwnedFd,
    worker: Cell<pid_t>,
    has_come: Cell<bool>,
    refused: Cell<u32>,
}

impl Interrupt {
    /// Blocks the signals and listens to them instead; the caller is the worker.
    pub fn listen() -> io::Result<Self> {
        // SAFETY: the set lives on this stack; signalfd returns a descriptor of our own.
        unsafe {
            // Whoever started us may ignore it, and then the kernel would not keep how children ended.
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
                worker: Cell::new(libc::getpid()),
                has_come: Cell::new(false),
                refused: Cell::new(0),
            })
        }
    }

    /// One that never comes, for what must be brought to its end.
    pub fn deaf() -> io::Result<Self> {
        // SAFETY: the empty set lives on this stack; signalfd returns a descriptor of our own.
        let signals = unsafe {
            let mut none: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut none);
            let descriptor = libc::signalfd(-1, &none, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(descriptor)
        };
        Ok(Self {
            signals,
            // SAFETY: no pointers involved.
            worker: Cell::new(unsafe { libc::getpid() }),
            has_come: Cell::new(false),
            refused: Cell::new(0),
        })
    }

    /// Takes the parent of the calling process for the one whose signals count, as a carrier of a
    /// part of a trial does.
    pub fn heed_parent(&self) {
        // SAFETY: no pointers involved.
        self.worker.set(unsafe { libc::getppid() });
    }

    /// Whether an interruption is pending.
    pub fn is_pending(&self) -> bool {
        // SAFETY: no pointers involved.
        let own = unsafe { libc::getpid() };
        if own == self.worker.get() {
            return self.is_readable();
        }
        while !self.has_come.get()
            && let Some(sender) = self.read_sender()
        {
            if self.is_from_outside(own, sender) {
                self.has_come.set(true);
            } else {
                self.refused.set(self.refused.get() + 1);
            }
        }
        self.has_come.get()
    }

    /// A sentence about the signals that did not count, if there were any.
    pub fn refusals(&self) -> Option<String> {
        let signals = match self.refused.get() {
            0 => return None,
            1 => "1 signal".to_owned(),
            count => format!("{count} signals"),
        };
        Some(format!(
            "A process of the package sent the worker {signals} to end it, as `kill $PPID` does; the worker ignored that."
        ))
    }

    fn is_readable(&self) -> bool {
        let mut entry = libc::pollfd {
            fd: self.signals.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry, as said.
        unsafe { libc::poll(&mut entry, 1, 0) > 0 }
    }

    /// Takes one signal; tells who sent it, 0 for a process outside this PID namespace.
    fn read_sender(&self) -> Option<pid_t> {
        // SAFETY: an all-zero record is valid, and the buffer has the size given.
        unsafe {
            let mut seen: libc::signalfd_siginfo = mem::zeroed();
            let size = size_of_val(&seen);
            let count = libc::read(
                self.signals.as_raw_fd(),
                ptr::from_mut(&mut seen).cast(),
                size,
            );
            (count == size as isize).then_some(seen.ssi_pid as pid_t)
        }
    }

    fn is_from_outside(&self, own: pid_t, sender: pid_t) -> bool {
        // The kernel's own signals (Ctrl-C) name no sender either.
        if own == 1 || sender == 0 {
            return sender == 0;
        }
        // A signal that a script had sent before hides that of the worker's death.
        // SAFETY: no pointers involved.
        sender == self.worker.get() || unsafe { libc::getppid() } != self.worker.get()
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

impl Interruption for Interrupt {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }

    fn has_come(&self) -> bool {
        self.is_pending()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a signal to a listening thread is noticed; where it is blocked, it ends with the thread.
    fn is_noticed(signal: i32) -> bool {
        let listen = move || {
            let interrupt = Interrupt::listen().unwrap();
            // SAFETY: to this thread alone, which blocks or ignores it.
            unsafe { libc::raise(signal) };
            interrupt.is_pending()
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
