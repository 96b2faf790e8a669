//! One measured process, from its `execve` to its end.

use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::time::Duration;

use datamill_protocol::PhaseFacts;
use datamill_protocol::digest::Digest;

use crate::bounds::{Bounds, BoundsPlan};
use crate::counters::Counters;
use crate::interruption::Interruption;
use crate::own_priority::OwnPriority;
use crate::starting::{ChildPlan, Confinement, ProcessSettings, Step, child_main};
use crate::streams::{Output, open_input, open_output};
use crate::watching::{EndCause, Family, Orphans, Watch, await_end};

const CHILD_STACK_BYTES: usize = 64 * 1024;
const READ_BUFFER_BYTES: usize = 64 * 1024;
/// Readings that empty a full pipe, and then some: who still fills it is not waited for.
const MOST_LAST_READS: u32 = 256;

/// Files that everybody may read and their owner write.
pub const USUAL_UMASK: u32 = 0o022;

/// What to launch and how.
pub struct Launch<'a> {
    /// Absolute path of the program.
    pub program: &'a Path,
    /// What it is told that it was called as; absent means by its path.
    pub name: Option<&'a CStr>,
    /// Arguments after the program's own name.
    pub arguments: &'a [CString],
    /// The whole environment, `NAME=value` each.
    pub environment: &'a [CString],
    /// Working folder.
    pub directory: &'a Path,
    /// What of its process is set.
    pub settings: &'a ProcessSettings,
    /// What it is confined to; absent leaves it in the caller's namespaces, with the caller's rights.
    pub confinement: Option<&'a Confinement>,
    /// Whether it leads a session of its own (autogroup schedules by session), or shares the caller's.
    pub own_session: bool,
    /// Whether event counters are wanted.
    pub with_counters: bool,
    /// Time after which the whole family is killed.
    pub timeout: Option<Duration>,
    /// Kept bytes of each output stream that is kept.
    pub output_bytes: u64,
    /// What it reads; absent means `/dev/null`.
    pub stdin: Option<File>,
    /// Where its stdout goes.
    pub stdout: Output,
    /// Where its stderr goes.
    pub stderr: Output,
    /// Permissions that its files do not get.
    pub umask: u32,
    /// How descendants are found and ended.
    pub family: Family,
    /// What the family may use of the host.
    pub bounds: Option<&'a dyn Bounds>,
    /// Tells when the measurement is to be given up.
    pub interrupt: Option<&'a dyn Interruption>,
}

/// What was seen.
#[derive(Debug)]
pub struct Measured {
    /// The measured phase.
    pub facts: PhaseFacts,
    /// Digest of all of stdout, where it was to be hashed.
    pub stdout_digest: Option<Digest>,
    /// Last bytes of stdout, at most 8 KiB.
    pub stdout_tail: Vec<u8>,
    /// Last bytes of stderr, at most 8 KiB.
    pub stderr_tail: Vec<u8>,
    /// Whether the interrupt came and the family was killed for it.
    pub interrupted: bool,
    /// Whether a bound was reached and the family was killed for it.
    pub bound_reached: bool,
    /// Why the kept output could not be stored, if so.
    pub storage_error: Option<io::Error>,
}

/// Why nothing was launched.
#[derive(Debug)]
pub enum LaunchError {
    /// The child could not be prepared.
    Prepare(io::Error),
    /// The child gave up at a step.
    Child {
        /// Step that failed.
        step: Step,
        /// Its cause.
        error: io::Error,
    },
}

impl LaunchError {
    /// Cause, when it was the program itself that could not be executed.
    pub fn execute_error(&self) -> Option<&io::Error> {
        match self {
            Self::Child {
                step: Step::Execute,
                error,
            } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare(error) => write!(formatter, "preparing a process: {error}"),
            Self::Child { step, error } => {
                let doing = match step {
                    Step::Separate => "separating its open files",
                    Step::Bounds => "entering the bounds of its trial",
                    Step::Streams => "connecting its standard streams",
                    Step::Directory => "entering its working folder",
                    Step::Layout => "setting whether its addresses are randomised",
                    Step::StackLimit => "limiting its stack",
                    Step::HeapLimit => "limiting its heap",
                    Step::MemoryPolicy => "choosing its memory nodes",
                    Step::Processors => "choosing its processors",
                    Step::Niceness => "setting its niceness",
                    Step::Policy => "setting its scheduling policy",
                    Step::Confine => "giving up its rights over the host",
                    Step::Execute => "executing the program",
                };
                write!(formatter, "{doing}: {error}")
            }
        }
    }
}

impl std::error::Error for LaunchError {}

/// Launches one process, waits for its end and measures it; nothing of its family survives.
///
/// The caller must satisfy what its [`Family`] asks for, and must not reap children elsewhere.
pub fn launch(request: Launch<'_>) -> Result<Measured, LaunchError> {
    let prepare = LaunchError::Prepare;
    let program = c_string(request.program).map_err(prepare)?;
    let directory = c_string(request.directory).map_err(prepare)?;
    let mut arguments = vec![request.name.map_or(program.as_ptr(), CStr::as_ptr)];
    arguments.extend(request.arguments.iter().map(|argument| argument.as_ptr()));
    arguments.push(ptr::null());
    let environment: Vec<_> = request
        .environment
        .iter()
        .map(|variable| variable.as_ptr())
        .chain([ptr::null()])
        .collect();
    let owner = request.confinement.map(|confinement| confinement.owner);
    let output =
        |stream| open_output(stream, request.output_bytes, owner).map_err(LaunchError::Prepare);
    let stdin = open_input(request.stdin).map_err(prepare)?;
    let (stdout_write, stdout) = output(request.stdout)?;
    let (stderr_write, stderr) = output(request.stderr)?;
    let mut buffer = vec![0u8; READ_BUFFER_BYTES];
    let mut streams = [stdout, stderr];
    let mut plan = ChildPlan {
        program: program.as_ptr(),
        arguments: arguments.as_ptr(),
        environment: environment.as_ptr(),
        directory: directory.as_ptr(),
        stdin: stdin.as_raw_fd(),
        stdout: stdout_write.as_raw_fd(),
        stderr: stderr_write.as_raw_fd(),
        settings: ptr::from_ref(request.settings),
        bounds: BoundsPlan::of(request.bounds),
        confinement: request.confinement.map_or(ptr::null(), ptr::from_ref),
        own_session: request.own_session,
        umask: request.umask,
        with_counters: request.with_counters,
        counters: Counters::closed(),
        // SAFETY: an all-zero rusage is valid.
        usage_before: unsafe { std::mem::zeroed() },
        started_monotonic_ns: 0,
        started_unix_ns: 0,
        failed_step: None,
        errno: 0,
    };

    // Put back only after the family has ended: until then it may leave no processor to this thread.
    let mut own_priority = OwnPriority::above(request.settings.policy);
    let orphans = Orphans::listen().map_err(prepare)?;
    lower_own_peak();
    let own_peak_before = own_peak_bytes();
    let (pid, process) = start(&mut plan).map_err(prepare)?;
    let own_peak_after = own_peak_bytes();
    if let Some(step) = plan.failed_step {
        reap_leader(pid).map_err(prepare)?;
        // Reading is what closes them; the child opened them in this process' table.
        drop(plan.counters.read());
        return Err(LaunchError::Child {
            step,
            error: io::Error::from_raw_os_error(plan.errno),
        });
    }
    // Only now: the program would have inherited it.
    if request.bounds.is_some_and(Bounds::depends_on_looks) {
        own_priority.above_ordinary();
    }
    // Only now: before the child had its own table, closing these would have closed the child's.
    drop((stdin, stdout_write, stderr_write));

    let deadline_ns = request.timeout.map(|span| {
        let span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        plan.started_monotonic_ns.saturating_add(span_ns)
    });
    let watch = Watch {
        pid,
        process: &process,
        orphans: &orphans,
        deadline_ns,
        interrupt: request.interrupt,
        family: request.family,
        bounds: request.bounds,
    };
    let end = await_end(&watch, &mut streams, &mut buffer).map_err(prepare)?;
    let (status, usage) = reap_leader(pid).map_err(prepare)?;
    let counters = plan.counters.read();
    let killed_already = end.cause != EndCause::Itself;
    let left_processes = end.killed + request.family.end(pid, killed_already, request.bounds);
    for stream in &mut streams {
        // A process outside the family could hold the pipe open: what is there is read, nothing awaited.
        for _ in 0..MOST_LAST_READS {
            if !stream.read_once(&mut buffer) {
                break;
            }
        }
    }

    let [mut stdout, mut stderr] = streams;
    // The child's own preparation is no part of the program.
    let before = plan.usage_before;
    // The kernel counts memory coarsely: counting long arguments in and out again may show it a rest.
    let rest = Some(own_peak_after).filter(|after| *after > own_peak_before);
    let floor = (before.ru_maxrss as u64 * 1024).max(rest.unwrap_or(0));
    Ok(Measured {
        facts: PhaseFacts {
            started_unix_ns: plan.started_unix_ns,
            wall_time_ns: end.monotonic_ns.saturating_sub(plan.started_monotonic_ns),
            user_time_ns: time_ns(usage.ru_utime).saturating_sub(time_ns(before.ru_utime)),
            system_time_ns: time_ns(usage.ru_stime).saturating_sub(time_ns(before.ru_stime)),
            peak_memory_bytes: usage.ru_maxrss as u64 * 1024,
            // At `execve` the kernel carries the peak of the memory shared until then over.
            peak_memory_floor_bytes: floor,
            minor_faults: difference(usage.ru_minflt, before.ru_minflt),
            major_faults: difference(usage.ru_majflt, before.ru_majflt),
            voluntary_switches: difference(usage.ru_nvcsw, before.ru_nvcsw),
            involuntary_switches: difference(usage.ru_nivcsw, before.ru_nivcsw),
            exit_code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            timed_out: end.cause == EndCause::Timeout,
            left_processes,
            stdout_bytes: stdout.bytes,
            stderr_bytes: stderr.bytes,
            output_truncated: stdout.truncated || stderr.truncated,
            counters,
        },
        stdout_digest: stdout.take_digest(),
        stdout_tail: stdout.take_tail(),
        stderr_tail: stderr.take_tail(),
        interrupted: end.cause == EndCause::Interrupt,
        bound_reached: end.cause == EndCause::Bound,
        storage_error: stdout.storage_error.or(stderr.storage_error),
    })
}

/// Forgets the peak of this process' memory, which the program would inherit; where the kernel does
/// not allow it, the recorded floor is higher.
fn lower_own_peak() {
    let file = File::options().write(true).open("/proc/self/clear_refs");
    file.and_then(|mut file| file.write_all(b"5")).ok();
}

/// Peak of this process' memory, or that of the memory that it had before its own `execve`.
fn own_peak_bytes() -> u64 {
    // SAFETY: an all-zero rusage is valid, and so is the pointer.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage.ru_maxrss as u64 * 1024
}

/// Starts the child and returns once it has executed its program or given up.
fn start(plan: &mut ChildPlan) -> io::Result<(libc::pid_t, OwnedFd)> {
    // Aligned words; the stack grows down from its end.
    let mut stack = vec![0u128; CHILD_STACK_BYTES / size_of::<u128>()];
    let mut process: RawFd = -1;
    let flags =
        libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: with CLONE_VFORK this thread sleeps until the child has left the shared memory, so
    // the stack and the plan outlive the child's use of them.
    let pid = unsafe {
        libc::clone(
            child_main,
            stack.as_mut_ptr().add(stack.len()).cast::<c_void>(),
            flags,
            ptr::from_mut(plan).cast::<c_void>(),
            ptr::from_mut(&mut process),
        )
    };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: CLONE_PIDFD stored a descriptor that only this function knows.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(process) }))
}

fn reap_leader(pid: libc::pid_t) -> io::Result<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: valid pointers.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } == pid {
            return Ok((status, usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::other("a path holds a NUL byte"))
}

fn difference(after: libc::c_long, before: libc::c_long) -> u64 {
    u64::try_from(after.saturating_sub(before)).unwrap_or(0)
}

fn time_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}
