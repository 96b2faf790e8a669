//! `background_load`: the package that runs beside `run.sh`.
//!
//! The factor does not start it: the package is the specification's `background`, which the level has to name,
//! and it runs in processes of its own from before the world is read back until `run.sh` has ended. That is part
//! of how a trial is launched (`load/`), not an act at one moment.

use datamill_protocol::{FactorFacts, FactorOffer, PhaseFacts, TrialSpec};

use crate::factors::fact::fact;
use crate::factors::world::factor::{BesideRun, WorldFactor, offer_all};
use crate::factors::world::load_look::{LoadLook, time_between};

/// The factor's name, which the failure of a trial bears whose package cannot be run beside `run.sh`.
pub const BACKGROUND_LOAD: &str = "background_load";

/// The level at which nothing runs beside `run.sh`.
const NONE: &str = "none";

/// The factor.
pub struct BackgroundLoad;

impl WorldFactor for BackgroundLoad {
    fn name(&self) -> &'static str {
        BACKGROUND_LOAD
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &[NONE])
    }

    fn parse(&self, _level: &str) -> Result<(), String> {
        Ok(())
    }

    fn check_spec(&self, level: Option<&str>, spec: &TrialSpec) -> Result<(), String> {
        let load = level.filter(|name| *name != NONE);
        let given = spec
            .background
            .as_ref()
            .map(|package| package.name.as_str());
        match (load, given) {
            _ if load == given => Ok(()),
            (Some(load), given) => Err(format!(
                "background: levels.background_load is `{load}`, but {} is given",
                given.map_or("no package".to_owned(), |given| format!("`{given}`"))
            )),
            (None, _) => Err(format!(
                "background: `{}` is given, but levels.background_load does not ask for it",
                given.unwrap_or_default()
            )),
        }
    }

    fn observe_beside(&self, level: &str, beside: &BesideRun<'_>) -> Option<FactorFacts> {
        let (observed, evidence) = match beside.looks {
            None => (
                NONE.to_owned(),
                "Nothing was started beside run.sh.".to_owned(),
            ),
            Some((before, after)) => describe_load(level, before, after, beside.run),
        };
        Some(fact(self.name(), level, Some(observed), evidence))
    }
}

fn describe_load(
    name: &str,
    before: &LoadLook,
    after: &LoadLook,
    run: Option<&PhaseFacts>,
) -> (String, String) {
    let used = time_between(before, after) as f64 / 1e9;
    let ran = run.map_or(0.0, |run| run.wall_time_ns as f64 / 1e9);
    let times = format!("{name} used {used:.2} s of processor time while run.sh ran {ran:.2} s");
    match &after.end {
        None => (name.to_owned(), format!("{times}.")),
        Some(end) => (
            "ended early".to_owned(),
            format!("{times}, and ended before it: {end}."),
        ),
    }
}
