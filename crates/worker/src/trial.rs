//! One trial from its specification to its record.

use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use datamill_host::{Host, KernelLog};
use datamill_protocol::{
    BuildFacts, BuildPolicy, FailureKind, IsolationFacts, IsolationKind, IsolationWanted, Outcome,
    Phase, TrialRecord, TrialSpec,
};
use serde::{Deserialize, Serialize};

use crate::begun_record::begin_record;
use crate::builds::{BuildError, SharedBuild, obtain_shared_build};
use crate::factors::{HostTurn, Levels, UserFactors, add_unread_factors, prepare_user_factors};
use crate::guest::{build_in_guest, run_trial_in_guest};
use crate::inside::{Assignment, TrialParts, lost_carrier, perform_trial};
use crate::interrupt::Interrupt;
use crate::keeping::Keeping;
use crate::package::{Package, prepare_package};
use crate::resources::Resources;
use crate::trouble::{Step, io_failure};
use crate::world::{
    Changes, EncloseError, RootFilesystem, WorldError, WorldRequest, clear_scratch, enclose,
    enter_world, impossible_failure, remove_scratch,
};

/// Runs one trial; whatever happens, the record tells it.
pub fn run_trial(spec: &TrialSpec, levels: &Levels, interrupt: &Interrupt) -> TrialRecord {
    if spec.isolation == IsolationWanted::Guest {
        return run_trial_in_guest(spec, levels, None, interrupt);
    }
    let begun = begin_record(spec, weakest(spec));
    let mut isolation = begun.isolation.clone();
    let mut package_sha256 = None;
    let mut resources = None;
    let mut turn = HostTurn::begin(Host::here());
    let mut parts = match prepare(spec, levels, interrupt) {
        Err(failure) => TrialParts {
            failure: Some(failure),
            ..TrialParts::default()
        },
        Ok(prepared) => {
            package_sha256.clone_from(&prepared.package.sha256);
            let bounds = Rc::new(Resources::prepare(&spec.limits));
            resources = Some(bounds.facts());
            let assignment = prepared.assignment(spec, levels, &bounds, interrupt);
            let user = &prepared.user_factors.host;
            let mut parts = match turn.set(&levels.host, user) {
                Err(failure) => TrialParts {
                    failure: Some(failure),
                    ..TrialParts::default()
                },
                Ok(()) => {
                    let (used, parts) = try_isolations(&assignment, &prepared.worker);
                    isolation = used;
                    parts
                }
            };
            parts.factors.extend(turn.end(&levels.host, user));
            parts.notices.extend(release(bounds).err());
            parts
        }
    };
    parts.notices.splice(0..0, mem::take(&mut turn.notices));
    if let Err(error) = remove_scratch(Path::new(&spec.scratch_dir)) {
        parts.notices.push(format!(
            "The scratch folder {} could not be removed: {error}.",
            spec.scratch_dir
        ));
    }
    parts.interrupted |= parts.failure.is_some() && interrupt.is_pending();
    add_unread_factors(&spec.levels, &mut parts.factors);
    TrialRecord {
        package_sha256,
        isolation,
        resources,
        ended_unix_ns: unix_ns(),
        outcome: outcome(&parts),
        failure: parts.failure,
        build: parts.build,
        warmups: parts.warmups,
        run: parts.run,
        disturbance: parts.disturbance,
        collect: parts.collect,
        factors: parts.factors,
        metrics: parts.metrics,
        archive: parts.archive,
        unrestored: turn.unrestored,
        notices: parts.notices,
        ..begun
    }
}

/// Makes the shared build of a trial if it is missing, and tells what it is.
pub fn build_shared_package(
    spec: &TrialSpec,
    levels: &Levels,
    interrupt: &Interrupt,
) -> Step<BuildFacts> {
    if spec.isolation == IsolationWanted::Guest {
        return build_in_guest(spec, levels, interrupt)?
            .facts
            .ok_or_else(|| impossible_failure("a guest made it elsewhere"));
    }
    let prepared = prepare(spec, levels, interrupt)?;
    let bounds = Rc::new(Resources::prepare(&spec.limits));
    let assignment = prepared.assignment(spec, levels, &bounds, interrupt);
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

/// What a trial needs before its world is made.
struct Prepared {
    package: Package,
    output: OwnedFd,
    worker: PathBuf,
    kernel_log: Option<KernelLog>,
    user_factors: UserFactors,
    background: Option<Package>,
}

impl Prepared {
    fn assignment<'a>(
        &'a self,
        spec: &'a TrialSpec,
        levels: &'a Levels,
        resources: &'a Rc<Resources>,
        interrupt: &'a Interrupt,
    ) -> Assignment<'a> {
        Assignment {
            spec,
            levels,
            package: &self.package,
            output: &self.output,
            resources,
            interrupt,
            kernel_log: self.kernel_log.as_ref(),
            environment_factors: &self.user_factors.environment,
            background: self.background.as_ref(),
        }
    }
}

fn prepare(spec: &TrialSpec, levels: &Levels, interrupt: &Interrupt) -> Step<Prepared> {
    for folder in [&spec.scratch_dir, &spec.cache_dir, &spec.output_dir] {
        fs::create_dir_all(folder).map_err(io_failure(
            Phase::Isolate,
            format!("making the folder `{folder}`"),
        ))?;
    }
    // What a killed worker may have left in its plain world.
    clear_scratch(Path::new(&spec.scratch_dir)).map_err(io_failure(
        Phase::Isolate,
        format!("clearing the folder `{}`", spec.scratch_dir),
    ))?;
    let output = File::open(&spec.output_dir).map_err(io_failure(
        Phase::Isolate,
        format!("opening the folder `{}`", spec.output_dir),
    ))?;
    let package = prepare_package(
        &spec.package,
        Path::new(&spec.cache_dir),
        &spec.limits,
        interrupt,
    )?;
    let background = match &spec.background {
        None => None,
        Some(background) => {
            let cache = Path::new(&spec.cache_dir);
            Some(prepare_package(background, cache, &spec.limits, interrupt)?)
        }
    };
    let user_factors = prepare_user_factors(spec, &levels.user, interrupt)?;
    let worker = own_binary().map_err(io_failure(Phase::Isolate, "finding the worker's binary"))?;
    Ok(Prepared {
        package,
        output: output.into(),
        worker,
        kernel_log: KernelLog::open(),
        user_factors,
        background,
    })
}

/// The worker's binary, as a path that can be shown inside a world.
pub fn own_binary() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    if path.is_file() {
        Ok(path)
    } else {
        Err(io::Error::other("it was replaced while it ran"))
    }
}

/// Kinds of worlds that satisfy what is wanted, strongest first.
fn candidates(spec: &TrialSpec) -> &'static [IsolationKind] {
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
fn weakest(spec: &TrialSpec) -> IsolationKind {
    candidates(spec)
        .last()
        .copied()
        .unwrap_or(IsolationKind::Plain)
}

/// Tries the wanted kinds of worlds from the strongest on, until one is possible.
fn try_isolations(assignment: &Assignment<'_>, worker: &Path) -> (IsolationFacts, TrialParts) {
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

fn named_reason(kind: IsolationKind, reason: &str) -> String {
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
    let world_bytes = match assignment.levels.world.root_filesystem {
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
        settings: assignment.levels.world.settings(background),
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

fn outcome(parts: &TrialParts) -> Outcome {
    match &parts.failure {
        None => Outcome::Completed,
        Some(_) if parts.interrupted => Outcome::Lost,
        // It is not the package's answer.
        Some(failure) if failure.kind == FailureKind::MemoryKilled => Outcome::Lost,
        Some(failure) if failure.kind == FailureKind::Timeout => Outcome::TimedOut,
        Some(_) => Outcome::Failed,
    }
}

/// Ends what is left of a trial and gives back what kept it within its bounds; the error is a sentence.
fn release(resources: Rc<Resources>) -> Result<(), String> {
    Rc::into_inner(resources).map_or(Ok(()), Resources::release)
}

/// The clock, nanoseconds since the Unix epoch.
pub fn unix_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
