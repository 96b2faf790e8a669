//! Confining the processes of a package.

use std::cell::OnceCell;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use datamill_probe::Confinement;
use datamill_protocol::{KernelInterface, Needs};
use rustix::fs::{CWD, Mode, OFlags, open, openat};
use rustix::pipe::{PipeFlags, pipe_with};

use super::filter::make_filter;
use super::identity::{FIRST_ID, TrialIdentity, make_user_namespace};
use crate::world::enclosure::fork_into;

/// Capabilities that a package has over what is its own: to give files away and to use those that it
/// gave away, to become another of its users, to signal them, to take a port, and `chroot`.
const CAPABILITIES: [u32; 10] = [0, 1, 3, 4, 5, 6, 7, 8, 10, 18];

/// Limits on namespaces that hold for one user namespace and those below it.
const NAMESPACE_LIMITS: &str = "/proc/sys/user";

/// All that is needed to confine the processes of a world; made before the world is entered, because
/// the world does not show the kernel's switches.
pub struct Confining {
    /// The processes' user namespace; absent where it is made in the world.
    user: Option<OwnedFd>,
    /// Their user as the host numbers it.
    owner: u32,
    limits: Option<OwnedFd>,
    has_namespaces: bool,
    filter: Vec<libc::sock_filter>,
    made: OnceCell<Confinement>,
}

impl Confining {
    /// For a trial with an identity of its own; without one, its users are those of the caller.
    pub fn plan(identity: Option<&TrialIdentity>, needs: &Needs) -> io::Result<Self> {
        let user = identity.map(|identity| identity.user.try_clone());
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            owner: identity.map_or(0, |_| FIRST_ID),
            user: user.transpose()?,
            limits: open(NAMESPACE_LIMITS, folder, Mode::empty()).ok(),
            has_namespaces: needs.kernel.contains(&KernelInterface::Namespaces),
            filter: make_filter(&needs.kernel),
            made: OnceCell::new(),
        })
    }

    /// Confines what this process launches from now on to the mounts that it has now.
    pub fn confinement(&self) -> io::Result<&Confinement> {
        if self.made.get().is_none() {
            let made = self.make()?;
            self.made.set(made).ok();
        }
        self.made
            .get()
            .ok_or_else(|| io::Error::other("no confinement was made"))
    }

    /// Forgets the confinement that this process made or inherited.
    pub fn renew(&mut self) {
        self.made = OnceCell::new();
    }

    /// User to whom files belong that this process makes for the package.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    fn make(&self) -> io::Result<Confinement> {
        let user = match &self.user {
            Some(user) => user.try_clone()?,
            None => {
                let ids = own_ids();
                make_user_namespace(&ids, &ids)?
            }
        };
        let mounts = self.lock_mounts(&user)?;
        let capabilities = CAPABILITIES.iter().fold(0, |all, one| all | 1 << one);
        Ok(Confinement {
            user,
            mounts,
            owner: self.owner,
            capabilities,
            filter: self.filter.clone(),
        })
    }

    /// A copy of this process' mounts that belongs to the user namespace: to whoever is root there,
    /// all of them are locked.
    fn lock_mounts(&self, user: &OwnedFd) -> io::Result<OwnedFd> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        // The child's descriptors are this process' own: so the namespace that it opens stays open.
        match fork_into(libc::CLONE_FILES)? {
            0 => {
                let answer = self.lock_mounts_here(user).map_or_else(
                    |error| -error.raw_os_error().unwrap_or(libc::EIO),
                    std::os::fd::IntoRawFd::into_raw_fd,
                );
                rustix::io::write(&writing, &answer.to_ne_bytes()).ok();
                // SAFETY: ends this process without running the parent's clean-up.
                unsafe { libc::_exit(0) }
            }
            child => {
                // SAFETY: no pointers to be written; the process is a child of this one.
                unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::__WALL) };
                drop(writing);
                let mut answer = [0u8; 4];
                if rustix::io::read(&reading, &mut answer)? != answer.len() {
                    return Err(io::Error::other("the process that locks mounts was lost"));
                }
                match i32::from_ne_bytes(answer) {
                    // SAFETY: the child opened it in the shared table and nobody else owns it.
                    mounts if mounts >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(mounts) }),
                    refused => Err(io::Error::from_raw_os_error(-refused)),
                }
            }
        }
    }

    fn lock_mounts_here(&self, user: &OwnedFd) -> io::Result<OwnedFd> {
        // SAFETY: no pointers involved.
        let entered = unsafe {
            libc::setns(user.as_raw_fd(), libc::CLONE_NEWUSER) == 0
                && libc::unshare(libc::CLONE_NEWNS) == 0
        };
        if !entered {
            return Err(io::Error::last_os_error());
        }
        if let (Some(limits), false) = (&self.limits, self.has_namespaces) {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            let limit = openat(limits, "max_user_namespaces", flags, Mode::empty())?;
            rustix::io::write(&limit, b"0")?;
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(openat(CWD, "/proc/self/ns/mnt", flags, Mode::empty())?)
    }
}

/// The ids of this process' user namespace, each as itself.
fn own_ids() -> String {
    let text = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let ids: Vec<String> = text
        .lines()
        .filter_map(|line| {
            let mut numbers = line.split_ascii_whitespace();
            let (first, _, count) = (numbers.next()?, numbers.next()?, numbers.next()?);
            Some(format!("{first} {first} {count}"))
        })
        .collect();
    ids.join("\n")
}

/// Gives a file that this process made for the package to the package's root.
pub fn give(path: &Path, owner: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(path, Some(owner), Some(owner))
}

/// Makes a folder to mount on.
pub fn folder_of_mount(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let at = folder.join(name);
    std::fs::create_dir_all(&at)?;
    Ok(at)
}
