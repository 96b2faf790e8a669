//! Covers as a layer of an overlay: nothing is mounted, so there is nothing to unmount.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::super::mounts::{bind_read_only, mount_memory};
use super::{Cover, Shows};

/// A place of the world whose host's folder is covered in parts.
pub struct CoveredPlace<'a> {
    /// The place.
    pub at: &'a Path,
    /// The host's folder as the world shows it.
    pub base: &'a Path,
    /// Places that have layers of their own.
    pub others: &'a [PathBuf],
    /// Who owns what is empty.
    pub owner: u32,
    /// Whether the overlay belongs to a user namespace.
    pub in_user_namespace: bool,
}

/// Makes, in the empty folder `target`, a layer that covers these places; returns how many it covers.
pub fn make_cover_layer(
    covers: &[Cover],
    place: &CoveredPlace<'_>,
    target: &Path,
) -> io::Result<usize> {
    let mut made = 0;
    for cover in covers {
        let Ok(inner) = cover.at.strip_prefix(place.at) else {
            continue;
        };
        let elsewhere = place.others.iter().any(|other| {
            other != place.at && other.starts_with(place.at) && cover.at.starts_with(other)
        });
        if elsewhere || inner.as_os_str().is_empty() || !lies_in(place.base, inner) {
            continue;
        }
        let parent = inner.parent().unwrap_or(Path::new(""));
        make_parents(place.base, target, parent)?;
        make_cover(cover.shows, &target.join(inner), place)?;
        made += 1;
    }
    Ok(made)
}

/// Whether a place is really in the folder, by folders alone.
fn lies_in(base: &Path, inner: &Path) -> bool {
    fs::symlink_metadata(base.join(inner)).is_ok()
        && inner
            .ancestors()
            .skip(1)
            .all(|folder| fs::symlink_metadata(base.join(folder)).is_ok_and(|data| data.is_dir()))
}

/// Folders above a cover show those of the base, so they have its owner and mode.
fn make_parents(base: &Path, target: &Path, parent: &Path) -> io::Result<()> {
    let mut inner = PathBuf::new();
    for name in parent {
        inner.push(name);
        let made = target.join(&inner);
        match fs::create_dir(&made) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created?,
        }
        let data = fs::metadata(base.join(&inner))?;
        chown(&made, Some(data.uid()), Some(data.gid())).ok();
        fs::set_permissions(&made, Permissions::from_mode(data.mode() & 0o7777))?;
    }
    Ok(())
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
    fn a_layer_holds_its_covers_and_the_folders_above_them() {
        let folder = TemporaryFolder::new("cover-layer");
        let [base, target] = ["base", "target"].map(|name| folder.path().join(name));
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::create_dir_all(&target).unwrap();
        fs::set_permissions(base.join("a"), Permissions::from_mode(0o711)).unwrap();
        fs::write(base.join("a/key"), "secret").unwrap();
        std::os::unix::fs::symlink("a", base.join("link")).unwrap();
        let cover = |at: &str, shows| Cover {
            at: PathBuf::from(at),
            shows,
        };
        let covers = [
            cover("/x/a/key", Shows::EmptyFile),
            cover("/x/link/key", Shows::EmptyFile),
            cover("/x/a/missing", Shows::EmptyFile),
            cover("/x/a/b", Shows::EmptyFile),
            cover("/elsewhere", Shows::EmptyFile),
        ];
        let place = CoveredPlace {
            at: Path::new("/x"),
            base: &base,
            others: &[PathBuf::from("/x/a/b")],
            owner: rustix::process::geteuid().as_raw(),
            in_user_namespace: false,
        };
        assert_eq!(make_cover_layer(&covers, &place, &target).unwrap(), 1);
        assert_eq!(fs::read(target.join("a/key")).unwrap(), b"");
        let mode = fs::metadata(target.join("a")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o711);
        assert!(!target.join("link").exists() && !target.join("a/b").exists());
    }
}
