//! What a factor of the trial's private world is: one file in one of the folders beside this one, and
//! one line in the registry ([`super::WORLD_FACTORS`]).

use datamill_protocol::{
    FactorFacts, FactorOffer, FactorStage, MissingLevel, PhaseFacts, TrialSpec,
};

use super::load_look::LoadLook;
use super::private_world::missing_world;
use crate::process::{LockedFiles, Witness};
use crate::trouble::Step;
use crate::world::{World, WorldSettings};

/// A factor of the trial's private world, or of what is done in it before and beside `run.sh`.
///
/// A `level` is text that [`parse`](Self::parse) has understood. Methods that a factor does not implement have
/// defaults; all of them together make the trial, see [`super::WorldLevels`].
pub trait WorldFactor: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What this host offers of it.
    fn offer(&self) -> FactorOffer;
    /// Whether a text is a level that can be had here; the error says what it can be.
    fn parse(&self, level: &str) -> Result<(), String>;
    /// Checks what depends on other fields of a specification too; the error names the fields. `level` is
    /// absent when the factor is not asked for.
    fn check_spec(&self, _level: Option<&str>, _spec: &TrialSpec) -> Result<(), String> {
        Ok(())
    }
    /// States what it wants of the world that is made for the trial.
    fn shape_world(&self, _level: &str, _settings: &mut WorldSettings<'_>) {}
    /// Whether it is read back from a witness process.
    fn wants_witness(&self) -> bool {
        false
    }
    /// What holds of it in the world before anything is executed there; absent for a factor that is read
    /// back where it acts: before `run.sh` or beside it.
    fn observe(
        &self,
        _level: &str,
        _world: &World,
        _witness: Option<&Result<Witness, String>>,
    ) -> Option<FactorFacts> {
        None
    }
    /// How often it executes `run.sh` before the measured execution.
    fn executions(&self, _level: &str) -> u32 {
        0
    }
    /// When it acts before the measured execution of `run.sh`.
    fn moment(&self) -> Moment {
        Moment::Last
    }
    /// Acts in the world before the measured execution of `run.sh`, and tells what shows that it did;
    /// absent for a factor that does nothing then.
    fn prepare(&self, _level: &str, _before: &mut BeforeRun<'_>) -> Step<Option<FactorFacts>> {
        Ok(None)
    }
    /// What was seen of it while `run.sh` ran; absent for a factor that is read back earlier.
    fn observe_beside(&self, _level: &str, _beside: &BesideRun<'_>) -> Option<FactorFacts> {
        None
    }
}

/// When factors act before the measured execution of `run.sh`: the moments in their order, and in each of
/// them the factors in the order of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Programs are executed, which may leave anything in memory and in the world.
    WarmUp,
    /// The last acts before `run.sh`: nothing is executed after them.
    Last,
}

/// What a factor has to act with before the measured execution of `run.sh`.
pub struct BeforeRun<'a> {
    /// The world that `run.sh` runs in.
    pub world: &'a World,
    /// Executes `run.sh` exactly as it will be measured; the executions are numbered from 1.
    pub execute: &'a mut dyn FnMut(u32) -> Step<()>,
    /// Receives files that are to stay in memory until it has ended.
    pub locked: &'a mut Option<LockedFiles>,
}

/// What was seen while `run.sh` ran.
pub struct BesideRun<'a> {
    /// The background package just before and just after `run.sh`; absent when there is none.
    pub looks: Option<(&'a LoadLook, &'a LoadLook)>,
    /// A witness process that was launched as `run.sh` was; absent when no factor wants one.
    pub witness: Option<&'a Result<Witness, String>>,
    /// Files that were to stay in memory.
    pub locked: Option<&'a LockedFiles>,
    /// `run.sh`, if it was started.
    pub run: Option<&'a PhaseFacts>,
}

/// Every one of these levels is here.
pub fn offer_all(name: &str, levels: &[&str]) -> FactorOffer {
    FactorOffer::of(name, FactorStage::World, levels)
}

/// The offer where trials can have a private world, and none elsewhere.
pub fn offer_in_private_world(offer: FactorOffer) -> FactorOffer {
    match missing_world() {
        None => offer,
        Some(reason) => FactorOffer::none(&offer.name, FactorStage::World, &reason),
    }
}

/// A level that is not here.
pub fn missing(level: &str, reason: &str) -> MissingLevel {
    MissingLevel {
        level: level.to_owned(),
        reason: reason.to_owned(),
    }
}

/// Understands a whole number in its one spelling.
pub fn parse_number(level: &str, least: usize, most: usize, what: &str) -> Result<usize, String> {
    match level.parse() {
        // Another spelling of a number would be another level of the factor.
        Ok(number) if (least..=most).contains(&number) && number.to_string() == level => Ok(number),
        _ => Err(format!("{least} to {most} {what}")),
    }
}

/// What a factor can be here, and why it cannot be at this level.
pub fn choices<'a>(offered: impl Iterator<Item = &'a str>, level: &str, reason: &str) -> String {
    let offered: Vec<&str> = offered.collect();
    let offered = match offered[..] {
        [] => "nothing here".to_owned(),
        _ => offered.join(", "),
    };
    format!("{offered}; {level} is not available: {reason}")
}

/// The refusal of a factor that no world of this isolation could have.
pub fn refuse_isolation(name: &str, isolation: &str) -> Result<(), String> {
    Err(format!(
        "levels.{name}: not available with isolation = {isolation}, which makes no world that could have it"
    ))
}
