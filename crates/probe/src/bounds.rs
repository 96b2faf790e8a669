//! What bounds a measured process and its family from outside.

use std::os::fd::RawFd;
use std::time::Duration;

/// Most descriptors that can be watched beside the process.
pub const MOST_ALARMS: usize = 4;

/// Bounds on what a family may use of the host. The child enters them just before its `execve`.
pub trait Bounds {
    /// Files of control groups: a process that writes `0` into one moves there.
    fn groups(&self) -> &[RawFd];

    /// Limits of single processes: the resource, and the most that it may ever be raised to.
    fn ceilings(&self) -> &[Ceiling];

    /// How readily the kernel kills the family when the machine is out of memory, if that is to be set.
    fn killed_first(&self) -> bool;

    /// Descriptors that report that a bound was reached; at most [`MOST_ALARMS`] of them.
    fn alarms(&self) -> &[Alarm];

    /// When to look again after so much time where nothing reports; absent where everything does.
    fn interval(&self, elapsed: Duration) -> Option<Duration>;

    /// Whether nothing but a look in time keeps the family from taking the whole machine.
    fn depends_on_looks(&self) -> bool;

    /// Looks whether a bound was reached, and then for good.
    fn is_reached(&self) -> bool;

    /// Kills everything inside the bounds, as far as it can be found by them.
    fn kill(&self);
}

/// A limit that the kernel keeps for each process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    /// `RLIMIT_…`.
    pub resource: i32,
    /// The limit, both the one in force and the one that it can be raised to; a lower one stays.
    pub value: u64,
}

/// A descriptor to poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    /// The descriptor.
    pub descriptor: RawFd,
    /// Events that say that a bound may have been reached.
    pub events: i16,
}

/// What the child needs of its bounds.
#[derive(Clone, Copy)]
pub(crate) struct BoundsPlan {
    groups: *const RawFd,
    group_count: usize,
    ceilings: *const Ceiling,
    ceiling_count: usize,
    killed_first: bool,
}

impl BoundsPlan {
    pub(crate) fn of(bounds: Option<&dyn Bounds>) -> Self {
        let groups = bounds.map_or(&[][..], Bounds::groups);
        let ceilings = bounds.map_or(&[][..], Bounds::ceilings);
        Self {
            groups: groups.as_ptr(),
            group_count: groups.len(),
            ceilings: ceilings.as_ptr(),
            ceiling_count: ceilings.len(),
            killed_first: bounds.is_some_and(Bounds::killed_first),
        }
    }

    /// Joins the groups; the descriptors must still be open.
    ///
    /// # Safety
    /// Only for the child, with the parent's memory still in place.
    pub(crate) unsafe fn join_groups(&self) -> bool {
        // SAFETY: the parent keeps the list alive and sleeps.
        unsafe {
            for index in 0..self.group_count {
                let group = *self.groups.add(index);
                if libc::write(group, c"0".as_ptr().cast(), 1) != 1 {
                    return false;
                }
            }
            if self.group_count > 0 {
                // What the process can see and mount of the groups ends with its own from here on.
                // Who may not have that cannot mount them either.
                libc::unshare(libc::CLONE_NEWCGROUP);
            }
        }
        true
    }

    /// Lowers the limits that the kernel keeps for this process and its children.
    ///
    /// # Safety
    /// As for [`Self::join_groups`].
    pub(crate) unsafe fn lower_ceilings(&self) -> bool {
        // SAFETY: as above; the limits live on this stack.
        unsafe {
            if self.killed_first {
                prefer_as_victim();
            }
            for index in 0..self.ceiling_count {
                let ceiling = *self.ceilings.add(index);
                let resource = ceiling.resource as libc::__rlimit_resource_t;
                let mut limit = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                if libc::getrlimit(resource, &mut limit) != 0 {
                    return false;
                }
                let value = ceiling.value as libc::rlim_t;
                limit.rlim_max = limit.rlim_max.min(value);
                limit.rlim_cur = limit.rlim_cur.min(value);
                if libc::setrlimit(resource, &limit) != 0 {
                    return false;
                }
            }
        }
        true
    }
}

/// Of a machine's processes, those of a trial go first; a world without `/proc` leaves it to chance.
unsafe fn prefer_as_victim() {
    // SAFETY: constant strings; the descriptor is this function's own.
    unsafe {
        let flags = libc::O_WRONLY | libc::O_CLOEXEC;
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), flags);
        if file >= 0 {
            libc::write(file, c"500".as_ptr().cast(), 3);
            libc::close(file);
        }
    }
}
