//! `optimization`: the level of the compiler's optimisation.

use datamill_protocol::{CompilerFacts, FactorOffer};

use crate::factors::factor::{BuildFactor, offer_unless};
use crate::factors::observation::{Observation, count_of, judge_compilations};
use crate::factors::toolbox::Toolbox;
use crate::rewriting::CallWishes;

const LEVELS: [&str; 5] = ["-O0", "-O1", "-Os", "-O2", "-O3"];

/// The factor.
pub struct Optimization;

impl BuildFactor for Optimization {
    fn name(&self) -> &'static str {
        "optimization"
    }

    fn offer(&self, tools: &Toolbox) -> FactorOffer {
        offer_unless(tools.lacks_compiler(), self.name(), &LEVELS)
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        let is_known = LEVELS.contains(&level);
        is_known.then_some(()).ok_or_else(|| LEVELS.join(", "))
    }

    fn ask(&self, level: &str, _seed: u64, wishes: &mut CallWishes) {
        wishes.optimization = Some(level.to_owned());
    }

    fn caution(&self, level: &str) -> Option<&'static str> {
        (level == "-O0").then_some(
            "At -O0 compilers do not define __OPTIMIZE__, nor do they inline or fold what headers may count on: a script that asks for such macros takes their absence for a broken compiler.",
        )
    }

    fn observe(&self, _asked: &str, facts: &CompilerFacts) -> Observation {
        let levels: Vec<&str> = facts
            .optimization_passed
            .keys()
            .map(String::as_str)
            .collect();
        let counts: Vec<String> = facts
            .optimization_passed
            .iter()
            .map(|(level, count)| format!("{count} with {level}"))
            .collect();
        let evidence = format!(
            "{} reached the real compiler, {}; the wrapper changed the level of {}",
            count_of(facts.compiles, "compilation"),
            counts.join(", "),
            facts.optimization_changed
        );
        judge_compilations(
            facts,
            Some(&levels.join(", ")),
            evidence,
            "with its own level",
        )
    }
}
