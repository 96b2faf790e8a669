//! What is asked for of the process factors.

use std::collections::BTreeMap;

use super::PROCESS_FACTORS;
use super::factor::RegisteredFactor;

/// Levels of the process factors, all understood; an absent one leaves its factor as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessLevels {
    /// Levels as they were asked for, by factor name.
    asked: BTreeMap<&'static str, String>,
}

impl ProcessLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let factor = PROCESS_FACTORS.iter().find(|it| it.name() == name)?;
        let parsed = factor.parse(level);
        if parsed.is_ok() {
            self.asked.insert(factor.name(), level.to_owned());
        }
        Some(parsed)
    }

    /// The factors that are asked for, with their levels, in the order of the registry.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&'static dyn RegisteredFactor, &str)> {
        PROCESS_FACTORS.iter().filter_map(|factor| {
            let level = self.asked.get(factor.name())?;
            Some((*factor, level.as_str()))
        })
    }

    /// The levels as they were asked for.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.asked().map(|(factor, level)| (factor.name(), level))
    }

    /// Whether none is asked for.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Asks no more for a factor.
    pub(super) fn forget(&mut self, name: &str) {
        self.asked.remove(name);
    }

    /// Whether this host has what is asked for; the error says why not, without a full stop.
    pub fn check_on_this_host(&self) -> Result<(), String> {
        self.asked()
            .try_for_each(|(factor, level)| factor.check(level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::process::{RunConditions, observe_witness, offer_factors};

    fn parse(name: &str, level: &str) -> Result<(), String> {
        ProcessLevels::default().parse_level(name, level).unwrap()
    }

    #[test]
    fn every_factor_takes_its_levels() {
        for (name, levels) in [
            ("aslr", &["on", "off"] as &[&str]),
            ("env_padding", &["0", "6", "1048576"]),
            (
                "scheduler_policy",
                &["other", "batch", "idle", "fifo", "rr"],
            ),
            ("niceness", &["0", "-20", "19"]),
            ("cpu_set", &["all", "first", "last", "0", "0-1,3"]),
            (
                "numa_policy",
                &["default", "interleave", "local", "bind:0", "preferred:1"],
            ),
            ("stack_limit", &["default", "unlimited", "131072"]),
            ("heap_limit", &["default", "unlimited", "1048576"]),
            ("user_name_length", &["1", "4", "4096"]),
            ("locale", &["C", "C.UTF-8", "de_DE.UTF-8@euro"]),
            ("allocator", &["glibc", "jemalloc", "mimalloc", "tcmalloc"]),
            ("libc_tunables", &["none", "glibc.malloc.arena_max=1"]),
        ] {
            for level in levels {
                assert_eq!(parse(name, level), Ok(()), "{name} {level}");
            }
        }
    }

    #[test]
    fn what_is_no_level_is_refused_with_what_it_can_be() {
        for (name, level, hint) in [
            ("aslr", "ON", "on, off"),
            ("env_padding", "1", "6 to 1048576"),
            ("env_padding", "5", "6 to"),
            ("env_padding", "-1", "6 to"),
            ("env_padding", "1048577", "bytes"),
            (
                "scheduler_policy",
                "deadline",
                "other, batch, idle, fifo, rr",
            ),
            ("niceness", "20", "-20 to 19"),
            ("niceness", "+1", "-20 to 19"),
            ("cpu_set", "none", "such as 0-1,3"),
            ("numa_policy", "bind", "bind:NODE"),
            ("stack_limit", "8M", "131072 bytes"),
            ("stack_limit", "1024", "131072 bytes"),
            ("heap_limit", "0", "1048576 bytes"),
            ("user_name_length", "0", "1 to 4096"),
            ("locale", "a b", "locale -a"),
            ("allocator", "malloc", "glibc, jemalloc"),
            ("libc_tunables", "arena_max=1", "GLIBC_TUNABLES"),
        ] {
            let refused = parse(name, level).unwrap_err();
            assert!(refused.contains(hint), "{name} {level}: {refused}");
        }
    }

    #[test]
    fn a_factor_of_others_is_left_to_them() {
        assert_eq!(ProcessLevels::default().parse_level("governor", "x"), None);
    }

    fn check(name: &str, level: &str) -> Result<(), String> {
        let mut levels = ProcessLevels::default();
        levels.parse_level(name, level).unwrap().unwrap();
        levels.check_on_this_host()
    }

    #[test]
    fn a_level_that_this_host_lacks_is_refused_with_the_reason() {
        for (name, level, reason) in [
            ("cpu_set", "8000", "the processors that this worker may use"),
            ("locale", "xx_YY.UTF-8", "not installed"),
            ("numa_policy", "bind:8000", "node"),
        ] {
            let refused = check(name, level).unwrap_err();
            assert!(
                refused.contains(reason) || refused.contains("NUMA"),
                "{name} {level}: {refused}"
            );
        }
        for (name, level) in [
            ("cpu_set", "all"),
            ("locale", "C"),
            ("allocator", "glibc"),
            ("stack_limit", "131072"),
            ("heap_limit", "default"),
        ] {
            assert_eq!(check(name, level), Ok(()), "{name} {level}");
        }
    }

    #[test]
    fn every_level_that_is_offered_can_be_asked_for_and_is_here() {
        for offer in offer_factors() {
            assert!(
                !offer.levels.is_empty() || !offer.reason.is_empty(),
                "{}",
                offer.name
            );
            for level in &offer.levels {
                let mut levels = ProcessLevels::default();
                assert_eq!(levels.parse_level(&offer.name, level), Some(Ok(())));
                assert_eq!(
                    levels.check_on_this_host(),
                    Ok(()),
                    "{} {level}",
                    offer.name
                );
            }
        }
    }

    #[test]
    fn every_level_that_is_missing_is_refused_when_it_is_asked_for() {
        for offer in offer_factors() {
            for missing in &offer.missing {
                assert!(!missing.reason.is_empty() && !missing.reason.ends_with('.'));
                let mut levels = ProcessLevels::default();
                assert_eq!(
                    levels.parse_level(&offer.name, &missing.level),
                    Some(Ok(()))
                );
                assert_eq!(
                    levels.check_on_this_host(),
                    Err(missing.reason.clone()),
                    "{}",
                    offer.name
                );
            }
        }
    }

    #[test]
    fn every_registered_factor_is_offered_understood_and_observed_under_a_name_of_its_own() {
        let witness = observe_witness().unwrap();
        let offers = offer_factors();
        assert_eq!(offers.len(), PROCESS_FACTORS.len());
        for (offer, factor) in offers.iter().zip(PROCESS_FACTORS) {
            let name = factor.name();
            assert_eq!(offer.name, name);
            let same_name = PROCESS_FACTORS.iter().filter(|other| other.name() == name);
            assert_eq!(same_name.count(), 1, "{name}");
            assert!(factor.parse("no level\n").is_err(), "{name}");
            assert!(witness.factors.contains_key(name), "{name}");
            for level in &offer.levels {
                let mut conditions = RunConditions::default();
                assert_eq!(
                    factor.apply(level, &mut conditions),
                    Ok(()),
                    "{name} {level}"
                );
            }
        }
    }
}
