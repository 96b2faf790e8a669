//! Building a package: `setup.sh` behind the compiler wrappers.

use std::path::PathBuf;

use datamill_compiler::{WrapperSettings, install_wrappers, read_compiler_log};
use datamill_probe::ProcessSettings;
use datamill_protocol::digest::hash_parts;
use datamill_protocol::{
    BuildFacts, BuildPolicy, CompilerFacts, Failure, FailureKind, Phase, TrialSpec,
};

use super::cross::CrossTarget;
use crate::assignment::Assignment;
use crate::package::SETUP;
use crate::process::{Execution, Script, phase_environment, run_script};
use crate::trouble::{Step, failure, io_failure};
use crate::world::{SEARCH_PATH, World, do_confined};

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
        executables_sha256: None,
    };
    if !assignment.package.has_setup {
        return (Some(build), Ok(()));
    }
    let installed = do_confined(world, || {
        install_wrappers(
            &world.tools,
            std::path::Path::new("/"),
            SEARCH_PATH,
            &assignment.levels.compiler,
        )
        .map(drop)
    });
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
    let mut environment = phase_environment(world, &assignment.package.variables, true);
    if let Some(target) = CrossTarget::of(assignment) {
        target.announce(&mut environment);
    }
    let script = Script {
        phase: Phase::Setup,
        execution: Execution::Main,
        environment: &environment,
        settings: &ProcessSettings::RANDOMIZED,
    };
    let ended = run_script(&assignment.stage(world), &script);
    build.setup = ended.facts;
    if let Some(failure) = ended.failure {
        let levels = &assignment.levels.compiler;
        return (Some(build), Err(name_build_levels(failure, levels)));
    }
    let look = do_confined(world, || {
        read_compiler_log(&world.tools)
            .map(|look| (look.facts, look.executables_sha256, look.architectures))
    });
    match look {
        Ok((facts, executables_sha256, architectures)) => {
            build.compiler = facts;
            build.executables_sha256 = executables_sha256;
            let checked =
                CrossTarget::of(assignment).map_or(Ok(()), |target| target.check(&architectures));
            (Some(build), checked)
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

/// Adds to the failure of `setup.sh` what the wrapper changed of the build, which may be why.
fn name_build_levels(mut failure: Failure, levels: &WrapperSettings) -> Failure {
    let changed = levels.changed_levels();
    if failure.kind != FailureKind::ExitStatus || changed.is_empty() {
        return failure;
    }
    let named: Vec<String> = changed
        .iter()
        .map(|(factor, level)| format!("{factor} = {level}"))
        .collect();
    failure.remedy = format!(
        "{} The compiler wrapper built with {}: see whether setup.sh works without.",
        failure.remedy,
        named.join(" and ")
    );
    for caution in levels.cautions() {
        failure.remedy += &format!(" {caution}");
    }
    failure
}

/// Checks that no earlier script of the package removed what the next one needs.
pub fn check_still_there(world: &World, phase: Phase, script: &str) -> Step<()> {
    for (name, path) in [
        (script, world.root.join(script)),
        ("/dev/null", PathBuf::from("/dev/null")),
    ] {
        if !path.exists() {
            return Err(failure(
                phase,
                FailureKind::BadPackage,
                format!("{script} cannot be executed: {name} is not there any more."),
                format!("Change the package's scripts so that {name} stays where it is."),
            ));
        }
    }
    Ok(())
}

/// A build may have noted the wrappers' paths: they stay where they are, but change nothing any more.
pub fn keep_wrappers_passive(world: &World) -> Step<()> {
    do_confined(world, || {
        install_wrappers(
            &world.tools,
            std::path::Path::new("/"),
            SEARCH_PATH,
            &Default::default(),
        )
        .map(drop)
    })
    .map_err(io_failure(
        Phase::Isolate,
        "resetting the compiler wrappers",
    ))
}

/// Identity of a build that is made for one attempt at one trial.
pub fn fresh_id(spec: &TrialSpec) -> String {
    let attempt = spec.attempt.to_string();
    let digits = hash_parts(&[&spec.experiment, &spec.trial_id, &attempt]).to_string();
    format!("fresh-{}", &digits[..32])
}
