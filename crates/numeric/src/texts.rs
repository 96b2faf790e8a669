//! Which text each row of a column has, numbered where there are few.

use rayon::prelude::*;

/// Rows that one thread takes at a time.
const ROWS_AT_A_TIME: usize = 1 << 16;
/// Texts that are told apart: a byte has one value more, which marks a free slot.
const MOST_TEXTS: usize = 255;
const FREE: u8 = u8::MAX;
/// Slots of a table: four times as many as texts, so that few of them meet.
const SLOT_BITS: u32 = 10;
/// Texts of so many bytes stand in their view.
const INLINE_BYTES: u64 = 12;

/// A part of a text column in Arrow's layout of string views.
///
/// A row's view is two words. The low half of the first is the length in bytes. Up to 12 bytes of text
/// follow, padded with zeros; of a longer text four bytes, the index of its buffer and its offset there.
#[derive(Clone, Debug)]
pub struct TextChunk<'a> {
    /// Two words a row.
    pub views: &'a [u64],
    /// The bytes of long texts.
    pub buffers: Vec<&'a [u8]>,
}

impl<'a> TextChunk<'a> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.views.len() / 2
    }

    /// Key of a view: for texts up to 12 bytes the view, for others their hash in place of their address.
    fn read_key(&self, view: [u64; 2]) -> Key<'a> {
        let length = view[0] & 0xffff_ffff;
        if length <= INLINE_BYTES {
            return Key {
                words: view,
                long: &[],
            };
        }
        let (buffer, offset) = (view[1] & 0xffff_ffff, view[1] >> 32);
        let long = &self.buffers[buffer as usize][offset as usize..(offset + length) as usize];
        Key {
            words: [view[0], hash_bytes(long)],
            long,
        }
    }
}

/// A text: its words tell most apart, `long` are the bytes that do not stand in them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key<'a> {
    words: [u64; 2],
    long: &'a [u8],
}

impl Key<'_> {
    fn slot(&self) -> usize {
        let mixed = (self.words[0] ^ self.words[1].rotate_left(29)).wrapping_mul(MULTIPLIER);
        (mixed >> (64 - SLOT_BITS)) as usize
    }
}

/// Odd, with bits well spread: 2^64 over the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = 0;
    for word in bytes.chunks(8) {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        hash = (hash ^ u64::from_le_bytes(padded))
            .wrapping_mul(MULTIPLIER)
            .rotate_left(31);
    }
    hash
}

/// The texts met so far in their order, and where each has its number.
#[derive(Clone)]
struct TextNumbers<'a> {
    keys: Vec<Key<'a>>,
    slots: [u8; 1 << SLOT_BITS],
}

impl<'a> TextNumbers<'a> {
    fn new() -> Self {
        Self {
            keys: Vec::new(),
            slots: [FREE; 1 << SLOT_BITS],
        }
    }

    /// Number of a text, which is the next one if it is new; None where there are too many.
    #[inline]
    fn number(&mut self, key: Key<'a>) -> Option<u8> {
        let mut slot = key.slot();
        loop {
            let code = self.slots[slot];
            if code == FREE {
                break;
            }
            if self.keys[code as usize] == key {
                return Some(code);
            }
            slot = (slot + 1) % self.slots.len();
        }
        if self.keys.len() == MOST_TEXTS {
            return None;
        }
        let code = self.keys.len() as u8;
        self.keys.push(key);
        self.slots[slot] = code;
        Some(code)
    }
}

/// Rows of one chunk that a thread takes: their chunk, the first of them there, and the place of the results.
struct Part<'a, 'c> {
    chunk: &'c TextChunk<'a>,
    start: usize,
    codes: &'c mut [u8],
}

impl<'a> Part<'a, '_> {
    /// Numbers the rows; false where there are too many texts.
    fn number(&mut self, numbers: &mut TextNumbers<'a>) -> bool {
        let (views, _) = self.chunk.views[2 * self.start..].as_chunks::<2>();
        for (code, &view) in self.codes.iter_mut().zip(views) {
            match numbers.number(self.chunk.read_key(view)) {
                Some(number) => *code = number,
                None => return false,
            }
        }
        true
    }
}

/// Numbers the texts of a column in the order of appearance.
///
/// Writes each row's number to `codes` and returns the first row of every text; None where there are
/// more than 255 texts.
///
/// # Panics
/// When `codes` has another length than the chunks together, or a view points outside its buffers.
pub fn number_texts(chunks: &[TextChunk<'_>], codes: &mut [u8]) -> Option<Vec<usize>> {
    let rows: usize = chunks.iter().map(TextChunk::rows).sum();
    assert_eq!(rows, codes.len(), "one code for each row");
    let mut parts = split(chunks, codes);
    // What the first rows show has the same number everywhere.
    let mut all = TextNumbers::new();
    if let Some(first) = parts.first_mut()
        && !first.number(&mut all)
    {
        return None;
    }
    let known = all.keys.len();
    let found: Vec<Vec<Key<'_>>> = parts
        .par_iter_mut()
        .map(|part| {
            let mut own = all.clone();
            part.number(&mut own).then(|| own.keys.split_off(known))
        })
        .collect::<Option<_>>()?;
    let mut renumbered = Vec::with_capacity(found.len());
    for keys in found {
        let numbers = keys.into_iter().map(|key| all.number(key));
        renumbered.push(numbers.collect::<Option<Vec<u8>>>()?);
    }
    parts.par_iter_mut().zip(renumbered).for_each(|(part, of)| {
        if of.iter().zip(known..).any(|(&new, own)| usize::from(new) != own) {
            for code in part.codes.iter_mut().filter(|code| usize::from(**code) >= known) {
                *code = of[usize::from(*code) - known];
            }
        }
    });
    let count = all.keys.len();
    Some(find_first_rows(codes, count))
}

fn split<'a, 'c>(chunks: &'c [TextChunk<'a>], codes: &'c mut [u8]) -> Vec<Part<'a, 'c>> {
    let (mut parts, mut rest) = (Vec::new(), codes);
    for chunk in chunks {
        for start in (0..chunk.rows()).step_by(ROWS_AT_A_TIME) {
            let (codes, after) = rest.split_at_mut(ROWS_AT_A_TIME.min(chunk.rows() - start));
            rest = after;
            parts.push(Part { chunk, start, codes });
        }
    }
    parts
}

/// First row of each number, which come in the order of appearance.
fn find_first_rows(codes: &[u8], count: usize) -> Vec<usize> {
    let mut first = Vec::with_capacity(count);
    let mut row = 0;
    for number in 0..count {
        row += codes[row..]
            .iter()
            .position(|&code| usize::from(code) == number)
            .expect("every number has a row");
        first.push(row);
    }
    first
}

/// Replaces every code by its entry in `of_code`.
///
/// # Panics
/// When a code has no entry.
pub fn relabel(codes: &mut [u8], of_code: &[u8]) {
    if (0..).zip(of_code).all(|(code, &new): (u16, _)| code == u16::from(new)) {
        assert!(codes.iter().fold(0, |max, &code| code.max(max)) as usize <= of_code.len());
        return;
    }
    let mut table = [0_u8; 256];
    table[..of_code.len()].copy_from_slice(of_code);
    codes.par_chunks_mut(ROWS_AT_A_TIME).for_each(|codes| {
        let mut largest = 0;
        for code in codes {
            largest = largest.max(*code);
            *code = table[usize::from(*code)];
        }
        assert!(usize::from(largest) < of_code.len(), "an entry for each code");
    });
}
