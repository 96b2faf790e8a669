//! `datamill-worker restore`: undoing by hand what a dead worker left of its changes to the host.

use std::io::{self, Write};

use datamill_host::{Host, Journal, JournalError, Restored, foresee_restore, restore_host};
use serde::Serialize;

use crate::factors::{KEPT_FACTORS, host_verbs, undo_abandoned};
use crate::resources::remove_abandoned_groups;
use crate::scratch::remove_tree;
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
    let content = Journal::peek(host)?;
    let would_undo = foresee_restore(&content, &host.boot_id());
    let damaged = content.damaged.len();
    let mut restored = Restored::default();
    if damaged > 0 {
        restored.damaged.push(format!(
            "{damaged} of the journal's lines cannot be understood."
        ));
    }
    Ok(Report {
        is_restored: would_undo.is_empty() && damaged == 0,
        restored,
        would_undo,
        given_up: Vec::new(),
    })
}

fn undo(host: &Host, forget: bool) -> Result<Report, JournalError> {
    let mut restored = Restored::default();
    let abandoned = undo_abandoned(host);
    let mut given_up = Vec::new();
    let kept = host.state().join(KEPT_FACTORS);
    if !Journal::is_empty(host) || kept.exists() {
        let mut journal = Journal::open(host)?;
        restored = restore_host(&mut journal, &host_verbs(host));
        if forget && !restored.is_complete() {
            journal.forget().map_err(|error| JournalError::Unusable {
                path: journal.path().to_owned(),
                error,
            })?;
            given_up = restored.troubles();
            restored.left.clear();
            restored.damaged.clear();
        }
        if restored.is_complete() {
            // Nothing in the journal needs them any more.
            remove_tree(&kept).ok();
        }
        remove_tree(&host_verbs(host).scratch).ok();
    }
    restored.undone.extend(abandoned);
    remove_abandoned_groups();
    restored.undone.extend(detach_abandoned());
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
            "The journal in {state} is empty now. Whether the host is as it was is for you to see.\n"
        )
    } else if !report.is_restored {
        format!(
            "The host may not be as it was: see above (journal in {state}). When you have put it right by hand, `datamill-worker restore --forget` empties the journal.\n"
        )
    } else if text.is_empty() {
        format!("Nothing to undo: the journal in {state} is empty.\n")
    } else {
        format!("The host is as it was before (journal in {state}).\n")
    });
    text
}
