//! Instructions whose bytes say all, which are most: how long they are, by tables.

use super::opcodes::{FIRST, SECOND, Shape, WITH_BYTE, Width};
use crate::normal::x86::WINDOW;

/// The mark of a comparison in what `read_plain` returns.
pub(in crate::normal::x86) const COMPARES: usize = 0x80;

/// The length of the instruction at the beginning of `bytes` if it is a common one without a constant, without an address
/// and without a target, with `COMPARES` for a comparison; 0 for any other.
///
/// In a program that is `movable` a distance from a register is no address.
#[inline(always)]
pub(in crate::normal::x86) fn read_plain(bytes: &[u8; WINDOW], movable: bool) -> usize {
    // At most 15 bytes are looked at: the mask changes nothing but that nothing else need be checked.
    let byte = |at: usize| bytes[at & (WINDOW - 1)];
    let prefix = PREFIXES[usize::from(bytes[0])];
    let mut at = usize::from(prefix != 0);
    let mut code = byte(at);
    let mut rex = 0;
    if code & 0xf0 == 0x40 {
        rex = code;
        at += 1;
        code = byte(at);
    }
    at += 1;
    let kind = if code == 0x0f {
        at += 1;
        SECONDS[usize::from(prefix & 3)][usize::from(byte(at - 1))]
    } else if prefix < 2 {
        FIRSTS[usize::from(code)]
    } else {
        OTHER
    };
    match kind {
        OTHER => return 0,
        SINGLE => return if prefix == 0 { at } else { 0 },
        WIDE if rex & 8 == 0 => return 0,
        _ => {}
    }
    let operand = byte(at);
    let shape = OPERANDS[usize::from(operand)];
    if shape == 0 {
        return 0;
    }
    let mut end = at + usize::from(shape & 0xf);
    let mut is_far = shape & FAR != 0;
    if shape & SCALED != 0 && operand < 0x40 && byte(at + 1) & 7 == 5 {
        end += 4;
        is_far = true;
    }
    if is_far && !movable {
        return 0;
    }
    if kind == ADDRESS {
        // With a distance of 0 it may do nothing.
        let is_zero = match operand >> 6 {
            0 => false,
            1 => byte(end - 1) == 0,
            2 => (1..=4).all(|back| byte(end - back) == 0),
            _ => true,
        };
        if is_zero {
            return 0;
        }
    }
    end | if kind == COMPARISON { COMPARES } else { 0 }
}

/// Kinds of opcodes.
const OTHER: u8 = 0;
/// Nothing follows.
const SINGLE: u8 = 1;
/// A register or memory follows.
const OPERAND: u8 = 2;
const COMPARISON: u8 = 3;
/// An address is computed.
const ADDRESS: u8 = 4;
/// It is common with operands of eight bytes only.
const WIDE: u8 = 5;

/// Numbers of the prefixes that choose a table.
const PREFIXES: [u8; 256] = {
    let mut table = [0; 256];
    table[0x66] = 1;
    table[0xf3] = 2;
    table[0xf2] = 3;
    table
};

const FIRSTS: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut code = 0;
    while code < 256 {
        let known = &FIRST[code];
        table[code] = match (known.shape, known.immediate) {
            (Shape::Single, _) => SINGLE,
            (Shape::Memory, Width::Nothing) if known.compares => COMPARISON,
            (Shape::Memory, Width::Nothing) => OPERAND,
            _ => OTHER,
        };
        code += 1;
    }
    table[0x8d] = ADDRESS;
    table[0x63] = WIDE;
    table
};

const SECONDS: [[u8; 256]; 4] = {
    let mut tables = [[OTHER; 256]; 4];
    let mut prefix = 0;
    while prefix < 4 {
        let mut code = 0;
        while code < 256 {
            let known = SECOND[prefix][code];
            if known != 0 && known & WITH_BYTE == 0 {
                tables[prefix][code] = OPERAND;
            }
            code += 1;
        }
        prefix += 1;
    }
    tables
};

/// Marks in `OPERANDS`: a byte with an index and a base follows; a distance of four bytes does.
const SCALED: u8 = 0x10;
const FAR: u8 = 0x20;

/// Bytes that a register or memory takes by its first one, with its marks; 0 where it counts from the next instruction.
const OPERANDS: [u8; 256] = {
    let mut table = [0; 256];
    let mut operand = 0;
    while operand < 256 {
        let (mode, low) = (operand >> 6, operand & 7);
        let scaled = if mode < 3 && low == 4 { SCALED + 1 } else { 0 };
        table[operand] = match (mode, low) {
            (0, 5) => 0,
            (0 | 3, _) => 1 + scaled,
            (1, _) => 2 + scaled,
            _ => (5 + scaled) | FAR,
        };
        operand += 1;
    }
    table
};
