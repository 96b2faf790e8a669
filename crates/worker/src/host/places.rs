//! What a trial sees of places of this host, and which folders it may be shown.

use std::fs;
use std::path::{Path, PathBuf};

use datamill_protocol::TrialSpec;
use serde::Serialize;

use crate::world::{Sight, explain_folders, named_places, state_folders};

/// A place of this host, as a trial has it.
#[derive(Debug, Serialize)]
pub struct PlaceSeen {
    /// The path that was asked about.
    pub path: String,
    /// Whether it exists here.
    pub exists: bool,
    /// Whether a trial sees it without asking.
    pub is_seen: bool,
    /// Why it cannot be shown as a folder that a package needs; empty when it can.
    pub objection: String,
}

/// Looks at places of this host as a trial would see them.
pub fn look_at_places(paths: &[PathBuf]) -> Vec<PlaceSeen> {
    let named: Vec<PathBuf> = state_folders().collect();
    let sight = Sight::of(&named);
    let look = |path: &PathBuf| {
        let text = path.display().to_string();
        let objection = explain_folders(std::slice::from_ref(&text), &named).err();
        let real = fs::canonicalize(path).ok();
        PlaceSeen {
            path: text,
            exists: real.is_some(),
            is_seen: real.is_some_and(|real| sight.shows(path) && sight.shows(&real)),
            objection: objection.unwrap_or_default(),
        }
    };
    paths.iter().map(look).collect()
}

/// Checks that the folders which a trial asks for can be shown here; `covered` are places that its
/// machine's owner keeps from it.
pub fn check_folders(spec: &TrialSpec, covered: &[String]) -> Result<(), String> {
    let named: Vec<PathBuf> = named_places(spec)
        .chain(covered.iter().map(|path| Path::new(path).to_owned()))
        .collect();
    explain_folders(&spec.needs.folders, &named)
}
