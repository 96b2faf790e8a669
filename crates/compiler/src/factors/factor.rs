//! What a factor of the build is: one file in one of the folders beside this one, and one line in the
//! registry ([`super::BUILD_FACTORS`]).

use datamill_protocol::{CompilerFacts, FactorOffer, FactorStage};

use super::observation::Observation;
use super::toolbox::Toolbox;
use crate::rewriting::CallWishes;

/// A factor that is set while a package is built.
///
/// A `level` is text that [`parse`](Self::parse) has understood. Methods that a factor does not implement have
/// defaults.
pub(crate) trait BuildFactor: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What a host with these build tools offers of it.
    fn offer(&self, tools: &Toolbox) -> FactorOffer;
    /// Whether a text can be a level on some host; the error says what it can be.
    fn parse(&self, level: &str) -> Result<(), String>;
    /// Why this host lacks a level, without a full stop; absent when it has it.
    fn find_lack(&self, _level: &str) -> Option<String> {
        None
    }
    /// Whether an offer lists every level that a host has; of other factors it has usual ones.
    fn is_listed(&self) -> bool {
        false
    }
    /// Whether the wrapper changes what a build does at this level.
    fn changes_builds(&self, _level: &str) -> bool {
        true
    }
    /// Whether the level takes its numbers from the seed of the build.
    fn draws(&self, _level: &str) -> bool {
        false
    }
    /// States what it wants of each call of the build.
    fn ask(&self, level: &str, seed: u64, wishes: &mut CallWishes);
    /// What may break a build at this level, as a sentence.
    fn caution(&self, _level: &str) -> Option<&'static str> {
        None
    }
    /// The level that a build had, from what the wrappers logged and from the executables that were linked.
    fn observe(&self, asked: &str, facts: &CompilerFacts) -> Observation;
}

/// The offer of these levels, or of none when the host lacks something.
pub(crate) fn offer_unless(lack: Option<&str>, name: &str, levels: &[&str]) -> FactorOffer {
    match lack {
        None => FactorOffer::of(name, FactorStage::Build, levels),
        Some(reason) => FactorOffer::none(name, FactorStage::Build, reason),
    }
}
