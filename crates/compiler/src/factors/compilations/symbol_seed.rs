//! `symbol_seed`: the seed of names that the compiler makes up.

use datamill_protocol::{CompilerFacts, FactorOffer};

use crate::factors::factor::{BuildFactor, offer_unless};
use crate::factors::observation::{
    Observation, count_of, judge_compilations, level_of_share, observe_untouched,
};
use crate::factors::seeds::{Randomness, parse_seed};
use crate::factors::toolbox::{Toolbox, lose_levels};
use crate::rewriting::CallWishes;

const LEVELS: [&str; 2] = ["default", "random"];

/// The factor.
pub struct SymbolSeed;

impl BuildFactor for SymbolSeed {
    fn name(&self) -> &'static str {
        "symbol_seed"
    }

    fn offer(&self, tools: &Toolbox) -> FactorOffer {
        let mut offer = offer_unless(tools.lacks_compiler(), self.name(), &LEVELS);
        if tools.find_driver(|name| !name.contains("clang")).is_none() {
            lose_levels(&mut offer, |level| {
                let reason = "clang takes no seed, and no other compiler is installed here";
                (level == "random").then(|| reason.to_owned())
            });
        }
        offer
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        let is_known = LEVELS.contains(&level) || parse_randomness(level).is_some();
        is_known
            .then_some(())
            .ok_or_else(|| format!("{}, or a whole number below 2^53", LEVELS.join(", ")))
    }

    fn changes_builds(&self, level: &str) -> bool {
        level != "default"
    }

    fn draws(&self, level: &str) -> bool {
        level == "random"
    }

    fn ask(&self, level: &str, seed: u64, wishes: &mut CallWishes) {
        wishes.symbol_seed = parse_randomness(level).map(|randomness| randomness.seed(seed));
    }

    fn observe(&self, asked: &str, facts: &CompilerFacts) -> Observation {
        if asked == "default" {
            return observe_untouched(asked, facts);
        }
        let evidence = format!(
            "{} of {} had the seed; clang, for one, has none",
            facts.seeded_compiles,
            count_of(facts.compiles, "compilation")
        );
        let level = level_of_share(asked, facts.seeded_compiles, facts.compiles);
        judge_compilations(facts, level, evidence, "with its own seed")
    }
}

fn parse_randomness(level: &str) -> Option<Randomness> {
    match level {
        "random" => Some(Randomness::OfBuild),
        _ => parse_seed(level).map(Randomness::Named),
    }
}
