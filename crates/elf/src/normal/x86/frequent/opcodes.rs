//! The opcodes that are common.

use super::opcode::{
    BYTE, EIGHT, FOUR, NONE, Opcode, SIXTEEN, TWO, WIDTH, WORD, Written, kind, width,
};
use crate::normal::x86::step::Verb;

/// What the eight operations of arithmetic are to the form.
const ARITHMETIC: [Verb; 8] = [
    Verb::Add,
    Verb::Other,
    Verb::Other,
    Verb::Other,
    Verb::Other,
    Verb::Subtract,
    Verb::Other,
    Verb::Compare,
];

/// Opcodes of one byte.
pub(super) static FIRST: [Opcode; 256] = list_first();

const fn list_first() -> [Opcode; 256] {
    let mut table = [Opcode::UNKNOWN; 256];
    let mut operation = 0;
    // Arithmetic: eight operations of six forms each.
    while operation < 8 {
        let verb = ARITHMETIC[operation];
        let kind = if operation == 7 {
            kind::COMPARISON
        } else {
            kind::OPERAND
        };
        let mut form = 0;
        while form < 4 {
            table[operation * 8 + form] =
                Opcode::new(kind, if form % 2 == 0 { BYTE } else { WIDTH });
            form += 1;
        }
        let constant = Opcode::new(kind::CONSTANT, NONE);
        table[operation * 8 + 4] = constant.with(width::BYTE, verb, Written::Nothing);
        table[operation * 8 + 5] = constant.with(width::WHOLE, verb, Written::Nothing);
        operation += 1;
    }
    let constant = Opcode::new(kind::CONSTANT, NONE);
    let mut low = 0;
    while low < 16 {
        table[0x50 + low] = Opcode::new(kind::SINGLE, NONE);
        table[0x70 + low] = Opcode::new(kind::NEAR, NONE);
        if low < 8 {
            table[0xb0 + low] = constant.with(width::BYTE, Verb::Move, Written::Nothing);
            table[0xb8 + low] = constant.with(width::FULL, Verb::Move, Written::Opcode);
        }
        if low > 0 && low < 10 {
            table[0x90 + low] = Opcode::new(kind::SINGLE, NONE);
        }
        low += 1;
    }
    table[0x63] = Opcode::new(kind::WIDE, FOUR);
    table[0x68] = constant.with(width::LONG, Verb::Push, Written::Nothing);
    table[0x6a] = constant.with(width::SIGNED, Verb::Push, Written::Nothing);
    // The product of a register and a constant goes into the other register.
    let product = Opcode::new(kind::OPERAND, WIDTH);
    table[0x69] = product.with(width::WHOLE, Verb::Other, Written::Other);
    table[0x6b] = product.with(width::SIGNED, Verb::Other, Written::Other);
    table[0x84] = Opcode::new(kind::COMPARISON, BYTE);
    table[0x85] = Opcode::new(kind::COMPARISON, WIDTH);
    table[0x88] = Opcode::new(kind::OPERAND, BYTE);
    table[0x89] = Opcode::new(kind::OPERAND, WIDTH);
    table[0x8a] = Opcode::new(kind::OPERAND, BYTE);
    table[0x8b] = Opcode::new(kind::OPERAND, WIDTH);
    table[0x8d] = Opcode::new(kind::ADDRESS, NONE);
    table[0x90] = Opcode::new(kind::FILL, NONE);
    table[0xa8] = constant.with(width::BYTE, Verb::Test, Written::Nothing);
    table[0xa9] = constant.with(width::WHOLE, Verb::Test, Written::Nothing);
    table[0xc3] = Opcode::new(kind::END, NONE);
    table[0xc9] = Opcode::new(kind::SINGLE, NONE);
    table[0xe8] = Opcode::new(kind::FAR, NONE);
    table[0xe9] = Opcode::new(kind::FAR, NONE);
    table[0xeb] = Opcode::new(kind::NEAR, NONE);
    let mut group = 0;
    while group < GROUPED.len() {
        table[GROUPED[group]] = Opcode::new(kind::GROUP, NONE);
        group += 1;
    }
    table
}

/// Opcodes whose operand's middle digit says what they do; each differs in its last digit.
const GROUPED: [usize; 13] = [
    0x80, 0x81, 0x83, 0xc0, 0xc1, 0xc6, 0xc7, 0xd1, 0xd3, 0xf6, 0xf7, 0xfe, 0xff,
];

/// What the opcode and the middle digit of its operand say.
#[inline(always)]
pub(super) fn in_group(code: u8, digit: u8) -> Opcode {
    GROUPS[usize::from(code)][usize::from(digit & 7)]
}

static GROUPS: [[Opcode; 8]; 256] = list_groups();

const fn list_groups() -> [[Opcode; 8]; 256] {
    let mut table = [[Opcode::UNKNOWN; 8]; 256];
    let byte = Opcode::new(kind::OPERAND, BYTE);
    let whole = Opcode::new(kind::OPERAND, WIDTH);
    let mut digit = 0;
    while digit < 8 {
        let verb = ARITHMETIC[digit];
        let compared = if digit == 7 {
            kind::COMPARISON
        } else {
            kind::OPERAND
        };
        let (byte, whole) = (Opcode::new(compared, BYTE), Opcode::new(compared, WIDTH));
        table[0x80][digit] = byte.with(width::BYTE, verb, Written::Nothing);
        table[0x81][digit] = whole.with(width::WHOLE, verb, Written::Operand);
        table[0x83][digit] = whole.with(width::SIGNED, verb, Written::Operand);
        let (byte, whole) = (
            Opcode::new(kind::OPERAND, BYTE),
            Opcode::new(kind::OPERAND, WIDTH),
        );
        if digit != 6 {
            table[0xc0][digit] = byte.with(width::BYTE, Verb::Other, Written::Nothing);
            table[0xc1][digit] = whole.with(width::BYTE, Verb::Other, Written::Operand);
            table[0xd1][digit] = whole;
            table[0xd3][digit] = whole;
        }
        if digit >= 2 {
            table[0xf6][digit] = byte;
            table[0xf7][digit] = whole;
        } else {
            table[0xfe][digit] = byte;
            table[0xff][digit] = whole;
        }
        digit += 1;
    }
    table[0xc6][0] = byte.with(width::BYTE, Verb::Move, Written::Nothing);
    table[0xc7][0] = whole.with(width::WHOLE, Verb::Move, Written::Operand);
    let (byte, whole) = (
        Opcode::new(kind::COMPARISON, BYTE),
        Opcode::new(kind::COMPARISON, WIDTH),
    );
    table[0xf6][0] = byte.with(width::BYTE, Verb::Test, Written::Nothing);
    table[0xf7][0] = whole.with(width::WHOLE, Verb::Test, Written::Operand);
    table[0xff][2] = Opcode::new(kind::CALL_THROUGH, EIGHT);
    table[0xff][4] = Opcode::new(kind::JUMP_THROUGH, EIGHT);
    table[0xff][6] = Opcode::new(kind::OPERAND, EIGHT);
    table
}

/// Opcodes after 0x0f, for no prefix, 0x66, 0xf3 and 0xf2.
pub(super) static SECOND: [[Opcode; 256]; 4] = list_second();

const fn list_second() -> [[Opcode; 256]; 4] {
    let mut tables = [[Opcode::UNKNOWN; 256]; 4];
    let mut low = 0;
    while low < 16 {
        tables[0][0x40 + low] = Opcode::new(kind::OPERAND, WIDTH);
        tables[1][0x40 + low] = Opcode::new(kind::OPERAND, WIDTH);
        tables[0][0x80 + low] = Opcode::new(kind::FAR, NONE);
        tables[0][0x90 + low] = Opcode::new(kind::OPERAND, BYTE);
        low += 1;
    }
    tables[0][0x0b] = Opcode::new(kind::END, NONE);
    tables[2][0x1e] = Opcode::new(kind::MARK, NONE);
    // Integers.
    let mut prefix = 0;
    while prefix < 2 {
        tables[prefix][0x1f] = Opcode::new(kind::LONG_FILL, NONE);
        tables[prefix][0xaf] = Opcode::new(kind::OPERAND, WIDTH);
        tables[prefix][0xb6] = Opcode::new(kind::OPERAND, BYTE);
        tables[prefix][0xbe] = Opcode::new(kind::OPERAND, BYTE);
        tables[prefix][0xa3] = Opcode::new(kind::OPERAND, WIDTH);
        prefix += 1;
    }
    tables[0][0xb7] = Opcode::new(kind::OPERAND, TWO);
    tables[0][0xbf] = Opcode::new(kind::OPERAND, TWO);
    // A shift from one register into another.
    let shift = Opcode::new(kind::OPERAND, WIDTH).with(width::BYTE, Verb::Other, Written::Operand);
    tables[0][0xa4] = shift;
    tables[0][0xac] = shift;
    // Vectors: moves, and arithmetic.
    let vector = Opcode::new(kind::OPERAND, SIXTEEN);
    let with_byte = vector.with(width::BYTE, Verb::Other, Written::Nothing);
    let whole = [
        0x10, 0x11, 0x14, 0x15, 0x28, 0x29, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5c, 0x5d, 0x5e,
        0x5f,
    ];
    let mut place = 0;
    while place < whole.len() {
        tables[0][whole[place]] = vector;
        tables[1][whole[place]] = vector;
        place += 1;
    }
    tables[0][0xc6] = with_byte;
    tables[1][0xc6] = with_byte;
    tables[0][0x2e] = Opcode::new(kind::OPERAND, FOUR);
    tables[0][0x2f] = Opcode::new(kind::OPERAND, FOUR);
    tables[1][0x2e] = Opcode::new(kind::OPERAND, EIGHT);
    tables[1][0x2f] = Opcode::new(kind::OPERAND, EIGHT);
    let integers = [
        0x60, 0x61, 0x62, 0x64, 0x65, 0x66, 0x6a, 0x6c, 0x6d, 0x6f, 0x74, 0x75, 0x76, 0x7f, 0xd4,
        0xda, 0xdb, 0xde, 0xdf, 0xeb, 0xef, 0xf4, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe,
    ];
    place = 0;
    while place < integers.len() {
        tables[1][integers[place]] = vector;
        place += 1;
    }
    tables[1][0x70] = with_byte;
    tables[1][0x6e] = Opcode::new(kind::OPERAND, WORD);
    tables[1][0x7e] = Opcode::new(kind::OPERAND, WORD);
    tables[1][0xd6] = Opcode::new(kind::OPERAND, EIGHT);
    tables[2][0x6f] = vector;
    tables[2][0x7f] = vector;
    tables[2][0x7e] = Opcode::new(kind::OPERAND, EIGHT);
    tables[2][0x70] = with_byte;
    tables[3][0x70] = with_byte;
    // One number alone.
    let single = [0x10, 0x11, 0x51, 0x58, 0x59, 0x5a, 0x5c, 0x5d, 0x5e, 0x5f];
    place = 0;
    while place < single.len() {
        tables[2][single[place]] = Opcode::new(kind::OPERAND, FOUR);
        tables[3][single[place]] = Opcode::new(kind::OPERAND, EIGHT);
        place += 1;
    }
    tables[2][0x2a] = Opcode::new(kind::OPERAND, WORD);
    tables[3][0x2a] = Opcode::new(kind::OPERAND, WORD);
    tables[2][0x2c] = Opcode::new(kind::OPERAND, FOUR);
    tables[3][0x2c] = Opcode::new(kind::OPERAND, EIGHT);
    tables
}
