//! The bytes before an operand: prefixes and opcode.

use super::opcode::Opcode;
use super::opcodes::{FIRST, SECOND};
use crate::normal::x86::WINDOW;

/// An instruction of which prefixes and opcode were read.
#[derive(Clone, Copy)]
pub(in crate::normal::x86) struct Start<'b> {
    pub(super) bytes: &'b [u8; WINDOW],
    /// How many bytes were read.
    pub(super) at: usize,
    /// One of those below.
    pub(super) prefix: u8,
    pub(super) rex: u8,
    /// The last byte of the opcode.
    pub(super) code: u8,
    /// The byte behind it: the first of an operand, where one follows.
    pub(super) operand: u8,
    pub(super) opcode: Opcode,
}

/// What stands for prefixes: the first four choose a table of opcodes.
const WIDTH: u8 = 1;
const REPEAT: u8 = 2;
/// What the thread has for itself.
const SEGMENT: u8 = 4;

static PREFIXES: [u8; 256] = {
    let mut table = [0; 256];
    table[0x66] = WIDTH;
    table[0xf3] = REPEAT;
    table[0xf2] = REPEAT + 1;
    table[0x64] = SEGMENT;
    table
};

impl<'b> Start<'b> {
    /// Reads up to the opcode. One with a prefix of those above, which are rare, is left unknown.
    #[inline(always)]
    pub(in crate::normal::x86) fn read(bytes: &'b [u8; WINDOW]) -> Self {
        Self::read_from(bytes, 0, 0)
    }

    /// Reads up to the opcode, with its prefix if it has one.
    #[inline(always)]
    pub(super) fn read_prefixed(bytes: &'b [u8; WINDOW]) -> Self {
        let prefix = PREFIXES[usize::from(bytes[0])];
        Self::read_from(bytes, usize::from(prefix != 0), prefix)
    }

    #[inline(always)]
    fn read_from(bytes: &'b [u8; WINDOW], at: usize, prefix: u8) -> Self {
        // All are taken from one word: where the next instruction begins is known after one load, not after three in a row.
        let word = bytes[at..].first_chunk();
        let word = word.map_or(0, |eight| u64::from_le_bytes(*eight));
        let first = word as u8;
        // Half of all instructions have such a byte: no branch, since a processor would foretell it badly.
        let extends = u8::from(first & 0xf0 == 0x40);
        let word = word >> (8 * extends);
        let mut start = Self {
            bytes,
            at: at + usize::from(extends) + 1,
            prefix,
            rex: first & extends.wrapping_neg(),
            code: word as u8,
            operand: (word >> 8) as u8,
            opcode: Opcode::UNKNOWN,
        };
        if start.code == 0x0f {
            start.code = start.operand;
            start.operand = (word >> 16) as u8;
            start.at += 1;
            start.opcode = SECOND[usize::from(start.prefix & 3)][usize::from(start.code)];
        } else if start.prefix & REPEAT == 0 {
            start.opcode = FIRST[usize::from(start.code)];
        }
        start
    }

    /// At most 15 bytes are looked at: the mask changes nothing but that nothing else need be checked.
    #[inline(always)]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes[at & (WINDOW - 1)]
    }

    /// Four bytes; at most 14 are looked at.
    #[inline(always)]
    pub(super) fn four(&self, at: usize) -> u32 {
        let four = self.bytes.get(at..at + 4);
        four.map_or(0, |four| {
            u32::from_le_bytes(four.try_into().unwrap_or_default())
        })
    }

    #[inline(always)]
    pub(super) fn is_wide(&self) -> bool {
        self.rex & 8 != 0
    }

    #[inline(always)]
    pub(super) fn is_segmented(&self) -> bool {
        self.prefix == SEGMENT
    }

    /// Which of 4, 2 and 8 `width` is.
    #[inline(always)]
    pub(super) fn which_width(&self) -> usize {
        match (self.is_wide(), self.prefix) {
            (true, _) => 2,
            (false, WIDTH) => 1,
            _ => 0,
        }
    }

    /// Bytes of an operand that is not a byte.
    #[inline(always)]
    pub(super) fn width(&self) -> u16 {
        match (self.is_wide(), self.prefix) {
            (true, _) => 8,
            (false, WIDTH) => 2,
            _ => 4,
        }
    }
}
