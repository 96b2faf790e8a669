//! The block that the thread's cache is about to hand out.
//!
//! Each allocator keeps free blocks of each size class for each thread, and where the next one is lies a few steps
//! from the thread pointer: glibc's `tcache`, jemalloc's bins, tcmalloc's lists, mimalloc's pages. Which steps these
//! are is found out by practice ([`practice`]). A request that is answered by another block than the next one of
//! the cache found nothing there: the allocator took its longer path. So what is read is also checked, each time that
//! it is right.

mod practice;

pub use practice::practise;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Requests of up to so many bytes are looked at.
pub const MOST: usize = 32 << 10;
/// A size that no thread cache serves.
const NO_CLASS: u32 = u32::MAX;
/// Steps from the thread pointer to the word that names the next block.
pub const MOST_STEPS: usize = 3;

/// One step: from an address, at `offset` and `stride` times the number of the size class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Step {
    pub offset: i64,
    pub stride: i64,
}

/// Steps from the thread pointer; where each leads is where the next begins.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Path {
    pub steps: [Step; MOST_STEPS],
    pub length: usize,
}

struct Known {
    is_known: AtomicBool,
    offsets: [AtomicU64; MOST_STEPS],
    strides: [AtomicU64; MOST_STEPS],
    length: AtomicU64,
    /// By the request's size in words: the number of its size class.
    classes: [AtomicU32; MOST / 8 + 1],
}

static KNOWN: Known = Known {
    is_known: AtomicBool::new(false),
    offsets: [const { AtomicU64::new(0) }; MOST_STEPS],
    strides: [const { AtomicU64::new(0) }; MOST_STEPS],
    length: AtomicU64::new(0),
    classes: [const { AtomicU32::new(NO_CLASS) }; MOST / 8 + 1],
};

/// Whether `calloc` takes blocks from the cache.
pub static SERVES_CALLOC: AtomicBool = AtomicBool::new(false);

/// Say to which class requests of so many words belong.
pub fn set_class(words: usize, class: Option<u32>) {
    KNOWN.classes[words].store(class.unwrap_or(NO_CLASS), Relaxed);
}

/// Take a path into use.
pub fn set_path(path: &Path) {
    for (number, step) in path.steps.iter().enumerate() {
        KNOWN.offsets[number].store(step.offset as u64, Relaxed);
        KNOWN.strides[number].store(step.stride as u64, Relaxed);
    }
    KNOWN.length.store(path.length as u64, Relaxed);
    KNOWN.is_known.store(true, Relaxed);
}

/// The number of the size class of a request, where thread caches serve it.
#[inline(always)]
pub fn class_of(size: usize) -> Option<u32> {
    if size > MOST {
        return None;
    }
    let class = KNOWN.classes[size.div_ceil(8)].load(Relaxed);
    (class != NO_CLASS).then_some(class)
}

/// The next block of this thread's cache for a request: 0 where it has none, nothing where no cache serves it or none
/// is known.
#[inline(always)]
pub fn find_next(size: usize) -> Option<u64> {
    if !KNOWN.is_known.load(Relaxed) {
        return None;
    }
    let class = u64::from(class_of(size)?);
    let mut place = crate::spin::this_thread();
    for number in 0..KNOWN.length.load(Relaxed) as usize {
        let offset = KNOWN.offsets[number].load(Relaxed);
        let stride = KNOWN.strides[number].load(Relaxed);
        place = place
            .wrapping_add(offset)
            .wrapping_add(stride.wrapping_mul(class));
        place = unsafe { std::ptr::read_volatile(place as *const u64) };
        if place < 4096 {
            return Some(0);
        }
    }
    Some(place)
}
