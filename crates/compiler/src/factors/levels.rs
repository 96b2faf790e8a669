//! Levels of the build factors that are asked for.

use super::factor::BuildFactor;
use super::{BUILD_FACTORS, find_factor};
use crate::rewriting::CallWishes;
use crate::settings::WrapperSettings;

impl WrapperSettings {
    /// Takes a level of a build factor; the error says what it can be.
    ///
    /// `None` when the name is not that of a build factor.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let parsed = find_factor(name)?.parse(level);
        if parsed.is_ok() {
            self.levels.insert(name.to_owned(), level.to_owned());
        }
        Some(parsed)
    }

    /// Factors and levels by which the wrapper changes what a build does.
    pub fn changed_levels(&self) -> Vec<(&'static str, &str)> {
        self.asked()
            .filter(|(factor, level)| factor.changes_builds(level))
            .map(|(factor, level)| (factor.name(), level))
            .collect()
    }

    /// What may break a build at these levels, a sentence each.
    pub fn cautions(&self) -> impl Iterator<Item = &'static str> {
        self.asked()
            .filter_map(|(factor, level)| factor.caution(level))
    }

    /// Fails, naming the factor, unless all levels are known.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, level) in &self.levels {
            let factor = find_factor(name).ok_or_else(|| format!("unknown factor {name:?}"))?;
            factor
                .parse(level)
                .map_err(|choices| format!("unknown {name} {level:?}: use {choices}"))?;
        }
        Ok(())
    }

    /// Whether a level takes its numbers from the seed of the build.
    pub(crate) fn draws(&self) -> bool {
        self.asked().any(|(factor, level)| factor.draws(level))
    }

    /// What the levels want of each call.
    pub(crate) fn wishes(&self) -> CallWishes {
        let mut wishes = CallWishes::default();
        for (factor, level) in self.asked() {
            factor.ask(level, self.seed, &mut wishes);
        }
        wishes
    }

    /// The factors that are asked for, with their levels, in the order of the registry.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&'static dyn BuildFactor, &str)> {
        let each = self.level_of_each().zip(BUILD_FACTORS);
        each.filter_map(|(level, factor)| Some((factor, level?)))
    }

    /// The level of every build factor, in the order of the registry; absent where none is asked for.
    pub(crate) fn level_of_each(&self) -> impl Iterator<Item = Option<&str>> {
        let factors = BUILD_FACTORS.iter();
        factors.map(|factor| self.levels.get(factor.name()).map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewriting::LinkOrder;

    fn parsed(name: &str, level: &str) -> Result<WrapperSettings, String> {
        let mut settings = WrapperSettings {
            seed: 5,
            ..WrapperSettings::default()
        };
        settings.parse_level(name, level).unwrap()?;
        Ok(settings)
    }

    #[test]
    fn every_level_of_every_build_factor_is_understood() {
        for (name, levels) in [
            ("optimization", "-O0 -O1 -Os -O2 -O3"),
            (
                "link_order",
                "default alphabetical reverse random random:0 random:17",
            ),
            ("pie", "on off"),
            ("symbol_seed", "default random 0 9007199254740991"),
            ("compiler_flags", "none -g -march=native"),
            ("compiler_version", "gcc-12 gcc-4.9 clang-16"),
        ] {
            for level in levels.split(' ') {
                let settings = parsed(name, level).unwrap();
                assert!(settings.check().is_ok(), "{name} {level}");
                assert_ne!(settings, parsed_nothing(), "{name} {level}");
            }
        }
    }

    fn parsed_nothing() -> WrapperSettings {
        WrapperSettings {
            seed: 5,
            ..WrapperSettings::default()
        }
    }

    #[test]
    fn what_is_no_level_is_refused_with_what_it_can_be() {
        for (name, levels, choice) in [
            ("optimization", "-O4 O2 -Ofast", "-O0, -O1, -Os, -O2, -O3"),
            (
                "link_order",
                "shuffled random: random:x random:-1 random:007",
                "random:N",
            ),
            ("pie", "true ON static", "off, on"),
            (
                "symbol_seed",
                "0x1 +1 01 9007199254740992",
                "whole number below 2^53",
            ),
            ("compiler_flags", "-O2 main.c", "none, or options"),
            (
                "compiler_version",
                "gcc clang-14.0 icc-2 default",
                "such as gcc-12",
            ),
        ] {
            for level in levels.split(' ') {
                let refused = parsed(name, level).unwrap_err();
                assert!(refused.contains(choice), "{name} {level}: {refused}");
            }
        }
    }

    #[test]
    fn the_name_of_another_factor_is_left_to_others() {
        let mut settings = WrapperSettings::default();
        assert_eq!(settings.parse_level("aslr", "on"), None);
        assert_eq!(settings, WrapperSettings::default());
    }

    #[test]
    fn random_levels_take_the_seed_of_the_trial_and_named_ones_their_own() {
        let order = |level| parsed("link_order", level).unwrap().wishes().link_order;
        assert_eq!(order("random"), LinkOrder::Random(5));
        assert_eq!(order("random:6"), LinkOrder::Random(6));
        let symbols = |level| parsed("symbol_seed", level).unwrap().wishes().symbol_seed;
        assert_eq!(symbols("random"), Some(5));
        assert_eq!(symbols("6"), Some(6));
        assert_eq!(symbols("default"), None);
    }
}
