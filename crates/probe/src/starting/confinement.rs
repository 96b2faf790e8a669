//! Namespaces that a launched process enters, and the rights that it gives up for good.

use std::os::fd::{AsRawFd, OwnedFd};

/// What a launched process is confined to.
///
/// It is entered by the child between its last setting, which may need the caller's rights, and its
/// `execve`. The caller stays outside.
#[derive(Debug)]
pub struct Confinement {
    /// User namespace in which the process is root.
    pub user: OwnedFd,
    /// Mount namespace that belongs to it: the mounts of the caller, locked.
    pub mounts: OwnedFd,
    /// Owner of the process as the caller sees it, who is root in the user namespace.
    pub owner: u32,
    /// Capabilities in the user namespace that the process may have, one bit each.
    pub capabilities: u64,
    /// Program that the kernel asks about every system call; empty asks nothing.
    pub filter: Vec<libc::sock_filter>,
}

/// Highest number of a capability that a kernel could have.
const LAST_CAPABILITY: libc::c_int = 63;

impl Confinement {
    /// Enters the namespaces and gives up what is not allowed in them.
    ///
    /// # Safety
    /// Only for a process that is about to execute a program or to end: makes system calls only, and
    /// what it sets holds for the calling process.
    pub unsafe fn enter(&self) -> bool {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: as the caller promises; pointers outlive their calls. The system calls themselves:
        // the C library would look for other threads to change.
        unsafe {
            // Neither more real-time priority nor less niceness than it has.
            libc::setrlimit(libc::RLIMIT_RTPRIO, &none);
            libc::setrlimit(libc::RLIMIT_NICE, &none);
            if libc::setns(self.user.as_raw_fd(), libc::CLONE_NEWUSER) != 0
                || libc::setns(self.mounts.as_raw_fd(), libc::CLONE_NEWNS) != 0
            {
                return false;
            }
            // Refused where an unprivileged user made the namespace, whose groups stay.
            libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>());
            if libc::syscall(libc::SYS_setresgid, 0, 0, 0) != 0
                || libc::syscall(libc::SYS_setresuid, 0, 0, 0) != 0
            {
                return false;
            }
            for capability in 0..=LAST_CAPABILITY {
                if self.capabilities >> capability & 1 == 0 {
                    libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
                }
            }
            // A change of user forgets it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && self.install_filter()
        }
    }

    unsafe fn install_filter(&self) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        let program = libc::sock_fprog {
            len: self.filter.len() as libc::c_ushort,
            filter: self.filter.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel copies the program, and changes nothing of it.
        unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            ) == 0
        }
    }
}
