//! `working_directory_length`: characters in the path of the working directory of `run.sh`.

use datamill_protocol::{FactorFacts, FactorOffer, IsolationWanted, TrialSpec};

use crate::factors::fact::fact;
use crate::factors::world::factor::{
    WorldFactor, offer_all, offer_in_private_world, parse_number, refuse_isolation,
};
use crate::factors::world::private_world::missing_world;
use crate::process::Witness;
use crate::world::{World, WorldSettings};

/// Longest path of a working directory that leaves programs room for names below it.
const LONGEST_DIRECTORY: usize = 4000;

/// The factor.
pub struct WorkingDirectoryLength;

impl WorldFactor for WorkingDirectoryLength {
    fn name(&self) -> &'static str {
        "working_directory_length"
    }

    fn offer(&self) -> FactorOffer {
        offer_in_private_world(offer_all(self.name(), &["1", "100", "1000"]))
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        parse_number(level, 1, LONGEST_DIRECTORY, "characters")?;
        missing_world().map_or(Ok(()), |reason| Err(format!("nothing here: {reason}")))
    }

    fn check_spec(&self, level: Option<&str>, spec: &TrialSpec) -> Result<(), String> {
        match (spec.isolation, level) {
            (IsolationWanted::Plain, Some(_)) => refuse_isolation(self.name(), "plain"),
            _ => Ok(()),
        }
    }

    fn shape_world(&self, level: &str, settings: &mut WorldSettings<'_>) {
        settings.directory_length = level.parse().ok();
    }

    fn wants_witness(&self) -> bool {
        true
    }

    fn observe(
        &self,
        level: &str,
        _world: &World,
        witness: Option<&Result<Witness, String>>,
    ) -> Option<FactorFacts> {
        Some(observe_directory(self.name(), level, witness?))
    }
}

fn observe_directory(name: &str, asked: &str, witness: &Result<Witness, String>) -> FactorFacts {
    let seen = witness.as_ref().map(|witness| witness.directory.as_ref());
    let (observed, evidence) = match seen {
        Ok(Some(directory)) => (
            Some(directory.len().to_string()),
            format!(
                "A witness process launched like run.sh got a path of {} characters from getcwd.",
                directory.len()
            ),
        ),
        Ok(None) => (None, "The path from getcwd was no text.".to_owned()),
        Err(cause) => (None, cause.clone()),
    };
    fact(name, asked, observed, evidence)
}
