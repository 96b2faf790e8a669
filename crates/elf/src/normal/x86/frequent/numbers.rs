//! Constants and addresses behind an opcode.

use super::opcode::{Written, width};
use super::start::Start;
use crate::normal::x86::step::{Displacement, Immediate, Meaning, Numbers, Step, Then, Verb};

/// Bytes of a constant, and which bits it may have once its sign was extended, by its width and by which width its operand
/// has: 4, 2 or 8.
static SIZES: [[(u8, u64); 3]; 8] = {
    const ALL: u64 = u64::MAX;
    let mut sizes = [[(4, ALL); 3]; 8];
    sizes[width::BYTE as usize] = [(1, 0xff); 3];
    sizes[width::SIGNED as usize] = [(1, ALL); 3];
    sizes[width::WHOLE as usize] = [(4, 0xffff_ffff), (2, 0xffff), (4, ALL)];
    sizes[width::FULL as usize] = [(4, 0xffff_ffff), (2, 0xffff), (8, ALL)];
    sizes
};

/// Registers that hold arguments, a bit each.
const ARGUMENTS: u16 = 1 << 1 | 1 << 2 | 0b1111 << 6;

/// The constant with which an instruction ends; it begins at `at`.
#[inline(always)]
pub(super) fn read_constant(start: &Start<'_>, at: usize) -> Immediate {
    // As few branches as possible: widths and registers are not foretold well.
    let which = start.which_width();
    let (size, bits) = SIZES[usize::from(start.opcode.width())][which];
    let four = start.four(at);
    let value = if size == 8 {
        u64::from(four) | u64::from(start.four(at + 4)) << 32
    } else {
        let unused = 32 - 8 * u32::from(size);
        ((four << unused) as i32 >> unused) as u64 & bits
    };
    let operand = start.operand;
    let register = match start.opcode.written() {
        Written::Nothing => 0,
        Written::Operand => (operand & 7 | (start.rex & 1) << 3) * u8::from(operand >= 0xc0),
        Written::Other => operand >> 3 & 7 | (start.rex & 4) << 1,
        Written::Opcode => start.code & 7 | (start.rex & 1) << 3,
    };
    // Half registers neither move the stack nor are arguments by themselves.
    let register = if which == 1 { 0 } else { register };
    let verb = start.opcode.verb();
    Immediate {
        value,
        place: (at as u8, size),
        verb,
        moves_stack: register == 4,
        is_argument: verb == Verb::Move && ARGUMENTS >> register & 1 != 0,
    }
}

/// An instruction at `ip` with a displacement of four bytes that ends at `end`, and perhaps a constant behind it.
pub(super) fn read_displaced(
    start: &Start<'_>,
    ip: u64,
    end: usize,
    (compares, then): (bool, Then),
    numbers: &mut Numbers,
) -> (usize, Step) {
    let operand = start.operand;
    let immediate = (start.opcode.has_constant()).then(|| read_constant(start, end));
    let length = end + immediate.map_or(0, |found| usize::from(found.place.1));
    let distance = start.four(end - 4) as i32 as u64;
    let is_relative = operand & 0xc7 == 5;
    // A byte with an index and a base.
    let scaled = start.byte(start.at + 1);
    *numbers = Numbers {
        compares,
        then,
        displacement: Some(Displacement {
            meaning: if is_relative {
                Meaning::Address(ip.wrapping_add(length as u64).wrapping_add(distance))
            } else {
                Meaning::Distance(distance)
            },
            place: (end as u8 - 4, 4),
            read: start.opcode.size(start.width()),
            is_indexed: operand & 7 == 4 && (scaled & 0x38 != 0x20 || start.rex & 2 != 0),
        }),
        immediate,
    };
    (length, Step::Numbers)
}
