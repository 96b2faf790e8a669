//! Page faults of a thread, as the kernel writes them down where we can read them without calling it.
//!
//! A software event with a record for each fault, in a ring that is read-only to us and so overwritten without end:
//! how far its head has come is how many there were (`perf_event_open(2)`). It needs no rights where
//! `kernel.perf_event_paranoid` is at most 2. Where it is refused, `getrusage` is called, if that is asked for.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::ledger::State;
use crate::own::Own;

/// A record without content.
const RECORD: u64 = 8;
const REFUSED: u64 = 1;
const PAGE: usize = 4096;
/// Where the page says how far the kernel has written.
const HEAD: u64 = 1024;

/// Whether the kernel may be called for each request where there is no ring.
static CALLS: AtomicBool = AtomicBool::new(false);
/// Tells when a thread with a ring ends.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Get ready; `calls` says whether the kernel may be called for each request.
pub fn prepare(calls: bool) {
    CALLS.store(calls, Relaxed);
    let mut key = 0;
    if unsafe { libc::pthread_key_create(&raw mut key, Some(close_ring)) } == 0 {
        KEY.store(key, Relaxed);
    }
}

/// Page faults of this thread so far, from an arbitrary beginning; nothing where they cannot be seen.
#[inline(always)]
pub fn read(own: &Own) -> Option<u64> {
    let ring = match own.ring.get() {
        0 => open(own),
        ring => ring,
    };
    if ring > REFUSED {
        return Some(unsafe { std::ptr::read_volatile((ring + HEAD) as *const u64) } / RECORD);
    }
    CALLS.load(Relaxed).then(read_usage)
}

#[cold]
fn read_usage() -> u64 {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    (usage.ru_minflt + usage.ru_majflt) as u64
}

#[cold]
fn open(own: &Own) -> u64 {
    // Keeps errno: this is in the middle of a request.
    let errno = unsafe { *libc::__errno_location() };
    // A child that does not know that it is one would read where the ring was.
    let is_safe = super::knows_children();
    let ring = if is_safe {
        own.at_work(|| unsafe { make_ring() })
    } else {
        None
    };
    let ring = ring.unwrap_or(REFUSED);
    unsafe { *libc::__errno_location() = errno };
    own.ring.set(ring);
    if ring == REFUSED && !CALLS.load(Relaxed) {
        super::say(State::NoFaults);
    }
    ring
}

/// `struct perf_event_attr`, as far as it is used.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 8],
}

unsafe fn make_ring() -> Option<u64> {
    const SOFTWARE: u32 = 1;
    const PAGE_FAULTS: u64 = 2;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    const CLOSE_ON_EXEC: u64 = 8;
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: PAGE_FAULTS,
        sample_period: 1,
        sample_type: 0,
        read_format: 0,
        flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        rest: [0; 8],
    };
    // Words all: what is passed on as half a word has another half.
    let (this_thread, any_processor, no_group) = (0_i64, -1_i64, -1_i64);
    unsafe {
        let file = libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            this_thread,
            any_processor,
            no_group,
            CLOSE_ON_EXEC,
        );
        if file < 0 {
            return None;
        }
        let ring = libc::syscall(
            libc::SYS_mmap,
            0_i64,
            2 * PAGE,
            i64::from(libc::PROT_READ),
            i64::from(libc::MAP_SHARED),
            file,
            0_i64,
        );
        // The mapping keeps the event; the program's descriptors are as without us.
        libc::syscall(libc::SYS_close, file);
        if ring == -1 {
            return None;
        }
        let key = KEY.load(Relaxed);
        if key != u32::MAX {
            libc::pthread_setspecific(key, ring as *const libc::c_void);
        }
        Some(ring as u64)
    }
}

unsafe extern "C" fn close_ring(ring: *mut libc::c_void) {
    let own = crate::own::own();
    if own.ring.get() == ring as u64 {
        // What a thread asks for while it ends is not looked at for faults.
        own.ring.set(REFUSED);
        unsafe { libc::syscall(libc::SYS_munmap, ring, 2 * PAGE) };
    }
}
