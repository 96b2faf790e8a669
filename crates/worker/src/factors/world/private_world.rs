//! Whether trials can have a private world here.

use std::sync::OnceLock;

/// Why trials cannot have a private world here.
pub fn missing_world() -> Option<String> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    REASON
        .get_or_init(|| {
            let namespaces = match rustix::process::geteuid().is_root() {
                true => libc::CLONE_NEWNS | libc::CLONE_NEWPID,
                false => libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID,
            };
            may_unshare(namespaces).err().map(|error| {
                format!("it needs a private world, and the kernel refuses the namespaces: {error}")
            })
        })
        .clone()
}

/// Whether a child of this process may have such namespaces of its own.
fn may_unshare(namespaces: i32) -> std::io::Result<()> {
    // SAFETY: whatever other threads do, the child makes system calls only.
    unsafe {
        match libc::fork() {
            -1 => Err(std::io::Error::last_os_error()),
            0 => libc::_exit(match libc::unshare(namespaces) {
                0 => 0,
                _ => *libc::__errno_location(),
            }),
            child => {
                let mut status = 0;
                libc::waitpid(child, &mut status, 0);
                match libc::WEXITSTATUS(status) {
                    0 => Ok(()),
                    errno => Err(std::io::Error::from_raw_os_error(errno)),
                }
            }
        }
    }
}
