//! Folders with secrets of datamill on this machine, wherever their owners put them: the state of each
//! worker and the data of each coordinator is noted, so that no trial of another worker shows it.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use crate::state::usual_state;

/// The register, in the usual state folder: a link to each folder.
const REGISTER: &str = "folders";

/// Folders that are heeded at the most.
const MOST: usize = 1000;

/// Notes a folder for good; a machine that keeps no register has none.
pub fn note_folder(folder: &Path) {
    note_in(&usual_state().join(REGISTER), folder);
}

/// The folders that this user noted and that are still there; links to others are removed.
pub fn list_folders() -> Vec<PathBuf> {
    list_in(&usual_state().join(REGISTER))
}

fn note_in(register: &Path, folder: &Path) {
    let Ok(folder) = fs::canonicalize(folder) else {
        return;
    };
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(register);
    if made.is_ok() {
        // One that is there already leads to the same folder.
        symlink(&folder, register.join(format!("{:016x}", hasher.finish()))).ok();
    }
}

fn list_in(register: &Path) -> Vec<PathBuf> {
    let links = fs::read_dir(register).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for link in links.take(MOST) {
        match fs::read_link(link.path()) {
            Ok(folder) if folder.is_dir() => found.push(folder),
            Ok(_) => {
                fs::remove_file(link.path()).ok();
            }
            Err(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_known_until_they_are_gone() {
        let place = std::env::temp_dir().join(format!("known-folders-{}", std::process::id()));
        let [register, kept, gone] = ["register", "kept", "gone"].map(|name| place.join(name));
        for folder in [&kept, &gone] {
            fs::create_dir_all(folder).unwrap();
            note_in(&register, folder);
            note_in(&register, folder);
        }
        assert_eq!(list_in(&register).len(), 2);
        fs::remove_dir(&gone).unwrap();
        assert_eq!(list_in(&register), [fs::canonicalize(&kept).unwrap()]);
        assert_eq!(fs::read_dir(&register).unwrap().count(), 1);
        fs::remove_dir_all(&place).unwrap();
    }
}
