//! riscv64, with compressed instructions.
//!
//! An address is put together by `auipc` and the next instruction that uses its register; `lui` and what follows it
//! are read as a constant. Data that are addressed from the global pointer are known by their address there.

use super::form::Form;
use crate::image::layout::Layout;

pub(super) fn read(layout: &Layout<'_>, code: &[u8], start: u64, form: &mut Form) {
    let mut upper: [Option<u64>; 32] = [None; 32];
    let mut offset = 0;
    while offset < code.len() {
        let length = if code[offset] & 3 == 3 { 4 } else { 2 };
        let Some(bytes) = code.get(offset..offset + length) else {
            form.instruction(offset, true);
            form.raw(&code[offset..]);
            return;
        };
        let address = start + offset as u64;
        if length == 2 {
            compressed(
                layout,
                u32::from(bytes[0]) | u32::from(bytes[1]) << 8,
                address,
                offset,
                &mut upper,
                form,
            );
        } else {
            let word = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
            full(layout, word, address, offset, &mut upper, form);
        }
        offset += length;
    }
}

fn full(
    layout: &Layout<'_>,
    word: u32,
    address: u64,
    offset: usize,
    upper: &mut [Option<u64>; 32],
    form: &mut Form,
) {
    let idle = word == 0x13;
    form.instruction(offset, !idle);
    if idle {
        return;
    }
    let (destination, source) = (((word >> 7) & 31) as usize, ((word >> 15) & 31) as usize);
    let low = i64::from(word as i32 >> 20);
    match word & 0x7f {
        // auipc: what it adds is told by the instruction that uses it.
        0x17 => {
            form.raw(&(word & 0xfff).to_le_bytes());
            upper[destination] =
                Some(address.wrapping_add_signed(i64::from((word & 0xffff_f000) as i32)));
        }
        // jal
        0x6f => {
            form.raw(&(word & 0xfff).to_le_bytes());
            let number = (word >> 31) << 20
                | (word >> 12 & 0xff) << 12
                | (word >> 20 & 1) << 11
                | (word >> 21 & 0x3ff) << 1;
            let target = address.wrapping_add_signed(i64::from((number << 11) as i32 >> 11));
            if destination == 0 {
                form.jump(layout, target, false);
            } else {
                form.call(layout, target);
            }
            upper.fill(None);
        }
        // branches
        0x63 => {
            form.raw(&(word & 0x01ff_f07f).to_le_bytes());
            let number = (word >> 31) << 12
                | (word >> 7 & 1) << 11
                | (word >> 25 & 0x3f) << 5
                | (word >> 8 & 0xf) << 1;
            form.jump(
                layout,
                address.wrapping_add_signed(i64::from((number << 19) as i32 >> 19)),
                true,
            );
        }
        // jalr
        0x67 => {
            if let Some(base) = upper[source] {
                form.raw(&(word & 0xf_ffff).to_le_bytes());
                let target = base.wrapping_add_signed(low);
                if destination == 0 {
                    form.jump(layout, target, false);
                } else {
                    form.call(layout, target);
                }
            } else {
                form.raw(&word.to_le_bytes());
                match (destination, source) {
                    (0, 1) => form.end(),
                    (0, _) => form.jump_unknown(layout),
                    _ => form.call_unknown(),
                }
            }
            upper.fill(None);
        }
        // addi and loads
        0x13 | 0x03 | 0x07
            if upper[source].is_some() && (word & 0x7f != 0x13 || word >> 12 & 7 == 0) =>
        {
            form.raw(&(word & 0xf_ffff).to_le_bytes());
            let read = if word & 0x7f == 0x13 {
                0
            } else {
                1 << (word >> 12 & 3)
            };
            form.address(
                layout,
                upper[source].unwrap_or(0).wrapping_add_signed(low),
                read,
            );
            upper[destination] = None;
        }
        // stores
        0x23 | 0x27 if upper[source].is_some() => {
            form.raw(&(word & 0x01ff_f07f).to_le_bytes());
            let number = i64::from((word & 0xfe00_0000) as i32 >> 20) | i64::from(word >> 7 & 31);
            form.address(
                layout,
                upper[source].unwrap_or(0).wrapping_add_signed(number),
                1 << (word >> 12 & 3),
            );
        }
        opcode => {
            let position = form.position();
            form.raw(&word.to_le_bytes());
            if opcode == 0x13 && word >> 12 & 7 == 0 && destination != 2 {
                form.constant(low);
                if source == 0 && (10..18).contains(&destination) {
                    form.argument(low, position, 4);
                }
            }
            if !matches!(opcode, 0x23 | 0x27 | 0x73) {
                upper[destination] = None;
            }
        }
    }
}

fn compressed(
    layout: &Layout<'_>,
    half: u32,
    address: u64,
    offset: usize,
    upper: &mut [Option<u64>; 32],
    form: &mut Form,
) {
    let idle = half == 1;
    form.instruction(offset, !idle);
    if idle {
        return;
    }
    let bit = |from: u32, to: u32| (half >> from & 1) << to;
    let register = (half >> 7 & 31) as usize;
    match (half & 3, half >> 13) {
        // c.j
        (1, 5) => {
            form.raw(&[half as u8 & 3, 0xa0]);
            let number = bit(12, 11)
                | bit(11, 4)
                | (half >> 9 & 3) << 8
                | bit(8, 10)
                | bit(7, 6)
                | bit(6, 7)
                | (half >> 3 & 7) << 1
                | bit(2, 5);
            form.jump(
                layout,
                address.wrapping_add_signed(i64::from((number << 20) as i32 >> 20)),
                false,
            );
            upper.fill(None);
        }
        // c.beqz, c.bnez
        (1, 6 | 7) => {
            form.raw(&(half as u16 & 0xe383).to_le_bytes());
            let number = bit(12, 8)
                | (half >> 10 & 3) << 3
                | (half >> 5 & 3) << 6
                | (half >> 3 & 3) << 1
                | bit(2, 5);
            form.jump(
                layout,
                address.wrapping_add_signed(i64::from((number << 23) as i32 >> 23)),
                true,
            );
        }
        // c.jr, c.jalr, c.mv, c.add
        (2, 4) => {
            form.raw(&(half as u16).to_le_bytes());
            if half >> 2 & 31 == 0 && register != 0 {
                match (half >> 12 & 1, register) {
                    (0, 1) => form.end(),
                    (0, _) => form.jump_unknown(layout),
                    _ => form.call_unknown(),
                }
                upper.fill(None);
            } else {
                upper[register] = None;
            }
        }
        // c.li
        (1, 2) => {
            let position = form.position();
            form.raw(&(half as u16).to_le_bytes());
            let value = i64::from(((bit(12, 5) | (half >> 2 & 31)) << 26) as i32 >> 26);
            form.constant(value);
            if (10..18).contains(&register) {
                form.argument(value, position, 2);
            }
            upper[register] = None;
        }
        // c.addi, c.lui, c.slli, loads from the stack
        (1, 0 | 1 | 3) | (2, 0..=3) => {
            form.raw(&(half as u16).to_le_bytes());
            upper[register] = None;
        }
        // loads and c.addi4spn write a register of the short set
        (0, 0..=3) => {
            form.raw(&(half as u16).to_le_bytes());
            upper[(half >> 2 & 7) as usize + 8] = None;
        }
        (1, 4) => {
            form.raw(&(half as u16).to_le_bytes());
            upper[(half >> 7 & 7) as usize + 8] = None;
        }
        _ => form.raw(&(half as u16).to_le_bytes()),
    }
}
