//! Regions begin and end one at a time, whichever threads begin and end them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::python::api;
use crate::spin::this_thread;

/// The thread whose turn it is; 0 for none.
static HOLDER: AtomicU64 = AtomicU64::new(0);

/// Run something while no other thread is in here.
///
/// What counting begins with may have the interpreter collect garbage, and what it collects may begin a region: that is
/// part of the same turn.
pub fn take_turn<R>(work: impl FnOnce() -> R) -> R {
    let me = this_thread();
    if HOLDER.load(Ordering::Relaxed) == me {
        return work();
    }
    while HOLDER
        .compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        wait();
    }
    let done = work();
    HOLDER.store(0, Ordering::Release);
    done
}

/// Wait until it is nobody's turn. The interpreter is left meanwhile: whose turn it is may wait for its lock, or for all
/// threads to pause.
fn wait() {
    const A_WHILE: Duration = Duration::from_micros(20);
    let inside = api().filter(|api| unsafe { (api.thread_state)() } != 0);
    let state = inside.map(|api| unsafe { (api.leave_interpreter)() });
    while HOLDER.load(Ordering::Relaxed) != 0 {
        std::thread::sleep(A_WHILE);
    }
    if let (Some(api), Some(state)) = (inside, state) {
        unsafe { (api.enter_interpreter)(state) };
    }
}

/// A child that was forked: the thread whose turn it was may not exist in it.
pub fn start_over() {
    HOLDER.store(0, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn turns_do_not_overlap_and_one_within_another_is_part_of_it() {
        let (inside, turns) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        take_turn(|| {
                            assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                            take_turn(|| turns.fetch_add(1, Ordering::Relaxed));
                            inside.fetch_sub(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(turns.load(Ordering::Relaxed), 4000);
    }
}
