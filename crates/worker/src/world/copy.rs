//! Copying a tree as it is.

use std::ffi::CStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown, symlink};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags, lgetxattr, llistxattr,
    lsetxattr, mknodat, utimensat,
};

/// Copies files, folders and links with their modes, times, owners and extended attributes into the
/// existing folder `target`, and what overlayfs notes in a layer: that files were removed.
///
/// Owners and attributes are kept as far as this process may set them. Sockets and pipes, which only
/// live processes use, are left out.
pub fn copy_tree(source: &Path, target: &Path) -> io::Result<()> {
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let data = fs::symlink_metadata(&from)?;
        if data.is_dir() {
            fs::create_dir(&to)?;
            lchown(&to, Some(data.uid()), Some(data.gid())).ok();
            fs::set_permissions(&to, Permissions::from_mode(data.mode() & 0o7777 | 0o700))?;
            copy_tree(&from, &to)?;
        } else if data.is_symlink() {
            symlink(fs::read_link(&from)?, &to)?;
            lchown(&to, Some(data.uid()), Some(data.gid())).ok();
        } else if data.is_file() {
            fs::copy(&from, &to)?;
            // A change of owner takes set-uid bits away.
            if lchown(&to, Some(data.uid()), Some(data.gid())).is_ok() {
                fs::set_permissions(&to, Permissions::from_mode(data.mode() & 0o7777))?;
            }
        } else if data.file_type().is_char_device() && data.rdev() == 0 {
            mknodat(CWD, &to, FileType::CharacterDevice, Mode::empty(), 0)?;
        } else {
            continue;
        }
        copy_attributes(&from, &to);
        set_times(&to, &data)?;
    }
    Ok(())
}

fn copy_attributes(from: &Path, to: &Path) {
    let mut names = [0u8; 4096];
    let Ok(length) = llistxattr(from, &mut names[..]) else {
        return;
    };
    for name in names[..length].split_inclusive(|byte| *byte == 0) {
        let mut value = vec![0u8; 4096];
        if let Ok(name) = CStr::from_bytes_with_nul(name)
            && let Ok(length) = lgetxattr(from, name, &mut value[..])
        {
            lsetxattr(to, name, &value[..length], XattrFlags::empty()).ok();
        }
    }
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
