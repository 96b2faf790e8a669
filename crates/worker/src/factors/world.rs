//! Factors of the trial's private world and of what is done in it before `run.sh`.

use datamill_protocol::FactorOffer;

/// Levels of the world factors, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorldLevels {}

impl WorldLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, _name: &str, _level: &str) -> Option<Result<(), String>> {
        None
    }
}

/// What this host offers of the world factors.
pub fn offer_factors() -> Vec<FactorOffer> {
    Vec::new()
}
