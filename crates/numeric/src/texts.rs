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
#[derive(Clone, Copy)]
struct Key<'a> {
    words: [u64; 2],
    long: &'a [u8],
}

impl Key<'_> {
    /// Whether this is the same text. No bytes are compared where there are none: that is slow.
    fn is(&self, other: &Self) -> bool {
        self.words == other.words && (self.long.is_empty() || self.long == other.long)
    }

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
            if self.keys[code as usize].is(&key) {
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
        if of
            .iter()
            .zip(known..)
            .any(|(&new, own)| usize::from(new) != own)
        {
            for code in part
                .codes
                .iter_mut()
                .filter(|code| usize::from(**code) >= known)
            {
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
            parts.push(Part {
                chunk,
                start,
                codes,
            });
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
pub fn relabel(codes: &mut [u8], of_code: &[u8; 256]) {
    codes.par_chunks_mut(ROWS_AT_A_TIME).for_each(|codes| {
        for code in codes {
            *code = of_code[usize::from(*code)];
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Views of texts, those of more than 12 bytes in a buffer, each time anew.
    fn lay_out(texts: &[&str]) -> (Vec<u64>, Vec<u8>) {
        let (mut views, mut buffer) = (Vec::new(), Vec::new());
        for text in texts {
            let mut view = [0; 16];
            view[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
            if text.len() <= 12 {
                view[4..4 + text.len()].copy_from_slice(text.as_bytes());
            } else {
                view[4..8].copy_from_slice(&text.as_bytes()[..4]);
                view[12..].copy_from_slice(&(buffer.len() as u32).to_le_bytes());
                buffer.extend_from_slice(text.as_bytes());
            }
            for word in view.as_chunks::<8>().0 {
                views.push(u64::from_le_bytes(*word));
            }
        }
        (views, buffer)
    }

    fn number(chunks: &[&[&str]]) -> Option<(Vec<usize>, Vec<u8>)> {
        let laid_out: Vec<_> = chunks.iter().map(|texts| lay_out(texts)).collect();
        let chunks: Vec<_> = laid_out
            .iter()
            .map(|(views, buffer)| TextChunk {
                views,
                buffers: vec![buffer],
            })
            .collect();
        let mut codes = vec![0; chunks.iter().map(TextChunk::rows).sum()];
        number_texts(&chunks, &mut codes).map(|first| (first, codes))
    }

    #[test]
    fn texts_are_numbered_as_they_come_across_chunks() {
        let (first, codes) = number(&[
            &["on", "off", "on", ""],
            &[],
            &["off", "late", "on\0", "exactly 12 b", "thirteen byte"],
        ])
        .unwrap();
        assert_eq!(codes, [0, 1, 0, 2, 1, 3, 4, 5, 6]);
        assert_eq!(first, [0, 1, 3, 5, 6, 7, 8]);
    }

    #[test]
    fn long_texts_are_told_apart_by_their_last_byte_and_not_by_their_place() {
        let (first, codes) = number(&[
            &[
                "a name that is long 1",
                "a name that is long 2",
                "a name that is long 1",
            ],
            &["a name that is long 2", "a name that is long 3"],
        ])
        .unwrap();
        assert_eq!(codes, [0, 1, 0, 1, 2]);
        assert_eq!(first, [0, 1, 4]);
    }

    #[test]
    fn texts_that_only_later_parts_show_get_the_numbers_of_their_first_rows() {
        let names: Vec<String> = (0..200).map(|number| format!("level {number}")).collect();
        let row = |at: usize| names[(at / 1000) * 7 % 200].as_str();
        let texts: Vec<&str> = (0..300_000).map(row).collect();
        let (first, codes) = number(&[&texts[..100_000], &texts[100_000..]]).unwrap();
        let mut seen: Vec<&str> = Vec::new();
        for (text, &code) in texts.iter().zip(&codes) {
            if !seen.contains(text) {
                seen.push(text);
            }
            assert_eq!(seen[usize::from(code)], *text);
        }
        assert_eq!(
            first,
            (0..200).map(|number| number * 1000).collect::<Vec<_>>()
        );
    }

    #[test]
    fn more_texts_than_a_byte_can_number_are_left_to_others() {
        let names: Vec<String> = (0..256).map(|number| number.to_string()).collect();
        let texts: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(number(&[&texts[..255]]).is_some());
        assert!(number(&[&texts]).is_none());
        let late: Vec<&str> = (0..200_000)
            .map(|row| texts[row / 1000])
            .chain(texts.iter().copied())
            .collect();
        assert!(number(&[&late]).is_none());
    }

    #[test]
    fn codes_are_replaced_by_their_entries() {
        let mut of_code = [0; 256];
        of_code[..3].copy_from_slice(&[2, 0, 1]);
        let mut codes: Vec<u8> = (0..100_000).map(|row| (row % 3) as u8).collect();
        relabel(&mut codes, &of_code);
        assert!((0..100_000).all(|row| codes[row] == [2, 0, 1][row % 3]));
    }
}
