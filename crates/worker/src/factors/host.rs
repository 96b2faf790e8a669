//! Setting the factors of the machine for one trial, reading them back, and restoring the machine.

use std::fs::{self, File};
use std::path::PathBuf;

use datamill_host::{
    BOOT_PARAMETERS, BootState, Change, Host, HostLevels, Journal, JournalError, KERNEL_RELEASE,
    PlannedChange, Restored, UserVerbs, make_changes, restore_host,
};
use datamill_protocol::{FactorFacts, Failure, FailureKind, Phase};

use super::fact::fact;
use super::left_behind::{KEPT_FACTORS, host_verbs, list_given_up, settle_abandoned};
use crate::factors::user::{EnclosedVerbs, UserFactor, set_failure};
use crate::scratch::UnfinishedFolder;
use crate::trouble::{Step, failure};
use crate::world::copy_tree;

/// One trial's turn at the machine: what a dead worker left is undone at its beginning, and what the
/// trial changed at its end.
pub struct HostTurn {
    host: Host,
    verbs: EnclosedVerbs,
    journal: Option<Journal>,
    held: Vec<File>,
    /// What was read of the host's factors once they were set.
    read: Vec<FactorFacts>,
    /// The same of the experiment's own.
    user_read: Vec<FactorFacts>,
    /// Things worth knowing, one sentence each.
    pub notices: Vec<String>,
    /// What of the own journal could not be undone, one sentence each.
    unrestored: Vec<String>,
    /// The same of the journals of other state folders.
    left_by_others: Vec<String>,
}

impl HostTurn {
    /// Undoes what a dead worker left.
    pub fn begin(host: Host) -> Self {
        let mut turn = Self {
            verbs: host_verbs(&host),
            host,
            journal: None,
            held: Vec::new(),
            user_read: Vec::new(),
            read: Vec::new(),
            notices: Vec::new(),
            unrestored: Vec::new(),
            left_by_others: Vec::new(),
        };
        turn.take_left_by_others();
        if Journal::is_empty(&turn.host) {
            return turn;
        }
        match Journal::open(&turn.host) {
            Ok(mut journal) => {
                let restored = restore_host(&mut journal, &turn.verbs);
                turn.take_left_behind(restored);
                turn.journal = Some(journal);
            }
            Err(error @ (JournalError::Held { .. } | JournalError::Survived)) => {
                turn.notices.push(format!("While this trial ran, {error}."));
            }
            Err(error) => turn.unrestored.push(format!(
                "What an earlier worker may have left could not be undone: {error}."
            )),
        }
        turn
    }

    fn take_left_by_others(&mut self) {
        let Restored {
            undone,
            overruled,
            forgotten,
            left,
            ..
        } = settle_abandoned(&self.host, false).restored;
        let told = |what: &String| format!("Another worker had not restored the host: {what}");
        for sentences in [undone, overruled, forgotten] {
            self.notices.extend(sentences.iter().map(told));
        }
        self.left_by_others = left;
        let told = |what: &String| {
            format!("What could not be undone was given up since this machine booted: {what}")
        };
        self.notices
            .extend(list_given_up(&self.host).iter().map(told));
    }

    /// What could not be undone, one sentence each.
    pub fn take_unrestored(&mut self) -> Vec<String> {
        let mut taken = std::mem::take(&mut self.unrestored);
        taken.append(&mut self.left_by_others);
        taken
    }

    fn take_left_behind(&mut self, restored: Restored) {
        self.unrestored = restored.troubles();
        let told = |what: &String| format!("An earlier worker had not restored the host: {what}");
        self.notices.extend(restored.undone.iter().map(told));
        self.notices.extend(restored.forgotten.iter().map(told));
        self.notices.extend(restored.overruled);
    }

    /// Brings the machine to the levels of a trial and reads them back.
    pub fn set(&mut self, levels: &HostLevels, user: &[(UserFactor, String)]) -> Step<()> {
        if let Ok(state) = BootState::read(&self.host)
            && state.is_borrowed
            && !levels
                .levels
                .keys()
                .any(|name| name == BOOT_PARAMETERS || name == KERNEL_RELEASE)
        {
            self.notices.push(format!(
                "This machine was booted for a trial of a fleet and not rebooted since: its command line is `{}`.",
                state.line
            ));
        }
        if levels.levels.is_empty() && user.is_empty() {
            return Ok(());
        }
        if let Some((factor, level)) = user.first()
            && !rustix::process::geteuid().is_root()
        {
            let cause = "it changes settings of the host, which needs root";
            return Err(set_failure(&factor.manifest.name, level, cause));
        }
        self.open_journal()?;
        let mut planned = levels
            .plan(&self.host)
            .map_err(|error| set_failure(&error.factor, &error.level, &error.cause))?;
        for (factor, level) in user {
            planned.extend(
                self.plan_user_factor(factor, level)
                    .map_err(|cause| set_failure(&factor.manifest.name, level, &cause))?,
            );
        }
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        if let Err(error) = make_changes(journal, &planned, &self.verbs) {
            self.unrestored = error.restored.troubles();
            return Err(if error.factor.is_empty() {
                journal_failure(&error.cause)
            } else {
                set_failure(&error.factor, &error.level, &error.cause)
            });
        }
        self.held = levels
            .hold(&self.host)
            .map_err(|error| set_failure(&error.factor, &error.level, &error.cause))?;
        self.read = levels.read_back(&self.host);
        self.user_read = self.verify(user);
        Ok(())
    }

    fn open_journal(&mut self) -> Step<()> {
        if self.journal.is_some() {
            return Ok(());
        }
        let mut journal = Journal::open_patiently(&self.host).map_err(|error| match error {
            JournalError::Held { .. } | JournalError::Survived => failure(
                Phase::Isolate,
                FailureKind::Factor,
                format!("The factors of the host cannot be set: {error}."),
                "Wait until it has ended: one trial at a time can set factors of the host.",
            ),
            JournalError::Unusable { .. } => journal_failure(&error.to_string()),
        })?;
        // Another worker may have died since the beginning.
        let restored = restore_host(&mut journal, &self.verbs);
        self.take_left_behind(restored);
        self.journal = Some(journal);
        Ok(())
    }

    fn plan_user_factor(
        &self,
        factor: &UserFactor,
        level: &str,
    ) -> Result<Option<PlannedChange>, String> {
        let manifest = &factor.manifest;
        let before = self.verbs.verify(&factor.root, manifest.timeout_s)?;
        if before == level {
            return Ok(None);
        }
        Ok(Some(PlannedChange {
            factor: manifest.name.clone(),
            level: level.to_owned(),
            change: Change::UserFactor {
                name: manifest.name.clone(),
                folder: self.keep_folder(factor)?,
                before,
                after: level.to_owned(),
                timeout_s: manifest.timeout_s,
            },
        }))
    }

    /// A copy of the factor's folder that outlives the experiment.
    fn keep_folder(&self, factor: &UserFactor) -> Result<PathBuf, String> {
        let kept = self.host.state().join(KEPT_FACTORS);
        let target = kept.join(&factor.key);
        if target.is_dir() {
            return Ok(target);
        }
        UnfinishedFolder::make_in(&kept)
            .and_then(|folder| {
                copy_tree(&factor.root, folder.path())?;
                folder.finish(&target)
            })
            .map_err(|error| format!("keeping its folder in {}: {error}", kept.display()))?;
        Ok(target)
    }

    fn verify(&self, user: &[(UserFactor, String)]) -> Vec<FactorFacts> {
        let verify = |(factor, level): &(UserFactor, String)| {
            let manifest = &factor.manifest;
            let (observed, evidence) = match self.verbs.verify(&factor.root, manifest.timeout_s) {
                Ok(told) => {
                    let evidence = format!("Its `verify` told `{told}`.");
                    (Some(told), evidence)
                }
                Err(cause) => (None, format!("It could not be read back: {cause}.")),
            };
            fact(&manifest.name, level, observed, evidence)
        };
        user.iter().map(verify).collect()
    }

    /// Reads the levels back once more and restores the machine; returns what was read.
    pub fn end(&mut self, levels: &HostLevels, user: &[(UserFactor, String)]) -> Vec<FactorFacts> {
        let mut facts = Vec::new();
        if !self.read.is_empty() {
            let again = levels.read_back(&self.host);
            facts.extend(compare_readings(std::mem::take(&mut self.read), &again));
        }
        if !self.user_read.is_empty() {
            let again = self.verify(user);
            facts.extend(compare_readings(
                std::mem::take(&mut self.user_read),
                &again,
            ));
        }
        self.held.clear();
        if let Some(journal) = &mut self.journal
            && !(journal.content().entries.is_empty() && journal.content().damaged.is_empty())
        {
            let restored = restore_host(journal, &self.verbs);
            self.unrestored = restored.troubles();
            self.notices.extend(restored.overruled);
        }
        fs::remove_dir(&self.verbs.scratch).ok();
        facts
    }
}

/// What was read before the trial, unless something else was read after it: then that the level did
/// not hold.
fn compare_readings(before: Vec<FactorFacts>, after: &[FactorFacts]) -> Vec<FactorFacts> {
    let compare = |before: FactorFacts| {
        let Some(after) = after.iter().find(|after| after.name == before.name) else {
            return before;
        };
        if after.observed == before.observed {
            return before;
        }
        let read_otherwise = if before.observed.as_ref() == Some(&before.asked) {
            after.observed.clone()
        } else {
            before.observed.clone()
        };
        FactorFacts {
            observed: read_otherwise,
            evidence: format!(
                "It changed during the trial. Before: {} After: {}",
                before.evidence, after.evidence
            ),
            ..before
        }
    };
    before.into_iter().map(compare).collect()
}

fn journal_failure(cause: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Factor,
        format!(
            "The factors of the host cannot be set, because nothing could be restored: {cause}."
        ),
        "Name a folder that this user can write in DATAMILL_STATE_DIR.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(observed: Option<&str>, evidence: &str) -> Vec<FactorFacts> {
        let observed = observed.map(str::to_owned);
        vec![fact("autogroup", "on", observed, evidence.to_owned())]
    }

    #[test]
    fn a_level_that_did_not_hold_is_not_observed() {
        for (before, after, observed) in [
            (Some("on"), Some("on"), Some("on")),
            (Some("on"), Some("off"), Some("off")),
            (Some("off"), Some("on"), Some("off")),
            (Some("on"), None, None),
            (None, Some("on"), None),
        ] {
            let facts = compare_readings(read(before, "b."), &read(after, "a."));
            assert_eq!(facts[0].observed.as_deref(), observed);
            assert_eq!(facts[0].evidence.contains("changed"), before != after);
        }
    }
}
