//! Applying settings in the child: system calls only, see [`super::child`].

use super::child::Step;
use super::settings::{Limit, MemoryPolicy, ProcessSettings, SchedulingPolicy};

/// Bit of `personality(2)` that turns address-space randomisation off.
const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0040000;
const QUERY_PERSONALITY: libc::c_ulong = 0xffff_ffff;

/// The usual soft limit of a stack.
const STACK_BYTES: libc::rlim_t = 8 << 20;

/// Applies what does not slow down the rest of the child's preparation; tells the step that failed.
///
/// # Safety
/// Only for the child: what is set holds for the calling process.
pub(crate) unsafe fn apply_early(settings: &ProcessSettings) -> Result<(), Step> {
    // SAFETY: as the caller promises.
    unsafe {
        done(
            set_personality(settings.address_randomization),
            Step::Layout,
        )?;
        done(set_stack_limit(settings.stack_limit), Step::StackLimit)?;
        done(set_heap_limit(settings.heap_limit), Step::HeapLimit)?;
        if let Some(policy) = &settings.memory_policy {
            done(set_memory_policy(policy), Step::MemoryPolicy)?;
        }
        if let Some(processors) = &settings.processors {
            done(set_processors(processors.words()), Step::Processors)?;
        }
    }
    Ok(())
}

/// Applies what decides when the process gets a processor: the last to be set. The policy is the
/// very last, because a process with the policy idle may be refused another niceness.
///
/// # Safety
/// Only for the child: what is set holds for the calling process.
pub(crate) unsafe fn apply_late(settings: &ProcessSettings) -> Result<(), Step> {
    // SAFETY: as the caller promises.
    unsafe {
        if let Some(niceness) = settings.niceness {
            let set = libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, niceness) == 0;
            done(set, Step::Niceness)?;
        }
        if let Some(policy) = settings.policy {
            done(set_policy(policy), Step::Policy)?;
        }
    }
    Ok(())
}

fn done(successful: bool, step: Step) -> Result<(), Step> {
    if successful { Ok(()) } else { Err(step) }
}

/// Clears every bit that changes the layout of an address space; that of randomisation is inherited
/// unless something is wanted of it.
unsafe fn set_personality(address_randomization: Option<bool>) -> bool {
    // SAFETY: no pointers involved.
    unsafe {
        let now = libc::personality(QUERY_PERSONALITY);
        if now < 0 {
            return false;
        }
        let now = now as libc::c_ulong;
        let next = match address_randomization {
            Some(true) => 0,
            Some(false) => ADDR_NO_RANDOMIZE,
            None => now & ADDR_NO_RANDOMIZE,
        };
        now == next || libc::personality(next) >= 0
    }
}

/// Sets the soft limit of the stack, on which the kernel bases the layout of all other mappings.
unsafe fn set_stack_limit(wanted: Option<Limit>) -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: valid pointer.
    if unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } != 0 {
        return false;
    }
    limit.rlim_cur = match wanted {
        Some(wanted) => wanted.kernel_value(),
        None => STACK_BYTES.min(limit.rlim_max),
    };
    limit.rlim_max = limit.rlim_max.max(limit.rlim_cur);
    // SAFETY: valid pointer.
    unsafe { libc::setrlimit(libc::RLIMIT_STACK, &limit) == 0 }
}

unsafe fn set_heap_limit(wanted: Option<Limit>) -> bool {
    let Some(wanted) = wanted else {
        return true;
    };
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: valid pointers.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_DATA, &mut limit) != 0 {
            return false;
        }
        limit.rlim_cur = wanted.kernel_value();
        limit.rlim_max = limit.rlim_max.max(limit.rlim_cur);
        libc::setrlimit(libc::RLIMIT_DATA, &limit) == 0
    }
}

unsafe fn set_memory_policy(policy: &MemoryPolicy) -> bool {
    let nodes = policy.nodes();
    // The kernel looks at one bit less than it is told; no nodes are no words at all.
    let (words, bits) = if nodes.is_empty() {
        (std::ptr::null(), 0)
    } else {
        (nodes.as_ptr(), nodes.len() * 64 + 1)
    };
    // SAFETY: the parent keeps the words alive.
    unsafe { libc::syscall(libc::SYS_set_mempolicy, policy.kernel_number(), words, bits) == 0 }
}

unsafe fn set_processors(words: &[u64]) -> bool {
    // SAFETY: the parent keeps the words alive; the size is theirs.
    unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            0,
            size_of_val(words),
            words.as_ptr(),
        ) == 0
    }
}

/// The system call itself: some C libraries refuse to make it.
unsafe fn set_policy(policy: SchedulingPolicy) -> bool {
    let priority = policy.priority();
    // SAFETY: the priority is all that the kernel's `sched_param` holds.
    unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy.kernel_number(),
            &priority,
        ) == 0
    }
}
