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
use super::step::{Immediate, Numbers, Step, Then, Way};
use numbers::{read_constant, read_displaced};
use opcode::kind;
use opcodes::in_group;
pub(super) use start::Start;

/// What an instruction is that is not a common one.
const UNKNOWN: (usize, Step) = (0, Step::Begun);

/// An instruction of the most frequent ones, without prefixes but REX; `end` is its length.
pub(super) enum Frequent {
    /// Its bytes say all.
    Plain { end: usize, compares: bool },
    /// It names the instruction at `target`.
    Branch {
        end: usize,
        mnemonic: u16,
        target: u64,
        way: Way,
    },
    /// It ends with a constant, and names no address.
    Constant { end: usize, constant: Immediate },
    /// It ends with the distance to an address, of which it reads or writes so many bytes.
    Relative {
        end: usize,
        address: u64,
        read: u16,
        compares: bool,
    },
    /// Any other.
    Rest,
}

/// Reads the instruction at the address `ip`.
///
/// In a program that is `movable` a distance from a register is no address.
#[inline(always)]
pub(super) fn read_frequent(start: &Start<'_>, ip: u64, movable: bool) -> Frequent {
    // As few branches as possible: what comes next is not foretold well.
    let kind = start.opcode.kind_alone();
    if kind.wrapping_sub(1) < kind::ADDRESS {
        let shape = match kind {
            kind::SINGLE => 0,
            _ => OPERANDS[usize::from(start.operand)],
        };
        let (end, is_far) = end_of(start, shape);
        let compares = kind == kind::COMPARISON;
        if shape & RELATIVE != 0 {
            let distance = start.four(end - 4) as i32 as u64;
            return Frequent::Relative {
                end,
                address: ip.wrapping_add(end as u64).wrapping_add(distance),
                read: start.opcode.size(start.width()),
                compares,
            };
        }
        if is_far && !movable || kind == kind::ADDRESS && does_nothing(start, end) {
            return Frequent::Rest;
        }
        return Frequent::Plain { end, compares };
    }
    match start.opcode.kind() {
        kind::NEAR => read_branch(start, ip, 1, start.operand as i8 as u64),
        kind::FAR => read_branch(start, ip, 4, start.four(start.at) as i32 as u64),
        _ => read_ending(start, movable),
    }
}

/// One that ends with a constant.
#[inline(always)]
fn read_ending(start: &Start<'_>, movable: bool) -> Frequent {
    let mut start = *start;
    if start.opcode.kind() == kind::GROUP {
        start.opcode = in_group(start.code, start.operand >> 3);
    }
    if !start.opcode.has_constant() {
        return Frequent::Rest;
    }
    let mut at = start.at;
    if start.opcode.kind() != kind::CONSTANT {
        let shape = OPERANDS[usize::from(start.operand)];
        let (end, is_far) = end_of(&start, shape);
        if shape & RELATIVE != 0 || is_far && !movable {
            return Frequent::Rest;
        }
        at = end;
    } else if is_pushed(&start) && start.rex != 0 {
        return Frequent::Rest;
    }
    let constant = read_constant(&start, at);
    Frequent::Constant {
        end: at + usize::from(constant.place.1),
        constant,
    }
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

/// A jump or call over a distance of `size` bytes.
#[inline(always)]
fn read_branch(start: &Start<'_>, ip: u64, size: usize, distance: u64) -> Frequent {
    if start.rex != 0 {
        return Frequent::Rest;
    }
    let (mnemonic, way) = match start.code {
        0xe8 => (Mnemonic::Call as u16, Way::Call),
        0xe9 | 0xeb => (Mnemonic::Jmp as u16, Way::Jump),
        code => (CONDITIONS[usize::from(code & 0xf)], Way::Condition),
    };
    let end = start.at + size;
    Frequent::Branch {
        end,
        mnemonic,
        target: ip.wrapping_add(end as u64).wrapping_add(distance),
        way,
    }
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
        kind::MARK if start.rex == 0 && start.operand == 0xfa => {
            return (start.at + 1, plain(Then::Next));
        }
        kind::END | kind::FILL | kind::MARK => return UNKNOWN,
        kind::GROUP => {
            let digit = start.operand >> 3;
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
    let shape = OPERANDS[usize::from(start.operand)];
    let (end, is_far) = end_of(start, shape);
    let (compares, then) = match start.opcode.kind() {
        kind::COMPARISON => (true, Then::Next),
        kind::WIDE if !start.is_wide() => return UNKNOWN,
        kind::ADDRESS if start.is_segmented() || does_nothing(start, end) => {
            return UNKNOWN;
        }
        kind::CALL_THROUGH => (false, Then::Call),
        kind::JUMP_THROUGH => (false, Then::Jump),
        kind::LONG_FILL => {
            let is_common = start.rex == 0 && !start.is_segmented() && start.operand & 0x38 == 0;
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
        let constant = read_constant(start, end);
        return (
            end + usize::from(constant.place.1),
            Step::Constant(constant),
        );
    }
    (end, Step::Plain { compares, then })
}

/// Whether computing an address may do nothing: it adds no distance to a register.
#[inline(always)]
fn does_nothing(start: &Start<'_>, end: usize) -> bool {
    match start.operand >> 6 {
        0 => false,
        1 => start.byte(end - 1) == 0,
        2 => start.four(end - 4) == 0,
        _ => true,
    }
}

#[inline(always)]
fn read_alone(start: &Start<'_>) -> (usize, Step) {
    if start.is_segmented() || is_pushed(start) && start.at > 1 {
        return UNKNOWN;
    }
    let constant = read_constant(start, start.at);
    (
        start.at + usize::from(constant.place.1),
        Step::Constant(constant),
    )
}

/// Whether a constant is pushed: with a prefix it has another width.
#[inline(always)]
fn is_pushed(start: &Start<'_>) -> bool {
    start.code & 0xfd == 0x68
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
