//! What a host offers of a factor.

use serde::{Deserialize, Serialize};

/// Where a factor is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FactorStage {
    /// By the compiler wrapper while the package is built.
    Build,
    /// On the process of `run.sh`, which its descendants inherit.
    Process,
    /// On the trial's private world, or by what is done in it before `run.sh`.
    World,
    /// On the machine: a setting of its kernel, restored afterwards.
    Host,
}

/// One factor as this host has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FactorOffer {
    /// Name of the factor.
    pub name: String,
    /// Where it is set.
    pub stage: FactorStage,
    /// Levels that this host has, in their meaningful order; empty when it has none.
    pub levels: Vec<String>,
    /// Levels that do not exist here; one entry for each level that was asked about and is refused.
    pub missing: Vec<MissingLevel>,
    /// The level that the host is at; absent when that is not a state of the host, or unknown.
    pub current: Option<String>,
    /// Why the factor as a whole is not available here; empty when it is.
    pub reason: String,
}

/// A level that does not exist on this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MissingLevel {
    /// The level.
    pub level: String,
    /// Why it does not exist here, one sentence without a full stop.
    pub reason: String,
}

impl FactorOffer {
    /// A factor of which this host has these levels.
    pub fn of(name: &str, stage: FactorStage, levels: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            stage,
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            missing: Vec::new(),
            current: None,
            reason: String::new(),
        }
    }

    /// Adds a level that this host has, or one that it lacks and why.
    pub fn add(&mut self, level: &str, had: Result<(), String>) {
        let level = level.to_owned();
        match had {
            Ok(()) => self.levels.push(level),
            Err(reason) => self.missing.push(MissingLevel { level, reason }),
        }
    }

    /// A factor that is not available here at all.
    pub fn none(name: &str, stage: FactorStage, reason: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            ..Self::of(name, stage, &[])
        }
    }
}
