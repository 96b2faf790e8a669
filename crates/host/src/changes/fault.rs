//! Places at which tests kill the process, one after each step that the system can see.

/// Does nothing outside this crate's own tests.
#[cfg(not(test))]
pub(crate) fn fault_point() {}

#[cfg(test)]
pub(crate) use armed::{die_at_step, fault_point};

#[cfg(test)]
mod armed {
    use std::cell::Cell;

    thread_local! {
        static STEPS_LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Lets this process die by SIGKILL right after so many steps.
    pub(crate) fn die_at_step(steps: u64) {
        STEPS_LEFT.set(Some(steps));
    }

    pub(crate) fn fault_point() {
        let Some(left) = STEPS_LEFT.get() else {
            return;
        };
        if left <= 1 {
            // SAFETY: signals this process only.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        STEPS_LEFT.set(Some(left - 1));
    }
}
