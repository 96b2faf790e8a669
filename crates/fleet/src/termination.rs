//! The agent's wait for a signal that ends it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use datamill_host::EndingSignals;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A pending signal that ends a worker. It is never taken from the kernel, so that the runner which this process
/// becomes sees it too.
pub struct Termination {
    signals: EndingSignals,
}

impl Termination {
    /// Blocks the signals and listens to them instead.
    pub fn listen() -> io::Result<Self> {
        EndingSignals::listen().map(|signals| Self { signals })
    }

    /// Whether a signal is pending.
    pub fn is_pending(&self) -> bool {
        self.signals.is_pending()
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
