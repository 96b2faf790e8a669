//! Constants and addresses behind an opcode.

use super::opcode::{Written, width};
use super::start::Start;
use crate::normal::x86::step::{Displacement, Immediate, Meaning, Numbers, Step, Then, Verb};

/// The constant with which an instruction ends that reads the operand whose first byte is `operand`; it begins at `at`.
#[inline(always)]
pub(super) fn read_constant(start: &Start<'_>, operand: u8, at: usize) -> Immediate {
    let wide = start.width();
    let (value, size) = match start.opcode.width() {
        width::BYTE => (u64::from(start.byte(at)), 1),
        width::SIGNED => (start.byte(at) as i8 as u64, 1),
        width::WHOLE | width::FULL if wide == 2 => (u64::from(start.four(at) & 0xffff), 2),
        width::WHOLE | width::FULL if wide == 4 => (u64::from(start.four(at)), 4),
        width::FULL => (
            u64::from(start.four(at)) | u64::from(start.four(at + 4)) << 32,
            8,
        ),
        _ => (start.four(at) as i32 as u64, 4),
    };
    let register = match start.opcode.written() {
        Written::Operand if operand >= 0xc0 => operand & 7 | (start.rex & 1) << 3,
        Written::Other => operand >> 3 & 7 | (start.rex & 4) << 1,
        Written::Opcode => start.code & 7 | (start.rex & 1) << 3,
        _ => 0,
    };
    // Half registers neither move the stack nor are arguments by themselves.
    let register = if wide == 2 { 0 } else { register };
    let verb = start.opcode.verb();
    Immediate {
        value,
        place: (at as u8, size),
        verb,
        moves_stack: register == 4,
        is_argument: verb == Verb::Move && matches!(register, 1 | 2 | 6..=9),
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
    let operand = start.byte(start.at);
    let immediate = (start.opcode.has_constant()).then(|| read_constant(start, operand, end));
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
