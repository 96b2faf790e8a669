//! `session`: whether the background load shares the session of `run.sh`.

use datamill_protocol::FactorOffer;

use crate::factors::world::factor::{WorldFactor, offer_all};
use crate::factors::world::levels::WorldLevels;

/// The factor.
pub struct Session;

impl WorldFactor for Session {
    fn name(&self) -> &'static str {
        "session"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &["same", "different"])
    }

    fn parse(&self, level: &str, levels: &mut WorldLevels) -> Result<(), String> {
        levels.shares_session = Some(match level {
            "same" => true,
            "different" => false,
            _ => return Err("same, different".to_owned()),
        });
        Ok(())
    }
}
