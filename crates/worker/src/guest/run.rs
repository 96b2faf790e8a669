//! One job in a new guest: its disks, its machine, and what it hands back.

use std::path::Path;
use std::time::{Duration, Instant};

use datamill_protocol::{Phase, TrialRecord, TrialSpec};

use super::inside::GuestReport;
use super::job::{GuestJob, ShippedParts, ships_collect, write_job};
use super::machine::{Boot, Ended, run_guest};
use super::probe::{Disks, Guests};
use super::result::{Unusable, read_result, result_bytes};
use super::troubles::{broken, forged, no_guest, overdue, refused, went_off};
use super::trust::Circumstances;
use crate::assignment::Purpose;
use crate::interrupt::Interrupt;
use crate::scratch::remove_tree;
use crate::trial::unix_ns;
use crate::trouble::{Step, interrupted, io_failure};

/// What a trial's own time limits do not cover: unpacking, reading factors back, handing back.
const MARGIN: Duration = Duration::from_secs(180);
/// How much larger than its package a build may be.
const BUILD_GROWTH: u64 = 16;

/// What is run in a guest.
pub struct Run<'a> {
    pub guests: &'a Guests,
    pub spec: &'a TrialSpec,
    /// Executions of `run.sh`.
    pub executions: u64,
    /// Existing folder for the files that come back.
    pub output: &'a Path,
}

/// What a guest handed back.
pub struct Handed<'a> {
    pub told: TrialRecord,
    pub circumstances: Circumstances<'a>,
}

/// Does a job in a new guest and reads what it hands back.
pub fn run_job<'a>(
    job: &GuestJob,
    shipped: &ShippedParts,
    run: &Run<'a>,
    interrupt: &Interrupt,
) -> Step<Handed<'a>> {
    let (spec, guests) = (run.spec, run.guests);
    let scratch = Path::new(&spec.scratch_dir);
    let making = || {
        io_failure(
            Phase::Isolate,
            format!("making a guest in `{}`", spec.scratch_dir),
        )
    };
    if scratch.exists() {
        remove_tree(scratch).map_err(making())?;
    }
    let largest = match job {
        GuestJob::Build(_) => spec.limits.package_bytes.saturating_mul(BUILD_GROWTH),
        _ => spec.limits.archive_bytes,
    };
    let bytes = result_bytes(&spec.limits, run.executions, largest);
    let disks = Disks::make(scratch, bytes).map_err(making())?;
    write_job(job, shipped, &disks.job).map_err(io_failure(
        Phase::Unpack,
        format!("packing `{}` for a guest", spec.package.path),
    ))?;
    // Before the guest has the disk; one that cannot be read cannot be run either, and is held to the whole contract.
    let is_profile = matches!(
        job,
        GuestJob::Trial {
            purpose: Purpose::Profile,
            ..
        }
    );
    // A profile ends without it.
    let has_collect = !is_profile
        && disks
            .job_to_read()
            .and_then(|disk| ships_collect(&disk, &spec.limits))
            .unwrap_or(true);
    let started_unix_ns = unix_ns();
    let started = Instant::now();
    let boot = Boot {
        image: &guests.image,
        emulator: &guests.emulator,
        machine: guests.machine,
        stage: &disks.stage,
        job: &disks.job_to_read().map_err(making())?,
        result: &disks.result,
        result_bytes: disks.result_bytes,
        boot_timeout: guests.boot_timeout(),
        timeout: time_limit(spec, run.executions),
    };
    let seen = run_guest(&boot, interrupt).map_err(making())?;
    let elapsed = started.elapsed();
    match &seen.ended {
        Ended::Off => {}
        Ended::NotUp(cause) => return Err(no_guest(cause)),
        Ended::Interrupted => return Err(interrupted(Phase::Run)),
        Ended::Broken(cause) => return Err(broken(cause)),
        Ended::Overdue => return Err(overdue(elapsed)),
    }
    let result = disks.result_to_read().map_err(making())?;
    let most_bytes = spec.limits.output_bytes.max(largest);
    let report = match read_result(&result, run.output, most_bytes) {
        Ok(report) => report,
        Err(Unusable::Unfinished) => return Err(went_off(&seen.last_words)),
        Err(Unusable::Forged(cause)) => return Err(forged(&cause)),
        Err(Unusable::Unstored(error)) => {
            let storing = format!(
                "storing what the guest handed back in `{}`",
                run.output.display()
            );
            return Err(io_failure(Phase::Collect, storing)(error));
        }
    };
    let told = match serde_json::from_slice(&report) {
        Ok(GuestReport::Record(told)) => *told,
        Ok(GuestReport::Refused(cause)) => return Err(refused(&cause)),
        Ok(GuestReport::Offers(_)) => return Err(forged("it is of another kind")),
        Err(_) => return Err(forged("it is not a record")),
    };
    Ok(Handed {
        told,
        circumstances: Circumstances {
            guest: guests.facts(),
            elapsed,
            started_unix_ns,
            ended_unix_ns: unix_ns(),
            has_collect,
            output: run.output,
        },
    })
}

fn time_limit(spec: &TrialSpec, executions: u64) -> Duration {
    let limits = &spec.limits;
    let executions = executions.min(10_000) as f64;
    let seconds =
        2.0 * limits.setup_timeout_s + executions * limits.run_timeout_s + limits.collect_timeout_s;
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(1 << 30)) + MARGIN
}
