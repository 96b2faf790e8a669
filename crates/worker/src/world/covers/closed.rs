//! What not everybody on the host may read is not shown to a trial either.
//!
//! A trial's root may read all files of the host's root, so the permissions that keep such a file from
//! others would not keep it from the trial. Looking at every file of the host for each trial would
//! take seconds: looked at are the folders in which secrets are kept, as deep as they are kept there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Cover;

/// Folders with programs and what belongs to them, the kernel's, and those that are covered anyway.
const NOT_LOOKED_AT: [&str; 13] = [
    "bin", "dev", "home", "lib", "lib32", "lib64", "libx32", "proc", "root", "run", "sbin", "sys",
    "usr",
];

/// How deep folders are looked into, from the root; programs' settings are looked at as a whole.
const DEPTHS: [(&str, u32); 4] = [("etc", 8), ("var", 2), ("tmp", 0), ("boot", 1)];
const USUAL_DEPTH: u32 = 1;

/// A folder with more entries than this holds data, not keys: only the folders in it are looked at.
const MOST_ENTRIES: usize = 4000;

/// Everybody may list and enter.
const OPEN_FOLDER: u32 = 0o005;
/// Everybody may read.
const OPEN_FILE: u32 = 0o004;

/// Files and folders that not everybody may read.
pub fn find_closed_places() -> Vec<Cover> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_named = |known: &str| name == *known;
        if NOT_LOOKED_AT.iter().any(|known| is_named(known)) {
            continue;
        }
        let known = DEPTHS.iter().find(|(known, _)| is_named(known));
        let depth = known.map_or(USUAL_DEPTH, |(_, depth)| *depth);
        look_at(&entry.path(), depth, &mut found);
    }
    found
}

/// Adds a place, or what is closed in it, down to a depth.
pub fn look_at(place: &Path, depth: u32, found: &mut Vec<Cover>) {
    let Ok(data) = fs::symlink_metadata(place) else {
        return;
    };
    let mode = data.permissions().mode();
    let is_closed_file = data.is_file() && mode & OPEN_FILE != OPEN_FILE;
    let is_closed_folder = data.is_dir() && mode & OPEN_FOLDER != OPEN_FOLDER;
    if is_closed_file || is_closed_folder {
        found.extend(Cover::of(place));
    } else if data.is_dir() && depth > 0 {
        look_into(place, depth - 1, found);
    }
}

/// Adds what is closed in a folder, down to a depth.
pub fn look_into(folder: &Path, depth: u32, found: &mut Vec<Cover>) {
    let entries: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    let is_large = entries.len() > MOST_ENTRIES;
    for entry in entries {
        let kind = entry.file_type();
        let is_folder = kind.as_ref().is_ok_and(fs::FileType::is_dir);
        if is_folder || (!is_large && kind.is_ok_and(|kind| kind.is_file())) {
            look_at(&entry.path(), depth, found);
        }
    }
}
