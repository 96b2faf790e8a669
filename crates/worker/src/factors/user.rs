//! Factors that the experiment brings along.

use std::collections::BTreeMap;

use datamill_protocol::UserFactorSpec;

/// Levels of user-contributed factors, by name; only their own executables can judge them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserLevels {
    /// Level asked for, by factor name.
    pub levels: BTreeMap<String, String>,
}

impl UserLevels {
    /// Takes a level of one of these factors.
    pub fn parse_level(
        &mut self,
        factors: &[UserFactorSpec],
        name: &str,
        level: &str,
    ) -> Option<Result<(), String>> {
        factors.iter().find(|factor| factor.name == name)?;
        self.levels.insert(name.to_owned(), level.to_owned());
        Some(Ok(()))
    }
}
