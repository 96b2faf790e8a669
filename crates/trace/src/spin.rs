//! A lock that may be taken inside an allocator: it allocates nothing and is open again in a forked child.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether threads may be at work at the same time: those of interpreters that have a lock each, or of one without.
///
/// Where all share one, the thread that holds that needs no other, and a locked instruction takes as long as all the rest.
pub static PARALLEL: AtomicBool = AtomicBool::new(true);

/// Whether an event in a place that is known takes no more than to add one to its counters, without a lock: events are
/// counted, no other thread can be at work, and latencies are not kept.
static IS_QUICK: AtomicBool = AtomicBool::new(false);
/// Whether a thread carries out known operations to learn from, which count for nothing.
static SOMEBODY_LEARNS: AtomicBool = AtomicBool::new(false);

/// Whether events in known places may be counted without a lock.
#[inline(always)]
pub fn is_quick() -> bool {
    IS_QUICK.load(Ordering::Relaxed)
}

/// An event in a known place was counted: the next ones may be counted quickly, unless another thread may be at work.
#[inline(always)]
pub fn allow_quick() {
    if !PARALLEL.load(Ordering::Relaxed) && !SOMEBODY_LEARNS.load(Ordering::Relaxed) {
        IS_QUICK.store(true, Ordering::SeqCst);
        // Another interpreter may have begun since it was asked: it forbids this after it has said that it is there.
        if PARALLEL.load(Ordering::SeqCst) {
            forbid_quick();
        }
    }
}

/// One of the things that events are counted quickly for holds no longer.
pub fn forbid_quick() {
    IS_QUICK.store(false, Ordering::SeqCst);
}

/// Forbid it as long as a thread learns.
pub fn forbid_quick_while(somebody_learns: bool) {
    SOMEBODY_LEARNS.store(somebody_learns, Ordering::Relaxed);
    forbid_quick();
}

/// A lock that knows the thread that holds it.
///
/// Threads that share an interpreter's lock never meet here; those of interpreters with a lock each do, and those of one
/// without.
pub struct Spin(AtomicU64);

/// Stands for the one thread that holds the interpreters' common lock; no thread has this number.
const SOMEBODY: u64 = 1;

impl Spin {
    /// An open lock.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Run something while no other thread runs anything under this lock; nothing when this thread already does.
    #[inline]
    pub fn hold_once(&self, work: impl FnOnce()) {
        if !PARALLEL.load(Ordering::Relaxed) {
            if self.0.load(Ordering::Relaxed) == 0 {
                self.0.store(SOMEBODY, Ordering::Relaxed);
                work();
                // Others may have come while this thread was at work: then they wait for it.
                self.0.store(0, Ordering::Release);
            }
            return;
        }
        let me = this_thread();
        if self.0.load(Ordering::Relaxed) == me {
            return;
        }
        while self
            .0
            .compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            std::thread::yield_now();
        }
        work();
        self.0.store(0, Ordering::Release);
    }

    /// Whether a thread holds it: this one, where all share an interpreter's lock.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Open it in a child in which the thread that held it does not exist.
    pub fn open(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// A number that no other thread of this process has now.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn this_thread() -> u64 {
    let pointer: u64;
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags))
    };
    pointer
}

/// A number that no other thread of this process has now.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn this_thread() -> u64 {
    let pointer: u64;
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, readonly, preserves_flags))
    };
    pointer
}

/// Held while tables of ours are in use: threads of a free-threaded interpreter call at the same time, and interpreters
/// with locks of their own.
pub static TABLES: Spin = Spin::new();

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;
    use std::sync::Arc;

    struct Shared(Spin, UnsafeCell<u64>);
    unsafe impl Sync for Shared {}
    unsafe impl Send for Shared {}

    #[test]
    fn threads_take_turns_and_none_waits_for_itself() {
        let shared = Arc::new(Shared(Spin::new(), UnsafeCell::new(0)));
        let threads = [(); 4].map(|()| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                for _ in 0..10_000 {
                    shared.0.hold_once(|| {
                        unsafe { *shared.1.get() += 1 };
                        shared.0.hold_once(|| panic!("held twice"));
                    });
                }
            })
        });
        for thread in threads {
            thread.join().expect("a thread failed");
        }
        assert_eq!(unsafe { *shared.1.get() }, 40_000);
    }
}
