//! What is done in the world before the measured execution of `run.sh`.

use datamill_protocol::{FactorFacts, Phase, PhaseFacts};

use crate::build::check_still_there;
use crate::factors::{BeforeRun, LockedFiles, Moment, RunConditions, WorldLevels};
use crate::package::RUN;
use crate::process::{Execution, Script, Stage, run_script};
use crate::trouble::Step;

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

/// `run.sh` with all that its process gets; `warmup` numbers an execution before the measured one.
pub fn measured_script(conditions: &RunConditions, warmup: Option<u32>) -> Script<'_> {
    Script {
        phase: Phase::Run,
        execution: warmup.map_or(Execution::Main, Execution::WarmUp),
        environment: &conditions.environment,
        settings: &conditions.settings,
    }
}
