//! What is asked for of the world factors.

use std::collections::BTreeMap;
use std::path::Path;

use datamill_protocol::{FactorFacts, TrialSpec};

use super::WORLD_FACTORS;
use super::factor::{BeforeRun, BesideRun, Moment, WorldFactor};
use crate::process::Witness;
use crate::trouble::Step;
use crate::world::{World, WorldSettings};

/// Levels of the world factors, all understood; an absent one leaves its factor as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorldLevels {
    /// Levels as they were asked for, by factor name.
    asked: BTreeMap<&'static str, String>,
}

impl WorldLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let factor = WORLD_FACTORS.iter().find(|it| it.name() == name)?;
        let parsed = factor.parse(level);
        if parsed.is_ok() {
            self.asked.insert(factor.name(), level.to_owned());
        }
        Some(parsed)
    }

    /// The factors that are asked for, with their levels, in the order of the registry.
    fn asked(&self) -> impl Iterator<Item = (&'static dyn WorldFactor, &str)> {
        WORLD_FACTORS.iter().filter_map(|factor| {
            let level = self.asked.get(factor.name())?;
            Some((*factor, level.as_str()))
        })
    }

    /// Checks what depends on more than one field of a specification; the error names the fields.
    pub fn check_against(&self, spec: &TrialSpec) -> Result<(), String> {
        // Of several mistakes the last factor's is told: what runs beside run.sh before where it runs.
        WORLD_FACTORS.iter().rev().try_for_each(|factor| {
            let level = self.asked.get(factor.name()).map(String::as_str);
            factor.check_spec(level, spec)
        })
    }

    /// Whether a witness process is needed to read these levels back.
    pub fn wants_witness(&self) -> bool {
        self.asked().any(|(factor, _)| factor.wants_witness())
    }

    /// Executions of `run.sh` before the measured one.
    pub fn executions(&self) -> u32 {
        self.asked()
            .map(|(factor, level)| factor.executions(level))
            .sum()
    }

    /// What these levels want of the world that is made for the trial; `background` is the root of the
    /// package that runs beside `run.sh`.
    pub fn settings<'a>(&self, background: Option<&'a Path>) -> WorldSettings<'a> {
        let mut settings = WorldSettings {
            background,
            // Both are started from one terminal, so to speak, unless a factor says otherwise.
            shares_session: background.is_some(),
            ..WorldSettings::default()
        };
        for (factor, level) in self.asked() {
            factor.shape_world(level, &mut settings);
        }
        settings
    }

    /// Reads back what holds of the world while `run.sh` runs; `witness` was launched as `run.sh` will be.
    pub fn observe(
        &self,
        world: &World,
        witness: Option<&Result<Witness, String>>,
    ) -> Vec<FactorFacts> {
        self.asked()
            .filter_map(|(factor, level)| factor.observe(level, world, witness))
            .collect()
    }

    /// Has the factors of a moment act, and adds what they tell to `seen`, also when a later one fails.
    pub fn prepare(
        &self,
        moment: Moment,
        before: &mut BeforeRun<'_>,
        seen: &mut Vec<FactorFacts>,
    ) -> Step<()> {
        for (factor, level) in self.asked() {
            if factor.moment() == moment {
                seen.extend(factor.prepare(level, before)?);
            }
        }
        Ok(())
    }

    /// Reads back what was seen while `run.sh` ran.
    pub fn observe_beside(&self, beside: &BesideRun<'_>) -> Vec<FactorFacts> {
        self.asked()
            .filter_map(|(factor, level)| factor.observe_beside(level, beside))
            .collect()
    }
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
            ("cache_preload", "yes", "off, on, locked"),
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

    #[test]
    fn nothing_is_executed_once_the_last_acts_before_run_sh_began() {
        for factor in WORLD_FACTORS {
            for level in factor.offer().levels {
                assert!(
                    factor.executions(&level) == 0 || factor.moment() == Moment::WarmUp,
                    "{} {level}",
                    factor.name()
                );
            }
        }
    }

    #[test]
    fn levels_add_up_to_what_is_wanted_of_the_world() {
        let background = Path::new("/load");
        let mut levels = WorldLevels::default();
        assert_eq!(levels.executions(), 0);
        assert!(!levels.wants_witness() && !levels.settings(None).shares_session);
        assert!(levels.settings(Some(background)).shares_session);
        for (name, level) in [
            ("warmups", "3"),
            ("session", "different"),
            ("drop_caches", "none"),
        ] {
            assert_eq!(levels.parse_level(name, level), Some(Ok(())), "{name}");
        }
        assert_eq!(levels.executions(), 3);
        assert!(levels.wants_witness());
        let settings = levels.settings(Some(background));
        assert!(!settings.shares_session && !settings.drops_caches);
    }
}
