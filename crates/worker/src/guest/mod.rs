//! Isolation `guest`: a trial in an emulated machine with a kernel and a root of its own.
//!
//! The guest has three disks: its root, which it only reads and which has nothing of the host; the job with the
//! package; and one for the result. It has no network and shares no folder, and what it hands back is read as
//! that of an enemy. The emulator itself is a process without rights (see `jail`).

mod boot;
mod emulator;
mod image;
mod inside;
mod jail;
mod job;
mod probe;
mod result;
mod running;
mod trust;

use std::path::Path;
use std::time::{Duration, Instant};

use datamill_protocol::{
    Accelerator, Failure, FailureKind, IsolationFacts, IsolationKind, Outcome, Phase,
    SCHEMA_VERSION, TrialRecord, TrialSpec, WorkerFacts,
};

pub use boot::boot_guest;
pub use inside::run_guest_job;
pub use probe::{find_guests, offer_in_guest};

use crate::factors::{Levels, add_unread_factors};
use crate::interrupt::Interrupt;
use crate::phases::interrupted;
use crate::scratch::remove_tree;
use crate::trial::unix_ns;
use crate::trouble::{Step, failure, io_failure};
use inside::GuestReport;
use job::{GuestJob, place_trial, write_job};
use probe::{Disks, Guests};
use result::{Unusable, read_result, result_bytes};
use running::{Boot, Ended, Seen, run_guest};
use trust::{Circumstances, believe, clip};

/// What a trial's own time limits do not cover: unpacking, reading factors back, handing back.
const MARGIN: Duration = Duration::from_secs(180);

/// Runs one trial in a guest; whatever happens, the record tells it.
pub fn run_trial_in_guest(spec: &TrialSpec, levels: &Levels, interrupt: &Interrupt) -> TrialRecord {
    let mut own = begin_record(spec);
    let scratch = Path::new(&spec.scratch_dir);
    let mut record = match perform(spec, levels, &mut own, interrupt) {
        Ok(record) => record,
        Err(failure) => TrialRecord {
            outcome: outcome(&failure, interrupt),
            failure: Some(failure),
            ..own
        },
    };
    if let Err(error) = remove_tree(scratch) {
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

/// What the worker itself knows of a trial.
fn begin_record(spec: &TrialSpec) -> TrialRecord {
    let started_unix_ns = unix_ns();
    TrialRecord {
        schema: SCHEMA_VERSION,
        experiment: spec.experiment.clone(),
        trial_id: spec.trial_id.clone(),
        attempt: spec.attempt,
        package: spec.package.name.clone(),
        package_sha256: spec.package.sha256.clone(),
        levels: spec.levels.clone(),
        seed: spec.seed,
        worker: WorkerFacts {
            id: datamill_host::hostname(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        host: datamill_host::read_host_facts(),
        isolation: IsolationFacts::of(IsolationKind::Guest, String::new()),
        resources: None,
        started_unix_ns,
        ended_unix_ns: started_unix_ns,
        outcome: Outcome::Failed,
        failure: None,
        build: None,
        warmups: Vec::new(),
        run: None,
        disturbance: None,
        collect: None,
        factors: Vec::new(),
        metrics: Default::default(),
        archive: None,
        unrestored: Vec::new(),
        notices: Vec::new(),
    }
}

fn perform(
    spec: &TrialSpec,
    levels: &Levels,
    own: &mut TrialRecord,
    interrupt: &Interrupt,
) -> Step<TrialRecord> {
    let guests = find_guests(interrupt).map_err(|cause| no_guest(&cause))?;
    own.isolation.guest = Some(guests.facts());
    let scratch = Path::new(&spec.scratch_dir);
    let storing = || {
        io_failure(
            Phase::Isolate,
            format!("making a guest in `{}`", spec.scratch_dir),
        )
    };
    remove_tree(scratch).map_err(storing())?;
    let executions = 1 + u64::from(levels.world.warmups.unwrap_or(0));
    let bytes = result_bytes(&spec.limits, executions);
    let disks = Disks::make(scratch, bytes).map_err(storing())?;
    let (placed, shipped) = place_trial(spec);
    let job = GuestJob::Trial(Box::new(placed));
    write_job(&job, &shipped, &disks.job).map_err(io_failure(
        Phase::Unpack,
        format!("packing `{}` for a guest", spec.package.path),
    ))?;
    let started = Instant::now();
    let boot = Boot {
        image: &guests.image,
        emulator: &guests.emulator,
        machine: guests.machine,
        stage: &disks.stage,
        job: &disks.job_to_read().map_err(storing())?,
        result: &disks.result,
        result_bytes: bytes,
        boot_timeout: guests.boot_timeout(),
        timeout: time_limit(spec, executions),
    };
    let seen = run_guest(&boot, interrupt).map_err(storing())?;
    let elapsed = started.elapsed();
    own.ended_unix_ns = unix_ns();
    if guests.machine.accelerator == Accelerator::Tcg {
        own.notices.push(
            "The guest's processor was emulated: compare its times with those of other such guests only."
                .to_owned(),
        );
    }
    read_record(spec, own, &guests, &disks, seen, elapsed)
}

/// Reads what came back from a guest that is off.
fn read_record(
    spec: &TrialSpec,
    own: &TrialRecord,
    guests: &Guests,
    disks: &Disks,
    seen: Seen,
    elapsed: Duration,
) -> Step<TrialRecord> {
    match &seen.ended {
        Ended::Off => {}
        Ended::NotUp(cause) => return Err(no_guest(cause)),
        Ended::Interrupted => return Err(interrupted(Phase::Run)),
        Ended::Broken(cause) => return Err(broken(cause)),
        Ended::Overdue => return Err(overdue(elapsed)),
    }
    let output = Path::new(&spec.output_dir);
    std::fs::create_dir_all(output).map_err(io_failure(
        Phase::Isolate,
        format!("making the folder `{}`", spec.output_dir),
    ))?;
    let most_bytes = spec.limits.output_bytes.max(spec.limits.archive_bytes);
    let result = disks.result_to_read().map_err(io_failure(
        Phase::Collect,
        "opening what the guest handed back",
    ))?;
    let report = match read_result(&result, output, most_bytes) {
        Ok(report) => report,
        Err(Unusable::Unfinished) => return Err(went_off(&seen.last_words)),
        Err(Unusable::Forged(cause)) => return Err(forged(&cause)),
        Err(Unusable::Unstored(error)) => {
            return Err(io_failure(
                Phase::Collect,
                format!(
                    "storing what the guest handed back in `{}`",
                    spec.output_dir
                ),
            )(error));
        }
    };
    let told = match serde_json::from_slice(&report) {
        Ok(GuestReport::Record(told)) => *told,
        Ok(GuestReport::Refused(cause)) => return Err(refused(&cause)),
        Ok(GuestReport::Offers(_)) => return Err(forged("it is of another kind")),
        Err(_) => return Err(forged("it is no record")),
    };
    let circumstances = Circumstances {
        guest: &guests.facts(),
        elapsed,
        started_unix_ns: own.started_unix_ns,
        ended_unix_ns: own.ended_unix_ns,
        output,
    };
    let notices = own.notices.clone();
    let mut record =
        believe(told, own.clone(), spec, &circumstances).map_err(|cause| forged(&cause))?;
    record.notices.splice(0..0, notices);
    Ok(record)
}

fn time_limit(spec: &TrialSpec, executions: u64) -> Duration {
    let limits = &spec.limits;
    let executions = executions.min(10_000) as f64;
    let seconds =
        2.0 * limits.setup_timeout_s + executions * limits.run_timeout_s + limits.collect_timeout_s;
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(1 << 30)) + MARGIN
}

fn no_guest(cause: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Isolation,
        format!("This machine has no guest: {}.", clip(cause)),
        "Install what is missing, or choose another isolation; docs/guests.md says what guests need.",
    )
}

fn broken(cause: &str) -> Failure {
    failure(
        Phase::Run,
        FailureKind::Internal,
        format!("The guest was lost: {}.", clip(cause)),
        "Look whether this host is out of memory; the trial can be attempted again.",
    )
}

fn overdue(elapsed: Duration) -> Failure {
    failure(
        Phase::Run,
        FailureKind::Timeout,
        format!(
            "The guest was switched off after {} s: the worker in it did not keep the trial's time limits.",
            elapsed.as_secs()
        ),
        "Look whether the package takes all processes or all memory of its machine; else raise its time limits.",
    )
}

fn went_off(last_words: &str) -> Failure {
    let said = if last_words.is_empty() {
        "it said nothing".to_owned()
    } else {
        format!("it said last: {}", clip(last_words))
    };
    failure(
        Phase::Run,
        FailureKind::ExitStatus,
        format!("The guest went off before its trial had ended; {said}."),
        "Look whether the package reboots or halts its machine, or makes its kernel panic.",
    )
}

fn forged(cause: &str) -> Failure {
    failure(
        Phase::Collect,
        FailureKind::BadPackage,
        format!("What the guest handed back cannot be from its worker: {cause}."),
        "The package has tampered with its guest: do not trust anything that it reports.",
    )
}

fn refused(cause: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Factor,
        format!("The guest did not run the trial: {}.", clip(cause)),
        "`datamill-worker factors --guest` lists what a guest here offers of each factor.",
    )
}
