//! `reboot`: whether the host is rebooted before the trial.

use datamill_protocol::{FactorFacts, FactorOffer};

use crate::factors::fact::fact;
use crate::factors::world::factor::{WorldFactor, missing, offer_all};
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

    fn parse(&self, level: &str) -> Result<(), String> {
        match level {
            "none" => Ok(()),
            "before_trial" => Err(format!(
                "none; before_trial is not available here: {REASON}"
            )),
            _ => Err("none".to_owned()),
        }
    }

    fn observe(
        &self,
        level: &str,
        _world: &World,
        _witness: Option<&Result<Witness, String>>,
    ) -> Option<FactorFacts> {
        let evidence = "Nothing rebooted the host for this trial.".to_owned();
        Some(fact(self.name(), level, Some(level.to_owned()), evidence))
    }
}
