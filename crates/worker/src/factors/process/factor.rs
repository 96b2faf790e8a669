//! What a factor of the process of `run.sh` is: one file in one of the folders beside this one, and
//! one line in the registry ([`super::PROCESS_FACTORS`]).

use datamill_probe::ChildStep;
use datamill_protocol::{FactorOffer, FactorStage, MissingLevel};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conditions::RunConditions;
use super::read_back::{Observer, Reading};

/// A factor that acts on the process of `run.sh` and on all that it starts.
pub trait ProcessFactor: Sync {
    /// A level, understood.
    type Level;
    /// What a process sees of this factor; `()` when only another program can show it.
    type Seen: Serialize + DeserializeOwned;

    /// Its name.
    fn name(&self) -> &'static str;
    /// What this host offers of it.
    fn offer(&self) -> FactorOffer;
    /// Understands a level, whatever this host has; the error says what it can be.
    fn parse(&self, text: &str) -> Result<Self::Level, String>;
    /// Whether this host has a level; the error says why not, without a full stop.
    fn check(&self, _level: &Self::Level) -> Result<(), String> {
        Ok(())
    }
    /// Whether it sets this variable, which a package may then not set itself.
    fn sets_variable(&self, _name: &str) -> bool {
        false
    }
    /// Whether a variable of this name counts as its own, no matter who sets it, so that no other factor may.
    fn reserves_variable(&self, _name: &str) -> bool {
        false
    }
    /// What the author of a package can do that sets such a variable.
    fn variable_remedy(&self) -> &'static str {
        "Take the variable out of the env file, or the factor out of the experiment."
    }
    /// Brings `run.sh` to a level; the error says why this host cannot, without a full stop.
    fn apply(&self, level: &Self::Level, conditions: &mut RunConditions) -> Result<(), String>;
    /// The step of the launched process that sets it; absent when it is set otherwise.
    fn set_at(&self) -> Option<ChildStep> {
        None
    }
    /// The level that the environment shows which is handed to `execve`, of a factor of which nothing else
    /// tells and whose level may be another one in each execution; absent when only a process can show it.
    fn read_back_handed(&self, _environment: &[u8]) -> Option<Reading> {
        None
    }
    /// What the calling process sees of it; `environment` is what the kernel delivered.
    fn observe(&self, environment: &[u8]) -> Self::Seen;
    /// The level at which a process is that was launched as `run.sh` will be and that saw this.
    fn read_back(
        &self,
        asked: &Asked<'_, Self::Level>,
        seen: &Self::Seen,
        observer: &Observer<'_>,
    ) -> Reading;
}

/// A level that was asked for.
pub struct Asked<'a, L> {
    /// As it was written.
    pub text: &'a str,
    /// Understood.
    pub level: L,
}

impl<L> Asked<'_, L> {
    /// The level as it was written when what is seen means the same.
    pub fn named(&self, is_same: bool, seen: String) -> String {
        if is_same { self.text.to_owned() } else { seen }
    }
}

/// Any process factor; its levels and what is seen of it are text and JSON.
pub trait RegisteredFactor: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What this host offers of it.
    fn offer(&self) -> FactorOffer;
    /// Whether a text can be a level on some host; the error says what it can be.
    fn parse(&self, text: &str) -> Result<(), String>;
    /// Whether this host has a level.
    fn check(&self, text: &str) -> Result<(), String>;
    /// Whether it sets this variable.
    fn sets_variable(&self, name: &str) -> bool;
    /// Whether a variable of this name counts as its own, no matter who sets it.
    fn reserves_variable(&self, name: &str) -> bool;
    /// What the author of a package can do that sets such a variable.
    fn variable_remedy(&self) -> &'static str;
    /// Brings `run.sh` to a level.
    fn apply(&self, text: &str, conditions: &mut RunConditions) -> Result<(), String>;
    /// The step of the launched process that sets it.
    fn set_at(&self) -> Option<ChildStep>;
    /// The level that the environment shows which is handed to `execve`.
    fn read_back_handed(&self, environment: &[u8]) -> Option<Reading>;
    /// What the calling process sees of it.
    fn observe(&self, environment: &[u8]) -> Result<Value, String>;
    /// The level that a process has which saw this.
    fn read_back(&self, text: &str, seen: &Value, observer: &Observer<'_>) -> Reading;
}

impl<F: ProcessFactor> RegisteredFactor for F {
    fn name(&self) -> &'static str {
        ProcessFactor::name(self)
    }

    fn offer(&self) -> FactorOffer {
        ProcessFactor::offer(self)
    }

    fn parse(&self, text: &str) -> Result<(), String> {
        ProcessFactor::parse(self, text).map(drop)
    }

    fn check(&self, text: &str) -> Result<(), String> {
        ProcessFactor::check(self, &ProcessFactor::parse(self, text)?)
    }

    fn sets_variable(&self, name: &str) -> bool {
        ProcessFactor::sets_variable(self, name)
    }

    fn reserves_variable(&self, name: &str) -> bool {
        ProcessFactor::reserves_variable(self, name)
    }

    fn variable_remedy(&self) -> &'static str {
        ProcessFactor::variable_remedy(self)
    }

    fn apply(&self, text: &str, conditions: &mut RunConditions) -> Result<(), String> {
        ProcessFactor::apply(self, &ProcessFactor::parse(self, text)?, conditions)
    }

    fn set_at(&self) -> Option<ChildStep> {
        ProcessFactor::set_at(self)
    }

    fn read_back_handed(&self, environment: &[u8]) -> Option<Reading> {
        ProcessFactor::read_back_handed(self, environment)
    }

    fn observe(&self, environment: &[u8]) -> Result<Value, String> {
        let seen = ProcessFactor::observe(self, environment);
        serde_json::to_value(seen).map_err(|error| error.to_string())
    }

    fn read_back(&self, text: &str, seen: &Value, observer: &Observer<'_>) -> Reading {
        let seen = F::Seen::deserialize(seen).map_err(|error| error.to_string());
        match (ProcessFactor::parse(self, text), seen) {
            (Ok(level), Ok(seen)) => {
                ProcessFactor::read_back(self, &Asked { text, level }, &seen, observer)
            }
            (Err(cause), _) | (_, Err(cause)) => (
                None,
                format!("What a witness process saw could not be understood: {cause}."),
            ),
        }
    }
}

/// Every one of these levels is here.
pub fn offer_all(name: &str, levels: &[&str]) -> FactorOffer {
    FactorOffer::of(name, FactorStage::Process, levels)
}

/// Levels with the reason for each that is not here.
pub fn offer_each(
    name: &str,
    levels: impl IntoIterator<Item = (String, Option<String>)>,
) -> FactorOffer {
    let mut offer = offer_all(name, &[]);
    for (level, refusal) in levels {
        match refusal {
            None => offer.levels.push(level),
            Some(reason) => offer.missing.push(MissingLevel { level, reason }),
        }
    }
    offer
}

/// Understands one of a few words.
pub fn choose<T: Copy>(known: &[(&str, T)], level: &str) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == level);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    })
}

/// A refusal as the error of a check.
pub fn refuse(refusal: Option<String>) -> Result<(), String> {
    refusal.map_or(Ok(()), Err)
}
