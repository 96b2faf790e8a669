//! Factors that are one text in one or several files of the kernel.

use std::path::PathBuf;

use datamill_protocol::{FactorOffer, FactorStage};

use super::HostFactor;
use crate::changes::{Change, plan_setting, read_setting};

/// A factor whose every level is a text that is written to the same files.
pub struct FileSetting {
    /// Name of the factor.
    pub name: &'static str,
    /// Its levels and the text of each, the natural default first.
    pub levels: Vec<(String, String)>,
    /// Other texts that a file may hold, and the level that each stands for.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Levels that this host lacks although it has the files, and why.
    pub lacks: Vec<(&'static str, &'static str)>,
    /// The files; none when this host does not have the factor.
    pub files: Vec<PathBuf>,
    /// Why a host has no such files, one sentence without a full stop.
    pub absent: &'static str,
}

impl FileSetting {
    /// A factor with fixed levels, kept in one file that a host has or has not.
    pub fn single(
        name: &'static str,
        levels: &[(&str, &str)],
        file: PathBuf,
        absent: &'static str,
    ) -> Self {
        let owned = |(level, text): &(&str, &str)| ((*level).to_owned(), (*text).to_owned());
        Self {
            name,
            levels: levels.iter().map(owned).collect(),
            aliases: &[],
            lacks: Vec::new(),
            files: Some(file)
                .filter(|file| file.exists())
                .into_iter()
                .collect(),
            absent,
        }
    }

    /// The level that a text means; a text of no level stands for itself.
    fn level_of(&self, text: &str) -> String {
        if let Some((level, _)) = self.levels.iter().find(|(_, known)| known == text) {
            return level.clone();
        }
        let alias = self.aliases.iter().find(|(known, _)| *known == text);
        alias.map_or(text, |(_, level)| level).to_owned()
    }

    /// The level that all files are at, or all that they are at, in order of the files.
    fn current(&self) -> Result<String, String> {
        let mut seen: Vec<String> = Vec::new();
        for file in &self.files {
            let level = self.level_of(&read_setting(file)?);
            if !seen.contains(&level) {
                seen.push(level);
            }
        }
        Ok(seen.join(" and "))
    }
}

impl HostFactor for FileSetting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn offer(&self) -> FactorOffer {
        if self.files.is_empty() {
            return FactorOffer::none(self.name, FactorStage::Host, self.absent);
        }
        let mut offer = FactorOffer::of(self.name, FactorStage::Host, &[]);
        for (level, _) in &self.levels {
            offer.add(level, self.plan(level).map(drop));
        }
        offer.current = self.current().ok();
        offer
    }

    fn check(&self, level: &str) -> Result<(), String> {
        // A host without the factor does not know what its levels are elsewhere.
        if self.levels.is_empty() || self.levels.iter().any(|(known, _)| known == level) {
            return Ok(());
        }
        let known: Vec<&str> = self
            .levels
            .iter()
            .map(|(level, _)| level.as_str())
            .collect();
        Err(known.join(", "))
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        if self.files.is_empty() {
            return Err(self.absent.to_owned());
        }
        if let Some((_, reason)) = self.lacks.iter().find(|(lacked, _)| *lacked == level) {
            return Err((*reason).to_owned());
        }
        let text = self.levels.iter().find(|(known, _)| known == level);
        let (_, text) = text.ok_or_else(|| format!("it has no level `{level}`"))?;
        let mut changes = Vec::new();
        for file in &self.files {
            if self.level_of(&read_setting(file)?) != level {
                changes.extend(plan_setting(file, text)?);
            }
        }
        Ok(changes)
    }

    fn read_back(&self, _asked: &str) -> Result<(String, String), String> {
        let texts: Result<Vec<String>, String> = self
            .files
            .iter()
            .map(|file| Ok(format!("{} reads {}", file.display(), read_setting(file)?)))
            .collect();
        Ok((self.current()?, format!("{}.", texts?.join(", "))))
    }
}
