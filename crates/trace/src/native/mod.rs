//! Programs that are no CPython: what their allocator does in each request of theirs.
//!
//! The functions that ask for memory are exported here, before the allocator's own, which the dynamic linker would
//! otherwise have bound ([`entries`]). Around each request we look at what an allocator cannot do in secret: the end
//! of the heap, mappings, page faults, and the block that the thread's cache was about to hand out ([`cache`]).

mod allocator;
mod cache;
mod entries;
mod faults;
mod heap;
mod place;
mod request;

pub use entries::resolve;

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

use crate::ledger::{self, Process, State};
use crate::record;
use crate::spin::PARALLEL;

/// Whether requests are looked at.
static COUNTING: AtomicBool = AtomicBool::new(false);
static PROGRAM: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// A word that a child finds empty, however it was made (`MADV_WIPEONFORK`).
static ALIVE: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

fn say(state: State) {
    if let Some(program) = unsafe { PROGRAM.load(Relaxed).as_ref() } {
        program.say(state);
    }
}

/// Get ready to look at the requests of this program.
pub fn prepare() {
    let Some(header) = ledger::header() else {
        return;
    };
    let latencies = header.wants_latencies() && !header.wants_served();
    record::keep(header.wants_stacks(), latencies);
    entries::served::WANTED.store(header.wants_served(), Relaxed);
    let found = allocator::find();
    if let Some(program) = ledger::add_program() {
        program.fill(found.name());
        PROGRAM.store(std::ptr::from_ref(program).cast_mut(), Relaxed);
    }
    if header.wants_latencies() {
        crate::latency::prepare();
    }
    faults::prepare(header.wants_faults());
    ALIVE.store(make_alive(), Relaxed);
    heap::prepare(found.kind);
    // Alone, it may read memory without having the kernel copy each word, which took most of a short program's time.
    PARALLEL.store(has_other_threads(), Relaxed);
    if !cache::practise(&found) {
        say(State::NoCache);
    }
    PARALLEL.store(true, Relaxed);
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    if !header.wants_regions_only() {
        count(true);
    }
}

/// Whether this process has more than one thread, or may have: what is loaded before us can begin some.
fn has_other_threads() -> bool {
    let mut threads: libc::stat = unsafe { std::mem::zeroed() };
    let told = unsafe { libc::stat(c"/proc/self/task".as_ptr(), &raw mut threads) } == 0;
    // A folder has two links, and one more for each folder in it.
    !told || threads.st_nlink != 3
}

/// Look at requests from now on, or no longer.
pub fn count(counts: bool) {
    if counts {
        heap::begin();
        say(State::Began);
    }
    COUNTING.store(counts, Relaxed);
    entries::set(counts);
    entries::served::set(counts);
}

/// Whether this is a program that this module looks at.
pub fn is_prepared() -> bool {
    !PROGRAM.load(Relaxed).is_null()
}

extern "C" fn in_child() {
    crate::own::own().start_over();
    crate::turns::start_over();
    if let Some(header) = ledger::header() {
        header.forks.fetch_add(1, Relaxed);
    }
}

fn make_alive() -> *mut AtomicU64 {
    unsafe {
        let page = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if page == libc::MAP_FAILED || libc::madvise(page, 4096, libc::MADV_WIPEONFORK) != 0 {
            return std::ptr::null_mut();
        }
        (*page.cast::<AtomicU64>()).store(1, Relaxed);
        page.cast()
    }
}

/// Whether this process is the one that was prepared, or a child that has been told that it is not.
#[inline(always)]
fn is_same_process() -> bool {
    let alive = ALIVE.load(Relaxed);
    alive.is_null() || unsafe { (*alive).load(Relaxed) } != 0
}

/// Whether a child of this process can tell that it is one.
fn knows_children() -> bool {
    !ALIVE.load(Relaxed).is_null()
}

/// A child that was made without the C library's knowledge is itself from now on.
#[cold]
fn note_new_process() {
    crate::own::own().start_over();
    unsafe { (*ALIVE.load(Relaxed)).store(1, Relaxed) };
}
