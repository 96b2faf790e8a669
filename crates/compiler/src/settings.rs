//! What is asked of the build, and its file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// File within the wrapper's folder that holds the settings.
pub(crate) const SETTINGS_FILE: &str = "compiler.json";

/// Levels asked for; a factor that is absent is left as the build system has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrapperSettings {
    /// Levels by the names of their factors.
    pub levels: BTreeMap<String, String>,
    /// What stands before the names of the compiler's programs where it compiles for another machine.
    #[serde(default)]
    pub cross: Option<String>,
    /// Seed of the build, for the levels that are `random`: the trial's unless builds have their own.
    #[serde(default)]
    pub seed: u64,
}

impl WrapperSettings {
    /// A text that is equal for two settings exactly when they ask the same of a build.
    ///
    /// The seed of the trial is part of it only when a level takes its numbers from there, so that
    /// trials with other levels can share a build.
    pub fn canonical_text(&self) -> String {
        let seed = self.draws().then_some(self.seed);
        let levels: Vec<Option<&str>> = self.level_of_each().collect();
        match &self.cross {
            None => format!("{levels:?} {seed:?}"),
            Some(triplet) => format!("{levels:?} {seed:?} {triplet}"),
        }
    }

    pub(crate) fn write_into(&self, dir: &Path) -> io::Result<()> {
        fs::write(dir.join(SETTINGS_FILE), serde_json::to_vec(self)?)
    }

    pub(crate) fn read_from(dir: &Path) -> io::Result<Self> {
        let path = dir.join(SETTINGS_FILE);
        let explain = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let text = fs::read(&path).map_err(explain)?;
        let settings: Self = serde_json::from_slice(&text)
            .map_err(io::Error::from)
            .map_err(explain)?;
        settings.check().map_err(invalid_input).map_err(explain)?;
        Ok(settings)
    }
}

pub(crate) fn invalid_input(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(name: &str, level: &str, seed: u64) -> WrapperSettings {
        let mut settings = WrapperSettings {
            seed,
            ..WrapperSettings::default()
        };
        settings.parse_level(name, level).unwrap().unwrap();
        settings
    }

    #[test]
    fn trials_share_a_build_unless_a_level_is_drawn_from_their_seed() {
        let text = |name, level, seed| settings(name, level, seed).canonical_text();
        for (name, level) in [
            ("optimization", "-O2"),
            ("link_order", "random:3"),
            ("symbol_seed", "3"),
        ] {
            assert_eq!(text(name, level, 1), text(name, level, 2), "{name}");
        }
        for name in ["link_order", "symbol_seed"] {
            assert_ne!(text(name, "random", 1), text(name, "random", 2), "{name}");
            assert_eq!(text(name, "random", 1), text(name, "random", 1), "{name}");
        }
    }

    #[test]
    fn the_text_of_a_build_lists_a_level_for_each_factor() {
        // The ids of builds that are kept are made from it: another text is another build.
        let text = |name, level| settings(name, level, 7).canonical_text();
        assert_eq!(
            text("pie", "on"),
            r#"[None, None, Some("on"), None, None, None] None"#
        );
        assert_eq!(
            text("link_order", "random"),
            r#"[None, Some("random"), None, None, None, None] Some(7)"#
        );
    }

    #[test]
    fn settings_that_ask_for_different_builds_have_different_texts() {
        let texts = [
            WrapperSettings::default().canonical_text(),
            settings("pie", "on", 0).canonical_text(),
            settings("pie", "off", 0).canonical_text(),
            settings("link_order", "default", 0).canonical_text(),
            settings("symbol_seed", "default", 0).canonical_text(),
            settings("compiler_flags", "none", 0).canonical_text(),
            settings("compiler_version", "gcc-12", 0).canonical_text(),
            settings("compiler_version", "clang-14", 0).canonical_text(),
            settings("compiler_flags", "-DX='\", None'", 0).canonical_text(),
        ];
        for (index, text) in texts.iter().enumerate() {
            assert!(!texts[..index].contains(text), "{text}");
        }
    }
}
