//! A place of the host that a trial does not see, and those that no trial sees.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
    pub fn of(at: &Path) -> Option<Self> {
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
pub const EMPTY_FOLDERS: [(&str, u32); 3] =
    [("/run", 0o755), ("/tmp", 0o1777), ("/var/tmp", 0o1777)];

/// Where datamill keeps what it must not lose or tell: state of workers, data of coordinators.
pub const OWN_FOLDERS: [&str; 3] = ["/var/lib/datamill", "/etc/datamill", "/srv/datamill"];

/// Places of keys and of the kernel's messages, whatever their permissions.
pub const SECRET_PLACES: [&str; 9] = [
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

/// Leaves out what lies below another covered place; of several at one place the first stays.
pub fn without_covered(mut covers: Vec<Cover>) -> Vec<Cover> {
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
