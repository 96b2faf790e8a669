//! The compilers that are installed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::version::CompilerVersion;
use crate::program::is_executable;

/// The one that a build gets that asks for none.
const USUAL: &str = "cc";

/// A compiler of C that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    pub version: CompilerVersion,
    pub path: PathBuf,
}

/// Every gcc and clang in these folders, the one that `cc` is first, then by family and version; each is
/// asked for its version.
pub(crate) fn find_installed(search_path: &str) -> Vec<Installed> {
    let mut seen = BTreeSet::new();
    let mut found: Vec<Installed> = Vec::new();
    for path in list_candidates(search_path) {
        let Ok(real) = fs::canonicalize(&path) else {
            continue;
        };
        if !seen.insert(real) {
            continue;
        }
        if let Some(version) = ask_version(&path)
            && !found.iter().any(|known| known.version == version)
        {
            found.push(Installed { version, path });
        }
    }
    let usual = found.iter().position(|item| is_named(&item.path, USUAL));
    if let Some(place) = usual {
        found[..=place].rotate_right(1);
    }
    let others = usize::from(usual.is_some());
    found[others..].sort_by_key(|item| item.version);
    found
}

/// The program that is this compiler, found by its name before others are asked.
pub(crate) fn find_version(version: CompilerVersion, search_path: &str) -> Option<PathBuf> {
    let wanted = version.to_string();
    let mut candidates = list_candidates(search_path);
    candidates.sort_by_key(|path| !is_named(path, &wanted));
    candidates
        .into_iter()
        .find(|path| ask_version(path) == Some(version))
}

/// Programs that may be a compiler of C of this machine, `cc` first.
fn list_candidates(search_path: &str) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    for folder in search_path.split(':').filter(|folder| !folder.is_empty()) {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        candidates.extend(
            names
                .filter(|name| name.to_str().is_some_and(is_candidate))
                .map(|name| Path::new(folder).join(name))
                .filter(|path| fs::metadata(path).is_ok_and(|data| is_executable(&data))),
        );
    }
    candidates.sort_by_key(|path| (!is_named(path, USUAL), path.clone()));
    candidates
}

fn is_candidate(name: &str) -> bool {
    let versioned = CompilerVersion::parse(name).is_some();
    versioned || [USUAL, "gcc", "clang"].contains(&name)
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|found| found == name)
}

/// What the program says that it is; `None` when it is neither gcc nor clang.
pub(crate) fn ask_version(compiler: &Path) -> Option<CompilerVersion> {
    ask(compiler, "--version").and_then(|text| CompilerVersion::of_answer(&text))
}

/// What a compiler answers to an option.
pub(crate) fn ask(compiler: &Path, option: &str) -> Option<String> {
    let answer = Command::new(compiler)
        .arg(option)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    answer.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with programs that print these answers.
    fn folder_of(name: &str, programs: &[(&str, &str)]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("datamill-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (program, answer) in programs {
            let path = folder.join(program);
            fs::write(&path, format!("#!/bin/sh\ncat <<'E'\n{answer}\nE\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    #[test]
    fn the_usual_compiler_comes_first_and_each_version_once() {
        let gcc = |number| format!("cc (X) {number}\nFree Software Foundation");
        let folder = folder_of(
            "installed",
            &[
                ("cc", &gcc("12.2.0")),
                ("gcc-12", &gcc("12.2.0")),
                ("gcc-11", &gcc("11.3.0")),
                ("clang-14", "clang version 14.0.6"),
                ("clang", "clang version 16.0.1"),
                ("gcc-9", "something else"),
                ("gcc-ar-12", &gcc("12.2.0")),
            ],
        );
        let found = find_installed(folder.to_str().unwrap());
        let levels: Vec<String> = found.iter().map(|item| item.version.to_string()).collect();
        assert_eq!(levels, ["gcc-12", "gcc-11", "clang-14", "clang-16"]);
        let version = CompilerVersion::parse("clang-16").unwrap();
        let path = find_version(version, folder.to_str().unwrap());
        assert_eq!(path, Some(folder.join("clang")));
        let absent = CompilerVersion::parse("gcc-9").unwrap();
        assert_eq!(find_version(absent, folder.to_str().unwrap()), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_without_compilers_has_none() {
        assert!(find_installed("/nonexistent::").is_empty());
    }
}
