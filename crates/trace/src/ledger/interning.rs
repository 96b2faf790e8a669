//! Frames and stacks, each written down once: tables of open addressing that processes fill together.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Header, Place, at, bump};

/// An entry of an index: the hash that claimed it, and what it stands for.
#[repr(C)]
struct Entry {
    hash: AtomicU64,
    /// The number of the row and one; 0 while it is being written.
    row: AtomicU32,
}

/// Stands in an entry whose row found no room.
const REFUSED: u32 = u32::MAX;

/// A line of a function: who it is and how often each event happened there.
#[repr(C)]
pub struct Frame {
    line: AtomicU32,
    ready: AtomicU32,
    file: [AtomicU32; 2],
    function: [AtomicU32; 2],
    pub counts: [AtomicU64; 12],
}

/// A whole stack, innermost frame first, and how often each event happened there.
#[repr(C)]
pub struct Stack {
    depth: AtomicU32,
    ready: AtomicU32,
    begin: AtomicU64,
    pub counts: [AtomicU64; 12],
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
    let is_same = |row: u32| {
        let frame = frame(header, row);
        frame.line.load(Ordering::Relaxed) == line
            && read_text(header, &frame.file) == file
            && read_text(header, &frame.function) == function
    };
    let write = || {
        let row = bump(&header.frames_used, 1, header.frames.capacity)? as u32;
        let frame = frame(header, row);
        frame.line.store(line, Ordering::Relaxed);
        write_text(header, &frame.file, file)?;
        write_text(header, &frame.function, function)?;
        frame.ready.store(1, Ordering::Release);
        Some(row)
    };
    let found = intern(hash, &header.frame_index, is_same, write);
    if found.is_none() {
        header.frames_refused.fetch_add(1, Ordering::Relaxed);
    }
    found
}

/// Return the number of a stack, writing it down when it is new; nothing when the table is full.
pub fn intern_stack(frames: &[u32]) -> Option<u32> {
    let header = super::header()?;
    let hash = frames.iter().fold(frames.len() as u64, |hash, frame| {
        mix(hash, u64::from(*frame))
    }) | 1;
    let is_same = |row: u32| {
        let stack = stack(header, row);
        let begin = stack.begin.load(Ordering::Relaxed);
        let depth = stack.depth.load(Ordering::Relaxed) as usize;
        let first: *const u32 = at(&header.stack_frames, begin, 4).cast();
        unsafe { std::slice::from_raw_parts(first, depth) == frames }
    };
    let write = || {
        let row = bump(&header.stacks_used, 1, header.stacks.capacity)? as u32;
        let begin = bump(
            &header.stack_frames_used,
            frames.len() as u64,
            header.stack_frames.capacity,
        )?;
        let first: *mut u32 = at(&header.stack_frames, begin, 4).cast();
        unsafe { std::ptr::copy_nonoverlapping(frames.as_ptr(), first, frames.len()) };
        let stack = stack(header, row);
        stack.begin.store(begin, Ordering::Relaxed);
        stack.depth.store(frames.len() as u32, Ordering::Relaxed);
        stack.ready.store(1, Ordering::Release);
        Some(row)
    };
    let found = intern(hash, &header.stack_index, is_same, write);
    if found.is_none() {
        header.stacks_refused.fetch_add(1, Ordering::Relaxed);
    }
    found
}

fn intern(
    hash: u64,
    index: &Place,
    is_same: impl Fn(u32) -> bool,
    write: impl Fn() -> Option<u32>,
) -> Option<u32> {
    for step in 0..MOST_STEPS.min(index.capacity) {
        let number = (hash >> 1).wrapping_add(step) % index.capacity;
        let entry = unsafe { &*at(index, number, size_of::<Entry>() as u64).cast::<Entry>() };
        match entry
            .hash
            .compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => {
                let row = write();
                entry
                    .row
                    .store(row.map_or(REFUSED, |row| row + 1), Ordering::Release);
                return row;
            }
            Err(other) if other == hash => {
                // A process that was killed while it wrote leaves its entry as it is: others go round it.
                let row = (0..10_000)
                    .map(|_| entry.row.load(Ordering::Acquire))
                    .find(|row| *row != 0);
                match row {
                    Some(REFUSED) => return None,
                    Some(row) if is_same(row - 1) => return Some(row - 1),
                    _ => {}
                }
            }
            Err(_) => {}
        }
    }
    None
}

fn write_text(header: &'static Header, place: &[AtomicU32; 2], text: &[u8]) -> Option<()> {
    let begin = bump(&header.texts_used, text.len() as u64, header.texts.capacity)?;
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), at(&header.texts, begin, 1), text.len())
    };
    place[0].store(begin as u32, Ordering::Relaxed);
    place[1].store(text.len() as u32, Ordering::Relaxed);
    Some(())
}

fn read_text(header: &'static Header, place: &[AtomicU32; 2]) -> &'static [u8] {
    let [begin, length] = [&place[0], &place[1]].map(|part| part.load(Ordering::Relaxed));
    unsafe { std::slice::from_raw_parts(at(&header.texts, u64::from(begin), 1), length as usize) }
}

fn hash_bytes(bytes: &[u8], seed: u64) -> u64 {
    bytes
        .iter()
        .fold(mix(seed, bytes.len() as u64), |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}

/// Two words as one in which each bit of both has a part in every other.
#[inline]
pub fn mix(first: u64, second: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let product =
        u128::from(first.rotate_left(23) ^ second ^ 0x5851_f42d_4c95_7f2d) * u128::from(ODD);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_spread_over_a_table() {
        const ROOM: usize = 1 << 13;
        let mut used = [0_u8; ROOM];
        for number in 0..ROOM as u64 / 4 {
            used[(mix(1, 0x7fff_f5a0_0000 + number * 37) >> 20) as usize % ROOM] += 1;
        }
        assert!(
            used.iter().all(|count| *count < 8),
            "{:?}",
            used.iter().max()
        );
        // A quarter of the places in use by chance alone: 22%.
        assert!(used.iter().filter(|count| **count > 0).count() > ROOM / 6);
    }
}
