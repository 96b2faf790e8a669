//! Home folders: toolchains are shown, and what everybody may read; keys and settings are not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::closed::look_into;
use super::cover::{Cover, Shows};

/// Folders of toolchains, which a package may well use.
const TOOLCHAINS: [&str; 29] = [
    ".asdf",
    ".bun",
    ".cabal",
    ".cargo",
    ".conda",
    ".deno",
    ".dotnet",
    ".ghcup",
    ".goenv",
    ".gradle",
    ".ivy2",
    ".jenv",
    ".julia",
    ".juliaup",
    ".m2",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sbt",
    ".sdkman",
    ".stack",
    ".volta",
    "anaconda3",
    "go",
    "miniconda3",
    "miniforge3",
    "venv",
];

/// Folders of which only some are toolchains.
const PARTLY: [(&str, &[&str]); 2] = [
    (".local", &["bin", "lib", "share"]),
    (".local/share", &["mise", "pipx", "pnpm", "uv"]),
];

/// Files of toolchains that hold passwords, whatever their permissions.
const PASSWORDS: [&str; 7] = [
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gradle/gradle.properties",
    ".ivy2/.credentials",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".sbt/.credentials",
];

/// Hidden folders of a home that hold data as well, and what in them holds keys.
const DATA: [(&str, &[&str]); 2] = [
    (".cache", &[]),
    (".local/share", &["keyrings", "kwalletd", "gnupg", "pki"]),
];

/// Where home folders have keys and settings: hidden folders but toolchains and data.
pub fn find_keys_of_homes(homes: &[PathBuf]) -> Vec<PathBuf> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = Vec::new();
    for home in homes {
        let is_hidden = |name: &str| {
            name.starts_with('.')
                && !TOOLCHAINS.contains(&name)
                && !DATA
                    .iter()
                    .any(|(data, _)| data.split('/').next() == Some(name))
        };
        let hidden = entries(home.clone())
            .filter(|entry| entry.file_name().to_str().is_none_or(is_hidden))
            .map(|entry| entry.path());
        found.extend(hidden);
        let beside_data = entries(home.join(".local")).map(|entry| entry.path());
        let is_shown = |path: &PathBuf| PARTLY[0].1.iter().any(|shown| path.ends_with(shown));
        found.extend(beside_data.filter(|path| !is_shown(path)));
        for (data, keys) in DATA {
            found.extend(keys.iter().map(|name| home.join(data).join(name)));
        }
        let passwords = PASSWORDS.iter().map(|name| home.join(name));
        found.extend(passwords.filter(|path| path.exists()));
    }
    found
}

/// How deep folders of homes that everybody may read are looked into, and how many files and folders in all
/// of them: what is not searched through is hidden.
const DEPTH: u32 = 8;
const MOST_IN_HOMES: usize = 20_000;

/// What is not shown of all home folders.
pub fn find_private_places() -> Vec<Cover> {
    let (mut found, mut left) = (Vec::new(), MOST_IN_HOMES);
    for home in list_homes() {
        look_at_home(&home, &mut left, &mut found);
    }
    found
}

/// Home folders of people, without links in their paths.
pub fn list_homes() -> Vec<PathBuf> {
    let mut homes = vec![PathBuf::from("/root")];
    let entries = fs::read_dir("/home").into_iter().flatten().flatten();
    homes.extend(entries.map(|entry| entry.path()));
    homes.extend(std::env::var_os("HOME").map(PathBuf::from));
    let people = fs::read_to_string("/etc/passwd").unwrap_or_default();
    homes.extend(people.lines().filter_map(home_of_person));
    let mut real: Vec<PathBuf> = homes
        .iter()
        .filter_map(|home| fs::canonicalize(home).ok())
        .filter(|home| home.is_dir() && home.parent().is_some() && !is_the_systems(home))
        .collect();
    real.sort();
    real.dedup();
    real
}

/// The home folder of somebody who can sign in.
fn home_of_person(line: &str) -> Option<PathBuf> {
    let fields: Vec<&str> = line.split(':').collect();
    let (number, home, shell) = (fields.get(2)?, fields.get(5)?, fields.get(6)?);
    let is_person = number.parse::<u32>().ok()? >= 1000 || *number == "0";
    let signs_in = !shell.ends_with("nologin") && !shell.ends_with("/false");
    (is_person && signs_in && home.starts_with('/')).then(|| PathBuf::from(home))
}

/// Whether a folder that somebody calls home is one of programs.
fn is_the_systems(home: &Path) -> bool {
    let programs = [
        "/usr", "/bin", "/sbin", "/lib", "/etc", "/dev", "/proc", "/sys",
    ];
    programs.iter().any(|folder| home.starts_with(folder)) || home.components().count() < 2
}

fn look_at_home(home: &Path, left: &mut usize, found: &mut Vec<Cover>) {
    let is_open = mode(home).is_some_and(|mode| mode & 0o005 == 0o005);
    let mut entries: Vec<_> = (fs::read_dir(home).into_iter().flatten().flatten()).collect();
    // The same folders are searched through in each trial, whatever order the disk has them in.
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str() else {
            found.push(hidden(path));
            continue;
        };
        let is_shown = if TOOLCHAINS.contains(&name) {
            look_into(&path, 1, &mut { MOST_IN_HOMES }, found);
            true
        } else if PARTLY.iter().any(|(partly, _)| *partly == name) {
            true
        } else {
            let is_readable = || mode(&path).is_some_and(|mode| mode & 0o004 == 0o004);
            // What is closed in it is closed to the worker's own packages, too.
            is_open
                && !name.starts_with('.')
                && is_readable()
                && look_into(&path, DEPTH, left, found)
        };
        if !is_shown {
            found.push(hidden(path));
        }
    }
    for (partly, shown) in PARTLY {
        let entries = fs::read_dir(home.join(partly)).into_iter().flatten();
        for entry in entries.flatten() {
            if !shown.iter().any(|shown| entry.file_name() == **shown) {
                found.push(hidden(entry.path()));
            }
        }
    }
    let passwords = PASSWORDS.iter().map(|name| home.join(name));
    found.extend(passwords.filter(|path| path.exists()).map(hidden));
}

fn hidden(at: PathBuf) -> Cover {
    Cover {
        at,
        shows: Shows::Nothing,
        is_closed: false,
    }
}

fn mode(path: &Path) -> Option<u32> {
    let data = fs::symlink_metadata(path).ok()?;
    // What a link leads to is judged where it is.
    let is_link = data.is_symlink();
    Some(if is_link {
        0o777
    } else {
        data.permissions().mode()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_homes_and_services_have_not() {
        let home = |line| home_of_person(line).map(|home| home.display().to_string());
        let person = "alice:x:1000:1000::/srv/alice:/bin/bash";
        assert_eq!(home(person).as_deref(), Some("/srv/alice"));
        assert_eq!(home("daemon:x:1:1::/usr/sbin:/usr/sbin/nologin"), None);
        assert_eq!(
            home("nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin"),
            None
        );
        assert_eq!(home("garbage"), None);
    }

    #[test]
    fn of_a_home_the_toolchains_are_seen_without_their_passwords() {
        let folder = crate::scratch::TemporaryFolder::new("home-covers");
        let home = folder.path();
        for name in [
            ".ssh/id",
            ".config/x",
            ".cargo/bin/cargo",
            ".cargo/credentials.toml",
            ".local/bin/tool",
            ".local/state/x",
            ".local/share/uv/x",
            ".local/share/keyrings/x",
            "public",
            "private",
            "work/app/.env",
            "work/app/main.c",
        ] {
            let path = home.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let closed = fs::Permissions::from_mode(0o600);
        for name in ["private", "work/app/.env"] {
            fs::set_permissions(home.join(name), closed.clone()).unwrap();
        }
        fs::set_permissions(home, fs::Permissions::from_mode(0o755)).unwrap();
        let hidden = |mut left: usize| {
            let mut found = Vec::new();
            look_at_home(home, &mut left, &mut found);
            let names = found
                .iter()
                .map(|cover| cover.at.strip_prefix(home).unwrap());
            let mut names: Vec<_> = names.map(|name| name.display().to_string()).collect();
            names.sort();
            names.dedup();
            names
        };
        let mut expected = vec![
            ".cargo/credentials.toml",
            ".config",
            ".local/share/keyrings",
            ".local/state",
            ".ssh",
            "private",
            "work/app/.env",
        ];
        assert_eq!(hidden(1000), expected);
        // What is not searched through is hidden with all that is in it.
        let unsearched = hidden(1);
        assert!(unsearched.contains(&"work".to_owned()), "{unsearched:?}");
        fs::set_permissions(home, fs::Permissions::from_mode(0o700)).unwrap();
        expected.pop();
        expected.extend(["public", "work"]);
        assert_eq!(hidden(1000), expected);
    }
}
