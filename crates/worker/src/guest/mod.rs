//! Isolation `guest`: a trial in an emulated machine with a kernel and a root of its own.
//!
//! The guest has three disks: its root, which it only reads and which has nothing of the host; the job with the
//! package; and one for the result. It has no network and shares no folder, and what it hands back is read as
//! that of an enemy. The emulator itself is a process without rights (see `jail`).

mod builds;
mod inside;
mod job;
mod machine;
mod probe;
mod result;
mod troubles;
mod trust;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use datamill_protocol::{
    Accelerator, BuildFacts, BuildPolicy, Failure, FailureKind, IsolationKind, Lease, LeaseTask,
    Outcome, Phase, TrialRecord, TrialSpec,
};

pub use builds::{GuestBuild, build_in_guest};
pub use inside::{boot_guest, run_guest_job};
pub use probe::{find_guests, offer_in_guest};

use crate::begun_record::begin_record;
use crate::factors::{Levels, add_unread_factors};
use crate::interrupt::Interrupt;
use crate::leased_trial::record_build;
use crate::phases::interrupted;
use crate::scratch::remove_tree;
use crate::shipped_build::BUILD_ARTIFACT;
use crate::trial::unix_ns;
use crate::trouble::{Step, io_failure};
use builds::obtain_build;
use inside::{GuestReport, ORIGIN};
use job::{GuestJob, ShippedParts, place_trial, ships_collect, write_job};
use machine::running::{Boot, Ended, run_guest};
use probe::{Disks, Guests};
use result::{Unusable, read_result, result_bytes};
use troubles::{broken, forged, no_folders, no_guest, no_network, overdue, refused, went_off};
use trust::{Circumstances, believe};

/// What a trial's own time limits do not cover: unpacking, reading factors back, handing back.
const MARGIN: Duration = Duration::from_secs(180);
/// How much larger than its package a build may be.
const BUILD_GROWTH: u64 = 16;

/// Makes a leased attempt in a guest: a trial, or a build for others.
pub fn make_attempt_in_guest(lease: &Lease, levels: &Levels, interrupt: &Interrupt) -> TrialRecord {
    let spec = &lease.spec;
    if lease.task == LeaseTask::Build {
        let started_unix_ns = unix_ns();
        let mut record = record_build(
            spec,
            started_unix_ns,
            hand_out_build(spec, levels, interrupt),
        );
        if record.failure.is_some() && interrupt.is_pending() {
            record.outcome = Outcome::Lost;
        }
        return record;
    }
    let shipped = lease.prebuilt.as_ref().map(|need| GuestBuild {
        archive: Path::new(&spec.package.path).with_file_name(format!("{}.tar.gz", need.sha256)),
        sha256: need.sha256.clone(),
        facts: None,
    });
    run_trial_in_guest(spec, levels, shipped, interrupt)
}

fn hand_out_build(spec: &TrialSpec, levels: &Levels, interrupt: &Interrupt) -> Step<BuildFacts> {
    let build = build_in_guest(spec, levels, interrupt)?;
    let target = Path::new(&spec.output_dir).join(BUILD_ARTIFACT);
    fs::create_dir_all(&spec.output_dir)
        .and_then(|()| fs::copy(&build.archive, target))
        .map_err(io_failure(Phase::Setup, "handing a build out"))?;
    build
        .facts
        .ok_or_else(|| forged("nothing is known of its build"))
}

/// Runs one trial in a guest, of a build that was sent or of its own; whatever happens, the record tells it.
pub fn run_trial_in_guest(
    spec: &TrialSpec,
    levels: &Levels,
    sent: Option<GuestBuild>,
    interrupt: &Interrupt,
) -> TrialRecord {
    let mut own = begin_record(spec, IsolationKind::Guest);
    let scratch = Path::new(&spec.scratch_dir);
    let mut record = match perform(spec, levels, sent, &mut own, interrupt) {
        Ok(record) => record,
        Err(failure) => TrialRecord {
            outcome: outcome(&failure, interrupt),
            failure: Some(failure),
            ..own
        },
    };
    if let Err(error) = remove_tree(scratch)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        record.notices.push(format!(
            "The scratch folder {} could not be removed: {error}.",
            spec.scratch_dir
        ));
    }
    add_unread_factors(&spec.levels, &mut record.factors);
    record.ended_unix_ns = unix_ns();
    record
}

fn outcome(failure: &Failure, interrupt: &Interrupt) -> Outcome {
    if interrupt.is_pending() {
        Outcome::Lost
    } else if failure.kind == FailureKind::Timeout {
        Outcome::TimedOut
    } else {
        Outcome::Failed
    }
}

fn perform(
    spec: &TrialSpec,
    levels: &Levels,
    sent: Option<GuestBuild>,
    own: &mut TrialRecord,
    interrupt: &Interrupt,
) -> Step<TrialRecord> {
    if spec.needs.network {
        return Err(no_network());
    }
    if !spec.needs.folders.is_empty() {
        return Err(no_folders());
    }
    let guests = find_guests(interrupt).map_err(|cause| no_guest(&cause))?;
    own.isolation.guest = Some(guests.facts());
    if guests.machine.accelerator == Accelerator::Tcg {
        own.notices.push(
            "The guest's processor was emulated: compare its times with those of other such guests only."
                .to_owned(),
        );
    }
    let build = match (sent, spec.build) {
        (Some(sent), _) => Some(sent),
        (None, BuildPolicy::Fresh) => None,
        (None, BuildPolicy::Shared) => match obtain_build(spec, levels, &guests, interrupt)? {
            Ok(build) => Some(build),
            Err(cause) => {
                own.notices.push(format!(
                    "The build could not be shared and was made for this trial: {}.",
                    cause.trim_end_matches('.')
                ));
                None
            }
        },
    };
    let output = Path::new(&spec.output_dir);
    fs::create_dir_all(output).map_err(io_failure(
        Phase::Isolate,
        format!("making the folder `{}`", spec.output_dir),
    ))?;
    let (placed, mut shipped) = place_trial(spec);
    if let Some(build) = &build {
        shipped.add_build(&build.archive, &build.sha256);
    }
    let job = GuestJob::Trial {
        spec: Box::new(placed),
        prebuilt: build.as_ref().map(|build| build.sha256.clone()),
    };
    let run = Run {
        guests: &guests,
        spec,
        executions: 1 + u64::from(levels.world.warmups.unwrap_or(0)),
        output,
    };
    let Handed {
        mut told,
        circumstances,
    } = run_job(&job, &shipped, &run, interrupt)?;
    let origin = format!("The package was built on {ORIGIN}.");
    told.notices.retain(|notice| *notice != origin);
    let own_notices = own.notices.clone();
    let mut record =
        believe(told, own.clone(), spec, &circumstances).map_err(|cause| forged(&cause))?;
    record.notices.splice(0..0, own_notices);
    if let Some(facts) = build.and_then(|build| build.facts) {
        // The guest that made it said what it is.
        record.build = record.build.and(Some(facts));
    }
    Ok(record)
}

/// What is run in a guest.
struct Run<'a> {
    guests: &'a Guests,
    spec: &'a TrialSpec,
    /// Executions of `run.sh`.
    executions: u64,
    /// Existing folder for the files that come back.
    output: &'a Path,
}

/// What a guest handed back.
struct Handed<'a> {
    told: TrialRecord,
    circumstances: Circumstances<'a>,
}

/// Does a job in a new guest and reads what it hands back.
fn run_job<'a>(
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
    let has_collect = disks
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
        Err(_) => return Err(forged("it is no record")),
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
