//! What of the host a trial sees, without making its world.

use std::path::{Path, PathBuf};

use super::covers::{Cover, CoverSearch, find_folders};
use super::mounts::{HostMount, read_host_mounts};

/// What is covered of the host.
pub struct Sight {
    covers: Vec<Cover>,
}

impl Sight {
    /// Looks for what is covered; `named` are places that are, besides those that always are.
    pub fn of(named: &[PathBuf]) -> Self {
        Self {
            covers: CoverSearch::begin().end(named, &mounts()),
        }
    }

    /// Whether a trial sees a place.
    pub fn shows(&self, place: &Path) -> bool {
        !self.covers.iter().any(|cover| place.starts_with(&cover.at))
    }
}

/// Checks that a trial can be shown these folders; the error is why not.
pub fn explain_folders(folders: &[String], named: &[PathBuf]) -> Result<(), String> {
    find_folders(folders, named, &mounts()).map(drop)
}

fn mounts() -> Vec<HostMount> {
    read_host_mounts().unwrap_or_default()
}
