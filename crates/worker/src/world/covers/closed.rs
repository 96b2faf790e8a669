//! What not everybody on the host may read is not shown to a trial either.
//!
//! A trial's root may read all files of the host's root, so the permissions that keep such a file from
//! others would not keep it from the trial. Looking at every file of the host for each trial would
//! take seconds: looked at are the folders in which secrets are kept, outer ones first, up to a number
//! of files.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Cover;

/// Folders with programs and what belongs to them, the kernel's, and those that are covered anyway.
const NOT_LOOKED_AT: [&str; 14] = [
    "/bin", "/dev", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/root", "/run",
    "/sbin", "/sys", "/tmp", "/usr",
];

/// What is installed, and from where: thousands of files for everybody.
const PUBLIC: [&str; 4] = [
    "/var/lib/dpkg/info",
    "/var/lib/apt/lists",
    "/var/cache/apt",
    "/var/cache/man",
];

/// How deep folders are looked into, and how many files and folders at the most: first those of
/// programs' settings and data, then all others.
const SETTINGS: [&str; 4] = ["/etc", "/var", "/srv", "/opt"];
const SETTINGS_DEPTH: u32 = 8;
const MOST_IN_SETTINGS: usize = 20_000;
const OTHER_DEPTH: u32 = 3;
const MOST_IN_OTHERS: usize = 4_000;

/// A folder with more entries than this holds data, not keys: only the folders in it are looked at.
const MOST_ENTRIES: usize = 4000;

/// Everybody may list and enter.
const OPEN_FOLDER: u32 = 0o005;
/// Everybody may read.
const OPEN_FILE: u32 = 0o004;

/// Files and folders that not everybody may read.
pub fn find_closed_places() -> Vec<Cover> {
    let mut found = Vec::new();
    let settings = SETTINGS.map(PathBuf::from);
    let others = fs::read_dir("/")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            !settings.contains(path) && !NOT_LOOKED_AT.iter().any(|known| path == Path::new(known))
        });
    let others: Vec<_> = others.collect();
    look_through(
        settings.to_vec(),
        SETTINGS_DEPTH,
        MOST_IN_SETTINGS,
        &mut found,
    );
    look_through(others, OTHER_DEPTH, MOST_IN_OTHERS, &mut found);
    found
}

/// Adds what is closed in a folder, down to a depth.
pub fn look_into(folder: &Path, depth: u32, found: &mut Vec<Cover>) {
    look_through(list_entries(folder), depth, MOST_IN_SETTINGS, found);
}

/// Adds those of places that are closed, and what is closed in the others, outer ones first.
fn look_through(places: Vec<PathBuf>, depth: u32, most: usize, found: &mut Vec<Cover>) {
    let mut pending: VecDeque<_> = places.into_iter().map(|place| (place, depth)).collect();
    let mut looked_at = 0;
    while let Some((place, depth)) = pending.pop_front() {
        looked_at += 1;
        if looked_at > most {
            return;
        }
        let Ok(data) = fs::symlink_metadata(&place) else {
            continue;
        };
        let mode = data.permissions().mode();
        let is_closed_file = data.is_file() && mode & OPEN_FILE != OPEN_FILE;
        let is_closed_folder = data.is_dir() && mode & OPEN_FOLDER != OPEN_FOLDER;
        if is_closed_file || is_closed_folder {
            found.extend(Cover::of(&place).map(|cover| Cover {
                is_closed: true,
                ..cover
            }));
        } else if data.is_dir()
            && depth > 0
            && !PUBLIC.iter().any(|known| place == Path::new(known))
        {
            pending.extend(
                list_entries(&place)
                    .into_iter()
                    .map(|entry| (entry, depth - 1)),
            );
        }
    }
}

/// Folders in a folder, and files unless there are too many.
fn list_entries(folder: &Path) -> Vec<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    let is_large = entries.len() > MOST_ENTRIES;
    entries
        .into_iter()
        .filter(|entry| {
            entry
                .file_type()
                .is_ok_and(|kind| kind.is_dir() || (!is_large && kind.is_file()))
        })
        .map(|entry| entry.path())
        .collect()
}
