//! `cache_preload`: whether the package's files are read just before `run.sh`.

use datamill_protocol::FactorOffer;

use crate::factors::world::factor::{WorldFactor, offer_all};
use crate::factors::world::levels::WorldLevels;

/// The factor.
pub struct CachePreload;

impl WorldFactor for CachePreload {
    fn name(&self) -> &'static str {
        "cache_preload"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &["off", "on"])
    }

    fn parse(&self, level: &str, levels: &mut WorldLevels) -> Result<(), String> {
        levels.cache_preload = Some(match level {
            "off" => false,
            "on" => true,
            _ => return Err("off, on".to_owned()),
        });
        Ok(())
    }
}
