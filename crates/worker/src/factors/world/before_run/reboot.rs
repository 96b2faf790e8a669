//! `reboot`: whether the host is rebooted before the trial.

use datamill_protocol::{FactorFacts, FactorOffer};

use crate::factors::fact::fact;
use crate::factors::world::factor::{WorldFactor, missing, offer_all};
use crate::factors::world::levels::WorldLevels;
use crate::process::Witness;
use crate::world::World;

/// Why no trial is preceded by a reboot.
const REASON: &str = "it needs a worker of a fleet, which goes on after its host came up again";

/// The factor.
pub struct Reboot;

impl WorldFactor for Reboot {
    fn name(&self) -> &'static str {
        "reboot"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = offer_all(self.name(), &["none"]);
        offer.missing.push(missing("before_trial", REASON));
        offer
    }

    fn parse(&self, level: &str, levels: &mut WorldLevels) -> Result<(), String> {
        match level {
            "none" => {
                levels.without_reboot = true;
                Ok(())
            }
            "before_trial" => Err(format!(
                "none; before_trial is not available here: {REASON}"
            )),
            _ => Err("none".to_owned()),
        }
    }

    fn observe(
        &self,
        levels: &WorldLevels,
        _world: &World,
        _witness: Option<&Result<Witness, String>>,
    ) -> Option<FactorFacts> {
        levels.without_reboot.then(|| {
            let evidence = "Nothing rebooted the host for this trial.".to_owned();
            fact(self.name(), "none", Some("none".to_owned()), evidence)
        })
    }
}
