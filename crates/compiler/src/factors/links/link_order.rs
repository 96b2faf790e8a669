//! `link_order`: the order of objects in links and archives.

use datamill_protocol::{CompilerFacts, FactorOffer};

use crate::factors::factor::{BuildFactor, offer_unless};
use crate::factors::observation::{MIXED, Observation, count_of};
use crate::factors::seeds::{Randomness, parse_seed};
use crate::factors::toolbox::Toolbox;
use crate::rewriting::{CallWishes, LinkOrder};

const LEVELS: [&str; 4] = ["default", "alphabetical", "reverse", "random"];

/// The factor.
pub struct LinkOrderFactor;

impl BuildFactor for LinkOrderFactor {
    fn name(&self) -> &'static str {
        "link_order"
    }

    fn offer(&self, tools: &Toolbox) -> FactorOffer {
        offer_unless(tools.lacks_linker(), self.name(), &LEVELS)
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        let is_known = LEVELS.contains(&level) || parse_random_order(level).is_some();
        is_known.then_some(()).ok_or_else(|| {
            format!(
                "{}, random:N (N a whole number below 2^53)",
                LEVELS.join(", ")
            )
        })
    }

    fn changes_builds(&self, level: &str) -> bool {
        level != "default"
    }

    fn draws(&self, level: &str) -> bool {
        level == "random"
    }

    fn ask(&self, level: &str, seed: u64, wishes: &mut CallWishes) {
        wishes.link_order = match level {
            "alphabetical" => LinkOrder::Alphabetical,
            "reverse" => LinkOrder::Reverse,
            _ => match parse_random_order(level) {
                Some(randomness) => LinkOrder::Random(randomness.seed(seed)),
                None => LinkOrder::Default,
            },
        };
    }

    fn observe(&self, asked: &str, facts: &CompilerFacts) -> Observation {
        let (observed, evidence) = if facts.links == 0 {
            let evidence = "no link or archive passed through the wrapper: setup.sh links nothing, or \
                            calls the linker by absolute path";
            (None, evidence.to_owned())
        } else if asked == "default" {
            let evidence = format!(
                "{} passed through the wrapper, their objects left as the build has them",
                count_of(facts.links, "link or archive")
            );
            (Some("default"), evidence)
        } else if facts.orderable_links == 0 {
            let evidence = format!(
                "{} passed through the wrapper, none with two objects that could change places",
                count_of(facts.links, "link or archive")
            );
            (None, evidence)
        } else {
            let evidence = format!(
                "{} of {} links or archives with two objects or more had them in the wanted order; the \
                 wrapper changed the order of {}; libraries stay where the build has them, and linkers \
                 take members of archives as they need them",
                facts.links_in_order, facts.orderable_links, facts.links_reordered
            );
            let all = facts.links_in_order == facts.orderable_links;
            (Some(if all { asked } else { MIXED }), evidence)
        };
        (observed.map(str::to_owned), evidence)
    }
}

fn parse_random_order(level: &str) -> Option<Randomness> {
    match level.strip_prefix("random:") {
        Some(seed) => parse_seed(seed).map(Randomness::Named),
        None => (level == "random").then_some(Randomness::OfBuild),
    }
}
