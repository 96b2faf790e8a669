//! `drop_caches`: caches of the kernel that are dropped just before `run.sh`.

use std::fs::File;

use datamill_protocol::FactorOffer;

use super::page_cache::DroppedCaches;
use crate::factors::world::factor::{WorldFactor, choices, missing, offer_all};
use crate::factors::world::levels::WorldLevels;
use crate::world::DROP_CACHES;

/// The factor.
pub struct DropCaches;

impl WorldFactor for DropCaches {
    fn name(&self) -> &'static str {
        "drop_caches"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = offer_all(self.name(), &["none"]);
        for caches in DroppedCaches::ALL.into_iter().skip(1) {
            match missing_caches() {
                None => offer.levels.push(caches.name().to_owned()),
                Some(reason) => offer.missing.push(missing(caches.name(), &reason)),
            }
        }
        offer
    }

    fn parse(&self, level: &str, levels: &mut WorldLevels) -> Result<(), String> {
        levels.drop_caches = Some(parse_caches(level)?);
        Ok(())
    }
}

fn parse_caches(level: &str) -> Result<DroppedCaches, String> {
    let Some(caches) = DroppedCaches::ALL.into_iter().find(|it| it.name() == level) else {
        return Err(DroppedCaches::ALL.map(DroppedCaches::name).join(", "));
    };
    match missing_caches() {
        Some(reason) if caches != DroppedCaches::None => {
            Err(choices(["none"].into_iter(), level, &reason))
        }
        _ => Ok(caches),
    }
}

/// Why the kernel's caches cannot be dropped here.
fn missing_caches() -> Option<String> {
    match File::options().write(true).open(DROP_CACHES) {
        Ok(_) => None,
        Err(error) => Some(format!("{DROP_CACHES} cannot be written: {error}")),
    }
}
