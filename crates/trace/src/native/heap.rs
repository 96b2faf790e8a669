//! The end of the heap, the heaps of glibc's other arenas, and mappings of one block.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

use super::allocator::Kind;
use crate::events::Event;
use crate::ledger::mix;

/// Where the C library keeps the end of the heap.
static END: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());
/// The end that was counted last: threads that wait for one extension see it, too.
static COUNTED: AtomicU64 = AtomicU64::new(0);
/// Whether blocks have glibc's words before them.
static IS_GLIBC: AtomicBool = AtomicBool::new(false);

/// glibc's heaps begin at multiples of this (`HEAP_MAX_SIZE`).
const HEAP: u64 = 64 << 20;
const IS_MAPPED: u64 = 2;
const IS_OF_ANOTHER_ARENA: u64 = 4;

/// Find out where the heap ends.
pub fn prepare(kind: Kind) {
    let end = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__curbrk".as_ptr()) };
    END.store(end.cast(), Relaxed);
    IS_GLIBC.store(kind == Kind::Glibc, Relaxed);
}

/// Counting begins.
pub fn begin() {
    COUNTED.store(read_end(), Relaxed);
}

#[inline(always)]
pub fn read_end() -> u64 {
    let end = END.load(Relaxed);
    if end.is_null() {
        0
    } else {
        unsafe { std::ptr::read_volatile(end) }
    }
}

/// What is known before a request.
pub struct Before {
    end: u64,
    /// The word before the block that is to be reallocated.
    old: u64,
}

/// Look before a request; `old` is the block that is to be reallocated.
#[inline(always)]
pub fn look(old: *mut c_void) -> Before {
    let end = read_end();
    if end < COUNTED.load(Relaxed) {
        // Given back since.
        COUNTED.store(end, Relaxed);
    }
    let old = if IS_GLIBC.load(Relaxed) && !old.is_null() {
        unsafe { *(old as *const u64).sub(1) }
    } else {
        0
    };
    Before { end, old }
}

/// Say what a request did, as bits of events.
#[inline(always)]
pub fn find_events(before: &Before, old: *mut c_void, block: *mut c_void) -> u32 {
    let mut events = 0;
    let end = read_end();
    if end > before.end && COUNTED.swap(end, Relaxed) != end {
        events |= 1 << Event::HeapExtend as u32;
    }
    if IS_GLIBC.load(Relaxed) {
        let word = unsafe { *(block as *const u64).sub(1) };
        if word & IS_MAPPED != 0 {
            if word != before.old || block != old {
                events |= 1 << Event::MemoryMap as u32;
            }
        } else if word & IS_OF_ANOTHER_ARENA != 0 {
            events |= look_at_heap(block as u64);
        }
    }
    events
}

/// Heaps of other arenas, and how much of each can be written to.
static HEAPS: [(AtomicU64, AtomicU64); 1024] =
    [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 1024];

/// `struct _heap_info`: the arena, the heap before, bytes in use, bytes that can be written to.
#[cold]
fn look_at_heap(block: u64) -> u32 {
    let heap = block & !(HEAP - 1);
    let words = unsafe { &*(heap as *const [u64; 4]) };
    let [_, _, used, writable] = *words;
    let is_heap = used <= writable && writable <= HEAP && writable.is_multiple_of(4096);
    if !is_heap || block - heap > used {
        return 0;
    }
    let begin = (mix(heap, 0) >> 20) as usize;
    for step in 0..64 {
        let (known, size) = &HEAPS[(begin + step) % HEAPS.len()];
        let is_new =
            known.load(Relaxed) == 0 && known.compare_exchange(0, heap, Relaxed, Relaxed).is_ok();
        if !is_new && known.load(Relaxed) != heap {
            continue;
        }
        let before = size.swap(writable, Relaxed);
        return if is_new || writable < before {
            // One that is smaller is another heap in the same place.
            1 << Event::MemoryMap as u32
        } else if writable > before {
            1 << Event::HeapExtend as u32
        } else {
            0
        };
    }
    0
}

/// The program has moved the end of the heap itself.
pub fn end_moved() {
    COUNTED.store(read_end(), Relaxed);
}
