//! One measurement at a time on a host, whoever makes it: workers of fleets and `datamill run`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use datamill_host::STATE_VARIABLE;

use datamill_protocol::digest::hash_bytes;

use super::machine_lock::{MachineLock, adopt_machine, set_inherited, try_take_machine};

/// The lock: a listening socket under an abstract name, the one that `datamill run` takes. It needs no folder
/// that all users may write, and the kernel takes it away with its last holder.
pub struct HostLock {
    socket: OwnedFd,
    machine: Option<OwnedFd>,
}

/// Time after which a lock is tried again whose holder cannot be waited for.
pub(crate) const TRY_AGAIN_MS: u64 = 500;

impl HostLock {
    /// Takes the lock if it is free.
    pub fn try_take() -> io::Result<Option<Self>> {
        let machine = match try_take_machine()? {
            MachineLock::Busy => return Ok(None),
            MachineLock::Taken(machine) => Some(machine),
            MachineLock::Needless => None,
        };
        match UnixListener::bind_addr(&address()?) {
            Ok(listener) => Ok(Some(Self {
                socket: listener.into(),
                machine,
            })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the lock, after whoever has it; none when `told` becomes readable before.
    pub fn take(told: BorrowedFd<'_>) -> io::Result<Option<Self>> {
        let mut has_said = false;
        loop {
            if let Some(lock) = Self::try_take()? {
                return Ok(Some(lock));
            }
            if !has_said {
                eprintln!("datamill-worker: waiting for another trial on this machine");
                has_said = true;
            }
            // The line breaks when the holder ends; until then nothing wakes this process.
            let line = holder()?;
            let mut entries = [
                told.as_raw_fd(),
                line.as_ref().map_or(-1, |it| it.as_raw_fd()),
            ]
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            });
            let timeout_ms = if line.is_some() {
                -1
            } else {
                TRY_AGAIN_MS as i32
            };
            // SAFETY: two entries, as said; a negative descriptor is passed over.
            unsafe { libc::poll(entries.as_mut_ptr(), 2, timeout_ms) };
            if entries[0].revents != 0 {
                return Ok(None);
            }
        }
    }

    /// Takes over what the process that this one was before, or its parent, has left open.
    ///
    /// # Safety
    /// The descriptor must be open and belong to nobody else in this process.
    pub unsafe fn adopt(descriptor: RawFd) -> io::Result<Self> {
        // SAFETY: as the caller promises.
        let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
        set_inherited(&owned, false)?;
        // SAFETY: nobody has tried to take the lock in this process yet.
        let machine = unsafe { adopt_machine() };
        if let Some(machine) = &machine {
            set_inherited(machine, false)?;
        }
        Ok(Self {
            socket: owned,
            machine,
        })
    }

    /// Leaves the lock open through the next `exec`; returns its descriptor.
    pub fn pass_on(&self) -> io::Result<RawFd> {
        set_inherited(&self.socket, true)?;
        if let Some(machine) = &self.machine {
            set_inherited(machine, true)?;
        }
        Ok(self.socket.as_raw_fd())
    }
}

/// A line to the process that has the lock, which breaks when that ends; none when it has just ended.
pub fn holder() -> io::Result<Option<UnixStream>> {
    match UnixStream::connect_addr(&address()?) {
        Ok(line) => Ok(Some(line)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn address() -> io::Result<SocketAddr> {
    let state = std::env::var(STATE_VARIABLE).unwrap_or_default();
    SocketAddr::from_abstract_name(lock_name(&state))
}

/// The same for all users of a host, another for another state folder in the environment.
fn lock_name(state: &str) -> String {
    if state.is_empty() {
        return "datamill-host".to_owned();
    }
    // As Python's `Path` writes it: no doubled or last slashes, no `.` in between.
    let parts: Vec<&str> = state
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let digits = hash_bytes(format!("/{}", parts.join("/")).as_bytes()).to_string();
    format!("datamill-host-{}", &digits[..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_one_that_datamill_run_takes() {
        assert_eq!(lock_name(""), "datamill-host");
        // As `execution/host_lock.py` names it.
        assert_eq!(
            lock_name("/tmp//state/"),
            "datamill-host-499762b5a20ea6ab1afc0c63b8efd7fe"
        );
    }
}
