//! The kinds of worlds that a trial may run in, tried from the strongest on.

use std::path::Path;
use std::rc::Rc;

use datamill_protocol::{BuildPolicy, IsolationFacts, IsolationKind, IsolationWanted, TrialSpec};
use serde::{Deserialize, Serialize};

use super::inside::{TrialParts, lost_carrier, perform_trial};
use crate::assignment::Assignment;
use crate::build::{BuildError, SharedBuild, obtain_shared_build};
use crate::process::{find_programs, place_anew};
use crate::world::{
    Changes, EncloseError, Keeping, RootFilesystem, WorldError, WorldRequest, enclose, enter_world,
    impossible_failure,
};

const LEFT_IN_PLACE: &str = "Programs of the package may stay in one place of the kernel's memory for all trials, which can \
    change their time: there are too many files to look at, or programs too large or too many to be read again.";

/// Kinds of worlds that satisfy what is wanted, strongest first.
pub fn candidates(spec: &TrialSpec) -> &'static [IsolationKind] {
    match spec.isolation {
        IsolationWanted::Auto if spec.needs.privileged => &[IsolationKind::Overlay],
        IsolationWanted::Auto => &[
            IsolationKind::Confined,
            IsolationKind::UserNamespace,
            IsolationKind::Overlay,
            IsolationKind::Plain,
        ],
        IsolationWanted::Guest => &[IsolationKind::Guest],
        IsolationWanted::Confined => &[IsolationKind::Confined],
        IsolationWanted::Overlay => &[IsolationKind::Overlay],
        IsolationWanted::UserNamespace => &[IsolationKind::UserNamespace],
        IsolationWanted::Plain => &[IsolationKind::Plain],
    }
}

/// The kind that a record shows when no world was reached.
pub fn weakest(spec: &TrialSpec) -> IsolationKind {
    candidates(spec)
        .last()
        .copied()
        .unwrap_or(IsolationKind::Plain)
}

/// Tries the wanted kinds of worlds from the strongest on, until one is possible.
pub fn try_isolations(assignment: &Assignment<'_>, worker: &Path) -> (IsolationFacts, TrialParts) {
    let spec = assignment.spec;
    let mut reasons = match spec.isolation {
        IsolationWanted::UserNamespace | IsolationWanted::Overlay | IsolationWanted::Plain => {
            vec!["the specification asks for this kind".to_owned()]
        }
        IsolationWanted::Auto if spec.needs.privileged => {
            vec!["the package needs all rights of root".to_owned()]
        }
        IsolationWanted::Auto | IsolationWanted::Guest | IsolationWanted::Confined => Vec::new(),
    };
    for kind in candidates(spec) {
        match perform_in(*kind, assignment, worker) {
            Ok(parts) => {
                let facts = IsolationFacts {
                    kind: *kind,
                    reason: reasons.join("; "),
                    needs: spec.needs.clone(),
                    owner: parts.world.owner,
                    covered: parts.world.covered,
                    guest: None,
                    gaps: parts.world.gaps.clone(),
                };
                return (facts, parts);
            }
            Err(reason) => reasons.push(named_reason(*kind, &reason)),
        }
    }
    let reason = reasons.join("; ");
    let failure = Some(impossible_failure(&reason));
    (
        IsolationFacts::of(weakest(spec), reason),
        TrialParts {
            failure,
            ..TrialParts::default()
        },
    )
}

pub fn named_reason(kind: IsolationKind, reason: &str) -> String {
    let kind = match kind {
        IsolationKind::Guest => "guest",
        IsolationKind::Confined => "confined",
        IsolationKind::Overlay => "overlay",
        IsolationKind::UserNamespace => "user namespace",
        IsolationKind::Plain => "plain",
    };
    format!("{kind}: {reason}")
}

fn spec_needs_root(spec: &TrialSpec) -> bool {
    spec.needs.privileged
}

#[derive(Serialize, Deserialize)]
enum TrialReport {
    Impossible(String),
    Ended(Box<TrialParts>),
}

/// Performs the trial in one kind of world, or tells why that kind is impossible.
fn perform_in(
    kind: IsolationKind,
    assignment: &Assignment<'_>,
    worker: &Path,
) -> Result<TrialParts, String> {
    let of_root = matches!(kind, IsolationKind::Confined | IsolationKind::Overlay);
    if of_root && !rustix::process::geteuid().is_root() {
        return Err("needs root".to_owned());
    }
    if spec_needs_root(assignment.spec) && !of_root {
        return Err("the package needs all rights of root".to_owned());
    }
    let mut notices = Vec::new();
    let build = match assignment.spec.build {
        BuildPolicy::Fresh => None,
        BuildPolicy::Shared => match obtain_shared_build(assignment, kind, worker) {
            Ok(build) => Some(build),
            Err(BuildError::Impossible(reason)) => return Err(reason),
            Err(BuildError::NoDiskLayer(reason)) => {
                notices.push(format!(
                    "The build could not be shared and was made for this trial: {reason}."
                ));
                None
            }
            Err(BuildError::Failed { failure, facts }) => {
                return Ok(TrialParts {
                    failure: Some(failure),
                    build: facts.map(|facts| *facts),
                    ..TrialParts::default()
                });
            }
        },
    };
    // Those that are copied are in other pages anyway.
    let settings = assignment.levels.world.settings(None);
    if kind != IsolationKind::Plain && !settings.copies_package() {
        let layers = build.as_ref().map(|build| build.layers.as_path());
        let folders = [Some(assignment.package.root.as_path()), layers];
        let programs = find_programs(folders.into_iter().flatten());
        place_anew(&programs.found);
        if programs.has_more {
            notices.push(LEFT_IN_PLACE.to_owned());
        }
    }
    let mut parts = perform_with_build(kind, assignment, worker, build)?;
    parts.notices.splice(0..0, notices);
    Ok(parts)
}

fn perform_with_build(
    kind: IsolationKind,
    assignment: &Assignment<'_>,
    worker: &Path,
    build: Option<SharedBuild>,
) -> Result<TrialParts, String> {
    let background = assignment.background.map(|package| package.root.as_path());
    let settings = assignment.levels.world.settings(background);
    let world_bytes = match settings.root_filesystem {
        // On a disk the bound comes from the disk unless one is asked for.
        Some(RootFilesystem::Image(_)) => assignment.spec.limits.world_bytes,
        _ => assignment.resources.world_bytes(),
    };
    let keeping = Keeping::of(kind, assignment.spec)?;
    let request = WorldRequest {
        package: &assignment.package.root,
        build: build.as_ref().map(|build| build.layers.as_path()),
        changes: Changes::Memory(world_bytes),
        scratch: Path::new(&assignment.spec.scratch_dir),
        worker,
        settings,
        confines: keeping.confines(&assignment.spec.needs),
    };
    let facts = build.as_ref().map(|build| build.facts.clone());
    let network = assignment.spec.needs.network;
    let report = enclose(kind, network, assignment.interrupt, || {
        assignment.resources.bound_namespaces(kind);
        match enter_world(kind, &request) {
            Err(WorldError::Impossible(reason) | WorldError::NoDiskLayer(reason)) => {
                TrialReport::Impossible(reason)
            }
            Err(WorldError::Failed(failure)) => TrialReport::Ended(Box::new(TrialParts {
                failure: Some(failure),
                ..TrialParts::default()
            })),
            Ok(mut world) => {
                world.resources = Some(Rc::clone(assignment.resources));
                TrialReport::Ended(Box::new(perform_trial(assignment, &mut world, facts)))
            }
        }
    });
    match report {
        Ok(TrialReport::Ended(parts)) => Ok(*parts),
        Err(EncloseError::Impossible(reason)) | Ok(TrialReport::Impossible(reason)) => Err(reason),
        Err(EncloseError::Died(how)) => Ok(TrialParts {
            failure: Some(lost_carrier(&how)),
            interrupted: true,
            build: build.map(|build| build.facts),
            ..TrialParts::default()
        }),
    }
}
