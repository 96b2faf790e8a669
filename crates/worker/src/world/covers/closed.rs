//! What not everybody on the host may read is not shown to a trial either.
//!
//! A trial's root may read all files of the host's root, so the permissions that keep such a file from
//! others would not keep it from the trial. Looking at every file of the host for each trial would
//! take seconds: looked at are the folders in which secrets are kept, outer ones first, up to a number
//! of files.

use std::collections::VecDeque;
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, StatxFlags, openat, statx};

use super::cover::{Cover, Shows};

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

/// Files and folders of settings and data that not everybody may read.
pub fn find_closed_settings() -> Vec<Cover> {
    let mut found = Vec::new();
    let mut settings = Walk::new(MOST_IN_SETTINGS);
    settings.begin(SETTINGS.map(Path::new), SETTINGS_DEPTH, &mut found);
    settings.go_on(&mut found);
    found
}

/// The same in all other folders of the root.
pub fn find_closed_others() -> Vec<Cover> {
    let mut found = Vec::new();
    let mut others = Walk::new(MOST_IN_OTHERS);
    let root = Path::new("/");
    let known: Vec<&str> = NOT_LOOKED_AT.iter().chain(&SETTINGS).copied().collect();
    others.list(root, OTHER_DEPTH + 1, &mut found, &known);
    others.go_on(&mut found);
    found
}

/// Adds what is closed in a folder, down to a depth, and takes the files and folders that it looks at from
/// `left`; tells whether that was enough for all of them.
pub fn look_into(folder: &Path, depth: u32, left: &mut usize, found: &mut Vec<Cover>) -> bool {
    let mut walk = Walk::new(*left);
    walk.list(folder, depth + 1, found, &[]);
    walk.go_on(found);
    *left = left.saturating_sub(walk.looked_at);
    walk.looked_at <= walk.most && walk.pending.is_empty()
}

/// A walk over folders, outer ones first, made for speed: one is made for each trial, within the
/// time between trials. Files are looked at from their open folders, and nothing but their modes.
struct Walk {
    /// Open folders to be listed, and how many levels of what is in them are looked at.
    pending: VecDeque<(PathBuf, u32)>,
    looked_at: usize,
    most: usize,
    /// Names and kinds in one folder; kept for its memory.
    entries: Vec<(CString, FileType)>,
    buffer: Vec<MaybeUninit<u8>>,
}

/// Bytes that the kernel may fill with names at a time.
const NAMES_BYTES: usize = 32 << 10;

impl Walk {
    fn new(most: usize) -> Self {
        Self {
            pending: VecDeque::new(),
            looked_at: 0,
            most,
            entries: Vec::new(),
            buffer: vec![MaybeUninit::uninit(); NAMES_BYTES],
        }
    }

    /// Looks at these places themselves.
    fn begin<const N: usize>(&mut self, places: [&Path; N], depth: u32, found: &mut Vec<Cover>) {
        for place in places {
            if let Ok(name) = CString::new(place.as_os_str().as_bytes()) {
                self.look_at(CWD, &name, depth, found, || place.to_owned());
            }
        }
    }

    fn go_on(&mut self, found: &mut Vec<Cover>) {
        while self.looked_at < self.most
            && let Some((folder, depth)) = self.pending.pop_front()
        {
            self.list(&folder, depth, found, &[]);
        }
    }

    /// Looks at what is in a folder, but for what is left out.
    fn list(&mut self, folder: &Path, depth: u32, found: &mut Vec<Cover>, left_out: &[&str]) {
        // What became a link since it was looked at leads elsewhere.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(open) = openat(CWD, folder, flags, Mode::empty()) else {
            return;
        };
        let mut entries = std::mem::take(&mut self.entries);
        self.read_names(&open, &mut entries);
        let is_large = entries.len() > MOST_ENTRIES;
        for (name, kind) in &entries {
            let is_wanted = match kind {
                FileType::RegularFile => !is_large,
                FileType::Directory | FileType::Unknown => true,
                _ => false,
            };
            let path = || folder.join(OsStr::from_bytes(name.to_bytes()));
            let is_left_out = || left_out.iter().any(|left| path() == Path::new(left));
            if is_wanted && !is_left_out() {
                self.look_at(&open, name, depth - 1, found, path);
            }
        }
        self.entries = entries;
    }

    fn read_names(&mut self, open: &OwnedFd, entries: &mut Vec<(CString, FileType)>) {
        entries.clear();
        let mut names = RawDir::new(open, &mut self.buffer);
        while let Some(Ok(entry)) = names.next() {
            let name: &CStr = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                entries.push((name.to_owned(), entry.file_type()));
            }
        }
    }

    fn look_at(
        &mut self,
        folder: impl rustix::fd::AsFd,
        name: &CStr,
        depth: u32,
        found: &mut Vec<Cover>,
        path: impl Fn() -> PathBuf,
    ) {
        self.looked_at += 1;
        if self.looked_at > self.most {
            return;
        }
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let Ok(data) = statx(folder, name, flags, StatxFlags::TYPE | StatxFlags::MODE) else {
            return;
        };
        let mode = u32::from(data.stx_mode);
        let shows = match FileType::from_raw_mode(mode) {
            FileType::RegularFile if mode & OPEN_FILE != OPEN_FILE => Shows::EmptyFile,
            FileType::Directory if mode & OPEN_FOLDER != OPEN_FOLDER => {
                Shows::EmptyFolder(mode & 0o7777)
            }
            FileType::Directory if depth > 0 => {
                let path = path();
                if !PUBLIC.iter().any(|known| path == Path::new(known)) {
                    self.pending.push_back((path, depth));
                }
                return;
            }
            _ => return,
        };
        found.push(Cover {
            at: path(),
            shows,
            is_closed: true,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::scratch::TemporaryFolder;

    #[test]
    fn closed_places_are_found_down_to_a_depth_and_by_no_link() {
        let folder = TemporaryFolder::new("closed-places");
        let root = folder.path();
        for (name, mode) in [
            ("open/key", 0o640),
            ("open/public", 0o644),
            ("closed/key", 0o644),
            ("a/b/key", 0o600),
            ("a/b/c/key", 0o600),
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(root.join("closed"), Permissions::from_mode(0o750)).unwrap();
        symlink("open", root.join("link")).unwrap();
        let mut found = Vec::new();
        let mut left = 100;
        assert!(look_into(root, 2, &mut left, &mut found));
        assert!(left < 100);
        assert!(!look_into(root, 2, &mut 3, &mut Vec::new()));
        let mut seen: Vec<_> = found
            .iter()
            .map(|cover| (cover.at.strip_prefix(root).unwrap(), cover.shows))
            .collect();
        seen.sort_by_key(|(at, _)| *at);
        let expected = [
            ("a/b/key", Shows::EmptyFile),
            ("closed", Shows::EmptyFolder(0o750)),
            ("open/key", Shows::EmptyFile),
        ];
        assert_eq!(seen, expected.map(|(at, shows)| (Path::new(at), shows)));
    }

    #[test]
    fn outer_places_are_found_first_where_there_are_too_many() {
        let folder = TemporaryFolder::new("closed-many");
        let root = folder.path();
        for name in ["deep/deeper/key", "key"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        let mut found = Vec::new();
        let mut walk = Walk::new(2);
        walk.list(root, 9, &mut found, &[]);
        walk.go_on(&mut found);
        let seen: Vec<_> = found.iter().map(|cover| cover.at.clone()).collect();
        assert_eq!(seen, [root.join("key")]);
    }
}
