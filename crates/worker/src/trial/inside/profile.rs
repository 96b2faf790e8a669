//! The profile of a package: `profile.sh` in place of `run.sh`, and the file that it names.

use datamill_protocol::{FailureKind, Phase};

use super::TrialParts;
use crate::assignment::Assignment;
use crate::build::check_still_there;
use crate::factors::RunConditions;
use crate::package::PROFILE;
use crate::process::{Execution, Script, run_script};
use crate::trial::collect::keep_named_file;
use crate::trouble::{Step, failure};
use crate::world::World;

/// Runs `profile.sh` as `run.sh` would be run, and keeps the file that its last line names.
///
/// `started` is the time at which the trial started, on the clock that stamps files, in nanoseconds.
pub fn profile_package(
    assignment: &Assignment<'_>,
    world: &World,
    conditions: &RunConditions,
    started: i128,
    parts: &mut TrialParts,
) -> Step<()> {
    if !assignment.package.has_profile {
        return Err(failure(
            Phase::Run,
            FailureKind::BadPackage,
            format!("The package has no {PROFILE}, and a profile of it was asked for."),
            format!(
                "Add an executable {PROFILE} at the root of the package, or ask for no profiles."
            ),
        ));
    }
    check_still_there(world, Phase::Run, PROFILE)?;
    let script = Script {
        phase: Phase::Run,
        execution: Execution::Profile,
        environment: &conditions.environment,
        settings: &conditions.settings,
    };
    let ended = run_script(&assignment.stage(world), &script);
    parts.run = ended.facts;
    ended.failure.map_or(Ok(()), Err)?;
    let limits = &assignment.spec.limits;
    let (file, _) = keep_named_file(
        world,
        PROFILE,
        &ended.stdout_tail,
        limits,
        started,
        assignment.output,
    )?;
    parts.archive = Some(file);
    parts
        .notices
        .push("The package was profiled; nothing was measured.".to_owned());
    Ok(())
}
