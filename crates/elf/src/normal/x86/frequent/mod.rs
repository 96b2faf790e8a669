//! The instructions of x86-64 that compilers write most, by tables of their first bytes.
//!
//! Anything else (other prefixes, other opcodes, forms of theirs that few compilers write) is left to the decoder of the
//! whole set. A test holds both against each other, opcode by opcode.

mod numbers;
mod opcodes;
mod plain;

use iced_x86::Mnemonic;

use super::WINDOW;
use super::step::{Numbers, Step, Then, Verb, Way};
use numbers::{Head, Operand, Rest, constant, finish, plain, read_immediate, read_operand};
use opcodes::{ARITHMETIC, CONDITIONS, FIRST, Opcode, SECOND, Shape, WITH_BYTE, Width};
pub(super) use plain::{COMPARES, read_plain};

/// How long the instruction at the beginning of `bytes` is, and what the form asks of it; `ip` is its address. None where
/// it is not a common one, or a branch.
/// `numbers` get what a step of numbers has.
#[inline]
pub(super) fn read_common(
    bytes: &[u8; WINDOW],
    ip: u64,
    numbers: &mut Numbers,
) -> Option<(usize, Step)> {
    let mut head = Head {
        bytes,
        ip,
        at: 0,
        prefix: 0,
        rex: 0,
        is_segmented: false,
    };
    let mut first = bytes[0];
    match first {
        0x66 | 0xf2 | 0xf3 => {
            head.prefix = first;
            head.at = 1;
            first = bytes[1];
        }
        // What the thread has for itself.
        0x64 => {
            head.is_segmented = true;
            head.at = 1;
            first = bytes[1];
        }
        _ => {}
    }
    if first & 0xf0 == 0x40 {
        head.rex = first;
        head.at += 1;
        first = bytes[head.at];
    }
    head.at += 1;
    if first == 0x0f {
        let second = bytes[head.at];
        head.at += 1;
        return read_second(head, second, numbers);
    }
    let form = FIRST[usize::from(first)];
    match form.shape {
        Shape::Unknown => None,
        // Their other prefixes say nothing, or make them other instructions.
        Shape::Single if head.prefix == 0 => Some((head.at, plain(false, Then::Next))),
        Shape::Single => None,
        Shape::Memory if !head.is_repeated() => read_memory(head, form, numbers),
        Shape::Constant if !head.is_repeated() && !head.is_segmented => {
            read_constant(head, form, first, numbers)
        }
        Shape::Memory | Shape::Constant => None,
        Shape::Special => read_special(head, first, numbers),
    }
}

/// A jump or call without prefixes to a target in the code: its length, mnemonic, target and way.
#[inline(always)]
pub(super) fn read_branch(bytes: &[u8; WINDOW], ip: u64) -> Option<(usize, u16, u64, Way)> {
    let far =
        |at: usize| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let near = i32::from(bytes[1] as i8);
    let condition = |code: u8| CONDITIONS[usize::from(code & 0xf)];
    let (length, distance, mnemonic, way) = match bytes[0] {
        code @ 0x70..=0x7f => (2, near, condition(code), Way::Condition),
        0x0f if bytes[1] & 0xf0 == 0x80 => (6, far(2), condition(bytes[1]), Way::Condition),
        0xe8 => (5, far(1), Mnemonic::Call as u16, Way::Call),
        0xe9 => (5, far(1), Mnemonic::Jmp as u16, Way::Jump),
        0xeb => (2, near, Mnemonic::Jmp as u16, Way::Jump),
        _ => return None,
    };
    let target = ip
        .wrapping_add(length as u64)
        .wrapping_add_signed(i64::from(distance));
    Some((length, mnemonic, target, way))
}

fn read_second(mut head: Head<'_>, second: u8, numbers: &mut Numbers) -> Option<(usize, Step)> {
    if second == 0x1e {
        // `endbr64`, where indirect branches may lead.
        let is_mark = head.prefix == 0xf3 && head.rex == 0 && head.bytes[head.at] == 0xfa;
        return is_mark.then(|| (head.at + 1, plain(false, Then::Next)));
    }
    if second == 0x1f {
        if head.rex != 0 || head.is_segmented || head.is_repeated() {
            return None;
        }
        let operand = read_operand(&head, head.at)?;
        return (operand.register & 7 == 0).then_some((operand.end, Step::Idle));
    }
    if second == 0x0b {
        return (!head.has_prefix()).then_some((head.at, plain(false, Then::End)));
    }
    let table = match head.prefix {
        0 => 0,
        0x66 => 1,
        0xf3 => 2,
        _ => 3,
    };
    let code = SECOND[table][usize::from(second)];
    if code == 0 {
        return None;
    }
    let operand = read_operand(&head, head.at)?;
    let immediate = if code & WITH_BYTE != 0 {
        Width::Byte
    } else {
        Width::Nothing
    };
    let size = head.size_of(code & 0xf);
    let operand = Operand {
        // Only a shift from one register into another has a constant and no vector.
        written: operand.written.filter(|_| matches!(second, 0xa4 | 0xac)),
        ..operand
    };
    head.at = operand.end;
    finish(
        &head,
        &operand,
        Rest {
            width: immediate,
            ..Rest::of(size)
        },
        numbers,
    )
}

fn read_memory(mut head: Head<'_>, opcode: Opcode, numbers: &mut Numbers) -> Option<(usize, Step)> {
    let operand = read_operand(&head, head.at)?;
    let size = head.size_of(opcode.size);
    head.at = operand.end;
    // The product of a register and a constant goes into the other register.
    let operand = match opcode.immediate {
        Width::Nothing => operand,
        _ => Operand {
            written: Some(operand.register),
            ..operand
        },
    };
    finish(
        &head,
        &operand,
        Rest {
            width: opcode.immediate,
            verb: opcode.verb,
            compares: opcode.compares,
            ..Rest::of(size)
        },
        numbers,
    )
}

fn read_constant(
    head: Head<'_>,
    opcode: Opcode,
    first: u8,
    numbers: &mut Numbers,
) -> Option<(usize, Step)> {
    if first & 0xf8 == 0xb8 {
        let register = first & 7 | (head.rex & 1) << 3;
        let size = usize::from(head.width());
        let value = head.signed(head.at, size)? & (u64::MAX >> (64 - 8 * size));
        return Some(constant(
            &head,
            value,
            size,
            Verb::Move,
            Some(register),
            false,
            numbers,
        ));
    }
    let register = if first & 0xf8 == 0xb0 { None } else { Some(0) };
    let (value, size) = read_immediate(&head, head.at, opcode.immediate)?;
    Some(constant(
        &head,
        value,
        size,
        opcode.verb,
        register,
        opcode.compares,
        numbers,
    ))
}

fn read_special(mut head: Head<'_>, first: u8, numbers: &mut Numbers) -> Option<(usize, Step)> {
    match first {
        0x90 => {
            let is_idle = head.rex == 0 && !head.is_segmented && !head.is_repeated();
            return is_idle.then_some((head.at, Step::Idle));
        }
        0xc3 => return (!head.has_prefix()).then_some((head.at, plain(false, Then::End))),
        _ => {}
    }
    if head.is_repeated() {
        return None;
    }
    if matches!(first, 0x68 | 0x6a) {
        if head.has_prefix() {
            return None;
        }
        let size = if first == 0x6a { 1 } else { 4 };
        let value = head.signed(head.at, size)?;
        return Some(constant(
            &head,
            value,
            size,
            Verb::Push,
            None,
            false,
            numbers,
        ));
    }
    let operand = read_operand(&head, head.at)?;
    let choice = operand.register & 7;
    head.at = operand.end;
    let size = if first & 1 == 0 { 1 } else { head.width() };
    let mut number = |width, verb, compares| {
        let operand = Operand {
            // Bytes of registers are not registers here.
            written: operand.written.filter(|_| first & 1 == 1),
            ..operand
        };
        finish(
            &head,
            &operand,
            Rest {
                width,
                verb,
                compares,
                ..Rest::of(size)
            },
            numbers,
        )
    };
    let whole = if first & 1 == 0 {
        Width::Byte
    } else {
        Width::Whole
    };
    let verb = ARITHMETIC[usize::from(choice)];
    match (first, choice) {
        (0x63, _) if head.is_wide() => finish(&head, &operand, Rest::of(4), numbers),
        // With a displacement of 0 it may do nothing.
        (0x8d, _) if !operand.is_register && !head.is_segmented => {
            let is_idle = operand.end > 0
                && operand.displacement.is_none()
                && head.bytes.get(operand.end - 1) == Some(&0)
                || operand
                    .displacement
                    .is_some_and(|(at, is_relative)| !is_relative && head.signed(at, 4) == Some(0));
            if is_idle {
                return None;
            }
            finish(&head, &operand, Rest::of(0), numbers)
        }
        (0x80 | 0x81, _) => number(whole, verb, choice == 7),
        (0x83, _) => number(Width::Signed, verb, choice == 7),
        (0xc6 | 0xc7, 0) => number(whole, Verb::Move, false),
        (0xf6 | 0xf7, 0) => number(whole, Verb::Other, true),
        (0xf6 | 0xf7, 2..) | (0xfe | 0xff, 0 | 1) => number(Width::Nothing, Verb::Other, false),
        (0xc0 | 0xc1, 0..=5 | 7) => number(Width::Byte, Verb::Other, false),
        (0xd1 | 0xd3, 0..=5 | 7) => number(Width::Nothing, Verb::Other, false),
        (0xff, 2 | 4) if head.prefix == 0 && head.rex & 8 == 0 => {
            let then = if choice == 2 { Then::Call } else { Then::Jump };
            finish(
                &head,
                &operand,
                Rest {
                    then,
                    ..Rest::of(8)
                },
                numbers,
            )
        }
        (0xff, 6) if head.prefix == 0 => finish(&head, &operand, Rest::of(8), numbers),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions, Instruction};

    use super::{COMPARES, read_branch, read_common, read_plain};
    use crate::normal::x86::WINDOW;
    use crate::normal::x86::step::{Meaning, Numbers, Step, Then};
    use crate::normal::x86::whole::read_any;

    const IP: u64 = 0x7_1234_5678;

    /// Holds one against the decoder of the whole set; whether it is common.
    fn hold(bytes: &[u8; WINDOW]) -> bool {
        let (mut numbers, mut others) = (Numbers::NONE, Numbers::NONE);
        let common = read_common(bytes, IP, &mut numbers).or_else(|| {
            read_branch(bytes, IP).map(|(length, mnemonic, target, way)| {
                let step = Step::Branch {
                    mnemonic,
                    target,
                    way,
                };
                (length, step)
            })
        });
        let plain = [false, true].map(|movable| read_plain(bytes, movable));
        if common.is_none() && plain == [0, 0] {
            return false;
        }
        let mut decoder = Decoder::with_ip(64, bytes, IP, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        let step = read_any(&mut decoder, &mut instruction, bytes, &mut others);
        let length = decoder.position();
        if let Some(common) = common {
            assert_eq!(common, (length, step), "{bytes:02x?}");
            assert!(
                step != Step::Numbers || numbers == others,
                "{bytes:02x?}: {numbers:?} {others:?}"
            );
        }
        for (movable, plain) in [false, true].into_iter().zip(plain) {
            if plain == 0 {
                continue;
            }
            assert_eq!(plain % COMPARES, length, "{bytes:02x?}");
            let (compares, then) = match step {
                Step::Plain { compares, then } => (compares, then),
                // In a program that moves, a distance from a register is no address.
                Step::Numbers => {
                    let meaning = others.displacement.map(|one| one.meaning);
                    assert!(matches!(meaning, Some(Meaning::Distance(_))) && movable);
                    assert_eq!(others.immediate, None);
                    (others.compares, others.then)
                }
                other => panic!("{bytes:02x?} is plain and {other:?}"),
            };
            assert_eq!(
                (plain >= COMPARES, Then::Next),
                (compares, then),
                "{bytes:02x?}"
            );
        }
        true
    }

    /// Registers and memory in each mode: with and without an index, a base and a displacement, which may be 0.
    fn each_operand(mut take: impl FnMut(&[u8])) {
        const REST: [u8; 8] = [0x80, 0x12, 0x34, 0x56, 0xf1, 0x99, 0x01, 0x82];
        for first in (0..=u8::MAX).filter(|first| [0, 1, 4, 5, 7].contains(&(first & 7))) {
            for rest in [REST, [0; 8]] {
                if first & 7 != 4 || first >= 0xc0 {
                    take(&[&[first], &rest[..]].concat());
                    continue;
                }
                for second in [0x24, 0x25, 0x8d, 0x65] {
                    take(&[&[first, second], &rest[..]].concat());
                }
            }
        }
    }

    #[test]
    fn common_instructions_are_what_the_decoder_of_the_whole_set_says() {
        let prefixes: [&[u8]; 5] = [&[], &[0x66], &[0xf2], &[0xf3], &[0x64]];
        let extensions: [&[u8]; 5] = [&[], &[0x40], &[0x45], &[0x4a], &[0x4d]];
        let mut common = 0;
        for (prefix, extension) in prefixes
            .iter()
            .flat_map(|prefix| extensions.map(|extension| (*prefix, extension)))
        {
            for opcode in 0..512 {
                let mut bytes = [0; WINDOW];
                let mut at = 0;
                let code: &[u8] = if opcode < 256 {
                    &[opcode as u8]
                } else {
                    &[0x0f, opcode as u8]
                };
                for byte in prefix.iter().chain(extension).chain(code) {
                    bytes[at] = *byte;
                    at += 1;
                }
                // The last byte of `endbr64`, which is no operand.
                bytes[at] = 0xfa;
                common += u32::from(hold(&bytes));
                each_operand(|operand| {
                    bytes[at..at + operand.len()].copy_from_slice(operand);
                    common += u32::from(hold(&bytes));
                });
            }
        }
        assert!(common > 100_000, "{common}");
    }
}
