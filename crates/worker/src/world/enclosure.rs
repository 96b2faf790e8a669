//! The process that carries a trial: in namespaces of its own, and dead as soon as the worker is.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use datamill_probe::Family;
use datamill_protocol::IsolationKind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::mounts::{mount_processes, protect_processes};
use crate::interrupt::Interrupt;

/// Time that an interrupted trial has to end its processes and to report.
const GRACE: Duration = Duration::from_secs(10);
/// Time after which an interrupted trial that has not reported is told again.
const TOLD_AGAIN: Duration = Duration::from_millis(50);

/// Mounts, processes, message queues and the host's name are a stacked world's own.
const OWN_NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// The parts of a trial that must not find, count or end one another's processes.
const NESTED_NAMESPACES: i32 = libc::CLONE_NEWNS | libc::CLONE_NEWPID;

/// Why an enclosed process gave no report.
pub enum EncloseError {
    /// This host refused the enclosure.
    Impossible(String),
    /// It died.
    Died(String),
}

/// Runs `body` in a process enclosed for a kind of world, with the host's network or one of its own,
/// and returns its report.
///
/// An interruption is passed on; the body is expected to notice it and to report soon.
pub fn enclose<T: Serialize + DeserializeOwned>(
    kind: IsolationKind,
    network: bool,
    interrupt: &Interrupt,
    body: impl FnOnce() -> T,
) -> Result<T, EncloseError> {
    let own_network = if network { 0 } else { libc::CLONE_NEWNET };
    let namespaces = match kind {
        IsolationKind::Confined | IsolationKind::Overlay => OWN_NAMESPACES | own_network,
        IsolationKind::UserNamespace => libc::CLONE_NEWUSER | OWN_NAMESPACES | own_network,
        IsolationKind::Plain | IsolationKind::Guest => 0,
    };
    enclose_in(namespaces, kind, interrupt, body)
}

/// Runs `body` in a process below the calling, enclosed one: in the same world, with a family of
/// processes of its own. Returns its report.
pub fn enclose_within<T: Serialize + DeserializeOwned>(
    family: Family,
    interrupt: &Interrupt,
    body: impl FnOnce() -> io::Result<T>,
) -> Result<T, EncloseError> {
    let (namespaces, kind) = nested(family);
    let report = enclose_in(namespaces, kind, interrupt, || {
        interrupt.heed_parent();
        show_own_processes(family)
            .and_then(|()| body())
            .map_err(|error| error.to_string())
    })?;
    report.map_err(EncloseError::Impossible)
}

/// A process below the calling, enclosed one that does something beside it.
pub struct Companion(libc::pid_t);

impl Companion {
    /// Starts one in the same world, with a family of processes of its own; it is expected to end by
    /// itself when `lifeline` breaks, and does so in any case when a private world ends.
    pub fn start(
        family: Family,
        lifeline: OwnedFd,
        body: impl FnOnce(OwnedFd),
    ) -> io::Result<Self> {
        let (namespaces, kind) = nested(family);
        match fork_into(namespaces)? {
            0 => {
                prepare_enclosed(kind, &lifeline, 0, 0);
                if show_own_processes(family).is_ok() {
                    body(lifeline);
                }
                // SAFETY: ends this process without running the parent's clean-up.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Self(pid)),
        }
    }

    /// Waits for its end, whose cause must have come already, and hastens it if it takes too long.
    pub fn end(self) {
        let deadline = Instant::now() + GRACE;
        loop {
            let mut status = 0;
            // SAFETY: valid pointer; the process is a child of this one until it is reaped.
            let reaped = unsafe { libc::waitpid(self.0, &mut status, libc::WNOHANG) };
            if reaped != 0 {
                return;
            }
            if Instant::now() >= deadline {
                signal(self.0, libc::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn nested(family: Family) -> (i32, IsolationKind) {
    match family {
        Family::PidNamespace => (NESTED_NAMESPACES, IsolationKind::Overlay),
        Family::Subreaper => (0, IsolationKind::Plain),
    }
}

/// `/proc` of a private world shows the processes of the namespace that it was mounted in.
fn show_own_processes(family: Family) -> io::Result<()> {
    match family {
        Family::PidNamespace => {
            let proc = Path::new("/proc");
            mount_processes(proc).and_then(|()| protect_processes(proc))
        }
        Family::Subreaper => Ok(()),
    }
}

fn enclose_in<T: Serialize + DeserializeOwned>(
    namespaces: i32,
    kind: IsolationKind,
    interrupt: &Interrupt,
    body: impl FnOnce() -> T,
) -> Result<T, EncloseError> {
    let died = |doing: &'static str| {
        move |error: io::Error| EncloseError::Died(format!("{doing}: {error}"))
    };
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)
        .map_err(io::Error::from)
        .map_err(died("making a pipe"))?;
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    if kind == IsolationKind::Plain {
        // Should the carrier of the trial be killed, its processes become this one's.
        // SAFETY: no pointers involved.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
    match fork_into(namespaces) {
        Err(error) => Err(EncloseError::Impossible(format!(
            "the kernel refused the namespaces: {error}"
        ))),
        Ok(0) => {
            drop(reading);
            prepare_enclosed(kind, &writing, user, group);
            let report = body();
            if let Ok(text) = serde_json::to_vec(&report) {
                File::from(writing).write_all(&text).ok();
            }
            // SAFETY: ends this process without running the parent's clean-up.
            unsafe { libc::_exit(0) }
        }
        Ok(pid) => {
            drop(writing);
            let report = await_report(pid, reading, interrupt);
            if kind == IsolationKind::Plain {
                datamill_probe::end_orphans();
            }
            report
        }
    }
}

/// `fork` into new namespaces; returns 0 in the child.
pub(super) fn fork_into(namespaces: i32) -> io::Result<libc::pid_t> {
    let flags = (namespaces | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: without CLONE_VM and without a stack this is fork; the worker has a single thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(pid as libc::pid_t)
    }
}

fn prepare_enclosed(kind: IsolationKind, report: &OwnedFd, user: u32, group: u32) {
    // A PID namespace dies with its process 1. In a plain world somebody must end the family, so
    // that process gets a signal that it can act on.
    let on_death = if kind == IsolationKind::Plain {
        libc::SIGTERM
    } else {
        libc::SIGKILL
    };
    // SAFETY: no pointers involved.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, on_death);
        if kind == IsolationKind::Plain {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        }
    }
    // The worker may have died before the signal was asked for: then nobody reads any more.
    let mut entries = [PollFd::new(report, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    if poll(&mut entries, Some(&now)).is_ok() && entries[0].revents().contains(PollFlags::ERR) {
        std::process::exit(1);
    }
    if kind == IsolationKind::UserNamespace {
        // What fails here shows when the world is made, with the kernel's own reason.
        fs::write("/proc/self/setgroups", "deny").ok();
        fs::write("/proc/self/uid_map", format!("0 {user} 1")).ok();
        fs::write("/proc/self/gid_map", format!("0 {group} 1")).ok();
    }
    if kind != IsolationKind::Plain {
        // Keeps the files that this process has open on the host out of the trial's reach, in
        // /proc/1/fd. A trial that is root of the host has more than one way to them.
        // SAFETY: no pointers involved.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    }
}

fn await_report<T: DeserializeOwned>(
    pid: libc::pid_t,
    reading: OwnedFd,
    interrupt: &Interrupt,
) -> Result<T, EncloseError> {
    let mut file = File::from(reading);
    let mut text = Vec::new();
    let mut deadline: Option<Instant> = None;
    loop {
        let mut entries = vec![PollFd::new(&file, PollFlags::IN)];
        if deadline.is_none() {
            entries.push(PollFd::from_borrowed_fd(interrupt.as_fd(), PollFlags::IN));
        }
        let left = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = left.min(TOLD_AGAIN);
            Timespec {
                tv_sec: wait.as_secs() as i64,
                tv_nsec: i64::from(wait.subsec_nanos()),
            }
        });
        poll(&mut entries, left.as_ref()).ok();
        let woken = entries
            .get(1)
            .is_some_and(|entry| !entry.revents().is_empty());
        let readable = !entries[0].revents().is_empty();
        if woken && interrupt.is_pending() {
            deadline = Some(Instant::now() + GRACE);
        }
        if let Some(deadline) = deadline {
            if Instant::now() >= deadline {
                signal(pid, libc::SIGKILL);
                break;
            }
            // Again and again: a signal that a script sent, and that is not read yet, swallows this one.
            signal(pid, libc::SIGTERM);
        }
        if readable {
            let mut chunk = [0u8; 1 << 14];
            match file.read(&mut chunk) {
                Ok(0) | Err(_) => break,
                Ok(count) => text.extend_from_slice(&chunk[..count]),
            }
        }
    }
    let mut status = 0;
    // SAFETY: valid pointer; the process is a child of this one.
    while unsafe { libc::waitpid(pid, &mut status, 0) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    serde_json::from_slice(&text).map_err(|_| {
        EncloseError::Died(if libc::WIFSIGNALED(status) {
            format!("it was killed by signal {}", libc::WTERMSIG(status))
        } else {
            format!("it exited with status {}", libc::WEXITSTATUS(status))
        })
    })
}

fn signal(pid: libc::pid_t, signal: i32) {
    // SAFETY: signals a child that has not been reaped.
    unsafe { libc::kill(pid, signal) };
}
