//! A path of exactly the length wanted that leads to the world's root.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::world::mounts::bind_tree;

/// Most characters of a component of a path.
const LONGEST_NAME: usize = 255;

/// Shows the root of the world at a path of so many characters, and returns that path.
///
/// Only the place of the package is meant to be reached by it: relative paths work as they do in `/`.
pub fn make_directory(root: &Path, length: usize) -> io::Result<PathBuf> {
    let exists = |name: &str| fs::symlink_metadata(root.join(name)).is_ok();
    let path = path_of_length(length, exists)
        .ok_or_else(|| io::Error::other("every short enough name at the root is taken"))?;
    if length > 1 {
        fs::create_dir_all(&path)?;
        bind_tree(root, &path)?;
    }
    Ok(path)
}

/// An absolute path of so many characters whose first component is not taken.
fn path_of_length(length: usize, is_taken: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut names = Vec::new();
    let mut left = length;
    while left > 1 {
        let mut name = (left - 1).min(LONGEST_NAME);
        // What remains is nothing, or a slash and at least one character.
        if left - 1 - name == 1 {
            name -= 1;
        }
        names.push(name);
        left -= 1 + name;
    }
    let Some((first, rest)) = names.split_first() else {
        return Some(PathBuf::from("/"));
    };
    let first = ('a'..='z')
        .chain('0'..='9')
        .map(|letter| letter.to_string().repeat(*first))
        .find(|name| !is_taken(name))?;
    let mut path = format!("/{first}");
    for name in rest {
        path.push('/');
        path.push_str(&"d".repeat(*name));
    }
    Some(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_exactly_the_length_asked_for() {
        for length in (1..=1100).chain([2047, 3999, 4000]) {
            let path = path_of_length(length, |_| false).unwrap();
            let text = path.to_str().unwrap();
            assert_eq!(text.len(), length);
            let names: Vec<&str> = text.split('/').skip(1).collect();
            let sound = |name: &&str| (1..=LONGEST_NAME).contains(&name.len());
            assert!(length == 1 || names.iter().all(sound), "{text}");
        }
    }

    #[test]
    fn a_name_that_the_host_or_the_package_uses_is_avoided() {
        let path = path_of_length(2, |name| name == "a" || name == "b").unwrap();
        assert_eq!(path, Path::new("/c"));
        assert_eq!(path_of_length(2, |_| true), None);
    }
}
