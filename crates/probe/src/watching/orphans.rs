//! Reaping, while a process is measured, the children that its descendants leave to this one.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::pid_t;

use super::family::{Reaped, reap};

/// Hears of ended children without waking up for anything else.
///
/// The kernel gives SIGCHLD to the signal's descriptor only while no thread takes it: in a process
/// with other threads, orphans are reaped at the end of the measurement.
pub(crate) struct Orphans {
    signals: OwnedFd,
    mask_before: libc::sigset_t,
}

impl Orphans {
    /// Blocks SIGCHLD in this thread, until this value is dropped, and listens to it instead.
    pub(crate) fn listen() -> io::Result<Self> {
        // SAFETY: both sets live on this stack; signalfd returns a descriptor of our own.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            let mut mask_before: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGCHLD);
            let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            let signals = OwnedFd::from_raw_fd(descriptor);
            match libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut mask_before) {
                0 => Ok(Self {
                    signals,
                    mask_before,
                }),
                errno => Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }

    /// Becomes readable when a child has ended.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.signals.as_raw_fd()
    }

    /// Reaps every ended child but the leader; returns how many of them had been killed.
    pub(crate) fn reap(&self, leader: pid_t) -> u32 {
        // SAFETY: an all-zero record is valid, and the buffer has the size given. One signal stands
        // for all children that ended before it was read.
        unsafe {
            let mut seen: libc::signalfd_siginfo = mem::zeroed();
            libc::read(
                self.signals.as_raw_fd(),
                ptr::from_mut(&mut seen).cast(),
                size_of_val(&seen),
            );
        }
        let mut killed = 0;
        while let Some(child) = next_ended_child()
            && child != leader
        {
            killed += u32::from(matches!(reap(child, libc::WNOHANG), Reaped::Killed));
        }
        killed
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        // SAFETY: a mask that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask_before, ptr::null_mut()) };
    }
}

/// A child that has ended and is not reaped yet.
fn next_ended_child() -> Option<pid_t> {
    // SAFETY: an all-zero record is valid and stays so when no child has ended.
    let child = unsafe {
        let mut ended: libc::siginfo_t = mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
        if libc::waitid(libc::P_ALL, 0, &mut ended, options) != 0 {
            return None;
        }
        ended.si_pid()
    };
    (child != 0).then_some(child)
}
