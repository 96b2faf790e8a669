//! What can end a measurement early.

use std::os::fd::BorrowedFd;

/// A wish of someone outside that the measurement be given up.
pub trait Interruption {
    /// Becomes readable when the wish may have come.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Whether it has come, and then for good; otherwise consumes what made the descriptor readable.
    fn has_come(&self) -> bool;
}
