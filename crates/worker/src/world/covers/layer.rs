//! Covers as a layer of an overlay: nothing is mounted, so there is nothing to unmount.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::cover::{Cover, Shows};
use super::folders::ShownFolder;
use crate::world::mounts::{bind_read_only, mount_memory};

/// A place of the world whose host's folder is covered in parts.
pub struct CoveredPlace<'a> {
    /// The place.
    pub at: &'a Path,
    /// The host's folder as the world shows it.
    pub base: &'a Path,
    /// Places that are shown by layers of their own.
    pub others: &'a [PathBuf],
    /// Who owns what is empty.
    pub owner: u32,
    /// Whether the overlay belongs to a user namespace.
    pub in_user_namespace: bool,
}

/// Makes, in the empty folder `target`, a layer that covers these places and has the way to these
/// folders; returns whether there is anything in it.
pub fn make_cover_layer(
    covers: &[Cover],
    folders: &[ShownFolder],
    place: &CoveredPlace<'_>,
    target: &Path,
) -> io::Result<bool> {
    let mut made = false;
    let mut parents = Parents {
        base: place.base,
        target,
        known: HashMap::new(),
    };
    for cover in covers {
        let Some(inner) = place.inner(&cover.at) else {
            continue;
        };
        let parent = inner.parent().unwrap_or(Path::new(""));
        if fs::symlink_metadata(place.base.join(inner)).is_err() || !parents.make(parent)? {
            continue;
        }
        make_cover(cover.shows, &target.join(inner), place)?;
        made = true;
    }
    for folder in folders {
        for (link, leads_to) in &folder.links {
            made |= make_way_to(link, Some(leads_to), covers, place, target)?;
        }
        made |= make_way_to(&folder.at, None, covers, place, target)?;
    }
    Ok(made)
}

impl CoveredPlace<'_> {
    /// The path from this place to one that no other place shows.
    fn inner<'a>(&self, at: &'a Path) -> Option<&'a Path> {
        let inner = at.strip_prefix(self.at).ok()?;
        let elsewhere = self.others.iter().any(|other| {
            other != self.at && other.starts_with(self.at) && at != other && at.starts_with(other)
        });
        (!elsewhere && !inner.as_os_str().is_empty()).then_some(inner)
    }
}

/// Makes a folder to mount on, or a link, where a cover has left nothing; the folders above are empty.
fn make_way_to(
    at: &Path,
    leads_to: Option<&Path>,
    covers: &[Cover],
    place: &CoveredPlace<'_>,
    target: &Path,
) -> io::Result<bool> {
    let Some(cover) = covers.iter().find(|cover| at.starts_with(&cover.at)) else {
        return Ok(false);
    };
    let Some(inner) = place.inner(at) else {
        return Ok(false);
    };
    let outer = place.inner(&cover.at).unwrap_or(Path::new(""));
    let mut made = target.join(outer);
    if !fs::symlink_metadata(&made).is_ok_and(|data| data.is_dir() || data.is_symlink()) {
        let cause = "before Linux 6.6 a user namespace cannot show a folder in what is covered";
        return Err(io::Error::other(cause));
    }
    let mut rest = inner.strip_prefix(outer).unwrap_or(inner).iter().peekable();
    while let Some(name) = rest.next() {
        made.push(name);
        match leads_to {
            Some(leads_to) if rest.peek().is_none() => make_link(leads_to, &made)?,
            _ => make_empty(&made, place)?,
        }
    }
    if let (Some(leads_to), true) = (leads_to, inner == outer) {
        fs::remove_dir(&made).ok();
        make_link(leads_to, &made)?;
    }
    Ok(true)
}

fn make_link(leads_to: &Path, at: &Path) -> io::Result<()> {
    match symlink(leads_to, at) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn make_empty(at: &Path, place: &CoveredPlace<'_>) -> io::Result<()> {
    match fs::create_dir(at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    chown(at, Some(place.owner), Some(place.owner)).ok();
    fs::set_permissions(at, Permissions::from_mode(0o755))
}

/// Folders above covers, of which many covers have the same.
struct Parents<'a> {
    base: &'a Path,
    target: &'a Path,
    /// Whether a path leads to a folder of the base by folders alone; those that do are made.
    known: HashMap<PathBuf, bool>,
}

impl Parents<'_> {
    /// Makes a folder that shows that of the base, with its owner and mode, and those above it; false
    /// when it is no folder there, or only by links.
    fn make(&mut self, inner: &Path) -> io::Result<bool> {
        let Some(above) = inner.parent() else {
            return Ok(true);
        };
        if let Some(known) = self.known.get(inner) {
            return Ok(*known);
        }
        let data = fs::symlink_metadata(self.base.join(inner)).ok();
        let data = data.filter(|data| data.is_dir());
        let is_folder = match &data {
            Some(data) if self.make(above)? => {
                let made = self.target.join(inner);
                fs::create_dir(&made)?;
                chown(&made, Some(data.uid()), Some(data.gid())).ok();
                fs::set_permissions(&made, Permissions::from_mode(data.mode() & 0o7777))?;
                true
            }
            _ => false,
        };
        self.known.insert(inner.to_owned(), is_folder);
        Ok(is_folder)
    }
}

fn make_cover(shows: Shows, at: &Path, place: &CoveredPlace<'_>) -> io::Result<()> {
    match shows {
        Shows::EmptyFolder(mode) => {
            fs::create_dir(at)?;
            let opaque = if place.in_user_namespace {
                c"user.overlay.opaque"
            } else {
                c"trusted.overlay.opaque"
            };
            if setxattr(at, opaque, b"y", XattrFlags::empty()).is_err() {
                // Kernels before 6.6 keep no attributes of users in memory.
                fs::remove_dir(at)?;
                return make_whiteout(at);
            }
            chown(at, Some(place.owner), Some(place.owner)).ok();
            fs::set_permissions(at, Permissions::from_mode(mode))
        }
        Shows::EmptyFile => {
            File::create(at)?;
            chown(at, Some(place.owner), Some(place.owner)).ok();
            fs::set_permissions(at, Permissions::from_mode(0o600))
        }
        Shows::Nothing => make_whiteout(at),
    }
}

/// What overlayfs takes for a file that was removed.
fn make_whiteout(at: &Path) -> io::Result<()> {
    Ok(mknodat(
        CWD,
        at,
        FileType::CharacterDevice,
        Mode::empty(),
        0,
    )?)
}

/// Covers a place of a finished world that no overlay shows.
pub fn mount_cover(at: &Path) -> io::Result<()> {
    if fs::symlink_metadata(at)?.is_dir() {
        mount_memory(at, 4096, 0o755)
    } else {
        bind_read_only(Path::new("/dev/null"), at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::TemporaryFolder;

    #[test]
    fn a_layer_has_the_way_to_a_folder_and_none_of_its_siblings() {
        let folder = TemporaryFolder::new("cover-way");
        let [base, target] = ["base", "target"].map(|name| folder.path().join(name));
        fs::create_dir_all(base.join("closed/data/spec")).unwrap();
        fs::create_dir_all(base.join("closed/other")).unwrap();
        fs::create_dir_all(&target).unwrap();
        let cover = |at: &str| Cover {
            at: PathBuf::from(at),
            shows: Shows::EmptyFolder(0o755),
            is_closed: false,
        };
        let asked = ShownFolder {
            at: PathBuf::from("/x/closed/data/spec"),
            links: vec![(
                PathBuf::from("/x/closed/link"),
                PathBuf::from("/x/closed/data"),
            )],
        };
        let open = ShownFolder {
            at: PathBuf::from("/x/open"),
            links: Vec::new(),
        };
        let place = CoveredPlace {
            at: Path::new("/x"),
            base: &base,
            others: &[PathBuf::from("/x/closed/data/spec")],
            owner: rustix::process::geteuid().as_raw(),
            in_user_namespace: true,
        };
        make_cover_layer(&[cover("/x/closed")], &[asked, open], &place, &target).unwrap();
        assert!(target.join("closed/data/spec").is_dir());
        let leads_to = fs::read_link(target.join("closed/link")).unwrap();
        assert_eq!(leads_to, Path::new("/x/closed/data"));
        assert!(!target.join("closed/other").exists() && !target.join("open").exists());
    }

    #[test]
    fn a_layer_holds_its_covers_and_the_folders_above_them() {
        let folder = TemporaryFolder::new("cover-layer");
        let [base, target] = ["base", "target"].map(|name| folder.path().join(name));
        fs::create_dir_all(base.join("a/b/c")).unwrap();
        fs::create_dir_all(&target).unwrap();
        fs::set_permissions(base.join("a"), Permissions::from_mode(0o711)).unwrap();
        fs::write(base.join("a/key"), "secret").unwrap();
        std::os::unix::fs::symlink("a", base.join("link")).unwrap();
        let cover = |at: &str, shows| Cover {
            at: PathBuf::from(at),
            shows,
            is_closed: false,
        };
        let covers = [
            cover("/x/a/key", Shows::EmptyFile),
            cover("/x/link/key", Shows::EmptyFile),
            cover("/x/a/missing", Shows::EmptyFile),
            cover("/x/a/b/c", Shows::EmptyFile),
            cover("/elsewhere", Shows::EmptyFile),
        ];
        let place = CoveredPlace {
            at: Path::new("/x"),
            base: &base,
            others: &[PathBuf::from("/x/a/b")],
            owner: rustix::process::geteuid().as_raw(),
            in_user_namespace: false,
        };
        assert!(make_cover_layer(&covers, &[], &place, &target).unwrap());
        assert_eq!(fs::read(target.join("a/key")).unwrap(), b"");
        let mode = fs::metadata(target.join("a")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o711);
        assert!(!target.join("link").exists() && !target.join("a/b").exists());
    }
}
