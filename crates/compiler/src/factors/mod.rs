//! Factors of the build: a file a factor, each with its levels, what a host offers of it, what it wants of
//! the calls of a build, and which level a build really had.

mod compilations;
mod factor;
mod levels;
mod links;
mod observation;
mod seeds;
mod toolbox;

use datamill_protocol::{CompilerFacts, FactorFacts, FactorOffer};

use crate::program::DEFAULT_PATH;
use crate::settings::WrapperSettings;
use factor::BuildFactor;
use toolbox::Toolbox;

/// All build factors, in the order in which they are offered and read back.
static BUILD_FACTORS: [&dyn BuildFactor; 6] = [
    &compilations::Optimization,
    &links::LinkOrderFactor,
    &links::Pie,
    &compilations::SymbolSeed,
    &compilations::CompilerFlags,
    &compilations::CompilerVersionFactor,
];

fn find_factor(name: &str) -> Option<&'static dyn BuildFactor> {
    BUILD_FACTORS.iter().find(|it| it.name() == name).copied()
}

/// What this host offers of the build factors.
///
/// Compilers are asked for their versions, and which start-up files they have; nothing is compiled.
pub fn offer_factors() -> Vec<FactorOffer> {
    offer_with(&Toolbox::find(DEFAULT_PATH))
}

fn offer_with(tools: &Toolbox) -> Vec<FactorOffer> {
    let factors = BUILD_FACTORS.iter();
    factors.map(|factor| factor.offer(tools)).collect()
}

/// Whether an offer of the factor of this name lists every level that a host has.
pub fn is_listed_factor(name: &str) -> bool {
    find_factor(name).is_some_and(BuildFactor::is_listed)
}

/// Why this host has no such level of a build factor; `None` when it has it, or the factor is another one.
pub fn lacks_build_level(name: &str, level: &str) -> Option<String> {
    find_factor(name)?.find_lack(level)
}

/// Reads back each build factor that `settings` asks for from what the wrappers logged, and from the
/// executables that were linked.
///
/// The observed level is absent when nothing showed one, and differs from the level asked for when
/// a part of the build escaped: `mixed` when the assembler saw compilations that no wrapper did.
pub fn observe_build_factors(
    settings: &WrapperSettings,
    facts: &CompilerFacts,
) -> Vec<FactorFacts> {
    let asked = settings.asked();
    asked
        .map(|(factor, level)| {
            let (observed, evidence) = factor.observe(level, facts);
            FactorFacts {
                name: factor.name().to_owned(),
                asked: level.to_owned(),
                observed,
                evidence,
            }
        })
        .collect()
}

#[cfg(test)]
mod observe_tests;
#[cfg(test)]
mod offer_tests;
