//! Copying a tree as it is.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

/// Copies files, folders and links with their modes and times into the existing folder `target`.
///
/// Sockets and pipes, which only live processes use, are left out.
pub fn copy_tree(source: &Path, target: &Path) -> io::Result<()> {
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let data = fs::symlink_metadata(&from)?;
        if data.is_dir() {
            fs::create_dir(&to)?;
            fs::set_permissions(&to, Permissions::from_mode(data.mode() & 0o7777 | 0o700))?;
            copy_tree(&from, &to)?;
        } else if data.is_symlink() {
            symlink(fs::read_link(&from)?, &to)?;
        } else if data.is_file() {
            fs::copy(&from, &to)?;
        } else {
            continue;
        }
        set_times(&to, &data)?;
    }
    Ok(())
}

fn set_times(path: &Path, data: &fs::Metadata) -> io::Result<()> {
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: data.atime(),
            tv_nsec: data.atime_nsec() as _,
        },
        last_modification: Timespec {
            tv_sec: data.mtime(),
            tv_nsec: data.mtime_nsec() as _,
        },
    };
    Ok(utimensat(
        CWD.as_fd(),
        path,
        &times,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}
