//! Making changes that are in the journal, and undoing them.

use std::io;

use serde::Serialize;

use super::change::UserVerbs;
use super::journal::{Entry, Journal, JournalContent, PlannedChange};

/// What became of changes that were in the journal, one sentence each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Changes that were undone.
    pub undone: Vec<String>,
    /// Settings that somebody else had changed since, and that are as before all the same.
    pub overruled: Vec<String>,
    /// Changes of an earlier boot, which the kernel has forgotten.
    pub forgotten: Vec<String>,
    /// Changes that could not be undone; they stay in the journal.
    pub left: Vec<String>,
    /// What is wrong with the journal itself.
    pub damaged: Vec<String>,
}

impl Restored {
    /// Whether the host is as it was before, as far as the journal can tell.
    pub fn is_complete(&self) -> bool {
        self.left.is_empty() && self.damaged.is_empty()
    }

    /// Whether there was anything in the journal.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What stays wrong, one sentence each.
    pub fn troubles(&self) -> Vec<String> {
        [&self.left[..], &self.damaged[..]].concat()
    }
}

/// Why changes could not be made; those before it are undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeError {
    /// The factor; empty when it is the journal that failed.
    pub factor: String,
    /// Its level.
    pub level: String,
    /// File and cause, one sentence without a full stop.
    pub cause: String,
    /// What became of the changes before it.
    pub restored: Restored,
}

/// Makes changes in their order, after all of them are in the journal; if one fails, all are undone.
pub fn make_changes(
    journal: &mut Journal,
    planned: &[PlannedChange],
    verbs: &dyn UserVerbs,
) -> Result<(), Box<ChangeError>> {
    if planned.is_empty() {
        return Ok(());
    }
    let failed = |planned: Option<&PlannedChange>, cause, restored| {
        Box::new(ChangeError {
            factor: planned.map_or_else(String::new, |planned| planned.factor.clone()),
            level: planned.map_or_else(String::new, |planned| planned.level.clone()),
            cause,
            restored,
        })
    };
    let entries = journal.record(planned).map_err(|error| {
        let cause = format!("writing the journal {}: {error}", journal.path().display());
        failed(None, cause, Restored::default())
    })?;
    for entry in &entries {
        if let Err(cause) = entry.planned.change.apply(verbs) {
            let restored = restore_host(journal, verbs);
            return Err(failed(Some(&entry.planned), cause, restored));
        }
    }
    Ok(())
}

/// Undoes all changes that are in the journal, the latest first.
///
/// Changes of another boot are dropped, after what they left on the disk is cleaned up.
pub fn restore_host(journal: &mut Journal, verbs: &dyn UserVerbs) -> Restored {
    let mut restored = damages(journal);
    let entries: Vec<Entry> = journal.content().entries.clone();
    let mut marking = Ok(());
    for entry in entries.iter().rev() {
        let change = &entry.planned.change;
        let this_boot = is_of_boot(entry, journal.boot_id());
        let factor = &entry.planned.factor;
        let overruled = change.find_overruled().filter(|_| this_boot);
        let ended = if this_boot {
            change.undo(verbs)
        } else {
            change.clean_after_reboot()
        };
        match ended {
            Ok(()) => {
                restored.overruled.extend(overruled.map(|level| {
                    format!(
                        "{factor} had {}, which somebody else seems to have set to `{level}` since; {}.",
                        change.describe(),
                        change.undone()
                    )
                }));
                marking = marking.and(journal.mark_undone(entry.id));
                if this_boot {
                    restored
                        .undone
                        .push(format!("{factor}: {}.", change.undone()));
                } else {
                    restored.forgotten.push(format!(
                        "{factor} had {} before the last reboot, which undid it.",
                        change.describe()
                    ));
                }
            }
            Err(cause) => restored.left.push(format!(
                "{factor} had {}, which cannot be undone: {cause}.",
                change.describe()
            )),
        }
    }
    if let Err(error) = marking.and_then(|()| tidy(journal)) {
        restored.damaged.push(format!(
            "The journal {} cannot be written: {error}; what is undone will be undone again.",
            journal.path().display()
        ));
    }
    restored
}

/// Whether a change was made in this boot. Where the kernel does not tell one of the two, it may have
/// been, and then it is undone: undoing what a reboot has undone does no harm.
fn is_of_boot(entry: &Entry, boot_id: &str) -> bool {
    entry.boot_id == boot_id || entry.boot_id.is_empty() || boot_id.is_empty()
}

fn tidy(journal: &mut Journal) -> io::Result<()> {
    if journal.is_blank()? {
        return Ok(());
    }
    journal.tidy()
}

/// What would be undone, one sentence each, without undoing it.
pub fn foresee_restore(content: &JournalContent, boot_id: &str) -> Vec<String> {
    let tell = |entry: &Entry| {
        let PlannedChange { factor, change, .. } = &entry.planned;
        let what = change.describe();
        if is_of_boot(entry, boot_id) {
            format!("{factor} had {what}; this would be undone.")
        } else {
            format!("{factor} had {what} before the last reboot; this would be cleaned up.")
        }
    };
    content.entries.iter().rev().map(tell).collect()
}

fn damages(journal: &Journal) -> Restored {
    let mut restored = Restored::default();
    let path = journal.path().display();
    if journal.content().torn {
        restored.forgotten.push(format!(
            "The last line of {path} is unfinished: the changes in it were never made."
        ));
    }
    for line in &journal.content().damaged {
        let shown: String = String::from_utf8_lossy(line).chars().take(200).collect();
        restored.damaged.push(format!(
            "A line of {path} cannot be understood: `{}`.",
            shown.escape_debug()
        ));
    }
    restored
}
