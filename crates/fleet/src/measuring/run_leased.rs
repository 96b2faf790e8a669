//! The runner: what the agent becomes to measure. It has no connection and no threads.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use datamill_protocol::ReportContent;

use super::recovery::give_up;
use crate::disk::{
    FleetFolder, Identity, OpenAttempt, Stage, clear_work, is_spooled, list_artifacts,
    spool_report, work_output,
};
use crate::leasing::is_ready;
use crate::locks::HostLock;
use crate::machine::TrialEnd;
use crate::reports::boot_id;

/// How the runner was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunOptions {
    /// Descriptor of the host's lock, left open by the agent.
    pub lock: Option<RawFd>,
    /// Whether the agent is its parent, rather than what it was before.
    pub is_child: bool,
    /// Whether it runs while the machine starts, for a trial that waited for that, and no agent follows.
    pub is_for_boot: bool,
}

/// Runs the attempt in the journal, if nothing of it has run yet, and spools its report.
///
/// `perform` runs it on the worker of a name; `told` is readable when this process is to end.
pub fn run_leased(
    folder: &FleetFolder,
    options: RunOptions,
    told: BorrowedFd<'_>,
    perform: impl FnOnce(&OpenAttempt, &str) -> TrialEnd,
) -> io::Result<()> {
    // The agent has the folder's lock when it is the parent; else nobody else may have it.
    let _folder_lock = match options.is_child {
        true => None,
        false => match folder.lock()? {
            None => return Err(io::Error::other("another worker uses this state folder")),
            taken => taken,
        },
    };
    let lock = match options.lock {
        // SAFETY: the agent left it open for this process, which has opened nothing under its number.
        Some(descriptor) => Some(unsafe { HostLock::adopt(descriptor)? }),
        None => HostLock::take(told)?,
    };
    let open = OpenAttempt::read(folder)?;
    let (Some(mut open), Some(_lock)) = (open, lock) else {
        return Ok(());
    };
    let attempt = open.lease.attempt.clone();
    if (options.is_for_boot && open.taken_boot_id == boot_id()) || !is_ready(&open) {
        // Nothing has been rebooted, or not into what the trial asks for: what is to become of it is the agent's to say.
        return Ok(());
    }
    if open.stage != Stage::Taken || is_spooled(folder, &attempt) {
        return Ok(());
    }
    let name = match Identity::read(folder)? {
        Some(identity) => identity.name,
        None => return Err(io::Error::other("this worker has not joined a fleet")),
    };
    clear_work(folder, &attempt)?;
    open.stage = Stage::Started;
    open.write(folder)?;
    match perform(&open, &name) {
        TrialEnd::Interrupted => give_up(
            folder,
            &attempt,
            "The worker was told to end while the trial ran.",
        )?,
        TrialEnd::Record(mut record) => {
            record.worker.id = name;
            let artifacts = list_artifacts(&work_output(folder, &attempt))?;
            let content = ReportContent::Record {
                attempt: attempt.clone(),
                record,
                artifacts,
                rebooted: open.taken_boot_id != boot_id(),
                taken_boot_id: open.taken_boot_id,
            };
            spool_report(folder, &attempt, &content).or_else(|_| {
                // A full disk must not cost a measurement.
                folder.make_room();
                spool_report(folder, &attempt, &content)
            })?;
        }
    }
    OpenAttempt::remove(folder)
}
