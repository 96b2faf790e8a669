//! `background_load`: the package that runs beside `run.sh`.

use datamill_protocol::FactorOffer;

use crate::factors::world::factor::{WorldFactor, offer_all};
use crate::factors::world::levels::WorldLevels;

/// The factor.
pub struct BackgroundLoad;

impl WorldFactor for BackgroundLoad {
    fn name(&self) -> &'static str {
        "background_load"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &["none"])
    }

    fn parse(&self, level: &str, levels: &mut WorldLevels) -> Result<(), String> {
        levels.background_load = Some(level.to_owned());
        Ok(())
    }
}
