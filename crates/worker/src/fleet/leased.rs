//! A leased attempt: a trial, a trial of a build made elsewhere, a profile, or the build alone.

use datamill_fleet::{OpenAttempt, TrialEnd};
use datamill_protocol::{Failure, FailureKind, IsolationWanted, LeaseTask, Outcome, Phase};

use crate::assignment::Purpose;
use crate::build::{builds_folder, remove_installed};
use crate::guest::make_attempt_in_guest;
use crate::interrupt::Interrupt;
use crate::trial::{check_spec, make_build, record_build, run_with_build};
use crate::trouble::failure;

/// Makes the attempt that the agent took; `worker` is the name by which the fleet calls this machine.
pub fn make_attempt(open: &OpenAttempt, worker: &str, interrupt: &Interrupt) -> TrialEnd {
    let lease = &open.lease;
    let record = match check_spec(&lease.spec) {
        Err(cause) => record_build(&lease.spec, interrupt, || Err(refused_spec(&cause))),
        Ok(levels) => {
            if let Err(error) = remove_installed(&builds_folder(&lease.spec)) {
                eprintln!("datamill-worker: {error}");
            }
            match lease.task {
                _ if lease.spec.isolation == IsolationWanted::Guest => {
                    make_attempt_in_guest(lease, &levels, interrupt)
                }
                LeaseTask::Build => make_build(&lease.spec, &levels, worker, interrupt),
                LeaseTask::Trial | LeaseTask::Profile => {
                    let prebuilt = lease.prebuilt.as_ref().map(|need| need.sha256.as_str());
                    let purpose = match lease.task {
                        LeaseTask::Profile => Purpose::Profile,
                        LeaseTask::Trial | LeaseTask::Build => Purpose::Measurements,
                    };
                    run_with_build(&lease.spec, prebuilt, purpose, &levels, interrupt)
                }
            }
        }
    };
    if record.outcome == Outcome::Lost && interrupt.is_pending() {
        return TrialEnd::Interrupted;
    }
    TrialEnd::Record(Box::new(record))
}

/// It was checked when it was taken: only another version of the worker can say otherwise since.
fn refused_spec(cause: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Factor,
        format!("The specification cannot be used: {cause}."),
        "Install the coordinator's version of datamill-worker on this machine.",
    )
}
