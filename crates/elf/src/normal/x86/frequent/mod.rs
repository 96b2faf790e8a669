//! The instructions of x86-64 that compilers write most, by tables of their first bytes.
//!
//! Anything else (other prefixes, other opcodes, forms of theirs that few compilers write) is left to the decoder of the
//! whole set. A test holds both against each other, opcode by opcode.

mod numbers;
mod opcode;
mod opcodes;
mod start;

use iced_x86::Mnemonic;

use super::WINDOW;
use super::step::{Numbers, Step, Then, Way};
use numbers::{read_constant, read_displaced};
use opcode::kind;
use opcodes::in_group;
pub(super) use start::Start;

/// What an instruction is that is not a common one.
const UNKNOWN: (usize, Step) = (0, Step::Begun);

/// The mark of a comparison in what `read_plain` returns.
pub(super) const COMPARES: usize = 0x80;

/// The length of an instruction without prefixes but REX whose bytes say all, with `COMPARES` for a comparison; 0 for any other.
///
/// In a program that is `movable` a distance from a register is no address.
#[inline(always)]
pub(super) fn read_plain(start: &Start<'_>, movable: bool) -> usize {
    let kind = start.opcode.kind_alone();
    if kind.wrapping_sub(1) > kind::ADDRESS - 1 {
        return 0;
    }
    let operand = start.byte(start.at);
    // As few branches as possible: what comes next is not foretold well.
    let shape = match kind {
        kind::SINGLE => 0,
        _ => OPERANDS[usize::from(operand)],
    };
    let (end, is_far) = end_of(start, shape);
    if shape & RELATIVE != 0 || is_far && !movable {
        return 0;
    }
    if kind == kind::ADDRESS && does_nothing(start, operand, end) {
        return 0;
    }
    end | (usize::from(kind == kind::COMPARISON) * COMPARES)
}

/// Where an operand of that shape ends, and whether it has a distance of four bytes from a register or from zero.
#[inline(always)]
fn end_of(start: &Start<'_>, shape: u8) -> (usize, bool) {
    let end = start.at + usize::from(shape & 0xf);
    if shape & SCALED != 0 && start.byte(start.at + 1) & 7 == 5 {
        return (end + 4, true);
    }
    (end, shape & FAR != 0)
}

/// A jump or call without prefixes to a target in the code: its length, mnemonic, target and way; `ip` is its address.
#[inline(always)]
pub(super) fn read_branch(start: &Start<'_>, ip: u64) -> Option<(usize, u16, u64, Way)> {
    let (size, distance) = match start.opcode.kind() {
        kind::NEAR => (1, start.byte(start.at) as i8 as u64),
        kind::FAR => (4, start.four(start.at) as i32 as u64),
        _ => return None,
    };
    if start.rex != 0 {
        return None;
    }
    let (mnemonic, way) = match start.code {
        0xe8 => (Mnemonic::Call as u16, Way::Call),
        0xe9 | 0xeb => (Mnemonic::Jmp as u16, Way::Jump),
        code => (CONDITIONS[usize::from(code & 0xf)], Way::Condition),
    };
    let length = start.at + size;
    let target = ip.wrapping_add(length as u64).wrapping_add(distance);
    Some((length, mnemonic, target, way))
}

/// How long the instruction at the beginning of `bytes` is, and what the form asks of it; `ip` is its address. The length
/// is 0 where it is not a common one, or a branch. `numbers` get what a step of numbers has.
#[inline(always)]
pub(super) fn read_rest(
    bytes: &[u8; WINDOW],
    ip: u64,
    movable: bool,
    numbers: &mut Numbers,
) -> (usize, Step) {
    let mut start = Start::read_prefixed(bytes);
    let has_prefix = start.prefix != 0 || start.rex != 0;
    match start.opcode.kind() {
        kind::OTHER | kind::NEAR | kind::FAR => return UNKNOWN,
        kind::SINGLE if start.prefix == 0 => return (start.at, plain(Then::Next)),
        kind::SINGLE => return UNKNOWN,
        kind::CONSTANT => return read_alone(&start),
        kind::END if !has_prefix => return (start.at, plain(Then::End)),
        kind::FILL if start.rex == 0 && !start.is_segmented() => return (start.at, Step::Idle),
        // The last byte of `endbr64`.
        kind::MARK if start.rex == 0 && start.byte(start.at) == 0xfa => {
            return (start.at + 1, plain(Then::Next));
        }
        kind::END | kind::FILL | kind::MARK => return UNKNOWN,
        kind::GROUP => {
            let digit = start.byte(start.at) >> 3;
            start.opcode = in_group(start.code, digit);
            // Their other prefixes make them other instructions.
            let changes = start.prefix != 0 || start.is_wide();
            if start.opcode.kind() == kind::OTHER || start.code == 0xff && digit & 6 != 0 && changes
            {
                return UNKNOWN;
            }
        }
        _ => {}
    }
    read_operand(&start, ip, movable, numbers)
}

#[inline(always)]
fn read_operand(start: &Start<'_>, ip: u64, movable: bool, numbers: &mut Numbers) -> (usize, Step) {
    let operand = start.byte(start.at);
    let shape = OPERANDS[usize::from(operand)];
    let (end, is_far) = end_of(start, shape);
    let (compares, then) = match start.opcode.kind() {
        kind::COMPARISON => (true, Then::Next),
        kind::WIDE if !start.is_wide() => return UNKNOWN,
        kind::ADDRESS if start.is_segmented() || does_nothing(start, operand, end) => {
            return UNKNOWN;
        }
        kind::CALL_THROUGH => (false, Then::Call),
        kind::JUMP_THROUGH => (false, Then::Jump),
        kind::LONG_FILL => {
            let is_common = start.rex == 0 && !start.is_segmented() && operand & 0x38 == 0;
            return if is_common {
                (end, Step::Idle)
            } else {
                UNKNOWN
            };
        }
        _ => (false, Then::Next),
    };
    let is_address = shape & RELATIVE != 0 || is_far && !movable && !start.is_segmented();
    if is_address {
        return read_displaced(start, ip, end, (compares, then), numbers);
    }
    if start.opcode.has_constant() {
        let constant = read_constant(start, operand, end);
        return (
            end + usize::from(constant.place.1),
            Step::Constant(constant),
        );
    }
    (end, Step::Plain { compares, then })
}

/// Whether computing an address may do nothing: it adds no distance to a register.
#[inline(always)]
fn does_nothing(start: &Start<'_>, operand: u8, end: usize) -> bool {
    match operand >> 6 {
        0 => false,
        1 => start.byte(end - 1) == 0,
        2 => start.four(end - 4) == 0,
        _ => true,
    }
}

#[inline(always)]
fn read_alone(start: &Start<'_>) -> (usize, Step) {
    // What is pushed has no other prefix, or another width.
    let is_pushed = start.code & 0xfd == 0x68;
    if start.is_segmented() || is_pushed && start.at > 1 {
        return UNKNOWN;
    }
    let constant = read_constant(start, 0, start.at);
    (
        start.at + usize::from(constant.place.1),
        Step::Constant(constant),
    )
}

fn plain(then: Then) -> Step {
    let compares = false;
    Step::Plain { compares, then }
}

/// Marks in `OPERANDS`: a byte with an index and a base follows, where a base may be a distance of four bytes; such a
/// distance follows, or one from the next instruction.
const SCALED: u8 = 0x10;
const FAR: u8 = 0x20;
const RELATIVE: u8 = 0x40;

/// Bytes that a register or memory takes by its first one, with its marks.
static OPERANDS: [u8; 256] = {
    let mut table = [0; 256];
    let mut operand = 0;
    while operand < 256 {
        let (mode, low) = (operand >> 6, operand & 7);
        let scale = (low == 4) as u8;
        table[operand] = match (mode, low) {
            (0, 4) => 2 | SCALED,
            (0, 5) => 5 | RELATIVE,
            (0 | 3, _) => 1,
            (1, _) => 2 + scale,
            _ => (5 + scale) | FAR,
        };
        operand += 1;
    }
    table
};

/// A condition's branch by the low digit of its opcode.
const CONDITIONS: [u16; 16] = [
    Mnemonic::Jo as u16,
    Mnemonic::Jno as u16,
    Mnemonic::Jb as u16,
    Mnemonic::Jae as u16,
    Mnemonic::Je as u16,
    Mnemonic::Jne as u16,
    Mnemonic::Jbe as u16,
    Mnemonic::Ja as u16,
    Mnemonic::Js as u16,
    Mnemonic::Jns as u16,
    Mnemonic::Jp as u16,
    Mnemonic::Jnp as u16,
    Mnemonic::Jl as u16,
    Mnemonic::Jge as u16,
    Mnemonic::Jle as u16,
    Mnemonic::Jg as u16,
];

#[cfg(test)]
mod tests;
