//! Places of the host that no trial sees: secrets, and what only some on the host may read.

mod aliases;
mod closed;
mod folders;
mod homes;
mod layer;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::mounts::HostMount;
pub use folders::{ShownFolder, find_folders, make_way};
pub use layer::{CoveredPlace, make_cover_layer, mount_cover};

/// What is seen in place of something of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// An empty folder with these permissions.
    EmptyFolder(u32),
    /// An empty file that only its owner may read.
    EmptyFile,
    /// Nothing.
    Nothing,
}

/// A place of the host that a trial does not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// The place, without links in its path.
    pub at: PathBuf,
    /// What is seen there.
    pub shows: Shows,
    /// Whether it is covered for its permissions alone.
    pub is_closed: bool,
}

impl Cover {
    /// Covers a file or folder by an empty one; nothing where there is neither.
    fn of(at: &Path) -> Option<Self> {
        let data = fs::symlink_metadata(at).ok()?;
        let shows = if data.is_dir() {
            Shows::EmptyFolder(data.permissions().mode() & 0o7777)
        } else if data.is_file() {
            Shows::EmptyFile
        } else {
            Shows::Nothing
        };
        Some(Self {
            at: at.to_owned(),
            shows,
            is_closed: false,
        })
    }
}

/// Folders that every trial has for itself: on a host they hold sockets and what others left there.
const EMPTY_FOLDERS: [(&str, u32); 3] = [("/run", 0o755), ("/tmp", 0o1777), ("/var/tmp", 0o1777)];

/// Where datamill keeps what it must not lose or tell: state of workers, data of coordinators.
const OWN_FOLDERS: [&str; 3] = ["/var/lib/datamill", "/etc/datamill", "/srv/datamill"];

/// Places of keys and of the kernel's messages, whatever their permissions.
const SECRET_PLACES: [&str; 9] = [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/shadow-",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/var/log",
    "/var/spool",
    "/var/backups",
];

/// Finds all that a trial does not see, outer places first; `named` are those of this trial.
pub fn find_covers(named: &[PathBuf], mounts: &[HostMount]) -> Vec<Cover> {
    let mut covers: Vec<Cover> = EMPTY_FOLDERS
        .iter()
        .filter(|(at, _)| fs::symlink_metadata(at).is_ok_and(|data| data.is_dir()))
        .map(|(at, mode)| Cover {
            at: PathBuf::from(at),
            shows: Shows::EmptyFolder(*mode),
            is_closed: false,
        })
        .collect();
    let fixed = OWN_FOLDERS.iter().chain(&SECRET_PLACES).map(Path::new);
    let known = datamill_host::list_folders();
    let places = fixed.chain(named.iter().chain(&known).map(PathBuf::as_path));
    let mut found: Vec<Cover> = places
        // By a link, what it leads to is seen; and what is a link itself shows nothing of its own.
        .filter_map(|place| Cover::of(&fs::canonicalize(place).ok()?))
        .collect();
    found.extend(homes::find_private_places());
    found.extend(closed::find_closed_places());
    // What lies in a covered folder is covered with it: only the outer one can have another name.
    covers.extend(found);
    let covers = without_covered(covers);
    let more = aliases::find_other_names(&covers, mounts);
    without_covered(covers.into_iter().chain(more).collect())
}

/// Leaves out what lies below another covered place; of several at one place the first stays.
fn without_covered(mut covers: Vec<Cover>) -> Vec<Cover> {
    // The root cannot be covered, and nothing would be left.
    covers.retain(|cover| cover.at != Path::new("/"));
    // Sorted by components, whatever is below a place follows it at once.
    covers.sort_by(|left, right| left.at.cmp(&right.at));
    let mut kept: Vec<Cover> = Vec::new();
    for cover in covers {
        if kept
            .last()
            .is_none_or(|last| !cover.at.starts_with(&last.at))
        {
            kept.push(cover);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cover(at: &str) -> Cover {
        Cover {
            at: PathBuf::from(at),
            shows: Shows::Nothing,
            is_closed: false,
        }
    }

    #[test]
    fn what_lies_in_a_covered_folder_needs_no_cover_of_its_own() {
        let places = ["/a/b/c", "/a-b", "/a/b", "/", "/a/b", "/a/bc"].map(cover);
        let kept = without_covered(places.to_vec());
        assert_eq!(kept, ["/a/b", "/a/bc", "/a-b"].map(cover));
    }
}
