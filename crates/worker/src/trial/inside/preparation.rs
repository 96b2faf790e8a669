//! What is done in the world before the measured execution of `run.sh`.

use std::os::unix::fs::FileExt;

use datamill_protocol::{FactorFacts, Phase, PhaseFacts};

use crate::build::check_still_there;
use crate::factors::{BeforeRun, Moment, RunConditions, WorldLevels};
use crate::package::RUN;
use crate::process::{Execution, LockedFiles, Script, Stage, find_program, place_anew, run_script};
use crate::trouble::Step;
use crate::world::{SEARCH_PATH, World};

/// Bytes of a `run.sh` that is asked for its program.
const LONGEST_SCRIPT: usize = 1 << 16;

/// Has the factors act that act before the measured execution of `run.sh`, which is there afterwards.
///
/// What was seen of each earlier execution goes into `warmups` and what the factors tell into `factors`, also
/// when one of them fails. Files in `locked` are in memory as long as it lives.
pub fn prepare_world(
    levels: &WorldLevels,
    stage: &Stage<'_>,
    conditions: &RunConditions,
    locked: &mut Option<LockedFiles>,
    warmups: &mut Vec<PhaseFacts>,
    factors: &mut Vec<FactorFacts>,
) -> Step<()> {
    let world = stage.world;
    let mut execute = |number: u32| {
        check_still_there(world, Phase::Run, RUN)?;
        let ended = run_script(stage, &measured_script(conditions, Some(number)));
        warmups.extend(ended.facts);
        ended.failure.map_or(Ok(()), Err)
    };
    let mut before = BeforeRun {
        world,
        execute: &mut execute,
        locked,
    };
    levels.prepare(Moment::WarmUp, &mut before, factors)?;
    check_still_there(world, Phase::Run, RUN)?;
    levels.prepare(Moment::Last, &mut before, factors)
}

/// Has the kernel keep the program that `run.sh` becomes in other pages of its memory, where it says which that is.
pub fn place_run_program(world: &World, variables: &[(String, String)]) {
    let mut script = vec![0; LONGEST_SCRIPT];
    // As it came: what a build has put in its place may be a pipe, or without end.
    let Ok(length) = world.run_script.read_at(&mut script, 0) else {
        return;
    };
    let script = String::from_utf8_lossy(&script[..length]);
    let own_path = variables.iter().find(|(name, _)| name == "PATH");
    let search_path = own_path.map_or(SEARCH_PATH, |(_, path)| path);
    if length < LONGEST_SCRIPT
        && let Some(program) = find_program(&script, &world.directory, search_path)
    {
        place_anew(&[program]);
    }
}

/// `run.sh` with all that its process gets; `warmup` numbers an execution before the measured one.
pub fn measured_script(conditions: &RunConditions, warmup: Option<u32>) -> Script<'_> {
    Script {
        phase: Phase::Run,
        execution: warmup.map_or(Execution::Main, Execution::WarmUp),
        environment: &conditions.environment,
        settings: &conditions.settings,
    }
}
