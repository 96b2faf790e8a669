//! Places of the host that no trial sees: secrets, and what only some on the host may read.

mod aliases;
mod closed;
mod folders;
mod homes;
mod layer;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};

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

/// A part of the search for what is closed, which reads thousands of files.
type Part = fn() -> Vec<Cover>;

/// The search for what a trial does not see. It is made anew for each trial, because a file may be
/// closed without a trace in its folder, and took most of the time between trials: so it runs beside other
/// preparations, on as many processors as there are.
pub struct CoverSearch {
    parts: Vec<Result<JoinHandle<Vec<Cover>>, Part>>,
}

impl CoverSearch {
    /// Begins it, in threads that end before it does.
    pub fn begin() -> Self {
        let parts: [Part; 2] = [closed::find_closed_settings, find_closed_elsewhere];
        // Without threads it is made when its outcome is wanted.
        let begin = |part: Part| Builder::new().spawn(part).map_err(|_| part);
        Self {
            parts: parts.map(begin).into(),
        }
    }

    /// Ends it: all that a trial does not see, outer places first; `named` are those of this trial.
    pub fn end(mut self, named: &[PathBuf], mounts: &[HostMount]) -> Vec<Cover> {
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
        covers.extend(
            // By a link, what it leads to is seen; and what is a link itself shows nothing of its own.
            places.filter_map(|place| Cover::of(&fs::canonicalize(place).ok()?)),
        );
        for part in std::mem::take(&mut self.parts) {
            covers.extend(match part {
                // A walk that panicked has found nothing that can be relied upon.
                Ok(walk) => walk.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(part) => part(),
            });
        }
        // What lies in a covered folder is covered with it: only the outer one can have another name.
        let covers = without_covered(covers);
        let more = aliases::find_other_names(&covers, mounts);
        without_covered(covers.into_iter().chain(more).collect())
    }
}

impl Drop for CoverSearch {
    /// Nothing of it runs on where a world turns out impossible: the process may divide again.
    fn drop(&mut self) {
        for walk in self.parts.drain(..).flatten() {
            walk.join().ok();
        }
    }
}

fn find_closed_elsewhere() -> Vec<Cover> {
    let mut found = homes::find_private_places();
    found.extend(closed::find_closed_others());
    found
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
