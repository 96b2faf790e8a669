//! Whether the signals that a process got are to end it: those of a package do not.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use datamill_host::EndingSignals;
use datamill_probe::Interruption;
use libc::pid_t;

/// The pending interruption of this process.
///
/// In the worker itself any of them counts. In the process that carries a trial only those of the
/// worker and of people outside count: the scripts beside it know its number as `$PPID`.
pub struct Interrupt {
    signals: EndingSignals,
    worker: Cell<pid_t>,
    has_come: Cell<bool>,
    refused: Cell<u32>,
}

impl Interrupt {
    /// Blocks the signals and listens to them instead; the caller is the worker.
    pub fn listen() -> io::Result<Self> {
        EndingSignals::listen().map(Self::of)
    }

    /// One that never comes, for what must be brought to its end.
    pub fn deaf() -> io::Result<Self> {
        EndingSignals::none().map(Self::of)
    }

    fn of(signals: EndingSignals) -> Self {
        Self {
            signals,
            // SAFETY: no pointers involved.
            worker: Cell::new(unsafe { libc::getpid() }),
            has_come: Cell::new(false),
            refused: Cell::new(0),
        }
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
            return self.signals.is_pending();
        }
        while !self.has_come.get()
            && let Some(sender) = self.signals.take()
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
