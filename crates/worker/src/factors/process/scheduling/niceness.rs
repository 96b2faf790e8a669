//! `niceness`: the weight of `run.sh` among the processes of its policy.

use datamill_probe::ChildStep;
use datamill_protocol::FactorOffer;

use super::permissions::Permissions;
use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, offer_each, refuse};
use crate::factors::process::read_back::{Observer, Reading, witness_did};

/// Nicenesses that are offered, the usual one first.
const NICENESSES: [i32; 5] = [0, -20, -10, 10, 19];

/// The factor.
pub struct Niceness;

impl ProcessFactor for Niceness {
    type Level = i32;
    type Seen = i32;

    fn name(&self) -> &'static str {
        "niceness"
    }

    fn offer(&self) -> FactorOffer {
        let permissions = Permissions::find();
        offer_each(
            self.name(),
            NICENESSES.map(|level| (level.to_string(), permissions.niceness_refusal(level))),
        )
    }

    fn parse(&self, text: &str) -> Result<i32, String> {
        let niceness = text.parse().ok().filter(|n| (-20..=19).contains(n));
        niceness
            .filter(|n: &i32| n.to_string() == text)
            .ok_or_else(|| "a whole number from -20 to 19".to_owned())
    }

    fn check(&self, level: &i32) -> Result<(), String> {
        refuse(Permissions::find().niceness_refusal(*level))
    }

    fn apply(&self, level: &i32, conditions: &mut RunConditions) -> Result<(), String> {
        conditions.settings.niceness = Some(*level);
        Ok(())
    }

    fn set_at(&self) -> Option<ChildStep> {
        Some(ChildStep::Niceness)
    }

    fn observe(&self, _environment: &[u8]) -> i32 {
        own_niceness()
    }

    fn read_back(&self, _asked: &Asked<'_, i32>, seen: &i32, _observer: &Observer<'_>) -> Reading {
        witness_did(seen.to_string(), format!("had niceness {seen}"))
    }
}

fn own_niceness() -> i32 {
    // SAFETY: no pointers involved; the system call itself tells 20 less the niceness.
    let told = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) };
    20 - told as i32
}
