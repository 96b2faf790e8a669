//! Registers, memory and constants behind an opcode.

use super::opcodes::{WIDTH, WORD, Width};
use crate::normal::x86::WINDOW;
use crate::normal::x86::step::{Displacement, Immediate, Meaning, Numbers, Step, Then, Verb};

/// An instruction whose prefixes and opcode were read.
pub(super) struct Head<'b> {
    pub(super) bytes: &'b [u8; WINDOW],
    pub(super) ip: u64,
    /// How many bytes were read.
    pub(super) at: usize,
    /// One of 0x66, 0xf2 and 0xf3, or 0.
    pub(super) prefix: u8,
    pub(super) rex: u8,
    pub(super) is_segmented: bool,
}

impl Head<'_> {
    pub(super) fn is_repeated(&self) -> bool {
        self.prefix > 0x66
    }

    pub(super) fn is_wide(&self) -> bool {
        self.rex & 8 != 0
    }

    pub(super) fn has_prefix(&self) -> bool {
        self.prefix != 0 || self.rex != 0 || self.is_segmented
    }

    /// Bytes of an operand that is not a byte.
    pub(super) fn width(&self) -> u16 {
        match (self.is_wide(), self.prefix) {
            (true, _) => 8,
            (false, 0x66) => 2,
            _ => 4,
        }
    }

    /// Bytes of memory at an operand, by the code of a table.
    pub(super) fn size_of(&self, code: u8) -> u16 {
        match code {
            WIDTH => self.width(),
            WORD => {
                if self.is_wide() {
                    8
                } else {
                    4
                }
            }
            code => 1 << (code - 1),
        }
    }

    /// A number of so many bytes with its sign.
    pub(super) fn signed(&self, at: usize, bytes: usize) -> Option<u64> {
        let found = self.bytes.get(at..at + bytes)?;
        Some(match *found {
            [byte] => byte as i8 as u64,
            [first, second] => i16::from_le_bytes([first, second]) as u64,
            [first, second, third, fourth] => {
                i32::from_le_bytes([first, second, third, fourth]) as u64
            }
            _ => u64::from_le_bytes(found.try_into().ok()?),
        })
    }
}

/// A register or memory, with the other register beside it.
pub(super) struct Operand {
    /// Behind it.
    pub(super) end: usize,
    /// The other register, or a further part of the opcode.
    pub(super) register: u8,
    /// The register that the instruction writes, if that is not in memory and not a byte.
    pub(super) written: Option<u8>,
    pub(super) is_register: bool,
    pub(super) is_indexed: bool,
    /// Where a displacement of four bytes stands.
    pub(super) displacement: Option<(usize, bool)>,
}

pub(super) fn read_operand(head: &Head<'_>, at: usize) -> Option<Operand> {
    let byte = *head.bytes.get(at)?;
    let (mode, low) = (byte >> 6, byte & 7);
    let register = byte >> 3 & 7 | (head.rex & 4) << 1;
    if mode == 3 {
        return Some(Operand {
            end: at + 1,
            register,
            written: Some(low | (head.rex & 1) << 3),
            is_register: true,
            is_indexed: false,
            displacement: None,
        });
    }
    let mut end = at + 1;
    let mut base = low;
    let mut is_indexed = false;
    if low == 4 {
        let scaled = *head.bytes.get(end)?;
        end += 1;
        base = scaled & 7;
        is_indexed = scaled & 0x38 != 0x20 || head.rex & 2 != 0;
    }
    let is_relative = mode == 0 && low == 5;
    let displacement = match mode {
        0 if base == 5 => 4,
        0 => 0,
        1 => 1,
        _ => 4,
    };
    Some(Operand {
        end: end + displacement,
        register,
        written: None,
        is_register: false,
        is_indexed,
        displacement: (displacement == 4).then_some((end, is_relative)),
    })
}

/// What is known of an instruction by its opcode.
pub(super) struct Rest {
    /// Bytes of its operand in memory.
    pub(super) size: u16,
    pub(super) width: Width,
    pub(super) verb: Verb,
    pub(super) compares: bool,
    pub(super) then: Then,
}

impl Rest {
    /// Without a constant, and the next instruction comes after it.
    pub(super) fn of(size: u16) -> Self {
        Self {
            size,
            width: Width::Nothing,
            verb: Verb::Other,
            compares: false,
            then: Then::Next,
        }
    }
}

/// An instruction whose operand ends at `head.at`, where its constant begins if it has one.
pub(super) fn finish(
    head: &Head<'_>,
    operand: &Operand,
    rest: Rest,
    numbers: &mut Numbers,
) -> Option<(usize, Step)> {
    let Rest {
        size,
        width,
        verb,
        compares,
        then,
    } = rest;
    let found = match width {
        Width::Nothing => None,
        width => Some(read_immediate(head, head.at, width)?),
    };
    let end = head.at + found.map_or(0, |(_, size)| size);
    let displacement = match operand.displacement {
        None => None,
        Some((_, false)) if head.is_segmented => None,
        Some((at, is_relative)) => {
            let value = head.signed(at, 4)?;
            Some(Displacement {
                meaning: if is_relative {
                    Meaning::Address(head.ip.wrapping_add(end as u64).wrapping_add(value))
                } else {
                    Meaning::Distance(value)
                },
                place: (at as u8, 4),
                read: size,
                is_indexed: operand.is_indexed,
            })
        }
    };
    if displacement.is_none() && found.is_none() {
        return Some((end, plain(compares, then)));
    }
    *numbers = Numbers {
        compares,
        then,
        displacement,
        immediate: found.map(|(value, bytes)| immediate(head, value, bytes, verb, operand.written)),
    };
    Some((end, Step::Numbers))
}

/// An instruction that ends with its constant of `size` bytes, which stands at `head.at`.
pub(super) fn constant(
    head: &Head<'_>,
    value: u64,
    size: usize,
    verb: Verb,
    register: Option<u8>,
    compares: bool,
    numbers: &mut Numbers,
) -> (usize, Step) {
    *numbers = Numbers {
        compares,
        then: Then::Next,
        displacement: None,
        immediate: Some(immediate(head, value, size, verb, register)),
    };
    (head.at + size, Step::Numbers)
}

pub(super) fn immediate(
    head: &Head<'_>,
    value: u64,
    size: usize,
    verb: Verb,
    register: Option<u8>,
) -> Immediate {
    // Half registers neither move the stack nor are arguments by themselves.
    let register = register.filter(|_| head.width() != 2);
    Immediate {
        value,
        place: (head.at as u8, size as u8),
        verb,
        moves_stack: register == Some(4),
        is_argument: verb == Verb::Move && matches!(register, Some(1 | 2 | 6..=9)),
    }
}

pub(super) fn read_immediate(head: &Head<'_>, at: usize, width: Width) -> Option<(u64, usize)> {
    match width {
        Width::Nothing => None,
        Width::Byte => Some((u64::from(*head.bytes.get(at)?), 1)),
        Width::Signed => Some((head.signed(at, 1)?, 1)),
        Width::Whole => match head.width() {
            2 => Some((head.signed(at, 2)? & 0xffff, 2)),
            4 => Some((head.signed(at, 4)? & 0xffff_ffff, 4)),
            _ => Some((head.signed(at, 4)?, 4)),
        },
    }
}

pub(super) fn plain(compares: bool, then: Then) -> Step {
    Step::Plain { compares, then }
}
