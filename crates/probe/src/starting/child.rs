//! What the child does between its birth and its `execve`.
//!
//! It shares the parent's memory while the parent sleeps: system calls only, no allocation, no
//! panic, nothing that leaves locks or library state behind.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::RawFd;

use super::apply::{apply_early, apply_late};
use super::confinement::Confinement;
use super::settings::ProcessSettings;
use crate::bounds::BoundsPlan;
use crate::counters::Counters;

/// Everything the child needs, prepared by the parent, and what it reports back.
pub(crate) struct ChildPlan {
    pub(crate) program: *const c_char,
    pub(crate) arguments: *const *const c_char,
    pub(crate) environment: *const *const c_char,
    pub(crate) directory: *const c_char,
    pub(crate) stdin: RawFd,
    pub(crate) stdout: RawFd,
    pub(crate) stderr: RawFd,
    pub(crate) settings: *const ProcessSettings,
    pub(crate) bounds: BoundsPlan,
    /// Null where the process stays in the caller's namespaces.
    pub(crate) confinement: *const Confinement,
    pub(crate) own_session: bool,
    pub(crate) umask: libc::mode_t,
    pub(crate) with_counters: bool,
    pub(crate) counters: Counters,
    /// What this process had used of its own when it executed its program.
    pub(crate) usage_before: libc::rusage,
    pub(crate) started_monotonic_ns: u64,
    pub(crate) started_unix_ns: u64,
    pub(crate) failed_step: Option<Step>,
    pub(crate) errno: i32,
}

/// Steps of the child that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Getting a descriptor table of its own.
    Separate,
    /// Entering the bounds of its trial.
    Bounds,
    /// Connecting its standard streams.
    Streams,
    /// Entering its working folder.
    Directory,
    /// Setting whether its addresses are randomised.
    Layout,
    /// Limiting its stack.
    StackLimit,
    /// Limiting its heap.
    HeapLimit,
    /// Choosing its memory nodes.
    MemoryPolicy,
    /// Choosing its processors.
    Processors,
    /// Setting its niceness.
    Niceness,
    /// Setting its scheduling policy.
    Policy,
    /// Giving up its rights over the host.
    Confine,
    /// Executing the program.
    Execute,
}

/// Entry point of the child; `argument` is its [`ChildPlan`].
pub(crate) extern "C" fn child_main(argument: *mut c_void) -> c_int {
    // SAFETY: the parent passes its plan and sleeps until this process has executed or exited.
    let plan = unsafe { &mut *argument.cast::<ChildPlan>() };
    // SAFETY: system calls on values that the parent prepared and keeps alive.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // A group of its own either way: by it the family is found where there is no PID namespace.
        if plan.own_session {
            libc::setsid();
        } else {
            libc::setpgid(0, 0);
        }
        if plan.with_counters {
            plan.counters.open_on_self();
        }
        // The table was shared so that the parent can read the counters; what follows is private.
        let step = if libc::unshare(libc::CLONE_FILES) != 0 {
            Step::Separate
        } else if !plan.bounds.join_groups() || !plan.bounds.lower_ceilings() {
            Step::Bounds
        } else if !connect_streams(plan) {
            Step::Streams
        } else if let Err(step) = apply_early(&*plan.settings) {
            step
        } else if let Err(step) = finish(&*plan.settings, plan.umask) {
            step
        } else if !confine(plan) {
            Step::Confine
        } else if libc::chdir(plan.directory) != 0 {
            // Only now: another mount namespace brings its own root.
            Step::Directory
        } else {
            libc::getrusage(libc::RUSAGE_SELF, &mut plan.usage_before);
            plan.started_unix_ns = clock_ns(libc::CLOCK_REALTIME);
            plan.started_monotonic_ns = clock_ns(libc::CLOCK_MONOTONIC);
            libc::execve(plan.program, plan.arguments, plan.environment);
            Step::Execute
        };
        plan.errno = *libc::__errno_location();
        plan.failed_step = Some(step);
        libc::_exit(127)
    }
}

unsafe fn finish(settings: &ProcessSettings, umask: libc::mode_t) -> Result<(), Step> {
    // SAFETY: this is the child.
    unsafe {
        libc::umask(umask);
        reset_signals();
        apply_late(settings)
    }
}

unsafe fn confine(plan: &ChildPlan) -> bool {
    // SAFETY: this is the child; the parent keeps the confinement alive.
    unsafe { plan.confinement.is_null() || (*plan.confinement).enter() }
}

unsafe fn connect_streams(plan: &ChildPlan) -> bool {
    // SAFETY: descriptors prepared by the parent, all above 2.
    unsafe {
        let connected = libc::dup2(plan.stdin, 0) == 0
            && libc::dup2(plan.stdout, 1) == 1
            && libc::dup2(plan.stderr, 2) == 2;
        // Those of its namespaces are still to be used. A kernel without it leaves descriptors that
        // were opened close-on-exec anyway.
        let how = if plan.confinement.is_null() {
            0
        } else {
            libc::CLOSE_RANGE_CLOEXEC
        };
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, how);
        connected
    }
}

/// Highest signal number.
const LAST_SIGNAL: i32 = 64;

unsafe fn reset_signals() {
    // The kernel's sigaction: default handler, no flags, empty mask. The C library's call would
    // refuse the signals that it keeps for itself, which a parent may have left ignored.
    let default = [0 as libc::c_ulong; 8];
    let none = 0u64;
    // SAFETY: both live on this stack; failures (SIGKILL, SIGSTOP) change nothing.
    unsafe {
        for signal in 1..=LAST_SIGNAL {
            let old = std::ptr::null_mut::<c_void>();
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                &default,
                old,
                size_of_val(&none),
            );
        }
        let old = std::ptr::null_mut::<c_void>();
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &none,
            old,
            size_of_val(&none),
        );
    }
}

/// Nanoseconds of a clock that counts from a positive epoch.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: valid pointer; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
