//! What is asked of the build, and its file.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::link_order::LinkOrder;

/// File within the wrapper's folder that holds the settings.
pub(crate) const SETTINGS_FILE: &str = "compiler.json";

const OPTIMIZATION_LEVELS: [&str; 5] = ["-O0", "-O1", "-Os", "-O2", "-O3"];

/// Levels asked for; a factor that is absent is left as the build system has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrapperSettings {
    /// `-O0`, `-O1`, `-Os`, `-O2` or `-O3`.
    pub optimization: Option<String>,
    /// `default`, `alphabetical` or `reverse`.
    pub link_order: Option<String>,
}

impl WrapperSettings {
    /// The link order asked for; `Default` when the factor is absent.
    pub(crate) fn wanted_link_order(&self) -> io::Result<LinkOrder> {
        match self.link_order.as_deref() {
            None | Some("default") => Ok(LinkOrder::Default),
            Some("alphabetical") => Ok(LinkOrder::Alphabetical),
            Some("reverse") => Ok(LinkOrder::Reverse),
            Some(other) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("unknown link_order {other:?}: use default, alphabetical or reverse"),
            )),
        }
    }

    /// Fails with `InvalidInput` unless both levels are known.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.wanted_link_order()?;
        match self.optimization.as_deref() {
            Some(level) if !OPTIMIZATION_LEVELS.contains(&level) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "unknown optimization {level:?}: use {}",
                    OPTIMIZATION_LEVELS.join(", ")
                ),
            )),
            _ => Ok(()),
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
        settings.check().map_err(explain)?;
        Ok(settings)
    }
}
