//! What a factor of the trial's private world is: one file in one of the folders beside this one, and
//! one line in the registry ([`super::WORLD_FACTORS`]).

use datamill_protocol::{FactorFacts, FactorOffer, FactorStage, MissingLevel};

use super::levels::WorldLevels;
use super::private_world::missing_world;
use crate::process::Witness;
use crate::world::World;

/// A factor of the trial's private world, or of what is done in it before and beside `run.sh`.
pub trait WorldFactor: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What this host offers of it.
    fn offer(&self) -> FactorOffer;
    /// Understands a level; the error says what it can be here.
    fn parse(&self, level: &str, levels: &mut WorldLevels) -> Result<(), String>;
    /// What holds of it in the world before anything is executed there; absent when it is not asked
    /// for, and for a factor that is read back where it acts: before `run.sh` or beside it.
    fn observe(
        &self,
        _levels: &WorldLevels,
        _world: &World,
        _witness: Option<&Result<Witness, String>>,
    ) -> Option<FactorFacts> {
        None
    }
}

/// Every one of these levels is here.
pub fn offer_all(name: &str, levels: &[&str]) -> FactorOffer {
    FactorOffer::of(name, FactorStage::World, levels)
}

/// The offer where trials can have a private world, and none elsewhere.
pub fn offer_in_private_world(offer: FactorOffer) -> FactorOffer {
    match missing_world() {
        None => offer,
        Some(reason) => FactorOffer::none(&offer.name, FactorStage::World, &reason),
    }
}

/// A level that is not here.
pub fn missing(level: &str, reason: &str) -> MissingLevel {
    MissingLevel {
        level: level.to_owned(),
        reason: reason.to_owned(),
    }
}

/// Understands a whole number in its one spelling.
pub fn parse_number(level: &str, least: usize, most: usize, what: &str) -> Result<usize, String> {
    match level.parse() {
        // Another spelling of a number would be another level of the factor.
        Ok(number) if (least..=most).contains(&number) && number.to_string() == level => Ok(number),
        _ => Err(format!("{least} to {most} {what}")),
    }
}

/// What a factor can be here, and why it cannot be at this level.
pub fn choices<'a>(offered: impl Iterator<Item = &'a str>, level: &str, reason: &str) -> String {
    let offered: Vec<&str> = offered.collect();
    let offered = match offered[..] {
        [] => "nothing here".to_owned(),
        _ => offered.join(", "),
    };
    format!("{offered}; {level} is not available: {reason}")
}
