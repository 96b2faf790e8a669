//! What a worker finds on its disk when it starts.

use std::io;
use std::os::fd::AsFd;

use datamill_protocol::ReportContent;

use crate::disk::{FleetFolder, OpenAttempt, Stage, clear_work, is_spooled, spool_report};
use crate::leasing::is_ready;
use crate::locks::HostLock;
use crate::machine::Machine;
use crate::reports::boot_id;
use crate::termination::Termination;

/// How often a worker sets out to start one attempt, reboots included.
const MOST_STARTS: u32 = 3;

/// What is to be done first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// No attempt is open.
    Nothing,
    /// The attempt that was taken is to be run, before anything else.
    Run,
    /// The machine is not in the boot yet in which the attempt is to run.
    Reboot,
}

/// Looks at the journal, gives up what may have run, and counts how often the rest was tried.
pub fn recover(
    folder: &FleetFolder,
    machine: &dyn Machine,
    termination: &Termination,
) -> io::Result<Found> {
    let Some(open) = OpenAttempt::read(folder)? else {
        // Whoever has the lock restores the host itself.
        if let Some(_lock) = HostLock::try_take()? {
            restore(machine);
        }
        return Ok(Found::Nothing);
    };
    if open.stage == Stage::Taken && !is_spooled(folder, &open.lease.attempt) {
        return set_out(folder, open);
    }
    // A runner may still be ending: it keeps the lock until its last process is gone.
    let Some(_lock) = HostLock::take(termination.as_fd())? else {
        return Ok(Found::Nothing);
    };
    restore(machine);
    if let Some(open) = OpenAttempt::read(folder)? {
        if !is_spooled(folder, &open.lease.attempt) {
            let message = if open.taken_boot_id == boot_id() || open.lease.reboot {
                "The worker or its machine went down while the trial ran."
            } else {
                "The machine went down while the trial ran."
            };
            give_up(folder, &open.lease.attempt, message)?;
        }
        OpenAttempt::remove(folder)?;
    }
    Ok(Found::Nothing)
}

/// Counts one more start of an attempt that was taken.
pub fn set_out(folder: &FleetFolder, mut open: OpenAttempt) -> io::Result<Found> {
    if open.starts >= MOST_STARTS {
        let message = format!(
            "The worker set out {MOST_STARTS} times to start the trial and never reached it."
        );
        give_up(folder, &open.lease.attempt, &message)?;
        OpenAttempt::remove(folder)?;
        return Ok(Found::Nothing);
    }
    open.starts += 1;
    open.write(folder)?;
    if is_ready(&open) {
        Ok(Found::Run)
    } else {
        Ok(Found::Reboot)
    }
}

/// Spools that an attempt cannot be finished.
pub fn give_up(folder: &FleetFolder, attempt: &str, message: &str) -> io::Result<()> {
    clear_work(folder, attempt)?;
    let content = ReportContent::GaveUp {
        attempt: attempt.to_owned(),
        message: message.to_owned(),
    };
    spool_report(folder, attempt, &content)
}

fn restore(machine: &dyn Machine) {
    if let Err(cause) = machine.restore_host() {
        eprintln!("datamill-worker: this host could not be restored: {cause}");
    }
}
