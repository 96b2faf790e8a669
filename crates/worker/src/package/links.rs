//! Symbolic links of a package: they may lead nowhere but inside it.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Component, Path};

use datamill_protocol::{FailureKind, Phase};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::trouble::{Step, failure, io_failure};

/// Checks by name alone that a symbolic link at `path` stays inside the package.
pub fn check_link_target(path: &Path, link: &Path) -> Result<(), String> {
    let mut depth = path.components().count().saturating_sub(1);
    for component in link.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => {
                return Err(format!(
                    "it links outside the package, to `{}`",
                    link.display()
                ));
            }
        }
    }
    if link.as_os_str().is_empty() {
        Err("it links to nothing".to_owned())
    } else {
        Ok(())
    }
}

/// Follows every symbolic link and refuses those that leave the package, also by way of others.
pub fn check_links_stay_inside(root: &Path) -> Step<()> {
    let root_folder = File::open(root).map_err(io_failure(Phase::Unpack, "reading the package"))?;
    check_links_below(root, Path::new(""), &root_folder)
}

fn check_links_below(root: &Path, inner: &Path, root_folder: &File) -> Step<()> {
    let reading = || {
        io_failure(
            Phase::Unpack,
            format!("reading the package's `{}`", inner.display()),
        )
    };
    for entry in fs::read_dir(root.join(inner)).map_err(reading())? {
        let entry = entry.map_err(reading())?;
        let kind = entry.file_type().map_err(reading())?;
        let path = inner.join(entry.file_name());
        if kind.is_dir() {
            check_links_below(root, &path, root_folder)?;
        } else if kind.is_symlink() {
            let link = fs::read_link(entry.path()).map_err(reading())?;
            let cause = check_link_target(&path, &link).err().or_else(|| {
                leaves_when_followed(root_folder, &path)
                    .then(|| "it links outside the package".to_owned())
            });
            if let Some(cause) = cause {
                return Err(failure(
                    Phase::Unpack,
                    FailureKind::BadPackage,
                    format!(
                        "Member `{}` of the package is refused: {cause}.",
                        path.display()
                    ),
                    "Use relative links that stay inside the package.",
                ));
            }
        }
    }
    Ok(())
}

fn leaves_when_followed(root: &File, path: &Path) -> bool {
    let followed = openat2(
        root.as_fd(),
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
    );
    // A dangling link is harmless, and its name alone was checked before.
    matches!(followed, Err(Errno::XDEV))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::TemporaryFolder;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_that_leaves_by_way_of_another_is_refused() {
        let folder = TemporaryFolder::new("checks");
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        symlink("a/b", folder.path().join("down")).unwrap();
        // By name this ends in the package; followed, `down/..` is `a`, and two more climb out.
        fs::create_dir(folder.path().join("x")).unwrap();
        symlink("../down/../../..", folder.path().join("x/out")).unwrap();
        assert!(
            check_links_stay_inside(folder.path())
                .unwrap_err()
                .message
                .contains("`x/out`")
        );
    }
}
