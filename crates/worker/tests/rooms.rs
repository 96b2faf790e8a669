//! The rooms of the worker use only rooms below them.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, and the files beside them, in their order: each uses those of later lines only.
const ORDER: [&[&str]; 13] = [
    &["main"],
    &["command_line"],
    &["fleet"],
    &["guest"],
    &["trial", "commands"],
    &["build", "load", "host"],
    &["assignment"],
    &["factors"],
    &["process"],
    &["world"],
    &["package", "resources"],
    &["scratch", "interrupt"],
    &["trouble"],
];

fn rank(room: &str) -> usize {
    let found = ORDER.iter().position(|line| line.contains(&room));
    found.unwrap_or_else(|| panic!("{room} has no place in the order of rooms"))
}

fn list_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => list_sources(&entry.path(), found),
            false => found.push(entry.path()),
        }
    }
}

/// The rooms that a source names by their full paths, `crate::room`.
fn named_rooms(source: &str) -> impl Iterator<Item = &str> {
    let code = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
            &rest[..end.unwrap_or(rest.len())]
        })
}

#[test]
fn a_room_uses_only_rooms_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    list_sources(&root, &mut sources);
    let mut links = 0;
    for path in &sources {
        let inner = path.strip_prefix(&root).unwrap().with_extension("");
        let own = inner.iter().next().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        for room in named_rooms(&text).filter(|room| *room != own) {
            links += 1;
            assert!(rank(room) > rank(own), "{} uses {room}", inner.display());
        }
    }
    assert!(links > 100, "only {links} uses were found");
}
