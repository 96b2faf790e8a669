//! Frames and stacks, each written down once: tables of open addressing that processes fill together.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Header, at, bump};

/// A line of a function: who it is and how often each event happened there.
#[repr(C)]
pub struct Frame {
    hash: AtomicU64,
    ready: AtomicU32,
    line: AtomicU32,
    file: [AtomicU32; 2],
    function: [AtomicU32; 2],
    pub counts: [AtomicU64; 12],
}

/// A whole stack, innermost frame first, and how often each event happened there.
#[repr(C)]
pub struct Stack {
    hash: AtomicU64,
    ready: AtomicU32,
    depth: AtomicU32,
    begin: AtomicU64,
    pub counts: [AtomicU64; 12],
    _room: u64,
}

/// Stands where a name cannot be read.
pub const NO_TEXT: &[u8] = b"?";
/// Places that are looked at before a table counts as full.
const MOST_STEPS: u64 = 64;

pub fn frame(header: &'static Header, index: u32) -> &'static Frame {
    unsafe { &*at(&header.frames, u64::from(index), size_of::<Frame>() as u64).cast() }
}

pub fn stack(header: &'static Header, index: u32) -> &'static Stack {
    unsafe { &*at(&header.stacks, u64::from(index), size_of::<Stack>() as u64).cast() }
}

/// Return the number of a line, writing it down when it is new; nothing when the table is full.
pub fn intern_frame(file: &[u8], function: &[u8], line: u32) -> Option<u32> {
    let header = super::header()?;
    let hash = hash_bytes(file, hash_bytes(function, u64::from(line))) | 1;
    let found = intern(
        hash,
        header.frames.capacity,
        |index| {
            let frame = frame(header, index);
            (&frame.hash, &frame.ready)
        },
        |index| {
            let frame = frame(header, index);
            frame.line.load(Ordering::Relaxed) == line
                && read_text(header, &frame.file) == file
                && read_text(header, &frame.function) == function
        },
        |index| {
            let frame = frame(header, index);
            frame.line.store(line, Ordering::Relaxed);
            write_text(header, &frame.file, file) && write_text(header, &frame.function, function)
        },
    );
    if found.is_none() {
        header.frames_refused.fetch_add(1, Ordering::Relaxed);
    }
    found
}

/// Return the number of a stack, writing it down when it is new; nothing when the table is full.
pub fn intern_stack(frames: &[u32]) -> Option<u32> {
    let header = super::header()?;
    let hash = frames.iter().fold(frames.len() as u64, |hash, frame| mix(hash, u64::from(*frame))) | 1;
    let read = |index: u32| {
        let stack = stack(header, index);
        let begin = stack.begin.load(Ordering::Relaxed);
        let depth = stack.depth.load(Ordering::Relaxed) as usize;
        let first: *const u32 = at(&header.stack_frames, begin, 4).cast();
        unsafe { std::slice::from_raw_parts(first, depth) }
    };
    let found = intern(
        hash,
        header.stacks.capacity,
        |index| {
            let stack = stack(header, index);
            (&stack.hash, &stack.ready)
        },
        |index| read(index) == frames,
        |index| {
            let used = &header.stack_frames_used;
            let Some(begin) = bump(used, frames.len() as u64, header.stack_frames.capacity) else {
                return false;
            };
            let first: *mut u32 = at(&header.stack_frames, begin, 4).cast();
            unsafe { std::ptr::copy_nonoverlapping(frames.as_ptr(), first, frames.len()) };
            let stack = stack(header, index);
            stack.begin.store(begin, Ordering::Relaxed);
            stack.depth.store(frames.len() as u32, Ordering::Relaxed);
            true
        },
    );
    if found.is_none() {
        header.stacks_refused.fetch_add(1, Ordering::Relaxed);
    }
    found
}

fn intern(
    hash: u64,
    capacity: u64,
    entry: impl Fn(u32) -> (&'static AtomicU64, &'static AtomicU32),
    is_same: impl Fn(u32) -> bool,
    write: impl Fn(u32) -> bool,
) -> Option<u32> {
    for step in 0..MOST_STEPS.min(capacity) {
        let index = ((hash >> 1).wrapping_add(step) % capacity) as u32;
        let (claimed, ready) = entry(index);
        match claimed.compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // 2: claimed and given up, for want of room for its texts.
                let written = write(index);
                ready.store(if written { 1 } else { 2 }, Ordering::Release);
                return written.then_some(index);
            }
            Err(other) if other == hash => {
                // A process that was killed while it wrote leaves its entry as it is: others go round it.
                let is_written = (0..10_000).any(|_| ready.load(Ordering::Acquire) != 0);
                if is_written && ready.load(Ordering::Acquire) == 1 && is_same(index) {
                    return Some(index);
                }
            }
            Err(_) => {}
        }
    }
    None
}

fn write_text(header: &'static Header, place: &[AtomicU32; 2], text: &[u8]) -> bool {
    let Some(begin) = bump(&header.texts_used, text.len() as u64, header.texts.capacity) else {
        return false;
    };
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), at(&header.texts, begin, 1), text.len()) };
    place[0].store(begin as u32, Ordering::Relaxed);
    place[1].store(text.len() as u32, Ordering::Relaxed);
    true
}

fn read_text(header: &'static Header, place: &[AtomicU32; 2]) -> &'static [u8] {
    let [begin, length] = [&place[0], &place[1]].map(|part| part.load(Ordering::Relaxed));
    unsafe { std::slice::from_raw_parts(at(&header.texts, u64::from(begin), 1), length as usize) }
}

fn hash_bytes(bytes: &[u8], seed: u64) -> u64 {
    bytes.iter().fold(mix(seed, bytes.len() as u64), |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Two words as one in which each bit of both has a part.
pub fn mix(first: u64, second: u64) -> u64 {
    let mixed = (first ^ second.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
