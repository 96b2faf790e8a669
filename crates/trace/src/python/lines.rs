//! Lines of instructions, read in the tables of code objects (`Objects/locations.md`, the same from 3.11 to 3.15).
//!
//! The interpreter's own function begins at the first entry of a table each time. Here the place that was reached last is
//! kept for each code object: a module whose lines are executed once, one after another, is read once.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Api, api};

/// Where a code object has its table of lines; 0 where that is not known.
static TABLE: AtomicU64 = AtomicU64::new(0);

/// Bytes of a unit of code.
const UNIT: i32 = 2;

/// A table, and how far it has been read.
#[derive(Clone, Copy)]
struct Reading {
    code: u64,
    /// The bytes object that holds it.
    text: u64,
    table: &'static [u8],
    /// What the deltas begin with.
    first_line: i32,
    /// The next entry.
    next: usize,
    /// Instructions that the entry before it is of, in bytes from the first.
    begin: i32,
    end: i32,
    /// Its line; where it has none, the line that the next delta begins with.
    line: i32,
    has_line: bool,
}

const NOTHING: Reading = Reading {
    code: 0,
    text: 0,
    table: &[],
    first_line: 0,
    next: 0,
    begin: 0,
    end: 0,
    line: 0,
    has_line: false,
};

impl Reading {
    fn begin(first_line: i32, table: &'static [u8]) -> Self {
        Self {
            table,
            first_line,
            line: first_line,
            ..NOTHING
        }
    }

    /// Go back to the first entry.
    fn begin_again(&mut self) {
        *self = Self {
            code: self.code,
            text: self.text,
            ..Self::begin(self.first_line, self.table)
        };
    }

    /// The line of an instruction; 0 where it has none.
    fn find(&mut self, offset: i32) -> u32 {
        if offset < self.begin {
            self.begin_again();
        }
        while offset >= self.end {
            let Some(entry) = self.table.get(self.next) else {
                return 0;
            };
            self.line += line_delta(*entry, &self.table[self.next + 1..]);
            self.has_line = *entry >> 3 != 0x1f;
            self.begin = self.end;
            self.end += (i32::from(*entry & 7) + 1) * UNIT;
            self.next += 1;
            // Only the first byte of an entry has its highest bit set.
            while self
                .table
                .get(self.next)
                .is_some_and(|byte| byte & 0x80 == 0)
            {
                self.next += 1;
            }
        }
        if self.has_line {
            u32::try_from(self.line).unwrap_or(0)
        } else {
            0
        }
    }
}

/// By how much the line of an entry differs from that of the one before; `rest` is what follows the entry's first byte.
#[inline]
fn line_delta(entry: u8, rest: &[u8]) -> i32 {
    match entry >> 3 & 15 {
        // Without columns, and with all of them.
        13 | 14 => read_signed(rest),
        // One line down or two, in the form for one line.
        kind @ (11 | 12) => i32::from(kind) - 10,
        _ => 0,
    }
}

/// Six bits a byte, the lowest first; the lowest of all is the sign.
fn read_signed(bytes: &[u8]) -> i32 {
    let (mut value, mut shift) = (0_u32, 0);
    for byte in bytes {
        value |= u32::from(byte & 63).wrapping_shl(shift);
        shift += 6;
        if byte & 64 == 0 {
            break;
        }
    }
    let size = (value >> 1) as i32;
    if value & 1 == 0 { size } else { -size }
}

const ROOM: usize = 64;

struct Readings(UnsafeCell<[Reading; ROOM]>);

// Used under the lock of the slow path only.
unsafe impl Sync for Readings {}

static READINGS: Readings = Readings(UnsafeCell::new([NOTHING; ROOM]));

/// Lines that are still to be compared with what the interpreter says.
static TO_COMPARE: AtomicU32 = AtomicU32::new(16);

/// Say where a code object has its table of lines.
pub fn set_table(offset: u64) {
    TABLE.store(offset, Ordering::Relaxed);
}

/// The line of an instruction of a code object that is kept; 0 where it has no line.
pub fn line_in_kept(code: u64, offset: i32) -> u32 {
    let Some(api) = api() else { return 0 };
    let table = TABLE.load(Ordering::Relaxed);
    if table == 0 || offset < 0 {
        return ask_for_line(api, code, offset);
    }
    let line = find_reading(api, code, table).find(offset);
    if TO_COMPARE.load(Ordering::Relaxed) > 0 {
        TO_COMPARE.fetch_sub(1, Ordering::Relaxed);
        let told = ask_for_line(api, code, offset);
        if told != line {
            // Another kind of table than we know.
            TABLE.store(0, Ordering::Relaxed);
        }
        return told;
    }
    line
}

fn find_reading(api: &Api, code: u64, table: u64) -> &'static mut Reading {
    let readings = unsafe { &mut *READINGS.0.get() };
    let reading = &mut readings[(code >> 4 ^ code >> 10) as usize % ROOM];
    let text = unsafe { *((code + table) as *const u64) };
    let length = unsafe { (api.bytes_size)(text) } as usize;
    // An interpreter that ends takes all of its objects with it: another's may lie there since.
    if (reading.code, reading.text, reading.table.len()) != (code, text, length) {
        // Of what comes before all instructions the interpreter says the first line.
        let first_line = unsafe { (api.code_line)(code, -1) };
        let bytes = unsafe { std::slice::from_raw_parts((api.bytes_text)(text), length) };
        *reading = Reading {
            code,
            text,
            ..Reading::begin(first_line, bytes)
        };
    }
    reading
}

/// The line of an instruction as the interpreter says it; 0 where it has no line.
pub fn ask_for_line(api: &Api, code: u64, offset: i32) -> u32 {
    let line = unsafe { (api.code_line)(code, offset as c_int) };
    u32::try_from(line).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a function that begins in line 10: one unit in line 10, two in 12, one without a line, three in 9, one in 209.
    const TABLE: [u8; 14] = [
        0x80 | 5 << 3,
        0x11,
        0x80 | 12 << 3 | 1,
        1,
        2,
        0x80 | 15 << 3,
        0x80 | 13 << 3 | 2,
        // Three up: 3 * 2 + 1.
        7,
        0x80 | 14 << 3,
        // 200 down: 400 is 16 and 6 times 64.
        64 | 16,
        6,
        0,
        1,
        2,
    ];

    fn read(offsets: &[i32]) -> Vec<u32> {
        let mut reading = Reading::begin(10, &TABLE);
        offsets.iter().map(|offset| reading.find(*offset)).collect()
    }

    #[test]
    fn instructions_have_the_lines_of_their_entries() {
        let offsets: Vec<i32> = (0..8).map(|unit| unit * UNIT).collect();
        assert_eq!(read(&offsets), [10, 12, 12, 0, 9, 9, 9, 209]);
        assert_eq!(read(&[8 * UNIT]), [0]);
    }

    #[test]
    fn lines_may_be_asked_for_in_any_order() {
        let units = [7, 0, 3, 1, 6, 2, 5, 4, 8, 7];
        let offsets = units.map(|unit| unit * UNIT);
        assert_eq!(read(&offsets), [209, 10, 0, 12, 9, 12, 9, 9, 0, 209]);
    }
}
