//! Waiting for a measured process to end, or for a reason to end it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use super::family::Family;
use super::orphans::Orphans;
use super::output::OutputStream;
use crate::bounds::{Alarm, Bounds, MOST_ALARMS};
use crate::interruption::Interruption;
use crate::starting::clock_ns;

/// Why a measured process ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndCause {
    Itself,
    Timeout,
    Interrupt,
    Bound,
}

/// How it ended.
pub(crate) struct End {
    pub(crate) monotonic_ns: u64,
    pub(crate) cause: EndCause,
    /// Processes reaped after the family had been killed for the cause.
    pub(crate) killed: u32,
}

/// What is watched until the measured process has ended.
pub(crate) struct Watch<'a> {
    pub(crate) pid: libc::pid_t,
    pub(crate) process: &'a OwnedFd,
    pub(crate) orphans: &'a Orphans,
    pub(crate) deadline_ns: Option<u64>,
    pub(crate) interrupt: Option<&'a dyn Interruption>,
    pub(crate) family: Family,
    pub(crate) bounds: Option<&'a dyn Bounds>,
}

impl Watch<'_> {
    fn kill(&self) {
        self.family.kill(self.pid, self.bounds);
    }

    /// When to look at the bounds again, having looked just now.
    fn next_look_ns(&self, started_ns: u64) -> Option<u64> {
        let now_ns = clock_ns(libc::CLOCK_MONOTONIC);
        let elapsed = Duration::from_nanos(now_ns.saturating_sub(started_ns));
        let interval = self.bounds?.interval(elapsed)?;
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        Some(now_ns.saturating_add(interval_ns))
    }
}

/// Waits for the end of a process, reading what it writes, and kills its family when that is due.
pub(crate) fn await_end(
    watch: &Watch<'_>,
    streams: &mut [OutputStream; 2],
    buffer: &mut [u8],
) -> io::Result<End> {
    let mut cause = EndCause::Itself;
    let mut killed = 0;
    // One that came before is not told by the descriptor any more.
    let mut interrupted = watch.interrupt.is_some_and(Interruption::has_come);
    let started_ns = clock_ns(libc::CLOCK_MONOTONIC);
    let mut look_ns = watch.next_look_ns(started_ns);
    loop {
        let waiting = cause == EndCause::Itself;
        let interrupt = watch.interrupt.filter(|_| waiting);
        let mut polled = [poll_entry(-1); WATCHED + MOST_ALARMS];
        polled[..WATCHED].copy_from_slice(&[
            poll_entry(watch.process.as_raw_fd()),
            poll_entry(streams[0].poll_descriptor(buffer.len())),
            poll_entry(streams[1].poll_descriptor(buffer.len())),
            poll_entry(watch.orphans.descriptor()),
            poll_entry(interrupt.map_or(-1, |interrupt| interrupt.descriptor().as_raw_fd())),
        ]);
        let alarms = watch
            .bounds
            .filter(|_| waiting)
            .map_or(&[][..], Bounds::alarms);
        set_alarms(&mut polled[WATCHED..], alarms);
        let is_behind = streams.iter().any(OutputStream::is_behind);
        let until_ns = if is_behind || interrupted && waiting {
            Some(0)
        } else {
            watch
                .deadline_ns
                .into_iter()
                .chain(look_ns)
                .min()
                .filter(|_| waiting)
        };
        let ready = poll_until(&mut polled, until_ns);
        let now_ns = clock_ns(libc::CLOCK_MONOTONIC);
        if ready
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
        {
            continue;
        }
        ready?;
        if polled[0].revents != 0 {
            return Ok(End {
                monotonic_ns: now_ns,
                cause,
                killed,
            });
        }
        if polled[3].revents != 0 {
            let reaped = watch.orphans.reap(watch.pid);
            killed += if waiting { 0 } else { reaped };
        }
        if polled[4].revents != 0 {
            interrupted = interrupt.is_some_and(Interruption::has_come);
        }
        let is_look_due = look_ns.is_some_and(|look| now_ns >= look);
        let is_alarmed = polled[WATCHED..].iter().any(|entry| entry.revents != 0);
        let mut reached = false;
        if waiting && (is_look_due || is_alarmed) {
            reached = watch.bounds.is_some_and(Bounds::is_reached);
            look_ns = watch.next_look_ns(started_ns);
        }
        let ends = [
            (interrupted, EndCause::Interrupt),
            (reached, EndCause::Bound),
            (
                watch.deadline_ns.is_some_and(|deadline| now_ns >= deadline),
                EndCause::Timeout,
            ),
        ];
        if waiting && let Some((_, why)) = ends.into_iter().find(|(is_due, _)| *is_due) {
            cause = why;
            watch.kill();
        }
        for (stream, entry) in streams.iter_mut().zip(&polled[1..3]) {
            if entry.revents != 0 {
                stream.read_once(buffer);
            }
        }
        if polled.iter().all(|entry| entry.revents == 0) {
            // Only while nothing happens, and little at a time: the end of the process is not missed.
            streams.iter_mut().for_each(OutputStream::catch_up);
        }
    }
}

/// Descriptors that are watched whatever the bounds are.
const WATCHED: usize = 5;

fn set_alarms(entries: &mut [libc::pollfd], alarms: &[Alarm]) {
    for (entry, alarm) in entries.iter_mut().zip(alarms) {
        entry.fd = alarm.descriptor;
        entry.events = alarm.events;
    }
}

fn poll_entry(descriptor: RawFd) -> libc::pollfd {
    libc::pollfd {
        fd: descriptor,
        events: libc::POLLIN,
        revents: 0,
    }
}

fn poll_until(entries: &mut [libc::pollfd], deadline_ns: Option<u64>) -> io::Result<()> {
    let left = deadline_ns.map(|deadline| {
        let left_ns = deadline.saturating_sub(clock_ns(libc::CLOCK_MONOTONIC));
        libc::timespec {
            tv_sec: (left_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (left_ns % 1_000_000_000) as libc::c_long,
        }
    });
    let left = left.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the entries and the time outlive the call.
    let count = unsafe {
        libc::ppoll(
            entries.as_mut_ptr(),
            entries.len() as libc::nfds_t,
            left,
            ptr::null(),
        )
    };
    if count < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
