//! What is known of an opcode.

use crate::normal::x86::step::Verb;
use iced_x86::Mnemonic;

/// What follows an opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Unknown,
    /// Nothing.
    Single,
    /// A register or memory, and perhaps a constant.
    Memory,
    /// A constant.
    Constant,
    /// It depends on the opcode.
    Special,
}

#[derive(Clone, Copy)]
pub(super) struct Opcode {
    pub(super) shape: Shape,
    /// Bytes of memory, as a code.
    pub(super) size: u8,
    pub(super) immediate: Width,
    pub(super) verb: Verb,
    pub(super) compares: bool,
}

/// How wide a constant is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Nothing,
    /// A byte without a sign.
    Byte,
    /// A byte with its sign.
    Signed,
    /// Two or four bytes.
    Whole,
}

/// Codes of sizes: 1 << (code - 1) bytes, as many as the operand has, or 4 or 8 by a prefix.
pub(super) const BYTE: u8 = 1;
pub(super) const TWO: u8 = 2;
pub(super) const FOUR: u8 = 3;
pub(super) const EIGHT: u8 = 4;
pub(super) const SIXTEEN: u8 = 5;
pub(super) const WIDTH: u8 = 6;
pub(super) const WORD: u8 = 7;

const UNKNOWN: Opcode = Opcode {
    shape: Shape::Unknown,
    size: BYTE,
    immediate: Width::Nothing,
    verb: Verb::Other,
    compares: false,
};

pub(super) const FIRST: [Opcode; 256] = list_first();

const fn list_first() -> [Opcode; 256] {
    let mut table = [UNKNOWN; 256];
    let mut operation = 0;
    // Arithmetic: eight operations of six forms each.
    while operation < 8 {
        let verb = ARITHMETIC[operation];
        let compares = operation == 7;
        let mut form = 0;
        while form < 6 {
            table[operation * 8 + form] = Opcode {
                shape: if form < 4 {
                    Shape::Memory
                } else {
                    Shape::Constant
                },
                size: if form % 2 == 0 { BYTE } else { WIDTH },
                immediate: match form {
                    4 => Width::Byte,
                    5 => Width::Whole,
                    _ => Width::Nothing,
                },
                verb,
                compares,
            };
            form += 1;
        }
        operation += 1;
    }
    let mut code = 0x50;
    while code < 0x60 {
        table[code].shape = Shape::Single;
        code += 1;
    }
    code = 0x91;
    while code < 0x9a {
        table[code].shape = Shape::Single;
        code += 1;
    }
    table[0xc9].shape = Shape::Single;
    code = 0xb0;
    while code < 0xc0 {
        table[code] = Opcode {
            shape: Shape::Constant,
            immediate: if code < 0xb8 {
                Width::Byte
            } else {
                Width::Whole
            },
            verb: Verb::Move,
            ..UNKNOWN
        };
        code += 1;
    }
    let specials = [
        0x63, 0x68, 0x6a, 0x80, 0x81, 0x83, 0x8d, 0x90, 0xc0, 0xc1, 0xc3, 0xc6, 0xc7, 0xd1, 0xd3,
        0xf6, 0xf7, 0xfe, 0xff,
    ];
    let mut place = 0;
    while place < specials.len() {
        table[specials[place]].shape = Shape::Special;
        place += 1;
    }
    table[0x69] = memory(WIDTH, Width::Whole, false);
    table[0x6b] = memory(WIDTH, Width::Signed, false);
    table[0x84] = memory(BYTE, Width::Nothing, true);
    table[0x85] = memory(WIDTH, Width::Nothing, true);
    table[0x88] = memory(BYTE, Width::Nothing, false);
    table[0x89] = memory(WIDTH, Width::Nothing, false);
    table[0x8a] = memory(BYTE, Width::Nothing, false);
    table[0x8b] = memory(WIDTH, Width::Nothing, false);
    table[0xa8] = Opcode {
        shape: Shape::Constant,
        immediate: Width::Byte,
        compares: true,
        ..UNKNOWN
    };
    table[0xa9] = Opcode {
        shape: Shape::Constant,
        immediate: Width::Whole,
        compares: true,
        ..UNKNOWN
    };
    table
}

/// What the eight operations of arithmetic are to the form.
pub(super) const ARITHMETIC: [Verb; 8] = [
    Verb::Add,
    Verb::Other,
    Verb::Other,
    Verb::Other,
    Verb::Other,
    Verb::Subtract,
    Verb::Other,
    Verb::Compare,
];

const fn memory(size: u8, immediate: Width, compares: bool) -> Opcode {
    Opcode {
        shape: Shape::Memory,
        size,
        immediate,
        verb: Verb::Other,
        compares,
    }
}

/// Sizes of the operands of opcodes after 0x0f, for no prefix, 0x66, 0xf3 and 0xf2; 0 where they are not common. With
/// `WITH_BYTE` a constant follows.
pub(super) const SECOND: [[u8; 256]; 4] = list_second();
pub(super) const WITH_BYTE: u8 = 0x10;

const fn list_second() -> [[u8; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut code = 0;
    while code < 16 {
        tables[0][0x40 + code] = WIDTH;
        tables[1][0x40 + code] = WIDTH;
        tables[0][0x90 + code] = BYTE;
        code += 1;
    }
    // Integers.
    let mut prefix = 0;
    while prefix < 2 {
        tables[prefix][0xaf] = WIDTH;
        tables[prefix][0xb6] = BYTE;
        tables[prefix][0xbe] = BYTE;
        tables[prefix][0xa3] = WIDTH;
        prefix += 1;
    }
    tables[0][0xb7] = TWO;
    tables[0][0xbf] = TWO;
    tables[0][0xa4] = WIDTH | WITH_BYTE;
    tables[0][0xac] = WIDTH | WITH_BYTE;
    // Vectors: moves, and arithmetic.
    let whole = [
        0x10, 0x11, 0x14, 0x15, 0x28, 0x29, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5c, 0x5d, 0x5e,
        0x5f,
    ];
    let mut place = 0;
    while place < whole.len() {
        tables[0][whole[place]] = SIXTEEN;
        tables[1][whole[place]] = SIXTEEN;
        place += 1;
    }
    tables[0][0xc6] = SIXTEEN | WITH_BYTE;
    tables[1][0xc6] = SIXTEEN | WITH_BYTE;
    tables[0][0x2e] = FOUR;
    tables[0][0x2f] = FOUR;
    tables[1][0x2e] = EIGHT;
    tables[1][0x2f] = EIGHT;
    let integers = [
        0x60, 0x61, 0x62, 0x64, 0x65, 0x66, 0x6a, 0x6c, 0x6d, 0x6f, 0x74, 0x75, 0x76, 0x7f, 0xd4,
        0xda, 0xdb, 0xde, 0xdf, 0xeb, 0xef, 0xf4, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe,
    ];
    place = 0;
    while place < integers.len() {
        tables[1][integers[place]] = SIXTEEN;
        place += 1;
    }
    tables[1][0x70] = SIXTEEN | WITH_BYTE;
    tables[1][0x6e] = WORD;
    tables[1][0x7e] = WORD;
    tables[1][0xd6] = EIGHT;
    tables[2][0x6f] = SIXTEEN;
    tables[2][0x7f] = SIXTEEN;
    tables[2][0x7e] = EIGHT;
    tables[2][0x70] = SIXTEEN | WITH_BYTE;
    tables[3][0x70] = SIXTEEN | WITH_BYTE;
    // One number alone.
    let single = [0x10, 0x11, 0x51, 0x58, 0x59, 0x5a, 0x5c, 0x5d, 0x5e, 0x5f];
    place = 0;
    while place < single.len() {
        tables[2][single[place]] = FOUR;
        tables[3][single[place]] = EIGHT;
        place += 1;
    }
    tables[2][0x2a] = WORD;
    tables[3][0x2a] = WORD;
    tables[2][0x2c] = FOUR;
    tables[3][0x2c] = EIGHT;
    tables
}

/// A condition's branch by the low digit of its opcode.
pub(super) const CONDITIONS: [u16; 16] = [
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
