//! The record of a trial before anything has been done: what its worker knows of it.

use std::time::{SystemTime, UNIX_EPOCH};

use datamill_protocol::{
    Failure, FailureKind, IsolationFacts, IsolationKind, Outcome, SCHEMA_VERSION, TrialRecord,
    TrialSpec,
};

use crate::host::this_worker;

/// Begins the record of a trial that starts now, in the kind of world that is planned for it; as it stands it is that
/// of a trial that failed at once.
///
/// Read before any script runs: a plain world lets those of root change even the host's name.
pub fn begin_record(spec: &TrialSpec, kind: IsolationKind) -> TrialRecord {
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
        worker: this_worker(),
        host: datamill_host::read_host_facts(),
        isolation: IsolationFacts::of(kind, String::new()),
        resources: None,
        started_unix_ns,
        ended_unix_ns: started_unix_ns,
        outcome: Outcome::Failed,
        failure: None,
        build: None,
        warmups: Vec::new(),
        quiet: None,
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

/// How a trial ended, or a build alone.
pub fn outcome_of(failure: Option<&Failure>, interrupted: bool) -> Outcome {
    match failure {
        None => Outcome::Completed,
        Some(_) if interrupted => Outcome::Lost,
        // It is not the package's answer.
        Some(failure) if failure.kind == FailureKind::MemoryKilled => Outcome::Lost,
        Some(failure) if failure.kind == FailureKind::Timeout => Outcome::TimedOut,
        Some(_) => Outcome::Failed,
    }
}

/// The clock, nanoseconds since the Unix epoch.
pub fn unix_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
