//! Shared builds: made once for each package, combination of build factors and seed of a build, then laid
//! under every trial that measures them.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use datamill_protocol::{BuildFacts, BuildPolicy, Failure, FailureKind, IsolationKind, Phase};
use serde::{Deserialize, Serialize};

use super::setup::build_package;
use super::store::{Kept, find_or_make, name_build, storing};
use crate::assignment::Assignment;
use crate::scratch::remove_tree;
use crate::trouble::{failure, io_failure};
use crate::world::{
    Changes, EncloseError, Keeping, PLAIN_TREE, WorldError, WorldRequest, WorldSettings,
    clear_scratch, copy_tree, enclose, enter_world,
};

/// Subfolder of a stored build with its layers.
pub const LAYERS: &str = "layers";
/// File of a stored build with what was seen when it was made.
pub const BUILD_FACTS: &str = "build.json";

/// A stored build.
pub struct SharedBuild {
    /// Its layers, to lay over the package.
    pub layers: PathBuf,
    /// What was seen when it was made.
    pub facts: BuildFacts,
}

/// Why there is no shared build.
pub enum BuildError {
    /// This host does not allow this kind of world.
    Impossible(String),
    /// The disk cannot hold the layers of one.
    NoDiskLayer(String),
    /// It failed.
    Failed {
        /// Why.
        failure: Failure,
        /// What was seen of it.
        facts: Option<Box<BuildFacts>>,
    },
}

impl From<Failure> for BuildError {
    fn from(failure: Failure) -> Self {
        Self::Failed {
            failure,
            facts: None,
        }
    }
}

#[derive(Serialize, Deserialize)]
enum BuildReport {
    Impossible(String),
    NoDiskLayer(String),
    Ended {
        facts: Option<Box<BuildFacts>>,
        failure: Option<Failure>,
    },
}

/// Finds the build that a trial is to measure, or makes it; safe beside other workers doing the same.
pub fn obtain_shared_build(
    assignment: &Assignment<'_>,
    kind: IsolationKind,
    worker: &Path,
) -> Result<SharedBuild, BuildError> {
    let package = &assignment.package.key;
    let key = name_build(package, assignment.spec, assignment.levels, kind);
    let make = |unfinished: &Path| {
        let storing = || storing(assignment.spec);
        let layers = unfinished.join(LAYERS);
        fs::create_dir(&layers).map_err(storing())?;
        let facts = make_build(assignment, kind, worker, &layers, &key)?;
        remove_tree(&layers.with_extension("work")).map_err(storing())?;
        let text = serde_json::to_vec_pretty(&facts).map_err(|error| storing()(error.into()))?;
        fs::write(unfinished.join(BUILD_FACTS), text).map_err(storing())?;
        Ok::<_, BuildError>(facts)
    };
    let kept = find_or_make(
        assignment.spec,
        &key,
        assignment.interrupt,
        read_stored,
        make,
    )?;
    Ok(match kept {
        Kept::Found(found) => found,
        Kept::Made(folder, facts) => SharedBuild {
            layers: folder.join(LAYERS),
            facts,
        },
    })
}

fn read_stored(folder: &Path) -> Option<SharedBuild> {
    let text = fs::read(folder.join(BUILD_FACTS)).ok()?;
    let facts: BuildFacts = serde_json::from_slice(&text).ok()?;
    Some(SharedBuild {
        layers: folder.join(LAYERS),
        facts: BuildFacts {
            reused: true,
            ..facts
        },
    })
}

fn make_build(
    assignment: &Assignment<'_>,
    kind: IsolationKind,
    worker: &Path,
    layers: &Path,
    key: &str,
) -> Result<BuildFacts, BuildError> {
    let scratch = Path::new(&assignment.spec.scratch_dir);
    let keeping = Keeping::of_build(kind, assignment.spec).map_err(BuildError::Impossible)?;
    let request = WorldRequest {
        package: &assignment.package.root,
        build: None,
        changes: Changes::Disk(layers),
        scratch,
        worker,
        settings: WorldSettings::default(),
        confines: keeping.confines(&assignment.spec.needs),
    };
    let network = assignment.spec.needs.network;
    let report = enclose(kind, network, assignment.interrupt, || {
        assignment.resources.bound_namespaces(kind);
        match enter_world(kind, &request) {
            Err(WorldError::Impossible(reason)) => BuildReport::Impossible(reason),
            Err(WorldError::NoDiskLayer(reason)) => BuildReport::NoDiskLayer(reason),
            Err(WorldError::Failed(failure)) => BuildReport::Ended {
                facts: None,
                failure: Some(failure),
            },
            Ok(mut world) => {
                world.resources = Some(Rc::clone(assignment.resources));
                let (facts, ended) =
                    build_package(assignment, &world, key.to_owned(), BuildPolicy::Shared);
                BuildReport::Ended {
                    facts: facts.map(Box::new),
                    failure: ended.err(),
                }
            }
        }
    });
    let (facts, failure) = match report {
        Err(EncloseError::Impossible(reason)) | Ok(BuildReport::Impossible(reason)) => {
            return Err(BuildError::Impossible(reason));
        }
        Ok(BuildReport::NoDiskLayer(reason)) => return Err(BuildError::NoDiskLayer(reason)),
        Err(EncloseError::Died(how)) => {
            return Err(BuildError::Failed {
                failure: lost(&how),
                facts: None,
            });
        }
        Ok(BuildReport::Ended { facts, failure }) => (facts, failure),
    };
    let facts = match (facts, failure) {
        (Some(facts), None) => facts,
        (facts, failure) => {
            let failure = failure.unwrap_or_else(|| lost("it reported nothing"));
            return Err(BuildError::Failed { failure, facts });
        }
    };
    if kind == IsolationKind::Plain {
        let target = layers.join(PLAIN_TREE);
        fs::create_dir(&target)
            .and_then(|()| copy_tree(&scratch.join(PLAIN_TREE), &target))
            .and_then(|()| clear_scratch(scratch))
            .map_err(io_failure(Phase::Setup, "storing a build"))?;
    }
    Ok(*facts)
}

fn lost(how: &str) -> Failure {
    failure(
        Phase::Setup,
        FailureKind::Internal,
        format!("The process that carried the build was lost: {how}."),
        "Look whether this host is out of memory; the trial can be attempted again.",
    )
}
