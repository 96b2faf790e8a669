use iced_x86::{Decoder, DecoderOptions, Instruction};

use super::{Frequent, Start, read_frequent, read_rest};
use crate::normal::x86::WINDOW;
use crate::normal::x86::step::{Displacement, Meaning, Numbers, Step, Then};
use crate::normal::x86::whole::read_any;

const IP: u64 = 0x7_1234_5678;

/// How long a common instruction is, and what it is; length 0 for any other.
fn read(bytes: &[u8; WINDOW], movable: bool, numbers: &mut Numbers) -> (usize, Step) {
    match read_frequent(&Start::read(bytes), IP, movable) {
        Frequent::Plain { end, compares } => {
            let then = Then::Next;
            (end, Step::Plain { compares, then })
        }
        Frequent::Branch {
            end,
            mnemonic,
            target,
            way,
        } => {
            let step = Step::Branch {
                mnemonic,
                target,
                way,
            };
            (end, step)
        }
        Frequent::Constant { end, constant } => (end, Step::Constant(constant)),
        Frequent::Relative {
            end,
            address,
            read,
            compares,
        } => {
            *numbers = Numbers {
                compares,
                displacement: Some(Displacement {
                    meaning: Meaning::Address(address),
                    place: (end as u8 - 4, 4),
                    read,
                    is_indexed: false,
                }),
                ..Numbers::NONE
            };
            (end, Step::Numbers)
        }
        Frequent::Rest => read_rest(bytes, IP, movable, numbers),
    }
}

/// Holds one against the decoder of the whole set; whether it is common.
fn hold(bytes: &[u8; WINDOW]) -> bool {
    let mut decoder = Decoder::with_ip(64, bytes, IP, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut others = Numbers::NONE;
    let mut known = None;
    for movable in [false, true] {
        let mut numbers = Numbers::NONE;
        let (length, step) = read(bytes, movable, &mut numbers);
        // What reads the rest knows those that end with a constant or an address as well, also in other programs.
        if matches!(step, Step::Constant(_) | Step::Numbers) {
            let mut again = Numbers::NONE;
            let rest = read_rest(bytes, IP, movable, &mut again);
            assert_eq!((rest, again), ((length, step), numbers), "{bytes:02x?}");
        }
        if length == 0 {
            continue;
        }
        let expected = *known
            .get_or_insert_with(|| read_any(&mut decoder, &mut instruction, bytes, &mut others));
        assert_eq!(length, decoder.position(), "{bytes:02x?}");
        // In a program that moves, a distance from a register is no address.
        let meaning = others.displacement.map(|one| one.meaning);
        let is_no_address =
            meaning.is_none() || movable && matches!(meaning, Some(Meaning::Distance(_)));
        let is_same = match step {
            Step::Numbers => step == expected && numbers == others,
            Step::Constant(constant) => {
                expected == Step::Numbers
                    && is_no_address
                    && constant.verb.compares() == others.compares
                    && (others.immediate, others.then) == (Some(constant), Then::Next)
            }
            Step::Plain { compares, then } if expected == Step::Numbers => {
                is_no_address
                    && others.immediate.is_none()
                    && (compares, then) == (others.compares, others.then)
            }
            step => step == expected,
        };
        assert!(
            is_same,
            "{bytes:02x?} (movable: {movable}): {step:?} {numbers:?} for {expected:?} {others:?}"
        );
    }
    known.is_some()
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

#[test]
fn random_bytes_are_what_the_decoder_of_the_whole_set_says() {
    // splitmix64
    let mut seed = 20u64;
    let mut next = || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    // Each also behind the prefixes that common instructions have.
    let prefixes: [&[u8]; 8] = [
        &[],
        &[0x0f],
        &[0x48],
        &[0x41],
        &[0x66],
        &[0xf3, 0x0f],
        &[0x64, 0x4c],
        &[0x66, 0x49, 0x0f],
    ];
    let mut common = 0;
    for _ in 0..50_000 {
        let bytes = (u128::from(next()) << 64 | u128::from(next())).to_le_bytes();
        for prefix in prefixes {
            let mut window = bytes;
            window[..prefix.len()].copy_from_slice(prefix);
            common += u32::from(hold(&window));
        }
    }
    assert!(common > 100_000, "{common}");
}
