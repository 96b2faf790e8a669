//! `working_directory_length`: characters in the path of the working directory of `run.sh`.

use datamill_protocol::{FactorFacts, FactorOffer};

use crate::factors::fact::fact;
use crate::factors::world::factor::{WorldFactor, offer_all, offer_in_private_world, parse_number};
use crate::factors::world::levels::WorldLevels;
use crate::factors::world::private_world::missing_world;
use crate::process::Witness;
use crate::world::World;

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

    fn parse(&self, level: &str, levels: &mut WorldLevels) -> Result<(), String> {
        let length = parse_number(level, 1, LONGEST_DIRECTORY, "characters")?;
        levels.directory_length = Some(length);
        missing_world().map_or(Ok(()), |reason| Err(format!("nothing here: {reason}")))
    }

    fn observe(
        &self,
        levels: &WorldLevels,
        _world: &World,
        witness: Option<&Result<Witness, String>>,
    ) -> Option<FactorFacts> {
        Some(observe_directory(levels.directory_length?, witness?))
    }
}

fn observe_directory(asked: usize, witness: &Result<Witness, String>) -> FactorFacts {
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
    fact(
        "working_directory_length",
        &asked.to_string(),
        observed,
        evidence,
    )
}
