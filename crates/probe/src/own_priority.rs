//! The launcher's own priority while a program could keep it from every processor.

use crate::starting::{REAL_TIME_PRIORITY, SchedulingPolicy};

/// Keeps this thread above what it measures, so that it acts in time although a real-time program, or
/// thousands of ordinary processes, leave no processor to anyone else; put back when dropped.
pub(crate) struct OwnPriority {
    before: Option<(libc::c_long, libc::c_int)>,
}

impl OwnPriority {
    /// Rises above a program of this policy, where that is allowed: elsewhere the kernel's own
    /// reserve for ordinary processes has to do.
    pub(crate) fn above(policy: Option<SchedulingPolicy>) -> Self {
        if policy.is_some_and(SchedulingPolicy::is_real_time) {
            Self::rise(REAL_TIME_PRIORITY + 1)
        } else {
            Self { before: None }
        }
    }

    /// Rises above all ordinary processes, where that is allowed and was not done before.
    pub(crate) fn above_ordinary(&mut self) {
        if self.before.is_none() {
            *self = Self::rise(1);
        }
    }

    fn rise(real_time_priority: libc::c_int) -> Self {
        let mut priority: libc::c_int = 0;
        // SAFETY: the priority is all that the kernel's `sched_param` holds.
        let before = unsafe {
            let before = libc::syscall(libc::SYS_sched_getscheduler, 0);
            let known =
                before >= 0 && libc::syscall(libc::SYS_sched_getparam, 0, &raw mut priority) == 0;
            known.then_some((before, priority))
        };
        let risen = before.is_some() && set(libc::SCHED_FIFO.into(), real_time_priority);
        Self {
            before: before.filter(|_| risen),
        }
    }
}

impl Drop for OwnPriority {
    fn drop(&mut self) {
        if let Some((policy, priority)) = self.before {
            set(policy, priority);
        }
    }
}

fn set(policy: libc::c_long, priority: libc::c_int) -> bool {
    // SAFETY: the priority is all that the kernel's `sched_param` holds.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) == 0 }
}
