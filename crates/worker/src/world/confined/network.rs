//! A network of the trial's own: a loopback device and nothing else.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Settings of the namespace under which a program without rights may do what one of root may: take
/// any port, and send echo requests.
const OPENED: [(&str, &str); 2] = [
    ("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"),
    ("/proc/sys/net/ipv4/ping_group_range", "0 2147483647"),
];

/// Brings the loopback device of this process' network namespace up.
pub fn bring_loopback_up() -> io::Result<()> {
    // SAFETY: no pointers involved; the descriptor is owned below.
    let socket = unsafe {
        let flags = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        let socket = libc::socket(libc::AF_INET, flags, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(socket)
    };
    // SAFETY: integers and arrays of integers, for which all-zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request outlives the call.
    let done = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as libc::Ioctl,
            &raw const request,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    for (file, value) in OPENED {
        // A kernel without it has nothing to open.
        fs::write(file, value).ok();
    }
    Ok(())
}
