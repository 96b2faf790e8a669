//! What is asked for of the world factors.

use std::path::Path;

use datamill_protocol::{FactorFacts, IsolationWanted, TrialSpec};

use super::WORLD_FACTORS;
use super::before_run::DroppedCaches;
use crate::process::Witness;
use crate::world::{RootFilesystem, World, WorldSettings};

/// Levels of the world factors, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorldLevels {
    /// Characters asked for in the path of the working directory of `run.sh`.
    pub directory_length: Option<usize>,
    /// File system asked for.
    pub root_filesystem: Option<RootFilesystem>,
    /// Caches that are to be dropped just before `run.sh`.
    pub drop_caches: Option<DroppedCaches>,
    /// Whether the package's files are to be read just before `run.sh`.
    pub cache_preload: Option<bool>,
    /// Executions of `run.sh` before the measured one.
    pub warmups: Option<u32>,
    /// Name of the package that runs beside `run.sh`, or `none`.
    pub background_load: Option<String>,
    /// Whether that package's `run.sh` shares the session of the measured one, as it does when this is
    /// not asked for: both are started from one terminal, so to speak.
    pub shares_session: Option<bool>,
    /// Whether the factor `reboot` is asked for, at its only level here.
    pub without_reboot: bool,
}

impl WorldLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let mut factors = WORLD_FACTORS.iter();
        let factor = factors.find(|factor| factor.name() == name)?;
        Some(factor.parse(level, self))
    }

    /// Checks what depends on more than one field of a specification; the error names the fields.
    pub fn check_against(&self, spec: &TrialSpec) -> Result<(), String> {
        let load = self.load();
        let given = spec
            .background
            .as_ref()
            .map(|package| package.name.as_str());
        if load != given {
            return Err(match (load, given) {
                (Some(load), given) => format!(
                    "background: levels.background_load is `{load}`, but {} is given",
                    given.map_or("no package".to_owned(), |given| format!("`{given}`"))
                ),
                (None, _) => format!(
                    "background: `{}` is given, but levels.background_load does not ask for it",
                    given.unwrap_or_default()
                ),
            });
        }
        let refused = |name: &str, isolation: &str| {
            Err(format!(
                "levels.{name}: not available with isolation = {isolation}, which makes no world that could have it"
            ))
        };
        match (spec.isolation, self.root_filesystem) {
            (IsolationWanted::Plain, Some(_)) => refused("root_filesystem", "plain"),
            (IsolationWanted::Plain, None) if self.directory_length.is_some() => {
                refused("working_directory_length", "plain")
            }
            (IsolationWanted::UserNamespace, Some(RootFilesystem::Image(_))) => {
                refused("root_filesystem", "user_namespace")
            }
            _ => Ok(()),
        }
    }

    /// Name of the package that is to run beside `run.sh`.
    pub fn load(&self) -> Option<&str> {
        self.background_load
            .as_deref()
            .filter(|name| *name != "none")
    }

    /// Whether a witness process is needed to read these levels back.
    pub fn wants_witness(&self) -> bool {
        self.directory_length.is_some() || self.shares_session.is_some()
    }

    /// What these levels want of the world that is made for the trial.
    pub fn settings<'a>(&self, background: Option<&'a Path>) -> WorldSettings<'a> {
        WorldSettings {
            directory_length: self.directory_length,
            root_filesystem: self.root_filesystem,
            drops_caches: !matches!(self.drop_caches, None | Some(DroppedCaches::None)),
            background,
            shares_session: background.is_some() && self.shares_session != Some(false),
        }
    }
}

/// Reads back what holds of the world while `run.sh` runs; `witness` was launched as `run.sh` will be.
pub fn observe_world(
    levels: &WorldLevels,
    world: &World,
    witness: Option<&Result<Witness, String>>,
) -> Vec<FactorFacts> {
    WORLD_FACTORS
        .iter()
        .filter_map(|factor| factor.observe(levels, world, witness))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, level: &str) -> Result<(), String> {
        WorldLevels::default().parse_level(name, level).unwrap()
    }

    #[test]
    fn a_level_that_is_none_is_told_with_what_it_can_be() {
        for (name, level, choices) in [
            ("working_directory_length", "0", "1 to 4000 characters"),
            ("working_directory_length", "4001", "1 to 4000 characters"),
            ("root_filesystem", "ntfs", "memory, tmpfs, ext4, xfs, btrfs"),
            ("drop_caches", "some", "none, page, inode, all"),
            ("cache_preload", "yes", "off, on"),
            ("warmups", "-1", "0 to 1000 executions"),
            ("warmups", "01", "0 to 1000 executions"),
            ("session", "own", "same, different"),
            ("reboot", "before_trial", "a worker of a fleet"),
        ] {
            let refused = parse(name, level).unwrap_err();
            assert!(refused.contains(choices), "{name}: {refused}");
        }
    }

    #[test]
    fn a_factor_of_another_group_is_left_to_it() {
        assert_eq!(WorldLevels::default().parse_level("aslr", "on"), None);
    }

    #[test]
    fn every_registered_factor_is_offered_and_understands_what_it_offers() {
        let offers = crate::factors::world::offer_factors();
        assert_eq!(offers.len(), WORLD_FACTORS.len());
        for (offer, factor) in offers.iter().zip(WORLD_FACTORS) {
            assert_eq!(offer.name, factor.name());
            assert!(!offer.levels.is_empty() || !offer.reason.is_empty());
            for level in &offer.levels {
                let mut levels = WorldLevels::default();
                assert_eq!(levels.parse_level(&offer.name, level), Some(Ok(())));
                assert_ne!(levels, WorldLevels::default(), "{} {level}", offer.name);
            }
        }
    }
}
