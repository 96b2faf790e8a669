//! `warmups`: executions of `run.sh` before the measured one.

use datamill_protocol::{FactorFacts, FactorOffer};

use crate::factors::fact::fact;
use crate::factors::world::factor::{BeforeRun, Moment, WorldFactor, offer_all, parse_number};
use crate::trouble::Step;

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

    fn parse(&self, level: &str) -> Result<(), String> {
        parse_number(level, 0, MOST_WARMUPS as usize, "executions").map(drop)
    }

    fn executions(&self, level: &str) -> u32 {
        level.parse().unwrap_or(0)
    }

    fn moment(&self) -> Moment {
        Moment::WarmUp
    }

    fn prepare(&self, level: &str, before: &mut BeforeRun<'_>) -> Step<Option<FactorFacts>> {
        for number in 1..=self.executions(level) {
            (before.execute)(number)?;
        }
        let evidence = format!("Executions of run.sh before the measured one: {level}.");
        Ok(Some(fact(
            self.name(),
            level,
            Some(level.to_owned()),
            evidence,
        )))
    }
}
