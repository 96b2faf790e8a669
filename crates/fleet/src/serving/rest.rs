//! What a worker that waits does without.

use std::fs;
use std::io;
use std::mem;

/// A connection over which nothing comes is asked for a sign of life after this time, in seconds. The kernel does
/// that by itself: without it a worker would never learn that its broker lost power.
const SILENT_S: libc::c_int = 600;
/// Time between two such questions when there is no answer, in seconds.
const ASK_EVERY_S: libc::c_int = 60;
/// Questions without an answer after which the connection is lost.
const MOST_QUESTIONS: libc::c_int = 5;

/// Lets the kernel find out when the other end of a connection of this process is gone without a word.
pub fn watch_connections() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let Some(descriptor) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<libc::c_int>().ok())
        else {
            continue;
        };
        if read_option(descriptor, libc::SO_PROTOCOL) != Some(libc::IPPROTO_TCP) {
            continue;
        }
        for (level, option, value) in [
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, SILENT_S),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, ASK_EVERY_S),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, MOST_QUESTIONS),
        ] {
            // SAFETY: the value lives on this stack and has the size given; any descriptor is refused or taken.
            unsafe {
                libc::setsockopt(
                    descriptor,
                    level,
                    option,
                    (&raw const value).cast(),
                    mem::size_of_val(&value) as libc::socklen_t,
                );
            }
        }
    }
    Ok(())
}

fn read_option(descriptor: libc::c_int, option: libc::c_int) -> Option<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut size = mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the value lives on this stack and has the size given.
    let told = unsafe {
        libc::getsockopt(
            descriptor,
            libc::SOL_SOCKET,
            option,
            (&raw mut value).cast(),
            &mut size,
        )
    };
    (told == 0).then_some(value)
}

/// Gives the system back the code that starting needed and waiting does not; it comes again when it is called.
pub fn release_code() {
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else {
        return;
    };
    let own = std::env::current_exe().unwrap_or_default();
    for line in maps.lines() {
        // Only what is executable: the other pages of the file may have been written since, as relocations are.
        let is_code = line.split_whitespace().nth(1) == Some("r-xp")
            && line.ends_with(own.to_string_lossy().as_ref());
        let range = line.split_whitespace().next().and_then(|range| {
            let (from, to) = range.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some((number(from)?, number(to)?))
        });
        if let (true, Some((from, to))) = (is_code, range) {
            // SAFETY: a private mapping of a file that nobody has written to is read again from that file.
            unsafe {
                libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_DONTNEED);
            }
        }
    }
    // SAFETY: no pointers involved.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_connection_is_watched_by_the_kernel() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(read_option(line.as_raw_fd(), libc::SO_KEEPALIVE), Some(0));
        watch_connections().unwrap();
        assert_eq!(read_option(line.as_raw_fd(), libc::SO_KEEPALIVE), Some(1));
    }

    #[test]
    fn code_that_was_given_back_still_runs() {
        release_code();
        assert_eq!(format!("{:.1}", 2.0f64.sqrt()), "1.4");
    }
}
