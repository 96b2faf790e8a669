//! Levels of the build factors.

use datamill_protocol::{FactorOffer, FactorStage};

use crate::settings::WrapperSettings;

impl WrapperSettings {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        match (name, level) {
            ("optimization", "-O0" | "-O1" | "-Os" | "-O2" | "-O3") => {
                self.optimization = Some(level.to_owned());
            }
            ("link_order", "default" | "alphabetical" | "reverse") => {
                self.link_order = Some(level.to_owned());
            }
            ("optimization", _) => return Some(Err("-O0, -O1, -Os, -O2, -O3".to_owned())),
            ("link_order", _) => return Some(Err("default, alphabetical, reverse".to_owned())),
            _ => return None,
        }
        Some(Ok(()))
    }
}

/// What this host offers of the build factors.
pub fn offer_factors() -> Vec<FactorOffer> {
    let optimization = ["-O0", "-O1", "-Os", "-O2", "-O3"];
    let link_order = ["default", "alphabetical", "reverse"];
    vec![
        FactorOffer::of("optimization", FactorStage::Build, &optimization),
        FactorOffer::of("link_order", FactorStage::Build, &link_order),
    ]
}
