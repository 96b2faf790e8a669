//! `warmups`: executions of `run.sh` before the measured one.

use datamill_protocol::FactorOffer;

use crate::factors::world::factor::{WorldFactor, offer_all, parse_number};
use crate::factors::world::levels::WorldLevels;

/// Most executions of `run.sh` before the measured one.
const MOST_WARMUPS: u32 = 1000;

/// The factor.
pub struct Warmups;

impl WorldFactor for Warmups {
    fn name(&self) -> &'static str {
        "warmups"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &["0", "1", "3", "10"])
    }

    fn parse(&self, level: &str, levels: &mut WorldLevels) -> Result<(), String> {
        let count = parse_number(level, 0, MOST_WARMUPS as usize, "executions")?;
        levels.warmups = Some(count as u32);
        Ok(())
    }
}
