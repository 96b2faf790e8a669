//! Reading the process factors back.

mod observer;

use std::collections::BTreeMap;
use std::fs;
use std::io;

use datamill_protocol::FactorFacts;
use serde_json::Value;

pub use observer::{Observer, Reading, launch_witness};

use super::PROCESS_FACTORS;
use super::conditions::RunConditions;
use super::levels::ProcessLevels;
use crate::factors::fact::fact;
use crate::interrupt::Interrupt;
use crate::package::RUN;
use crate::process::{Witness, observe_self};
use crate::world::World;

/// What the calling process sees of itself, of every process factor too.
pub fn observe_witness() -> io::Result<Witness> {
    let environment = fs::read("/proc/self/environ")?;
    let mut factors = BTreeMap::new();
    for factor in PROCESS_FACTORS {
        let seen = factor.observe(&environment).map_err(io::Error::other)?;
        factors.insert(factor.name().to_owned(), seen);
    }
    observe_self(factors)
}

/// Reads back the factors that act on `run.sh`, by launching witnesses exactly as it will be launched.
pub fn read_back_process_factors(
    levels: &ProcessLevels,
    world: &World,
    conditions: &RunConditions,
    interrupt: &Interrupt,
) -> Vec<FactorFacts> {
    if levels.is_empty() {
        return Vec::new();
    }
    let observer = Observer {
        world,
        program: &world.root.join(RUN),
        conditions,
        interrupt,
    };
    read_back_levels(levels, &observer)
}

/// Reads back factors by what an observer sees.
pub fn read_back_levels(levels: &ProcessLevels, observer: &Observer<'_>) -> Vec<FactorFacts> {
    let witness = observer.launch_witness();
    levels
        .asked()
        .map(|(factor, level)| {
            let (observed, evidence) = match &witness {
                Ok(witness) => {
                    let seen = witness.factors.get(factor.name());
                    factor.read_back(level, seen.unwrap_or(&Value::Null), observer)
                }
                Err(cause) => (None, cause.clone()),
            };
            fact(factor.name(), level, observed, evidence)
        })
        .collect()
}

/// What a witness did, as a whole sentence, and the level that this shows.
pub fn witness_did(observed: String, did: String) -> Reading {
    (
        Some(observed),
        format!("A witness process launched like run.sh {did}."),
    )
}
