//! The emulator's own confinement: should a guest break out of it, there is nothing to take.
//!
//! It runs as a user who owns nothing, in namespaces of its own: without network, without processes but itself,
//! with a root that shows the system's programs read-only and nothing else of the host.

use std::ffi::{CString, OsStr};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::ptr;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::emulator::{DISKS, INITRAMFS, KERNEL};
use crate::world::{bind_read_only, bind_tree};

/// User and group of the emulator.
const NOBODY: u32 = 65_534;
/// What the emulator's program and its libraries may be in.
const SHOWN: [&str; 7] = ["bin", "gnu", "lib", "lib32", "lib64", "nix", "usr"];
/// Files of `/etc` that the loader of programs reads.
const LOADER_FILES: [&str; 1] = ["etc/ld.so.cache"];
/// Number of the device that lends the host's processor.
const KVM: (u32, u32) = (10, 232);
/// Most files that the emulator has open.
const MOST_FILES: u64 = 256;

/// A process in a jail.
pub struct Jail<'a> {
    /// Program, by its path on the host.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// An empty folder for its root; nothing shows in it outside the jail.
    pub stage: &'a Path,
    /// The kernel that it boots.
    pub kernel: &'a Path,
    /// The initial memory disk.
    pub initramfs: &'a [u8],
    /// Disks with root, job and result.
    pub disks: [BorrowedFd<'a>; 3],
    /// Largest file that it may write, in bytes.
    pub file_bytes: u64,
    /// Whether it may use the host's processor through the kernel.
    pub with_kvm: bool,
}

/// Starts the process; what it prints and what it complains of go to the pipes. It dies with this one.
pub fn start(jail: &Jail<'_>, console: OwnedFd, complaints: OwnedFd) -> io::Result<libc::pid_t> {
    let is_root = rustix::process::geteuid().is_root();
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let mut namespaces = libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWNET;
    if !is_root {
        namespaces |= libc::CLONE_NEWUSER;
    }
    let flags = (namespaces | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: without CLONE_VM and without a stack this is fork; the worker has a single thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid > 0 {
        return Ok(pid as libc::pid_t);
    }
    die_with_parent();
    let entered = if is_root {
        enter(jail, is_root)
    } else {
        map_user(user, group).and_then(|()| enter(jail, is_root))
    };
    let failed = match entered {
        Err(error) => error,
        Ok(()) => become_emulator(jail, is_root, &console, &complaints),
    };
    let said = format!("the emulator could not be confined: {failed}\n");
    rustix::io::write(&complaints, said.as_bytes()).ok();
    // SAFETY: ends this process without running the parent's clean-up.
    unsafe { libc::_exit(127) }
}

fn die_with_parent() {
    // SAFETY: no pointers involved.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

fn map_user(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{NOBODY} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{NOBODY} {group} 1"))
}

/// Makes the root and enters it.
fn enter(jail: &Jail<'_>, is_root: bool) -> io::Result<()> {
    let kernel = fs::read(jail.kernel)?;
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    let root = jail.stage;
    let flags = MountFlags::NOSUID
        | if is_root {
            MountFlags::empty()
        } else {
            MountFlags::NODEV
        };
    mount("tmpfs", root, "tmpfs", flags, c"mode=755,size=256m")?;
    for name in SHOWN {
        let original = Path::new("/").join(name);
        let Ok(data) = fs::symlink_metadata(&original) else {
            continue;
        };
        let shown = root.join(name);
        if data.is_symlink() {
            symlink(fs::read_link(&original)?, &shown)?;
        } else if data.is_dir() {
            fs::create_dir(&shown)?;
            bind_read_only(&original, &shown)?;
        }
    }
    fs::create_dir(root.join("etc"))?;
    for file in LOADER_FILES {
        if let Ok(content) = fs::read(Path::new("/").join(file)) {
            fs::write(root.join(file), content)?;
        }
    }
    fs::create_dir(root.join("dev"))?;
    if jail.with_kvm {
        show_kvm(root, is_root)?;
    }
    fs::write(root.join(KERNEL.trim_start_matches('/')), kernel)?;
    fs::write(root.join(INITRAMFS.trim_start_matches('/')), jail.initramfs)?;
    chdir(root)?;
    match pivot_root(".", ".") {
        Ok(()) => unmount(".", UnmountFlags::DETACH)?,
        // A host that runs from its initial memory disk cannot exchange its root; it may move this one over it.
        Err(_) => {
            rustix::mount::mount_move(".", "/")?;
            rustix::process::chroot(".")?;
        }
    }
    Ok(chdir("/")?)
}

fn show_kvm(root: &Path, is_root: bool) -> io::Result<()> {
    let device = root.join("dev/kvm");
    if is_root {
        let number = makedev(KVM.0, KVM.1);
        let mode = Mode::from_raw_mode(0o666);
        if mknodat(CWD, &device, FileType::CharacterDevice, mode, number).is_ok() {
            return fs::set_permissions(&device, Permissions::from_mode(0o666));
        }
    }
    File::create(&device)?;
    bind_tree(Path::new("/dev/kvm"), &device)
}

/// Gives up everything else and runs the program; returns only if that fails.
fn become_emulator(
    jail: &Jail<'_>,
    is_root: bool,
    console: &OwnedFd,
    complaints: &OwnedFd,
) -> io::Error {
    match give_up(jail, is_root, console, complaints) {
        Err(error) => error,
        Ok(()) => execute(jail),
    }
}

fn give_up(
    jail: &Jail<'_>,
    is_root: bool,
    console: &OwnedFd,
    complaints: &OwnedFd,
) -> io::Result<()> {
    limit(libc::RLIMIT_CORE, 0)?;
    limit(libc::RLIMIT_NOFILE, MOST_FILES)?;
    limit(libc::RLIMIT_FSIZE, jail.file_bytes)?;
    let (silence, _) = rustix::pipe::pipe()?;
    let mut wanted: Vec<(RawFd, RawFd)> = vec![
        (silence.as_raw_fd(), 0),
        (console.as_raw_fd(), 1),
        (complaints.as_raw_fd(), 2),
    ];
    for (disk, (_, number)) in jail.disks.iter().zip(DISKS) {
        wanted.push((disk.as_raw_fd(), number));
    }
    place_descriptors(&wanted)?;
    if is_root {
        // SAFETY: no list is given; the calls take numbers.
        let gone = unsafe {
            libc::setgroups(0, ptr::null()) == 0
                && libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
                && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0
        };
        if !gone {
            return Err(io::Error::last_os_error());
        }
        // A change of user takes the wish away.
        die_with_parent();
    }
    // SAFETY: takes numbers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The worker may have died before the signal was asked for: then nobody reads any more.
    // SAFETY: descriptor 1 was just made.
    let printed = unsafe { BorrowedFd::borrow_raw(1) };
    let mut entries = [PollFd::new(&printed, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut entries, Some(&now))?;
    if entries[0].revents().contains(PollFlags::ERR) {
        return Err(io::Error::other("the worker is gone"));
    }
    Ok(())
}

/// Brings descriptors to their numbers, in any order, and closes all others.
fn place_descriptors(wanted: &[(RawFd, RawFd)]) -> io::Result<()> {
    let end = wanted.len() as RawFd;
    let mut moved = Vec::new();
    for (from, to) in wanted {
        // SAFETY: both are numbers; the copy is above all places that are going to be taken.
        let copy = unsafe { libc::fcntl(*from, libc::F_DUPFD, end) };
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        moved.push((copy, *to));
    }
    for (from, to) in moved {
        // SAFETY: as above; whatever had the number is not used any more.
        if unsafe { libc::dup2(from, to) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: closes what this process does not use any more.
    if unsafe { libc::syscall(libc::SYS_close_range, end, u32::MAX, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn limit(what: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let bound = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the bound lives on this stack.
    if unsafe { libc::setrlimit(what, &bound) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn execute(jail: &Jail<'_>) -> io::Error {
    let Ok(program) = CString::new(jail.program.as_os_str().as_bytes()) else {
        return io::Error::from_raw_os_error(libc::EINVAL);
    };
    let arguments: Vec<CString> = std::iter::once(jail.program.as_os_str())
        .chain(jail.arguments.iter().map(OsStr::new))
        .filter_map(|part| CString::new(part.as_bytes()).ok())
        .collect();
    let mut pointers: Vec<*const libc::c_char> =
        arguments.iter().map(|part| part.as_ptr()).collect();
    pointers.push(ptr::null());
    let variables = [
        c"PATH=/usr/bin:/bin".as_ptr(),
        c"LC_ALL=C".as_ptr(),
        ptr::null(),
    ];
    // SAFETY: the set lives on this stack; all texts outlive the call.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::execve(program.as_ptr(), pointers.as_ptr(), variables.as_ptr());
    }
    io::Error::last_os_error()
}
