//! The mounts of this host, and the calls that make new ones.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use datamill_host::unescape_kernel_path;
use datamill_protocol::IsolationKind;
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};

use crate::resources::files_in_world;

/// One mount of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMount {
    /// Where it is mounted.
    pub at: PathBuf,
    /// Type of its file system.
    pub kind: String,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// The folder of its file system that is mounted.
    pub root: PathBuf,
    /// The kernel's numbers of that file system's device.
    pub device: String,
}

/// Reads the mounts of this process, outer ones first; of several at one place only the last is seen.
pub fn read_host_mounts() -> io::Result<Vec<HostMount>> {
    let mut mounts: Vec<HostMount> = Vec::new();
    for line in fs::read("/proc/self/mountinfo")?.split(|byte| *byte == b'\n') {
        if let Some(found) = parse_mount(line) {
            mounts.retain(|known| known.at != found.at);
            mounts.push(found);
        }
    }
    mounts.sort_by(|left, right| left.at.cmp(&right.at));
    Ok(mounts)
}

fn parse_mount(line: &[u8]) -> Option<HostMount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let separator = fields.iter().position(|field| *field == b"-")?;
    let read_only = fields
        .get(5)?
        .split(|byte| *byte == b',')
        .any(|option| option == b"ro");
    Some(HostMount {
        at: PathBuf::from(unescape_kernel_path(fields.get(4)?)),
        kind: String::from_utf8_lossy(fields.get(separator + 1)?).into_owned(),
        read_only,
        root: PathBuf::from(unescape_kernel_path(fields.get(3)?)),
        device: String::from_utf8_lossy(fields.get(2)?).into_owned(),
    })
}

/// Mounts an overlay; `lowers` are in order from the top.
///
/// Set-uid bits mean nothing there: a trial is root already, and the kernel turns address-space
/// randomisation on again for whoever executes a set-uid program.
pub fn mount_overlay(
    lowers: &[&Path],
    upper: &Path,
    work: &Path,
    at: &Path,
    kind: IsolationKind,
) -> io::Result<()> {
    let mut options = b"index=off,".to_vec();
    if kind == IsolationKind::UserNamespace {
        options.extend_from_slice(b"userxattr,");
    }
    options.extend_from_slice(b"lowerdir=");
    for (index, lower) in lowers.iter().enumerate() {
        if index > 0 {
            options.push(b':');
        }
        options.extend(escaped(lower));
    }
    for (option, folder) in [("upperdir", upper), ("workdir", work)] {
        options.extend_from_slice(format!(",{option}=").as_bytes());
        options.extend(escaped(folder));
    }
    if options.len() >= 4096 {
        return Err(io::Error::other(
            "the paths of the layers are too long for the kernel",
        ));
    }
    let options = CString::new(options)?;
    // Devices are shown in /dev alone; that of a privileged trial is an overlay, too.
    let flags = match kind {
        IsolationKind::Overlay => MountFlags::NOSUID,
        _ => MountFlags::NOSUID | MountFlags::NODEV,
    };
    Ok(mount("overlay", at, "overlay", flags, options.as_c_str())?)
}

/// Puts a backslash before what overlayfs takes as a separator.
fn escaped(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b':' | b',' | b'\\') {
            bytes.push(b'\\');
        }
        bytes.push(*byte);
    }
    bytes
}

/// Makes a tmpfs of at most `bytes`; 0 leaves the bound to the kernel.
pub fn mount_memory(at: &Path, bytes: u64, mode: u32) -> io::Result<()> {
    let mut options = format!("mode={mode:o}");
    if bytes > 0 {
        let files = files_in_world(bytes);
        options.push_str(&format!(",size={bytes},nr_inodes={files}"));
    }
    let options = CString::new(options)?;
    Ok(mount(
        "tmpfs",
        at,
        "tmpfs",
        MountFlags::NODEV | MountFlags::NOSUID,
        options.as_c_str(),
    )?)
}

/// Parts of `/proc` through which a package could change the host.
const PROTECTED_OF_PROC: [&str; 4] = ["bus", "irq", "sys", "sysrq-trigger"];

/// Shows the processes of this PID namespace at `proc`.
pub fn mount_processes(proc: &Path) -> io::Result<()> {
    let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
    Ok(mount("proc", proc, "proc", flags, c"")?)
}

/// Parts of `/proc` that tell of the host's memory, keys, timers and devices.
const HIDDEN_OF_PROC: [&str; 13] = [
    "acpi",
    "asound",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "sched_debug",
    "scsi",
    "timer_list",
];

/// Shows the kernel's devices at `sys`, read-only, with those of this network namespace.
pub fn mount_devices_tree(sys: &Path) -> io::Result<()> {
    let flags = MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("sysfs", sys, "sysfs", flags, c"")?;
    let firmware = sys.join("firmware");
    if firmware.is_dir() {
        mount_memory(&firmware, 4096, 0o555)?;
        make_read_only(&firmware)?;
    }
    Ok(())
}

/// Makes read-only what in a `/proc` would change the host, and hides what tells its secrets.
pub fn protect_processes(proc: &Path) -> io::Result<()> {
    for name in HIDDEN_OF_PROC {
        let part = proc.join(name);
        match fs::symlink_metadata(&part) {
            Ok(data) if data.is_dir() => {
                mount_memory(&part, 4096, 0o555)?;
                make_read_only(&part)?;
            }
            Ok(_) => bind_read_only(Path::new("/dev/null"), &part)?,
            Err(_) => {}
        }
    }
    for name in PROTECTED_OF_PROC {
        let part = proc.join(name);
        if part.exists() {
            bind_read_only(&part, &part)?;
        }
    }
    Ok(())
}

/// Shows a file or folder at a second place, with whatever is mounted below it.
pub fn bind_tree(original: &Path, at: &Path) -> io::Result<()> {
    Ok(mount_bind_recursive(original, at)?)
}

/// Shows a file or folder at a second place, read-only.
pub fn bind_read_only(original: &Path, at: &Path) -> io::Result<()> {
    mount_bind(original, at)?;
    make_read_only(at)
}

/// Makes a mount and everything mounted below it refuse writes and ignore set-uid bits.
pub fn make_read_only(at: &Path) -> io::Result<()> {
    const READ_ONLY: u64 = 1;
    const NO_SET_UID: u64 = 2;
    match set_attributes(Place::At(at), READ_ONLY | NO_SET_UID, None) {
        // Kernels before 5.12 change one mount at a time.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(mount_remount(
            at,
            MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID,
            c"",
        )?),
        done => done,
    }
}

/// A mount whose attributes are set.
pub enum Place<'a> {
    /// At a path, with all mounts below it.
    At(&'a Path),
    /// Not attached yet.
    Tree(BorrowedFd<'a>),
}

/// Sets attributes of mounts, `MOUNT_ATTR_*`.
pub fn set_attributes(place: Place<'_>, set: u64, owners: Option<&OwnedFd>) -> io::Result<()> {
    #[repr(C)]
    struct MountAttributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = MountAttributes {
        set,
        clear: 0,
        propagation: 0,
        user_namespace: owners.map_or(0, |owners| owners.as_raw_fd() as u64),
    };
    let (folder, path, flags) = match place {
        Place::At(path) => (
            libc::AT_FDCWD,
            CString::new(path.as_os_str().as_bytes())?,
            libc::AT_RECURSIVE,
        ),
        Place::Tree(tree) => (tree.as_raw_fd(), CString::default(), libc::AT_EMPTY_PATH),
    };
    // SAFETY: the path and the attributes outlive the call, which knows their size.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_is_understood() {
        let line =
            b"36 35 98:0 /mnt1 /mnt\\0402 ro,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let expected = HostMount {
            at: PathBuf::from("/mnt 2"),
            kind: "ext3".to_owned(),
            read_only: true,
            root: PathBuf::from("/mnt1"),
            device: "98:0".to_owned(),
        };
        assert_eq!(parse_mount(line), Some(expected));
    }

    #[test]
    fn separators_of_overlayfs_are_escaped() {
        assert_eq!(escaped(Path::new("/a:b,c\\d")), b"/a\\:b\\,c\\\\d");
    }

    #[test]
    fn the_root_of_this_host_is_among_its_mounts() {
        let listed = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        if !listed
            .lines()
            .any(|line| line.split(' ').nth(4) == Some("/"))
        {
            eprintln!("skipped: the root is not a mount here, as in a plain chroot");
            return;
        }
        assert!(
            read_host_mounts()
                .unwrap()
                .iter()
                .any(|mount| mount.at == Path::new("/"))
        );
    }
}
