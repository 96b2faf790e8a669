//! A lock that may be taken inside an allocator: it allocates nothing and is open again in a forked child.

use std::sync::atomic::{AtomicBool, Ordering};

/// Interpreters that share one lock of their own never meet here; those with a lock each do.
pub struct Spin(AtomicBool);

impl Spin {
    /// An open lock.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Run something while no other thread runs anything under this lock.
    pub fn hold<T>(&self, work: impl FnOnce() -> T) -> T {
        while self.0.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::thread::yield_now();
        }
        let result = work();
        self.0.store(false, Ordering::Release);
        result
    }

    /// Open it in a child in which the thread that held it does not exist.
    pub fn open(&self) {
        self.0.store(false, Ordering::Release);
    }
}
