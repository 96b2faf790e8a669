//! What is done in the world just before the measured execution of `run.sh`.

use datamill_protocol::{FactorFacts, Phase, PhaseFacts};

use crate::build::check_still_there;
use crate::factors::{RunConditions, WorldLevels, drop_caches, fact, preload_package};
use crate::package::RUN;
use crate::process::{Script, Stage, run_script};
use crate::trouble::Step;
use crate::world::World;

/// Executes `run.sh` as often as the factor `warmups` wants, exactly as it will be measured.
///
/// What was seen of each goes into `seen`, also when one of them fails.
pub fn warm_up(
    levels: &WorldLevels,
    stage: &Stage<'_>,
    conditions: &RunConditions,
    seen: &mut Vec<PhaseFacts>,
) -> Step<Option<FactorFacts>> {
    let Some(count) = levels.warmups else {
        return Ok(None);
    };
    for number in 1..=count {
        check_still_there(stage.world, Phase::Run, RUN)?;
        let ended = run_script(stage, &measured_script(conditions, Some(number)));
        seen.extend(ended.facts);
        ended.failure.map_or(Ok(()), Err)?;
    }
    let count = count.to_string();
    let evidence = format!("Executions of run.sh before the measured one: {count}.");
    Ok(Some(fact("warmups", &count, Some(count.clone()), evidence)))
}

/// `run.sh` with all that its process gets; `warmup` numbers an execution before the measured one.
pub fn measured_script(conditions: &RunConditions, warmup: Option<u32>) -> Script<'_> {
    Script {
        phase: Phase::Run,
        warmup,
        environment: &conditions.environment,
        settings: &conditions.settings,
    }
}

/// Empties the kernel's caches and fills them with the package, as far as the factors want it.
pub fn prepare_caches(levels: &WorldLevels, world: &World) -> Step<Vec<FactorFacts>> {
    let dropped = levels.drop_caches.map(|caches| drop_caches(world, caches));
    let preloaded = levels.cache_preload.map(|on| preload_package(world, on));
    Ok(dropped.transpose()?.into_iter().chain(preloaded).collect())
}
