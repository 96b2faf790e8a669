//! Factors that are settings of the host's kernel.

use std::collections::BTreeMap;
use std::fs::File;

use datamill_protocol::FactorOffer;

use crate::change::Change;

/// One factor of the host.
pub trait HostFactor {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What this host has of it.
    fn offer(&self) -> FactorOffer;
    /// Whether a text can be a level on some host; the error says what it can be.
    fn check(&self, level: &str) -> Result<(), String>;
    /// Changes that bring the host to the level from where it is; empty when it is there already.
    fn plan(&self, level: &str) -> Result<Vec<Change>, String>;
    /// What must stay open while the level is to hold; the kernel undoes it when it is closed.
    fn hold(&self, _level: &str) -> Result<Option<File>, String> {
        Ok(None)
    }
    /// The level that the host is at, named as it was asked for where it agrees, and how it was read.
    fn read_back(&self, asked: &str) -> Result<(String, String), String>;
}

/// All factors of the host.
pub fn host_factors() -> Vec<Box<dyn HostFactor>> {
    Vec::new()
}

/// Levels of the host's factors, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostLevels {
    /// Level asked for, by factor name.
    pub levels: BTreeMap<String, String>,
}

impl HostLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let factor = host_factors()
            .into_iter()
            .find(|factor| factor.name() == name)?;
        Some(factor.check(level).map(|()| {
            self.levels.insert(name.to_owned(), level.to_owned());
        }))
    }
}

/// What this host offers of its factors.
pub fn offer_factors() -> Vec<FactorOffer> {
    host_factors().iter().map(|factor| factor.offer()).collect()
}
