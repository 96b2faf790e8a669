//! Event counters through `perf_event_open`.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use datamill_protocol::CounterFacts;

/// `struct perf_event_attr` as of its first version, which every kernel accepts.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const FORMAT_TOTAL_TIME_ENABLED: u64 = 1;
const FORMAT_TOTAL_TIME_RUNNING: u64 = 2;
const FLAG_DISABLED: u64 = 1 << 0;
const FLAG_INHERIT: u64 = 1 << 1;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FLAG_ENABLE_ON_EXEC: u64 = 1 << 12;
const OPEN_CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// What a count is when the kernel's part has to be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithoutKernel {
    /// The part in user mode.
    Partial,
    /// All of it: the kernel's clock does not look at modes.
    Whole,
    /// Always 0, because the kernel itself raises the event.
    Nothing,
}

struct Event {
    name: &'static str,
    kind: u32,
    config: u64,
    without_kernel: WithoutKernel,
}

const fn event(name: &'static str, kind: u32, config: u64, without_kernel: WithoutKernel) -> Event {
    Event {
        name,
        kind,
        config,
        without_kernel,
    }
}

const EVENTS: [Event; 10] = [
    event("cycles", TYPE_HARDWARE, 0, WithoutKernel::Partial),
    event("instructions", TYPE_HARDWARE, 1, WithoutKernel::Partial),
    event("cache_references", TYPE_HARDWARE, 2, WithoutKernel::Partial),
    event("cache_misses", TYPE_HARDWARE, 3, WithoutKernel::Partial),
    event("branches", TYPE_HARDWARE, 4, WithoutKernel::Partial),
    event("branch_misses", TYPE_HARDWARE, 5, WithoutKernel::Partial),
    event("context_switches", TYPE_SOFTWARE, 3, WithoutKernel::Nothing),
    event("cpu_migrations", TYPE_SOFTWARE, 4, WithoutKernel::Nothing),
    event("page_faults", TYPE_SOFTWARE, 2, WithoutKernel::Partial),
    event("task_clock_ns", TYPE_SOFTWARE, 1, WithoutKernel::Whole),
];

/// Whether the processor's counters can be read: tried by opening that of cycles in user mode.
pub fn counters_can_be_read() -> bool {
    match open_event(&EVENTS[0], FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HYPERVISOR) {
        Ok(descriptor) => {
            // SAFETY: opened just now, and ours to close.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
            true
        }
        Err(_) => false,
    }
}

/// One counter as the child left it: a descriptor, or the reason why there is none.
#[derive(Clone, Copy)]
enum Slot {
    Closed,
    Open {
        descriptor: RawFd,
        user_mode_only: bool,
    },
    Refused {
        errno: i32,
    },
}

/// The counters of one process: opened by the child on itself, read by the parent.
pub(crate) struct Counters {
    slots: [Slot; EVENTS.len()],
}

impl Counters {
    pub(crate) fn closed() -> Self {
        Self {
            slots: [Slot::Closed; EVENTS.len()],
        }
    }

    /// Opens every counter on the calling process, to start at its next `execve`.
    ///
    /// Called in the child while it shares memory with its parent: no allocation, no panic.
    pub(crate) fn open_on_self(&mut self) {
        for (slot, event) in self.slots.iter_mut().zip(&EVENTS) {
            *slot = match open_event(event, 0) {
                Ok(descriptor) => Slot::Open {
                    descriptor,
                    user_mode_only: false,
                },
                Err(libc::EACCES | libc::EPERM)
                    if event.without_kernel != WithoutKernel::Nothing =>
                {
                    match open_event(event, FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HYPERVISOR) {
                        Ok(descriptor) => Slot::Open {
                            descriptor,
                            user_mode_only: event.without_kernel == WithoutKernel::Partial,
                        },
                        Err(errno) => Slot::Refused { errno },
                    }
                }
                Err(errno) => Slot::Refused { errno },
            };
        }
    }

    /// Reads and closes every counter.
    pub(crate) fn read(self) -> Vec<CounterFacts> {
        self.slots
            .iter()
            .zip(&EVENTS)
            .filter_map(|(slot, event)| read_slot(*slot, event))
            .collect()
    }
}

fn open_event(event: &Event, exclusions: u64) -> Result<RawFd, i32> {
    let attributes = EventAttributes {
        kind: event.kind,
        size: size_of::<EventAttributes>() as u32,
        config: event.config,
        read_format: FORMAT_TOTAL_TIME_ENABLED | FORMAT_TOTAL_TIME_RUNNING,
        flags: FLAG_DISABLED | FLAG_INHERIT | FLAG_ENABLE_ON_EXEC | exclusions,
        ..EventAttributes::default()
    };
    // SAFETY: the attributes outlive the call and carry their own size.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &attributes,
            0,
            -1,
            -1,
            OPEN_CLOSE_ON_EXEC,
        )
    };
    if descriptor >= 0 {
        return Ok(descriptor as RawFd);
    }
    // SAFETY: errno of this thread.
    Err(unsafe { *libc::__errno_location() })
}

fn read_slot(slot: Slot, event: &Event) -> Option<CounterFacts> {
    let (value, reason) = match slot {
        Slot::Closed => return None,
        Slot::Refused { errno } => (None, reason_of_refusal(errno)),
        Slot::Open {
            descriptor,
            user_mode_only,
        } => {
            // SAFETY: the child opened it in the shared table and nobody else owns it.
            let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
            let (value, scaling) = read_value(&owned);
            let scope = if user_mode_only {
                "user mode only: kernel.perf_event_paranoid forbids counting the kernel's part"
            } else {
                ""
            };
            (
                value,
                [scope, &scaling]
                    .iter()
                    .filter(|part| !part.is_empty())
                    .copied()
                    .collect::<Vec<_>>()
                    .join("; "),
            )
        }
    };
    Some(CounterFacts {
        name: event.name.to_owned(),
        value,
        reason,
    })
}

fn read_value(counter: &OwnedFd) -> (Option<u64>, String) {
    let mut words = [0u64; 3];
    // SAFETY: the buffer has the size given.
    let got = unsafe {
        libc::read(
            counter.as_raw_fd(),
            words.as_mut_ptr().cast(),
            size_of_val(&words),
        )
    };
    if got != size_of_val(&words) as isize {
        return (None, "the kernel did not deliver the count".to_owned());
    }
    let [count, enabled, running] = words;
    if enabled == running {
        return (Some(count), String::new());
    }
    if running == 0 {
        return (
            None,
            "the counter never got its turn on the processor's counter unit".to_owned(),
        );
    }
    let scaled =
        (u128::from(count) * u128::from(enabled) + u128::from(running) / 2) / u128::from(running);
    let share = 100.0 * running as f64 / enabled as f64;
    (
        u64::try_from(scaled).ok(),
        format!("scaled: the counter was on for {share:.1}% of the time"),
    )
}

fn reason_of_refusal(errno: i32) -> String {
    match errno {
        libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV => {
            "this machine has no such counter".to_owned()
        }
        libc::EACCES | libc::EPERM => {
            "kernel.perf_event_paranoid or a security policy forbids this counter".to_owned()
        }
        libc::ENOSYS => "this kernel was built without performance events".to_owned(),
        libc::EMFILE | libc::ENFILE => "too many open files".to_owned(),
        other => format!(
            "perf_event_open: {}",
            std::io::Error::from_raw_os_error(other)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_reason_in_words() {
        for errno in [
            libc::ENOENT,
            libc::EACCES,
            libc::ENOSYS,
            libc::EMFILE,
            libc::EINVAL,
        ] {
            assert!(reason_of_refusal(errno).len() > 10);
        }
    }

    #[test]
    fn the_attributes_have_the_size_of_the_first_version() {
        assert_eq!(size_of::<EventAttributes>(), 64);
    }
}
