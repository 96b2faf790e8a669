//! `datamill-worker restore`: undoing by hand what a dead worker left of its changes to the host.

use std::io::{self, Write};

use datamill_host::{Host, Journal, JournalError, Restored, abandoned_states, foresee_restore};
use serde::Serialize;

use crate::factors::{note_given_up, settle_abandoned, settle_state};
use crate::resources::remove_abandoned_groups;
use crate::world::detach_abandoned;

/// How a restoration is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Only tell what would be undone.
    pub dry_run: bool,
    /// Tell it as JSON.
    pub json: bool,
    /// Give up what cannot be undone.
    pub forget: bool,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Report {
    /// Whether the host is as it was before, as far as the journal can tell. What was given up is not.
    is_restored: bool,
    #[serde(flatten)]
    restored: Restored,
    /// What would be undone, had it been asked for.
    would_undo: Vec<String>,
    /// What was given up.
    given_up: Vec<String>,
}

/// Undoes what is in the journal and tells it; returns whether nothing is left to do: the host is as it was
/// before, or what is not was given up.
pub fn restore(options: RestoreOptions) -> Result<bool, String> {
    let host = Host::here();
    let report = if options.dry_run {
        foresee(&host)
    } else {
        undo(&host, options.forget)
    }
    .map_err(|error| match error {
        JournalError::Held { .. } => {
            format!("{error}; what it changes, it restores itself: let it end, or end it")
        }
        JournalError::Survived => format!("{error}; try again when they are gone"),
        JournalError::Unusable { .. } => format!("{error}; run this as the user who ran the trial"),
    })?;
    let text = if options.json {
        serde_json::to_string_pretty(&report).map(|text| text + "\n")
    } else {
        Ok(in_words(&report, &host))
    };
    text.map_err(io::Error::from)
        .and_then(|text| io::stdout().write_all(text.as_bytes()))
        .map_err(|error| error.to_string())?;
    Ok(report.is_restored || !report.given_up.is_empty())
}

/// Undoes what is in the journal, without a word unless something is left; the error tells what.
pub fn restore_quietly() -> Result<(), String> {
    let report = undo(&Host::here(), false).map_err(|error| error.to_string())?;
    if report.is_restored {
        return Ok(());
    }
    Err(report.restored.troubles().join(" "))
}

fn foresee(host: &Host) -> Result<Report, JournalError> {
    let boot_id = host.boot_id();
    let content = Journal::peek(host)?;
    let mut would_undo = foresee_restore(&content, &boot_id);
    let damaged = content.damaged.len();
    let mut restored = Restored::default();
    if damaged > 0 {
        restored.damaged.push(format!(
            "{damaged} of the journal's lines cannot be understood."
        ));
    }
    for state in abandoned_states(host) {
        // One that lives, or whose journal is not obeyed, is left alone without a dry run as well.
        let Ok(journal) = Journal::open(&host.with_state(&state)) else {
            continue;
        };
        let folder = state.display();
        would_undo.extend(
            foresee_restore(journal.content(), &boot_id)
                .iter()
                .map(|it| format!("{} (journal in {folder}).", it.trim_end_matches('.'))),
        );
        let damaged = journal.content().damaged.len();
        if damaged > 0 {
            restored.damaged.push(format!(
                "{damaged} of the lines of the journal in {folder} cannot be understood."
            ));
        }
    }
    Ok(Report {
        is_restored: would_undo.is_empty() && restored.is_complete(),
        restored,
        would_undo,
        given_up: Vec::new(),
    })
}

fn undo(host: &Host, forget: bool) -> Result<Report, JournalError> {
    let mut report = undo_journals(host, forget)?;
    remove_abandoned_groups();
    report.restored.undone.extend(detach_abandoned());
    Ok(report)
}

/// Undoes what is in the journals: that of the host's state folder, and those of dead workers with others.
fn undo_journals(host: &Host, forget: bool) -> Result<Report, JournalError> {
    let others = settle_abandoned(host, forget);
    let own = settle_state(host, forget)?;
    let mut restored = own.restored;
    // The folder where it was left has a note of its own.
    if let Err(error) = note_given_up(host, &others.given_up) {
        restored.left.push(format!(
            "What was given up cannot be noted in {}: {error}.",
            host.state().display()
        ));
    }
    restored.undone.extend(others.restored.undone);
    restored.overruled.extend(others.restored.overruled);
    restored.forgotten.extend(others.restored.forgotten);
    restored.left.extend(others.restored.left);
    let given_up = [own.given_up, others.given_up].concat();
    Ok(Report {
        is_restored: restored.is_complete() && given_up.is_empty(),
        restored,
        would_undo: Vec::new(),
        given_up,
    })
}

fn in_words(report: &Report, host: &Host) -> String {
    let mut text = String::new();
    for (heading, sentences) in [
        ("Undone", &report.restored.undone),
        (
            "Undone although somebody else changed it meanwhile",
            &report.restored.overruled,
        ),
        ("Undone by the reboot", &report.restored.forgotten),
        ("In the journal", &report.would_undo),
        (
            "Not undone, and still in the journal",
            &report.restored.left,
        ),
        ("Damage to the journal", &report.restored.damaged),
        ("Given up, and still as it is", &report.given_up),
    ] {
        if !sentences.is_empty() {
            text.push_str(&format!("{heading}:\n"));
        }
        for sentence in sentences {
            text.push_str(&format!("  {sentence}\n"));
        }
    }
    let state = host.state().display();
    text.push_str(&if !report.is_restored && !report.would_undo.is_empty() {
        format!("The host is not as it was. Nothing was changed (journal in {state}).\n")
    } else if !report.given_up.is_empty() {
        format!(
            "What was given up is in no journal any more (own journal in {state}), and records of trials say so until this machine boots again. Whether the host is as it was is for you to see.\n"
        )
    } else if !report.is_restored {
        format!(
            "The host may not be as it was: see above (journal in {state}). When you have put it right by hand, `datamill-worker restore --forget` gives up what is left.\n"
        )
    } else if text.is_empty() {
        format!("Nothing to undo: the journal in {state} is empty.\n")
    } else {
        format!("The host is as it was before (journal in {state}).\n")
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::Abandoned;

    #[test]
    fn a_host_that_another_worker_left_changed_does_not_count_as_restored() {
        let abandoned = Abandoned::new("restore");
        for report in [
            foresee(&abandoned.host).unwrap(),
            undo_journals(&abandoned.host, false).unwrap(),
        ] {
            assert!(!report.is_restored);
            let text = in_words(&report, &abandoned.host);
            assert!(abandoned.is_named_in(&text), "{text}");
            assert!(!text.contains("is as it was"), "{text}");
        }
        let report = undo_journals(&abandoned.host, false).unwrap();
        assert_eq!(report.restored.left.len(), 1);
        assert!(in_words(&report, &abandoned.host).contains("restore --forget"));
    }

    #[test]
    fn what_another_worker_left_is_given_up_when_asked_for() {
        let abandoned = Abandoned::new("forget");
        let report = undo_journals(&abandoned.host, true).unwrap();
        assert!(!report.is_restored);
        assert_eq!(report.given_up.len(), 1, "{:?}", report.given_up);
        assert!(report.restored.left.is_empty());
        let again = undo_journals(&abandoned.host, false).unwrap();
        assert!(again.is_restored && again.given_up.is_empty());
    }
}
