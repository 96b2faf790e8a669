//! Builds that travel: a trial of one that was sent, and one that is made for others.

use std::path::Path;

use datamill_protocol::{
    BuildFacts, BuildPolicy, Failure, FailureKind, IsolationKind, IsolationWanted, Phase,
    TrialRecord, TrialSpec,
};

use super::record::{begin_record, outcome_of, unix_ns};
use super::run::run_trial;
use super::shared_build::build_shared_package;
use crate::assignment::Purpose;
use crate::build::{
    BUILD_ARTIFACT, IDENTITY_DIGITS, Origin, builds_folder, install_build, name_build, pack_build,
};
use crate::factors::{Levels, add_unread_factors};
use crate::host::find_isolation;
use crate::interrupt::Interrupt;
use crate::scratch::remove_tree;
use crate::trouble::{Step, failure};

/// Runs a trial for a purpose, of the build with this digest if one was sent; it lies beside the package.
pub fn run_with_build(
    spec: &TrialSpec,
    prebuilt: Option<&str>,
    purpose: Purpose,
    levels: &Levels,
    interrupt: &Interrupt,
) -> TrialRecord {
    let (Some(prebuilt), Some(package)) = (prebuilt, &spec.package.sha256) else {
        return run_trial(spec, purpose, levels, interrupt);
    };
    let kind = wanted_kind(spec);
    let place = builds_folder(spec).join(name_build(package, spec, levels, kind));
    let archive = Path::new(&spec.package.path).with_file_name(format!("{prebuilt}.tar.gz"));
    let identity = &prebuilt[..IDENTITY_DIGITS.min(prebuilt.len())];
    match install_build(&archive, identity, &place, kind, &spec.limits, interrupt) {
        Err(cause) => {
            let mut record = run_trial(spec, purpose, levels, interrupt);
            record.notices.push(format!(
                "The package was built here, although a build was sent: {}.",
                cause.trim_end_matches('.')
            ));
            record
        }
        Ok(origin) => {
            let shared = TrialSpec {
                build: BuildPolicy::Shared,
                ..spec.clone()
            };
            let mut record = run_trial(&shared, purpose, levels, interrupt);
            record.notices.push(match &origin.cross {
                None => format!("The package was built on {}.", origin.worker),
                Some(triplet) => format!(
                    "The package was built on {}, for this architecture, by {triplet}-gcc and what goes with it.",
                    origin.worker
                ),
            });
            // It is another build than this worker's own of the same name.
            if let Err(error) = remove_tree(&place) {
                record.notices.push(format!(
                    "The build from {} could not be removed: {error}.",
                    origin.worker
                ));
            }
            record
        }
    }
}

/// Makes a build for others; `worker` is the name that they hear.
pub fn make_build(
    spec: &TrialSpec,
    levels: &Levels,
    worker: &str,
    interrupt: &Interrupt,
) -> TrialRecord {
    let shared = TrialSpec {
        build: BuildPolicy::Shared,
        ..spec.clone()
    };
    record_build(spec, interrupt, || {
        build_and_pack(spec, &shared, levels, worker, interrupt)
    })
}

fn build_and_pack(
    asked: &TrialSpec,
    shared: &TrialSpec,
    levels: &Levels,
    worker: &str,
    interrupt: &Interrupt,
) -> Step<BuildFacts> {
    let mut facts = build_shared_package(shared, levels, interrupt)?;
    let stored = builds_folder(shared).join(&facts.id);
    if facts.reused && asked.build == BuildPolicy::Fresh {
        // Each build that is asked for is one of its own.
        remove_tree(&stored).map_err(|error| unpackable(error.to_string()))?;
        facts = build_shared_package(shared, levels, interrupt)?;
    }
    let package = asked.package.sha256.as_deref().unwrap_or_default();
    let is_plain = facts.id == name_build(package, shared, levels, IsolationKind::Plain);
    let root = Path::new(&shared.cache_dir).join("packages").join(package);
    let origin = Origin {
        worker: worker.to_owned(),
        cross: levels.compiler.cross.clone(),
        is_plain,
    };
    let target = Path::new(&shared.output_dir).join(BUILD_ARTIFACT);
    pack_build(&stored, &root, &origin, &target).map_err(unpackable)?;
    Ok(facts)
}

fn unpackable(cause: String) -> Failure {
    failure(
        Phase::Setup,
        FailureKind::BadPackage,
        cause,
        "Change setup.sh to add files only, or make every worker build for itself: build_on = \"worker\".",
    )
}

/// Makes a build alone, and its record.
pub fn record_build(
    spec: &TrialSpec,
    interrupt: &Interrupt,
    build: impl FnOnce() -> Step<BuildFacts>,
) -> TrialRecord {
    let begun = begin_record(spec, wanted_kind(spec));
    let (build, failure) = match build() {
        Ok(facts) => (Some(facts), None),
        Err(failure) => (None, Some(failure)),
    };
    let mut factors = Vec::new();
    add_unread_factors(&spec.levels, &mut factors);
    TrialRecord {
        ended_unix_ns: unix_ns(),
        outcome: outcome_of(failure.as_ref(), interrupt.is_pending()),
        failure,
        build,
        factors,
        notices: vec!["The package was built for other workers; nothing was measured.".to_owned()],
        ..begun
    }
}

/// The kind of world that a trial gets here.
fn wanted_kind(spec: &TrialSpec) -> IsolationKind {
    match spec.isolation {
        IsolationWanted::Auto if spec.needs.privileged => IsolationKind::Overlay,
        IsolationWanted::Auto => find_isolation(),
        IsolationWanted::Guest => IsolationKind::Guest,
        IsolationWanted::Confined => IsolationKind::Confined,
        IsolationWanted::Overlay => IsolationKind::Overlay,
        IsolationWanted::UserNamespace => IsolationKind::UserNamespace,
        IsolationWanted::Plain => IsolationKind::Plain,
    }
}
