//! A trial, or a build for others, in a guest of its own.

use std::fs;
use std::path::Path;

use datamill_protocol::{
    Accelerator, BuildFacts, BuildPolicy, Failure, FailureKind, GuestFacts, IsolationFacts,
    IsolationKind, Lease, LeaseTask, Outcome, Phase, TrialRecord, TrialSpec,
};

use super::builds::{GuestBuild, build_in_guest, obtain_build};
use super::inside::ORIGIN;
use super::job::{GuestJob, place_trial};
use super::probe::find_guests;
use super::run::{Handed, Run, run_job};
use super::troubles::{forged, no_folders, no_guest, no_network};
use super::trust::believe;
use crate::assignment::Purpose;
use crate::build::BUILD_ARTIFACT;
use crate::factors::{Levels, add_unread_factors};
use crate::interrupt::Interrupt;
use crate::scratch::remove_tree;
use crate::trial::{begin_record, record_build, unix_ns};
use crate::trouble::{Step, io_failure};

/// Makes a leased attempt in a guest: a trial, a profile, or a build for others.
pub fn make_attempt_in_guest(lease: &Lease, levels: &Levels, interrupt: &Interrupt) -> TrialRecord {
    let spec = &lease.spec;
    if lease.task == LeaseTask::Build {
        return record_build_in_guest(spec, levels, interrupt);
    }
    let shipped = lease.prebuilt.as_ref().map(|need| GuestBuild {
        archive: Path::new(&spec.package.path).with_file_name(format!("{}.tar.gz", need.sha256)),
        sha256: need.sha256.clone(),
        facts: None,
        guest: None,
    });
    let purpose = match lease.task {
        LeaseTask::Profile => Purpose::Profile,
        LeaseTask::Trial | LeaseTask::Build => Purpose::Measurements,
    };
    run_trial_in_guest(spec, purpose, levels, shipped, interrupt)
}

fn record_build_in_guest(spec: &TrialSpec, levels: &Levels, interrupt: &Interrupt) -> TrialRecord {
    let mut guest = None;
    let record = record_build(spec, interrupt, || {
        hand_out_build(spec, levels, &mut guest, interrupt)
    });
    TrialRecord {
        isolation: IsolationFacts {
            guest,
            ..record.isolation
        },
        ..record
    }
}

/// Makes a build and puts it where it is sent from; notes the guest that made it, or was to make it.
fn hand_out_build(
    spec: &TrialSpec,
    levels: &Levels,
    guest: &mut Option<GuestFacts>,
    interrupt: &Interrupt,
) -> Step<BuildFacts> {
    let guests = find_guests(interrupt).map_err(|cause| no_guest(&cause))?;
    *guest = Some(guests.facts());
    // Each fresh build that is asked for is one of its own.
    let anew = spec.build == BuildPolicy::Fresh;
    let build = build_in_guest(spec, levels, &guests, anew, interrupt)?;
    // One that was kept may be of another guest.
    guest.clone_from(&build.guest);
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
    purpose: Purpose,
    levels: &Levels,
    sent: Option<GuestBuild>,
    interrupt: &Interrupt,
) -> TrialRecord {
    let mut own = begin_record(spec, IsolationKind::Guest);
    let scratch = Path::new(&spec.scratch_dir);
    let mut record = match perform(spec, purpose, levels, sent, &mut own, interrupt) {
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
    purpose: Purpose,
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
        (None, BuildPolicy::Shared) => match obtain_build(spec, levels, &guests, false, interrupt)?
        {
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
        purpose,
    };
    let run = Run {
        guests: &guests,
        spec,
        executions: 1 + u64::from(levels.world.executions()),
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
