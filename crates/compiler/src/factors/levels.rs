//! Levels of the build factors: what they can be, and what is asked for.

use std::ffi::OsString;

use super::flags::{NO_FLAGS, parse_flags};
use crate::compilers::CompilerVersion;
use crate::rewriting::LinkOrder;
use crate::settings::WrapperSettings;

pub(crate) const OPTIMIZATION_LEVELS: [&str; 5] = ["-O0", "-O1", "-Os", "-O2", "-O3"];
pub(crate) const LINK_ORDERS: [&str; 4] = ["default", "alphabetical", "reverse", "random"];
pub(crate) const PIE_LEVELS: [&str; 2] = ["off", "on"];
pub(crate) const SYMBOL_SEEDS: [&str; 2] = ["default", "random"];

/// Seeds of trials are below this, and so are those that a level names.
const SEED_BOUND: u64 = 1 << 53;

/// Where a random level takes its numbers from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Randomness {
    /// The seed of the trial.
    OfTrial,
    /// A seed that the level names.
    Named(u64),
}

impl Randomness {
    fn seed(self, of_trial: u64) -> u64 {
        match self {
            Self::OfTrial => of_trial,
            Self::Named(seed) => seed,
        }
    }
}

impl WrapperSettings {
    /// Takes a level of one of the six build factors; the error says what it can be.
    ///
    /// `None` when the name is not one of `optimization`, `link_order`, `pie`, `symbol_seed`,
    /// `compiler_flags` and `compiler_version`.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let slot = match name {
            "optimization" => &mut self.optimization,
            "link_order" => &mut self.link_order,
            "pie" => &mut self.pie,
            "symbol_seed" => &mut self.symbol_seed,
            "compiler_flags" => &mut self.compiler_flags,
            "compiler_version" => &mut self.compiler_version,
            _ => return None,
        };
        let checked = check_level(name, level);
        if checked.is_ok() {
            *slot = Some(level.to_owned());
        }
        Some(checked)
    }

    /// Fails, naming the factor, unless all levels are known.
    pub(crate) fn check(&self) -> Result<(), String> {
        let asked = [
            ("optimization", &self.optimization),
            ("link_order", &self.link_order),
            ("pie", &self.pie),
            ("symbol_seed", &self.symbol_seed),
            ("compiler_flags", &self.compiler_flags),
            ("compiler_version", &self.compiler_version),
        ];
        for (name, level) in asked {
            if let Some(level) = level {
                check_level(name, level)
                    .map_err(|choices| format!("unknown {name} {level:?}: use {choices}"))?;
            }
        }
        Ok(())
    }

    /// Whether a level takes its numbers from the seed of the trial.
    pub(crate) fn draws_from_trial(&self) -> bool {
        [&self.link_order, &self.symbol_seed]
            .iter()
            .any(|level| level.as_deref() == Some("random"))
    }

    /// The link order asked for; `Default` when the factor is absent.
    pub(crate) fn wanted_link_order(&self) -> LinkOrder {
        let level = self.link_order.as_deref().unwrap_or("default");
        match level {
            "alphabetical" => LinkOrder::Alphabetical,
            "reverse" => LinkOrder::Reverse,
            _ => match random_order(level) {
                Some(randomness) => LinkOrder::Random(randomness.seed(self.seed)),
                None => LinkOrder::Default,
            },
        }
    }

    /// Whether executables are to be position-independent; `None` leaves them.
    pub(crate) fn wanted_pie(&self) -> Option<bool> {
        self.pie.as_deref().map(|level| level == "on")
    }

    /// The seed for symbols; `None` leaves the compiler its own.
    pub(crate) fn wanted_symbol_seed(&self) -> Option<u64> {
        let randomness = symbol_randomness(self.symbol_seed.as_deref()?)?;
        Some(randomness.seed(self.seed))
    }

    /// Options to add behind those of the build system.
    pub(crate) fn wanted_flags(&self) -> Vec<OsString> {
        let flags = self.compiler_flags.as_deref().map(parse_flags);
        flags.and_then(Result::ok).unwrap_or_default()
    }
}

/// The error says what the level can be.
fn check_level(name: &str, level: &str) -> Result<(), String> {
    let (known, choices) = match name {
        "optimization" => (
            OPTIMIZATION_LEVELS.contains(&level),
            OPTIMIZATION_LEVELS.join(", "),
        ),
        "link_order" => (
            LINK_ORDERS.contains(&level) || random_order(level).is_some(),
            format!(
                "{}, random:N (N a whole number below 2^53)",
                LINK_ORDERS.join(", ")
            ),
        ),
        "pie" => (PIE_LEVELS.contains(&level), PIE_LEVELS.join(", ")),
        "symbol_seed" => (
            SYMBOL_SEEDS.contains(&level) || symbol_randomness(level).is_some(),
            format!("{}, or a whole number below 2^53", SYMBOL_SEEDS.join(", ")),
        ),
        "compiler_version" => (
            CompilerVersion::parse(level).is_some(),
            "the family and version of a compiler, such as gcc-12 or clang-16".to_owned(),
        ),
        _ => match parse_flags(level) {
            Ok(_) => return Ok(()),
            Err(reason) => {
                return Err(format!(
                    "{NO_FLAGS}, or options of the compiler such as -march=native, but {reason}"
                ));
            }
        },
    };
    if known { Ok(()) } else { Err(choices) }
}

fn random_order(level: &str) -> Option<Randomness> {
    match level.strip_prefix("random:") {
        Some(seed) => parse_seed(seed).map(Randomness::Named),
        None => (level == "random").then_some(Randomness::OfTrial),
    }
}

fn symbol_randomness(level: &str) -> Option<Randomness> {
    match level {
        "random" => Some(Randomness::OfTrial),
        _ => parse_seed(level).map(Randomness::Named),
    }
}

/// One spelling for each seed, so that one level has one name.
fn parse_seed(text: &str) -> Option<u64> {
    let seed: u64 = text.parse().ok()?;
    (seed < SEED_BOUND && seed.to_string() == text).then_some(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let order = |level| parsed("link_order", level).unwrap().wanted_link_order();
        assert_eq!(order("random"), LinkOrder::Random(5));
        assert_eq!(order("random:6"), LinkOrder::Random(6));
        let symbols = |level| parsed("symbol_seed", level).unwrap().wanted_symbol_seed();
        assert_eq!(symbols("random"), Some(5));
        assert_eq!(symbols("6"), Some(6));
        assert_eq!(symbols("default"), None);
    }
}
