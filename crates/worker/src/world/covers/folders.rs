//! Folders of the host that a trial asked to see although they are covered: which may be shown, and how
//! the way to them looks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::aliases;
use super::cover::{Cover, EMPTY_FOLDERS, OWN_FOLDERS, SECRET_PLACES, Shows, without_covered};
use super::homes::{find_keys_of_homes, list_homes};
use crate::world::mounts::HostMount;

/// A folder of the host that a trial asked to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFolder {
    /// The folder, without links in its path.
    pub at: PathBuf,
    /// Links on the way that was asked for: where each lies and what it leads to, both without links.
    pub links: Vec<(PathBuf, PathBuf)>,
}

/// Folders that are the kernel's, not files.
const KERNEL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Folders of keys by which a home folder, or a copy of one, is known.
const KEY_FOLDERS: [&str; 5] = [".ssh", ".gnupg", ".aws", ".kube", ".password-store"];

/// Finds the folders that were asked for; the error is why one of them cannot be shown. `named` are the
/// places that this trial must not see.
pub fn find_folders(
    asked: &[String],
    named: &[PathBuf],
    mounts: &[HostMount],
) -> Result<Vec<ShownFolder>, String> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let homes = list_homes();
    let guarded = find_guarded(named, &homes, mounts);
    let mut found: Vec<ShownFolder> = Vec::new();
    for path in asked {
        let refused = |cause: &str| format!("the folder {path} cannot be shown: {cause}");
        let folder = follow(Path::new(path)).map_err(|cause| refused(&cause))?;
        if let Some(cause) = find_objection(&folder.at, &homes, &guarded) {
            return Err(refused(&cause));
        }
        found.push(folder);
    }
    // What lies in another one is shown with it, by whichever links lead there.
    found.sort_by(|left, right| left.at.cmp(&right.at));
    let mut kept: Vec<ShownFolder> = Vec::new();
    for folder in found {
        match kept.last_mut() {
            Some(last) if folder.at.starts_with(&last.at) => last.links.extend(folder.links),
            _ => kept.push(folder),
        }
    }
    Ok(kept)
}

/// Where a path leads, and by which links.
fn follow(path: &Path) -> Result<ShownFolder, String> {
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !path.is_absolute() || !is_plain {
        return Err("it is not an absolute path without `..`".to_owned());
    }
    let real = |path: &Path| fs::canonicalize(path).map_err(|error| error.to_string());
    let at = real(path)?;
    if !at.is_dir() {
        return Err("it is not a folder".to_owned());
    }
    let mut links = Vec::new();
    let mut way = PathBuf::from("/");
    for name in path.iter().skip(1) {
        let next = way.join(name);
        let leads_to = real(&next)?;
        if leads_to != next {
            links.push((next, leads_to.clone()));
        }
        way = leads_to;
    }
    Ok(ShownFolder { at, links })
}

/// Places that nobody can ask for, wherever else they are mounted.
fn find_guarded(named: &[PathBuf], homes: &[PathBuf], mounts: &[HostMount]) -> Vec<PathBuf> {
    let fixed = OWN_FOLDERS.iter().chain(&SECRET_PLACES).map(PathBuf::from);
    let present = fixed
        .chain(find_keys_of_homes(homes))
        .chain(datamill_host::list_folders())
        .filter_map(|place| fs::canonicalize(place).ok());
    // What this trial must not see may be made during it.
    let named = named
        .iter()
        .map(|place| fs::canonicalize(place).unwrap_or_else(|_| place.clone()));
    let mut covers: Vec<Cover> = present
        .chain(named)
        .map(|at| Cover {
            at,
            shows: Shows::Nothing,
            is_closed: false,
        })
        .collect();
    covers.extend(aliases::find_other_names(&covers, mounts));
    covers.into_iter().map(|cover| cover.at).collect()
}

/// Why a folder cannot be shown.
fn find_objection(at: &Path, homes: &[PathBuf], guarded: &[PathBuf]) -> Option<String> {
    let of_kernel = KERNEL_FOLDERS.iter().any(|kernel| at.starts_with(kernel));
    if of_kernel || at == Path::new("/") {
        return Some("it holds more than files of yours".to_owned());
    }
    if let Some((shared, _)) =
        (EMPTY_FOLDERS.iter()).find(|(own, _)| Path::new(own).starts_with(at))
    {
        return Some(format!(
            "each trial has its own {shared}; name a folder in it"
        ));
    }
    // Sockets and sessions' keys, and the disks that people plug in.
    if at.starts_with("/run") && !at.starts_with("/run/media") {
        return Some("in /run are sockets and keys of the machine's services".to_owned());
    }
    if let Some(place) = (guarded.iter()).find(|place| at.starts_with(place)) {
        return Some(format!(
            "it lies in {}, which no trial sees",
            place.display()
        ));
    }
    if let Some(home) = homes.iter().find(|home| home.starts_with(at)) {
        return Some(format!(
            "it holds the home folder {} with its keys; name a folder in that",
            home.display()
        ));
    }
    if let Some(place) = (guarded.iter()).find(|place| place.starts_with(at)) {
        return Some(format!("it holds {}, which no trial sees", place.display()));
    }
    let keys = KEY_FOLDERS.iter().find(|name| at.join(name).exists());
    keys.map(|name| format!("it holds keys: {name}"))
}

/// Makes way for folders: of what covers one the folders above it are shown, empty, and what is closed
/// in it is shown with it. `is_confined` says that to the trial all users of the host but root are nobody.
pub fn make_way(covers: &mut Vec<Cover>, folders: &[ShownFolder], is_confined: bool) {
    if folders.is_empty() {
        return;
    }
    let is_in = |at: &Path| folders.iter().any(|folder| at.starts_with(&folder.at));
    covers.retain(|cover| !cover.is_closed || !is_in(&cover.at));
    let places: Vec<PathBuf> = places_on_the_way(folders).collect();
    if is_confined {
        let closed = places.iter().filter_map(|place| find_closed_parent(place));
        let closed = closed.map(|at| Cover {
            at,
            shows: Shows::EmptyFolder(0o755),
            is_closed: false,
        });
        covers.splice(0..0, closed);
    }
    *covers = without_covered(std::mem::take(covers));
    for cover in covers {
        if places.iter().any(|place| place.starts_with(&cover.at)) {
            let mode = match cover.shows {
                Shows::EmptyFolder(mode) => mode,
                Shows::EmptyFile | Shows::Nothing => 0,
            };
            // A link in place of a cover replaces it altogether.
            cover.shows = Shows::EmptyFolder(mode | 0o755);
        }
    }
}

/// The outermost folder above a place through which only its owner gets.
fn find_closed_parent(place: &Path) -> Option<PathBuf> {
    let mut parents: Vec<&Path> = place.ancestors().skip(1).collect();
    parents.reverse();
    let is_closed = |parent: &&&Path| {
        let data = fs::metadata(parent);
        data.is_ok_and(|data| data.uid() != 0 && data.mode() & 0o001 == 0)
    };
    let outermost = parents.iter().find(is_closed)?;
    Some(outermost.to_path_buf())
}

fn places_on_the_way(folders: &[ShownFolder]) -> impl Iterator<Item = PathBuf> {
    folders.iter().flat_map(|folder| {
        let links = folder.links.iter().map(|(link, _)| link.clone());
        links.chain([folder.at.clone()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::TemporaryFolder;

    fn objection(at: &str) -> Option<String> {
        let homes = [PathBuf::from("/home/me")];
        let guarded = [
            "/var/lib/datamill",
            "/home/me/.ssh",
            "/home/me/bundle/.work",
        ];
        find_objection(Path::new(at), &homes, &guarded.map(PathBuf::from))
    }

    #[test]
    fn folders_with_keys_state_or_everything_cannot_be_shown() {
        for (at, word) in [
            ("/", "more than files"),
            ("/proc/1", "more than files"),
            ("/tmp", "its own"),
            ("/var", "its own"),
            ("/run/user/1000", "sockets"),
            ("/var/lib", "/var/lib/datamill"),
            ("/var/lib/datamill/fleet", "lies in /var/lib/datamill"),
            ("/home", "home folder /home/me"),
            ("/home/me", "home folder /home/me"),
            ("/home/me/.ssh/config.d", "lies in /home/me/.ssh"),
            ("/home/me/bundle", "/home/me/bundle/.work"),
        ] {
            let told = objection(at).unwrap_or_else(|| panic!("{at} may be shown"));
            assert!(told.contains(word), "{at}: {told}");
        }
        for at in [
            "/home/me/spec",
            "/tmp/spec",
            "/run/media/me/disk",
            "/opt/spec",
        ] {
            assert_eq!(objection(at), None, "{at}");
        }
    }

    #[test]
    fn a_copy_of_a_home_is_known_by_its_keys() {
        let folder = TemporaryFolder::new("folders-copy");
        fs::create_dir(folder.path().join(".gnupg")).unwrap();
        let told = find_objection(folder.path(), &[], &[]).unwrap();
        assert!(told.contains(".gnupg"), "{told}");
    }

    #[test]
    fn links_on_the_way_lead_where_they_lead() {
        let folder = TemporaryFolder::new("folders-links");
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("real/spec")).unwrap();
        std::os::unix::fs::symlink("real", root.join("short")).unwrap();
        let found = follow(&root.join("short/spec")).unwrap();
        let link = (root.join("short"), root.join("real"));
        assert_eq!(found.at, root.join("real/spec"));
        assert_eq!(found.links, [link]);
        for wrong in ["relative", "/a/../b", "/no/such/folder", "/etc/passwd"] {
            assert!(follow(Path::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_folder_in_another_one_is_shown_with_it() {
        let folder = TemporaryFolder::new("folders-nested");
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        let asked = ["a/b", "a", "a"].map(|name| root.join(name).display().to_string());
        let found = find_folders(&asked, &[], &[]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at, root.join("a"));
    }

    #[test]
    fn way_is_made_through_covers_and_siblings_stay_covered() {
        let cover = |at: &str, shows, is_closed| Cover {
            at: PathBuf::from(at),
            shows,
            is_closed,
        };
        let mut covers = vec![
            cover("/home/me/data", Shows::Nothing, false),
            cover("/home/me/other", Shows::Nothing, false),
            cover("/tmp", Shows::EmptyFolder(0o1777), false),
            cover("/srv/x/closed", Shows::EmptyFile, true),
            cover("/srv/x/named", Shows::EmptyFile, false),
        ];
        let folder = |at: &str| ShownFolder {
            at: PathBuf::from(at),
            links: Vec::new(),
        };
        let folders = ["/home/me/data/spec", "/srv/x", "/tmp/y"].map(folder);
        make_way(&mut covers, &folders, false);
        let expected = [
            cover("/home/me/data", Shows::EmptyFolder(0o755), false),
            cover("/home/me/other", Shows::Nothing, false),
            cover("/srv/x/named", Shows::EmptyFile, false),
            cover("/tmp", Shows::EmptyFolder(0o1777), false),
        ];
        assert_eq!(covers, expected);
    }
}
