//! Programs that were executed.

use std::sync::atomic::AtomicU64;

/// A program that was executed; the observer's side is `src/datamill/allocators/executed.py`.
#[repr(C)]
pub struct Executed {
    /// What claims the entry, of the next two.
    pub key: AtomicU64,
    pub device: AtomicU64,
    pub inode: AtomicU64,
    /// Processes that became it; those of them that loaded this library.
    pub executed: AtomicU64,
    pub loaded: AtomicU64,
    /// Processes whose environment did not ask for this library.
    pub bare: AtomicU64,
    /// Whether the path is there.
    pub ready: AtomicU64,
    pub path: [u8; 456],
}
