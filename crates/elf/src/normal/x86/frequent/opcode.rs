//! What an opcode says.

use crate::normal::x86::step::Verb;

/// An opcode in 16 bits: what follows it, and what is done with a constant.
///
/// From the lowest bit: the kind (4), the width of its constant (3), the bytes of its memory as a code (3), what is done
/// with the constant (3), and which register it goes to (2).
#[derive(Clone, Copy)]
pub(super) struct Opcode(u16);

/// What follows an opcode.
pub(super) mod kind {
    /// It is left to the decoder of the whole set.
    pub(in crate::normal::x86) const OTHER: u16 = 0;
    /// Nothing.
    pub(in crate::normal::x86) const SINGLE: u16 = 1;
    /// A register or memory, as after those up to `LONG_FILL`.
    pub(in crate::normal::x86) const OPERAND: u16 = 2;
    pub(in crate::normal::x86) const COMPARISON: u16 = 3;
    /// An address is computed.
    pub(in crate::normal::x86) const ADDRESS: u16 = 4;
    /// It is common with operands of eight bytes only.
    pub(in crate::normal::x86) const WIDE: u16 = 5;
    /// A call or jump through a register or memory.
    pub(in crate::normal::x86) const CALL_THROUGH: u16 = 6;
    pub(in crate::normal::x86) const JUMP_THROUGH: u16 = 7;
    /// The same fills space.
    pub(in crate::normal::x86) const LONG_FILL: u16 = 8;
    /// The operand's middle digit chooses among `GROUPS`.
    pub(in crate::normal::x86) const GROUP: u16 = 9;
    /// A constant alone.
    pub(in crate::normal::x86) const CONSTANT: u16 = 10;
    /// A distance of one byte or of four.
    pub(in crate::normal::x86) const NEAR: u16 = 11;
    pub(in crate::normal::x86) const FAR: u16 = 12;
    /// Nothing, and the next instruction is not reached.
    pub(in crate::normal::x86) const END: u16 = 13;
    /// Nothing, and it does nothing.
    pub(in crate::normal::x86) const FILL: u16 = 14;
    /// The mark of where indirect branches may lead.
    pub(in crate::normal::x86) const MARK: u16 = 15;
}

/// How wide a constant is.
pub(super) mod width {
    /// A byte without a sign.
    pub(in crate::normal::x86) const BYTE: u16 = 1;
    /// A byte with its sign.
    pub(in crate::normal::x86) const SIGNED: u16 = 2;
    /// Two or four bytes.
    pub(in crate::normal::x86) const WHOLE: u16 = 3;
    /// Two, four or eight bytes.
    pub(in crate::normal::x86) const FULL: u16 = 4;
    /// Four bytes with their sign.
    pub(in crate::normal::x86) const LONG: u16 = 5;
}

/// Codes of sizes: none, 1 << (code - 1) bytes, as many as the operand has, or 4 or 8 by a prefix.
pub(super) const NONE: u16 = 0;
pub(super) const BYTE: u16 = 1;
pub(super) const TWO: u16 = 2;
pub(super) const FOUR: u16 = 3;
pub(super) const EIGHT: u16 = 4;
pub(super) const SIXTEEN: u16 = 5;
pub(super) const WIDTH: u16 = 6;
pub(super) const WORD: u16 = 7;

/// The register that a constant goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Nothing,
    /// The operand, if that is a register.
    Operand,
    /// The other register.
    Other,
    /// By the lowest digit of the opcode.
    Opcode,
}

const VERBS: [Verb; 7] = [
    Verb::Other,
    Verb::Move,
    Verb::Push,
    Verb::Compare,
    Verb::Test,
    Verb::Add,
    Verb::Subtract,
];

impl Opcode {
    pub(super) const UNKNOWN: Self = Self(kind::OTHER);

    pub(super) const fn new(kind: u16, size: u16) -> Self {
        Self(kind | size << 7)
    }

    pub(super) const fn with(self, width: u16, verb: Verb, written: Written) -> Self {
        let mut place = 0;
        while VERBS[place] as u8 != verb as u8 {
            place += 1;
        }
        Self(self.0 | width << 4 | (place as u16) << 10 | (written as u16) << 13)
    }

    #[inline(always)]
    pub(super) fn kind(self) -> u16 {
        self.0 & 0xf
    }

    /// The kind of one that no constant follows; larger of any other.
    #[inline(always)]
    pub(super) fn kind_alone(self) -> u16 {
        self.0 & 0x7f
    }

    /// Whether a constant follows.
    #[inline(always)]
    pub(super) fn has_constant(self) -> bool {
        self.0 & 0x70 != 0
    }

    #[inline(always)]
    pub(super) fn width(self) -> u16 {
        self.0 >> 4 & 7
    }

    #[inline(always)]
    pub(super) fn verb(self) -> Verb {
        VERBS[usize::from(self.0 >> 10 & 7).min(VERBS.len() - 1)]
    }

    #[inline(always)]
    pub(super) fn written(self) -> Written {
        match self.0 >> 13 {
            0 => Written::Nothing,
            1 => Written::Operand,
            2 => Written::Other,
            _ => Written::Opcode,
        }
    }

    /// Bytes of memory at its operand; `operand` are those that its prefixes say.
    pub(super) fn size(self, operand: u16) -> u16 {
        match self.0 >> 7 & 7 {
            NONE => 0,
            WIDTH => operand,
            WORD => operand.max(4),
            code => 1 << (code - 1),
        }
    }
}
