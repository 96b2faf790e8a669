//! `compiler_flags`: options behind those of the build system.

use datamill_protocol::{CompilerFacts, FactorOffer};

use super::flags::{NO_FLAGS, parse_flags};
use crate::factors::factor::{BuildFactor, offer_unless};
use crate::factors::observation::{
    Observation, count_of, judge_compilations, level_of_share, observe_untouched,
};
use crate::factors::toolbox::Toolbox;
use crate::rewriting::CallWishes;

/// The factor.
pub struct CompilerFlags;

impl BuildFactor for CompilerFlags {
    fn name(&self) -> &'static str {
        "compiler_flags"
    }

    fn offer(&self, tools: &Toolbox) -> FactorOffer {
        offer_unless(tools.lacks_compiler(), self.name(), &[NO_FLAGS])
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        parse_flags(level).map(drop).map_err(|reason| {
            format!("{NO_FLAGS}, or options of the compiler such as -march=native, but {reason}")
        })
    }

    fn changes_builds(&self, level: &str) -> bool {
        level != NO_FLAGS
    }

    fn ask(&self, level: &str, _seed: u64, wishes: &mut CallWishes) {
        wishes.flags = parse_flags(level).unwrap_or_default();
    }

    fn observe(&self, asked: &str, facts: &CompilerFacts) -> Observation {
        if asked == NO_FLAGS {
            return observe_untouched(asked, facts);
        }
        let evidence = format!(
            "{} of {} reached the real compiler with these options behind their own",
            facts.flagged_compiles,
            count_of(facts.compiles, "compilation")
        );
        let level = level_of_share(asked, facts.flagged_compiles, facts.compiles);
        judge_compilations(facts, level, evidence, "without these options")
    }
}
