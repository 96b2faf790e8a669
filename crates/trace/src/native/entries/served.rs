//! What a server does for each request that it reads from a socket: how long, and what its allocator did meanwhile.
//!
//! A request is served from when a thread has read it until the thread's next call that reads, writes or waits on a
//! socket: for a server with one thread, such as Redis, the execution of one command. Several that were read at
//! once are one.

use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::{Target, exports};
use crate::events::Event;
use crate::latency::{NativeCall, clock, write_native};
use crate::ledger::intern_frame;
use crate::own::{Own, own};

/// Whether requests that are served are written down.
pub static WANTED: AtomicBool = AtomicBool::new(false);

/// In the table of requests: not one to an allocator.
const SERVED: u8 = 4;
/// Of a request's text, what is looked at.
const HEAD: usize = 48;

type Call = unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long) -> isize;

macro_rules! calls {
    ($($name:ident $target:ident $next:ident $hook:ident $text:literal $does:ident;)*) => {
        $(
            static $target: Target = Target(AtomicUsize::new(0));
            static $next: AtomicUsize = AtomicUsize::new(0);
            unsafe extern "C" fn $hook(
                file: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long,
            ) -> isize {
                let next: Call = unsafe { std::mem::transmute($next.load(Relaxed)) };
                unsafe { $does(file as c_int, a, || next(file, a, b, c, d, e)) }
            }
        )*
        exports! { $($name => $target, "rax", "x9";)* }

        /// Find the functions behind ours.
        pub fn resolve() {
            $(
                let next = unsafe { libc::dlsym(libc::RTLD_NEXT, $text.as_ptr()) } as usize;
                $next.store(next, Relaxed);
                if $target.0.load(Relaxed) == 0 {
                    $target.0.store(next, Relaxed);
                }
            )*
        }

        /// Have what is served looked at, or no longer.
        pub fn set(counts: bool) {
            let counts = counts && WANTED.load(Relaxed);
            $(
                let next = $next.load(Relaxed);
                if next != 0 {
                    $target.0.store(if counts { $hook as *const () as usize } else { next }, Relaxed);
                }
            )*
        }
    };
}

calls! {
    read READ NEXT_READ look_at_read c"read" reads;
    recv RECV NEXT_RECV look_at_recv c"recv" reads;
    recvfrom RECVFROM NEXT_RECVFROM look_at_recvfrom c"recvfrom" reads;
    write WRITE NEXT_WRITE look_at_write c"write" ends;
    send SEND NEXT_SEND look_at_send c"send" ends;
    sendto SENDTO NEXT_SENDTO look_at_sendto c"sendto" ends;
    writev WRITEV NEXT_WRITEV look_at_writev c"writev" ends;
    sendmsg SENDMSG NEXT_SENDMSG look_at_sendmsg c"sendmsg" ends;
    epoll_wait EPOLL NEXT_EPOLL look_at_epoll c"epoll_wait" waits;
    epoll_pwait EPOLL_MASKED NEXT_EPOLL_MASKED look_at_epoll_masked c"epoll_pwait" waits;
    poll POLL NEXT_POLL look_at_poll c"poll" waits;
    select SELECT NEXT_SELECT look_at_select c"select" waits;
}

fn is_socket(file: c_int) -> bool {
    let errno = unsafe { *libc::__errno_location() };
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    let found = unsafe { libc::fstat(file, &raw mut about) } == 0;
    unsafe { *libc::__errno_location() = errno };
    found && about.st_mode & libc::S_IFMT == libc::S_IFSOCK
}

unsafe fn reads(file: c_int, text: c_long, read: impl FnOnce() -> isize) -> isize {
    let own = own();
    if own.depth.get() > 0 || !is_socket(file) {
        return read();
    }
    end(own);
    let length = read();
    if length > 0 {
        let text = unsafe { std::slice::from_raw_parts(text as *const u8, length as usize) };
        begin(own, text);
    }
    length
}

unsafe fn ends(file: c_int, _text: c_long, write: impl FnOnce() -> isize) -> isize {
    let own = own();
    if own.served.get() != 0 && own.depth.get() == 0 && is_socket(file) {
        end(own);
    }
    write()
}

unsafe fn waits(_file: c_int, _text: c_long, wait: impl FnOnce() -> isize) -> isize {
    end(own());
    wait()
}

fn begin(own: &Own, text: &[u8]) {
    own.at_work(|| {
        let name = intern_frame(b"", name_of(text), 0);
        own.command.set(name.map_or(0, |name| name + 1));
    });
    own.length.set(text.len() as u64);
    own.events.set(0);
    own.requests.set(0);
    own.refills.set(0);
    own.faults
        .set(crate::native::faults::read(own).unwrap_or(u64::MAX));
    own.served.set(clock::read().max(1));
}

/// An allocator's request is part of what is served.
#[inline(always)]
pub fn note_request(own: &Own, events: u32) {
    if own.served.get() != 0 {
        own.requests.set(own.requests.get() + 1);
        own.refills
            .set(own.refills.get() + (events >> Event::CacheRefill as u32 & 1));
        own.events.set(own.events.get() | events);
    }
}

fn end(own: &Own) {
    let began = own.served.replace(0);
    if began == 0 {
        return;
    }
    let now = clock::read();
    let faults = match own.faults.get() {
        u64::MAX => None,
        before => crate::native::faults::read(own).map(|after| after - before),
    };
    write_native(&NativeCall {
        ticks: clock::between(began, now),
        size: own.length.get(),
        room: u64::from(own.requests.get()) << 32 | u64::from(own.refills.get()),
        frame: own.command.get().checked_sub(1),
        events: own.events.get(),
        faults,
        way: 0,
        domain: SERVED,
    });
}

/// The name of a command: of Redis' protocol, or the first word of a text.
fn name_of(text: &[u8]) -> &[u8] {
    let text = &text[..text.len().min(HEAD)];
    let begin = if text.starts_with(b"*") {
        // *3\r\n$5\r\nLPUSH\r\n
        let mut lines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        lines.nth(1).map_or(text.len(), |(place, _)| place + 1)
    } else {
        0
    };
    let rest = &text[begin..];
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    &rest[..rest.iter().take_while(is_letter).count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named_by_what_a_client_sends() {
        assert_eq!(
            name_of(b"*3\r\n$5\r\nLPUSH\r\n$1\r\nl\r\n$1\r\nx\r\n"),
            b"LPUSH"
        );
        assert_eq!(name_of(b"GET /page HTTP/1.1\r\n"), b"GET");
        assert_eq!(name_of(b"\x16\x03\x01"), b"");
        assert_eq!(name_of(b"*3\r\n"), b"");
    }
}
