//! The shared build of a trial, made alone.

use std::path::Path;
use std::rc::Rc;

use datamill_protocol::{BuildFacts, TrialSpec};

use super::prepared::{prepare, release};
use super::worlds::{candidates, named_reason};
use crate::assignment::Purpose;
use crate::build::{BuildError, obtain_shared_build};
use crate::factors::Levels;
use crate::interrupt::Interrupt;
use crate::resources::Resources;
use crate::trouble::Step;
use crate::world::{impossible_failure, remove_scratch};

/// Makes the shared build of a trial if it is missing, and tells what it is.
pub fn build_shared_package(
    spec: &TrialSpec,
    levels: &Levels,
    interrupt: &Interrupt,
) -> Step<BuildFacts> {
    let prepared = prepare(spec, levels, interrupt)?;
    let bounds = Rc::new(Resources::prepare(&spec.limits));
    let assignment = prepared.assignment(spec, Purpose::Measurements, levels, &bounds, interrupt);
    let mut reasons = Vec::new();
    let mut result = Err(impossible_failure("this host allows none"));
    for kind in candidates(spec) {
        match obtain_shared_build(&assignment, *kind, &prepared.worker) {
            Ok(build) => result = Ok(build.facts),
            Err(BuildError::Failed { failure, .. }) => result = Err(failure),
            Err(BuildError::NoDiskLayer(reason)) => result = Err(impossible_failure(&reason)),
            Err(BuildError::Impossible(reason)) => {
                reasons.push(named_reason(*kind, &reason));
                result = Err(impossible_failure(&reasons.join("; ")));
                continue;
            }
        }
        break;
    }
    release(bounds).ok();
    remove_scratch(Path::new(&spec.scratch_dir)).ok();
    result
}
