//! Packages given as a folder: copied into the cache under a hash of their content.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use datamill_protocol::digest::{Hasher, hash_file};
use datamill_protocol::{Failure, FailureKind, Phase, TrialLimits};

use super::links::check_link_target;
use super::unpack::{interrupted, set_time};
use crate::interrupt::Interrupt;
use crate::trouble::{Step, failure, io_failure};

/// One member of a package folder, its path relative to the folder.
pub struct Member {
    path: PathBuf,
    data: fs::Metadata,
}

/// Lists a package folder in a fixed order, refusing what a package may not hold.
pub fn list_folder(root: &Path, limits: &TrialLimits) -> Step<Vec<Member>> {
    let mut members = Vec::new();
    let mut bytes = 0u64;
    list_below(root, Path::new(""), limits, &mut bytes, &mut members)?;
    Ok(members)
}

fn list_below(
    root: &Path,
    inner: &Path,
    limits: &TrialLimits,
    bytes: &mut u64,
    members: &mut Vec<Member>,
) -> Step<()> {
    let reading = || {
        io_failure(
            Phase::Unpack,
            format!("reading the package's `{}`", inner.display()),
        )
    };
    let mut names = fs::read_dir(root.join(inner))
        .and_then(|entries| {
            entries
                .map(|entry| entry.map(|entry| entry.file_name()))
                .collect::<Result<Vec<_>, _>>()
        })
        .map_err(reading())?;
    names.sort();
    for name in names {
        let path = inner.join(name);
        let data = fs::symlink_metadata(root.join(&path)).map_err(reading())?;
        let kind = data.file_type();
        if !(kind.is_dir() || kind.is_file() || kind.is_symlink()) {
            return Err(bad(format!(
                "`{}` is a device, pipe or socket",
                path.display()
            )));
        }
        *bytes += if kind.is_file() { data.len() } else { 0 };
        if *bytes > limits.package_bytes {
            return Err(bad(format!(
                "it holds more than {} bytes",
                limits.package_bytes
            )));
        }
        if members.len() as u64 >= limits.package_files {
            return Err(bad(format!(
                "it holds more than {} members",
                limits.package_files
            )));
        }
        members.push(Member {
            path: path.clone(),
            data,
        });
        if kind.is_dir() {
            list_below(root, &path, limits, bytes, members)?;
        }
    }
    Ok(())
}

/// A hash of everything that changes when a member's content does; far cheaper than reading it.
pub fn hash_listing(root: &Path, members: &[Member]) -> String {
    let mut hash = Hasher::default();
    hash.update(root.as_os_str().as_bytes());
    for Member { path, data } in members {
        hash.update([0]);
        hash.update(path.as_os_str().as_bytes());
        let numbers = [
            data.dev(),
            data.ino(),
            u64::from(data.mode()),
            data.len(),
            data.mtime() as u64,
            data.mtime_nsec() as u64,
            data.ctime() as u64,
            data.ctime_nsec() as u64,
        ];
        numbers
            .iter()
            .for_each(|number| hash.update(number.to_le_bytes()));
    }
    hash.finish().to_string()
}

/// Copies a package folder into the empty folder `target`; returns the hash of names, modes and content.
pub fn copy_folder(
    root: &Path,
    members: &[Member],
    target: &Path,
    interrupt: &Interrupt,
) -> Step<String> {
    let mut hash = Hasher::default();
    for Member { path, data } in members {
        if interrupt.is_pending() {
            return Err(interrupted());
        }
        let (from, to) = (root.join(path), target.join(path));
        let copying = || {
            io_failure(
                Phase::Unpack,
                format!("copying the package's `{}`", path.display()),
            )
        };
        let mode = data.mode() & 0o777;
        hash.update((path.as_os_str().len() as u64).to_le_bytes());
        hash.update(path.as_os_str().as_bytes());
        hash.update(mode.to_le_bytes());
        if data.is_dir() {
            hash.update([1]);
            fs::create_dir(&to).map_err(copying())?;
            fs::set_permissions(&to, Permissions::from_mode(mode | 0o700)).map_err(copying())?;
        } else if data.is_symlink() {
            let link = fs::read_link(&from).map_err(copying())?;
            check_link_target(path, &link)
                .map_err(|cause| bad(format!("`{}`: {cause}", path.display())))?;
            hash.update([2]);
            hash.update((link.as_os_str().len() as u64).to_le_bytes());
            hash.update(link.as_os_str().as_bytes());
            symlink(&link, &to).map_err(copying())?;
        } else {
            hash.update([3]);
            fs::copy(&from, &to).map_err(copying())?;
            fs::set_permissions(&to, Permissions::from_mode(mode | 0o400)).map_err(copying())?;
            // The copy is hashed, not the original: the hash then names what is measured.
            let (bytes, content) = hash_file(&to).map_err(copying())?;
            hash.update(bytes.to_le_bytes());
            hash.update(content.bytes());
        }
    }
    for Member { path, data } in members.iter().rev() {
        set_time(&target.join(path), u64::try_from(data.mtime()).unwrap_or(0)).map_err(
            io_failure(Phase::Unpack, "setting a time in the package's copy"),
        )?;
    }
    Ok(hash.finish().to_string())
}

fn bad(cause: String) -> Failure {
    failure(
        Phase::Unpack,
        FailureKind::BadPackage,
        format!("The package folder cannot be used: {cause}."),
        "Remove it from the folder, or raise the limit package or package_files.",
    )
}
