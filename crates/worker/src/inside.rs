//! What happens inside the private world: the phases of a trial, or of a shared build.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use datamill_compiler::{install_wrappers, observe_build_factors, read_compiler_log};
use datamill_host::{HostLook, KernelLog};
use datamill_protocol::{
    ArchiveFacts, BuildFacts, BuildPolicy, CompilerFacts, DisturbanceFacts, FactorFacts, Failure,
    FailureKind, Phase, PhaseFacts, TrialSpec,
};
use serde::{Deserialize, Serialize};

use crate::collect::collect_archive;
use crate::environment::{SEARCH_PATH, inherited_notices, phase_environment};
use crate::factors::{Levels, read_back_process_factors};
use crate::interrupt::Interrupt;
use crate::metrics::Metrics;
use crate::package::{COLLECT, Package, RUN, SETUP};
use crate::phases::{Script, Stage, interrupted, is_full, run_script};
use crate::trouble::{Step, failure, io_failure};
use crate::witness::is_padding_name;
use crate::world::World;

/// What the enclosed process reports of a trial: the part of its record that it saw.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TrialParts {
    /// The build; absent when none was reached.
    pub build: Option<BuildFacts>,
    /// Executions of `run.sh` before the measured one.
    pub warmups: Vec<PhaseFacts>,
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
    /// Why it did not complete.
    pub failure: Option<Failure>,
    /// Whether that was an interruption.
    pub interrupted: bool,
}

/// What the phases need to know.
pub struct Assignment<'a> {
    /// The trial.
    pub spec: &'a TrialSpec,
    /// Its levels, understood.
    pub levels: &'a Levels,
    /// Its package.
    pub package: &'a Package,
    /// Folder that receives output and archive.
    pub output: &'a OwnedFd,
    /// The pending interruption.
    pub interrupt: &'a Interrupt,
    /// The kernel's log, opened before the world was entered.
    pub kernel_log: Option<&'a KernelLog>,
}

impl Assignment<'_> {
    fn stage<'a>(&'a self, world: &'a World) -> Stage<'a> {
        Stage {
            world,
            limits: &self.spec.limits,
            output: self.output,
            interrupt: self.interrupt,
        }
    }
}

/// Runs a trial in the world that this process has entered; `build` is the shared one, if any.
pub fn perform_trial(
    assignment: &Assignment<'_>,
    world: &World,
    build: Option<BuildFacts>,
) -> TrialParts {
    let mut parts = TrialParts {
        notices: [&assignment.package.notices[..], &world.notices[..]].concat(),
        build,
        ..TrialParts::default()
    };
    parts.failure = perform_phases(assignment, world, &mut parts).err();
    parts.interrupted = assignment.interrupt.is_pending() && parts.failure.is_some();
    parts.notices.extend(assignment.interrupt.refusals());
    parts
}

fn perform_phases(assignment: &Assignment<'_>, world: &World, parts: &mut TrialParts) -> Step<()> {
    let started = file_clock_ns();
    let stage = assignment.stage(world);
    let variables = &assignment.package.variables;
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

    let mut environment = phase_environment(world, variables, false);
    if assignment.levels.process.env_padding.is_some()
        && let Some((name, _)) = variables.iter().find(|(name, _)| is_padding_name(name))
    {
        return Err(failure(
            Phase::Isolate,
            FailureKind::BadPackage,
            format!("The package's env file sets {name}, a name that the factor env_padding uses."),
            "Rename the variable; PAD and one letter are taken.",
        ));
    }
    environment.extend(assignment.levels.process.padding());
    let read = read_back_process_factors(
        &assignment.levels.process,
        world,
        &environment,
        assignment.interrupt,
    );
    parts.factors.extend(read);
    if assignment.interrupt.is_pending() {
        return Err(interrupted(Phase::Run));
    }

    check_still_there(world, Phase::Run, RUN)?;
    parts.notices.extend(inherited_notices());
    let before = HostLook::take(assignment.kernel_log);
    let ended = run_script(
        &stage,
        &Script {
            phase: Phase::Run,
            environment: &environment,
            address_randomization: assignment.levels.process.aslr,
        },
    );
    parts.disturbance = ended
        .facts
        .as_ref()
        .map(|run| {
            let trial_time_ns = run.user_time_ns + run.system_time_ns;
            before.compare(&HostLook::take(assignment.kernel_log), trial_time_ns)
        });
    parts.run = ended.facts;
    ended.failure.map_or(Ok(()), Err)?;
    if is_full(world) {
        parts
            .notices
            .push("The private world was full when run.sh ended.".to_owned());
    }

    let environment = phase_environment(world, variables, false);
    let script = Script {
        phase: Phase::Collect,
        environment: &environment,
        address_randomization: Some(true),
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

/// Runs `setup.sh`, if there is one, behind the compiler wrappers.
pub fn build_package(
    assignment: &Assignment<'_>,
    world: &World,
    id: String,
    policy: BuildPolicy,
) -> (Option<BuildFacts>, Step<()>) {
    let mut build = BuildFacts {
        id,
        policy,
        reused: false,
        setup: None,
        compiler: CompilerFacts::default(),
    };
    if !assignment.package.has_setup {
        return (Some(build), Ok(()));
    }
    let installed = install_wrappers(
        &world.tools,
        std::path::Path::new("/"),
        SEARCH_PATH,
        &assignment.levels.compiler,
    );
    if let Err(error) = installed {
        return (
            None,
            Err(io_failure(
                Phase::Isolate,
                "installing the compiler wrappers",
            )(error)),
        );
    }
    if let Err(failure) = check_still_there(world, Phase::Setup, SETUP) {
        return (Some(build), Err(failure));
    }
    let environment = phase_environment(world, &assignment.package.variables, true);
    let script = Script {
        phase: Phase::Setup,
        environment: &environment,
        address_randomization: Some(true),
    };
    let ended = run_script(&assignment.stage(world), &script);
    build.setup = ended.facts;
    if let Some(failure) = ended.failure {
        return (Some(build), Err(failure));
    }
    match read_compiler_log(&world.tools) {
        Ok(compiler) => {
            build.compiler = compiler;
            (Some(build), Ok(()))
        }
        Err(error) => (
            Some(build),
            Err(io_failure(
                Phase::Setup,
                "reading the compiler wrapper's log",
            )(error)),
        ),
    }
}

/// Checks that no earlier script of the package removed what the next one needs.
fn check_still_there(world: &World, phase: Phase, script: &str) -> Step<()> {
    for (name, path) in [
        (script, world.root.join(script)),
        ("/dev/null", PathBuf::from("/dev/null")),
    ] {
        if !path.exists() {
            return Err(failure(
                phase,
                FailureKind::BadPackage,
                format!("{script} cannot be executed: {name} is not there any more."),
                format!("Let the package's scripts leave {name} where it is."),
            ));
        }
    }
    Ok(())
}

/// A build may have noted the wrappers' paths: they stay where they are, but change nothing any more.
fn keep_wrappers_passive(world: &World) -> Step<()> {
    install_wrappers(
        &world.tools,
        std::path::Path::new("/"),
        SEARCH_PATH,
        &Default::default(),
    )
    .map(drop)
    .map_err(io_failure(
        Phase::Isolate,
        "resetting the compiler wrappers",
    ))
}

fn fresh_id(spec: &TrialSpec) -> String {
    let attempt = spec.attempt.to_string();
    format!(
        "fresh-{}",
        &crate::digest::hash_parts(&[&spec.experiment, &spec.trial_id, &attempt])[..32]
    )
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
