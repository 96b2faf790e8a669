//! What happens inside the private world: the phases of a trial, or of a shared build.

mod preparation;
mod profile;

use datamill_compiler::observe_build_factors;
use datamill_host::{HostLook, OtherProcesses, wait_for_quiet};
use datamill_probe::ProcessSettings;
use datamill_protocol::{
    ArchiveFacts, BuildFacts, BuildPolicy, DisturbanceFacts, FactorFacts, Failure, FailureKind,
    Phase, PhaseFacts, QuietFacts,
};
use serde::{Deserialize, Serialize};

use super::collect::collect_archive;
use crate::assignment::{Assignment, Purpose};
use crate::build::{build_package, check_still_there, fresh_id, keep_wrappers_passive};
use crate::factors::{
    BACKGROUND_LOAD, BesideRun, RunConditions, launch_witness, prepare_run,
    read_back_process_factors, set_environment_factors, show_factor_folders, time_between,
};
use crate::load::{Load, perform_beside};
use crate::package::COLLECT;
use crate::process::{
    Execution, Script, announce_measurements, inherited_notices, is_full, phase_environment,
    run_script,
};
use crate::trial::collect::Metrics;
use crate::trouble::{Step, failure, interrupted};
use crate::world::{EncloseError, World, WorldFacts, factor_failure};
use preparation::{measured_script, place_run_program, prepare_world};
use profile::profile_package;

/// What the enclosed process reports of a trial: the part of its record that it saw.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TrialParts {
    /// The build; absent when none was reached.
    pub build: Option<BuildFacts>,
    /// Executions of `run.sh` before the measured one.
    pub warmups: Vec<PhaseFacts>,
    /// How it waited for a quiet machine.
    pub quiet: Option<QuietFacts>,
    /// `run.sh`.
    pub run: Option<PhaseFacts>,
    /// What else went on while `run.sh` ran.
    pub disturbance: Option<DisturbanceFacts>,
    /// `collect.sh`.
    pub collect: Option<PhaseFacts>,
    /// Factors read back.
    pub factors: Vec<FactorFacts>,
    /// Responses that the package reported.
    pub metrics: Metrics,
    /// The collected archive.
    pub archive: Option<ArchiveFacts>,
    /// Things worth knowing.
    pub notices: Vec<String>,
    /// How far it was apart from the host.
    pub world: WorldFacts,
    /// Why it did not complete.
    pub failure: Option<Failure>,
    /// Whether that was an interruption.
    pub interrupted: bool,
}

/// Runs a trial in the world that this process has entered; `build` is the shared one, if any.
pub fn perform_trial(
    assignment: &Assignment<'_>,
    world: &mut World,
    build: Option<BuildFacts>,
) -> TrialParts {
    let facts = world.facts.clone();
    let parts = perform(assignment, world, build);
    TrialParts {
        world: facts,
        ..parts
    }
}

fn perform(
    assignment: &Assignment<'_>,
    world: &mut World,
    build: Option<BuildFacts>,
) -> TrialParts {
    let Some(background) = assignment.background else {
        return perform_beside_load(assignment, world, build, None);
    };
    if let Some(confining) = &mut world.confining {
        // Each of the two has mounts of its own.
        confining.renew();
    }
    let world = &*world;
    let carried = perform_beside(assignment, world, background, |load| {
        perform_beside_load(assignment, world, build.clone(), Some(load))
    });
    carried.unwrap_or_else(|error| {
        let (failure, interrupted) = match error {
            EncloseError::Impossible(cause) => (factor_failure(BACKGROUND_LOAD, cause), false),
            EncloseError::Died(how) => (lost_carrier(&how), true),
        };
        TrialParts {
            build,
            failure: Some(failure),
            interrupted,
            ..TrialParts::default()
        }
    })
}

/// The failure of a trial whose carrier is gone.
pub fn lost_carrier(how: &str) -> Failure {
    failure(
        Phase::Run,
        FailureKind::Internal,
        format!("The process that carried the trial was lost: {how}."),
        "Look whether this host is out of memory; the trial can be attempted again.",
    )
}

fn perform_beside_load(
    assignment: &Assignment<'_>,
    world: &World,
    build: Option<BuildFacts>,
    load: Option<&Load<'_>>,
) -> TrialParts {
    let mut parts = TrialParts {
        notices: [&assignment.package.notices[..], &world.notices[..]].concat(),
        build,
        ..TrialParts::default()
    };
    parts.failure = perform_phases(assignment, world, load, &mut parts).err();
    parts.interrupted = assignment.interrupt.is_pending() && parts.failure.is_some();
    parts.notices.extend(assignment.interrupt.refusals());
    parts
}

fn perform_phases(
    assignment: &Assignment<'_>,
    world: &World,
    load: Option<&Load<'_>>,
    parts: &mut TrialParts,
) -> Step<()> {
    let started = file_clock_ns();
    let stage = assignment.stage(world);
    let variables = &assignment.package.variables;
    // Before the package has been in its world, and could lead this process elsewhere.
    let factor_folders = show_factor_folders(assignment.environment_factors, world)?;
    if parts.build.is_none() {
        let (build, ended) = build_package(
            assignment,
            world,
            fresh_id(assignment.spec),
            BuildPolicy::Fresh,
        );
        parts.build = build;
        ended?;
    }
    let compiler = parts
        .build
        .as_ref()
        .map(|build| build.compiler.clone())
        .unwrap_or_default();
    parts.factors = observe_build_factors(&assignment.levels.compiler, &compiler);
    if compiler.invocations > 0 {
        keep_wrappers_passive(world)?;
    }

    let mut conditions = prepare_run(&assignment.levels.process, world, variables)?;
    announce_measurements(
        &mut conditions.environment,
        assignment.spec.measurements,
        assignment.spec.warmup,
    );
    parts.factors.extend(set_environment_factors(
        assignment.environment_factors,
        &factor_folders,
        world,
        &mut conditions.environment,
        assignment.interrupt,
    )?);
    let read = read_back_process_factors(
        &assignment.levels.process,
        world,
        &conditions,
        assignment.interrupt,
    );
    parts.factors.extend(read);
    if assignment.interrupt.is_pending() {
        return Err(interrupted(Phase::Run));
    }

    parts
        .notices
        .extend(inherited_notices(&conditions.settings));
    if assignment.purpose == Purpose::Profile {
        return profile_package(assignment, world, &conditions, started, parts);
    }
    run_package(assignment, world, load, &conditions, parts)?;
    if is_full(world) {
        parts
            .notices
            .push("The private world was full when run.sh ended.".to_owned());
    }

    if !assignment.package.has_collect {
        return Ok(());
    }
    let environment = phase_environment(world, variables, false);
    let script = Script {
        phase: Phase::Collect,
        execution: Execution::Main,
        environment: &environment,
        settings: &ProcessSettings::RANDOMIZED,
    };
    check_still_there(world, Phase::Collect, COLLECT)?;
    let ended = run_script(&stage, &script);
    parts.collect = ended.facts;
    ended.failure.map_or(Ok(()), Err)?;
    let collected = collect_archive(
        world,
        &ended.stdout_tail,
        &assignment.spec.limits,
        started,
        assignment.output,
    )?;
    parts.archive = Some(collected.archive);
    parts.metrics = collected.metrics;
    parts.notices.extend(collected.notice);
    Ok(())
}

/// Runs `run.sh`, with all that is done just before it and beside it.
fn run_package(
    assignment: &Assignment<'_>,
    world: &World,
    load: Option<&Load<'_>>,
    conditions: &RunConditions,
    parts: &mut TrialParts,
) -> Step<()> {
    let stage = assignment.stage(world);
    let levels = &assignment.levels.world;
    place_run_program(world, &assignment.package.variables);
    if let Some(rule) = &assignment.spec.quiet {
        // Behind setup.sh, which leaves the disks busy, and before the load, which is part of the trial.
        let others = assignment.others;
        parts.quiet = Some(wait_for_quiet(rule, others, || {
            assignment.interrupt.is_pending()
        }));
        if assignment.interrupt.is_pending() {
            return Err(interrupted(Phase::Run));
        }
    }
    load.map_or(Ok(()), Load::start)?;
    let witness = levels
        .wants_witness()
        .then(|| launch_witness(world, conditions, assignment.interrupt));
    parts
        .factors
        .extend(levels.observe(world, witness.as_ref()));
    let mut locked = None;
    prepare_world(
        levels,
        &stage,
        conditions,
        &mut locked,
        &mut parts.warmups,
        &mut parts.factors,
    )?;
    let load_before = load.map(Load::look).transpose()?;
    let others_before = assignment.others.map(OtherProcesses::look);
    // What others do on processors that are not the trial's is no disturbance of it.
    let counted = assignment.levels.host.shielded_processors();
    let look = || HostLook::take_of(assignment.kernel_log, counted.as_deref());
    let before = look();
    let ended = run_script(&stage, &measured_script(conditions, None));
    let after = look();
    let others_after = assignment.others.map(OtherProcesses::look);
    let load_after = load.map(Load::look).transpose()?;
    load.map_or(Ok(()), Load::stop)?;
    let looks = load_before.as_ref().zip(load_after.as_ref());
    let run = ended.facts.as_ref();
    let beside = BesideRun {
        looks,
        witness: witness.as_ref(),
        locked: locked.as_ref(),
        run,
    };
    parts.factors.extend(levels.observe_beside(&beside));
    parts.disturbance = run.map(|run| {
        let load_time_ns = looks.map_or(0, |(before, after)| time_between(before, after));
        let trial_time_ns = run.user_time_ns + run.system_time_ns + load_time_ns;
        DisturbanceFacts {
            busiest: (others_before.as_ref().zip(others_after.as_ref()))
                .map(|(before, after)| before.busiest_until(after))
                .unwrap_or_default(),
            ..before.compare(&after, trial_time_ns)
        }
    });
    parts.run = ended.facts;
    ended.failure.map_or(Ok(()), Err)
}

/// Now, on the coarse clock that stamps files.
fn file_clock_ns() -> i128 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: valid pointer; the clock exists since Linux 2.6.32.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut now) };
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}
