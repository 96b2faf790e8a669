//! 32-bit ARM, in both of its instruction sets.
//!
//! Words of data between the code are known by what they point to, where the linker's marks (`$d`) say that they are
//! data. Addresses that are put together by `movw` and `movt` are read as constants, so that a function which uses
//! data that moved looks changed.

use super::form::Form;
use crate::image::layout::Layout;

pub(super) fn read(layout: &Layout<'_>, code: &[u8], start: u64, thumb: bool, form: &mut Form) {
    let mut mark = layout
        .marks
        .partition_point(|(address, _)| *address <= start);
    let mut data = mark > 0 && layout.marks[mark - 1].1 && layout.marks[mark - 1].0 == start;
    let mut offset = 0;
    while offset < code.len() {
        let address = start + offset as u64;
        while let Some((_, is_data)) = layout.marks.get(mark).filter(|(at, _)| *at <= address) {
            data = *is_data;
            mark += 1;
        }
        let rest = &code[offset..];
        let length = match (data, thumb) {
            (true, _) | (false, false) => 4,
            (false, true) if half(rest, 0) >> 11 >= 0b11101 => 4,
            (false, true) => 2,
        };
        let Some(bytes) = rest.get(..length) else {
            form.raw(rest);
            return;
        };
        if data {
            literal(layout, bytes, form);
        } else if thumb {
            thumb_instruction(layout, bytes, address, offset, form);
        } else {
            let word = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
            arm_instruction(layout, word, address, offset, form);
        }
        offset += length;
    }
}

fn half(bytes: &[u8], index: usize) -> u32 {
    let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or(0));
    byte(2 * index) | byte(2 * index + 1) << 8
}

/// A word of data: by what it points to where the linker fixed addresses.
fn literal(layout: &Layout<'_>, bytes: &[u8], form: &mut Form) {
    let value = u64::from(u32::from_le_bytes(bytes.try_into().unwrap_or_default()));
    if !layout.image.movable && layout.image.section_at(value).is_some() {
        form.address(layout, value & !1, 0);
    } else if !layout.image.movable {
        form.constant(value as i64);
        form.raw(bytes);
    } else {
        // A distance from the code to data, which both move.
        form.raw(b"L");
    }
}

fn arm_instruction(layout: &Layout<'_>, word: u32, address: u64, offset: usize, form: &mut Form) {
    let idle = matches!(word, 0xe320_f000 | 0xe1a0_0000);
    form.instruction(offset, !idle);
    if idle {
        return;
    }
    let always = word >> 28 == 0xe;
    let distance = i64::from((word << 8) as i32 >> 6) + 8;
    let target = address.wrapping_add_signed(distance);
    match word >> 24 & 0xf {
        0xa if word >> 28 != 0xf => {
            form.raw(&(word & 0xff00_0000).to_le_bytes());
            form.jump(layout, target, !always);
            return;
        }
        // bl, and blx to the other instruction set
        0xb | 0xa => {
            form.raw(&(word & 0xff00_0000).to_le_bytes());
            form.call(layout, target & !1);
            return;
        }
        _ => {}
    }
    // A load of a word between the code: the word itself tells what it is.
    if word & 0x0f7f_0000 == 0x051f_0000 {
        form.raw(&(word & 0xff7f_f000).to_le_bytes());
        return;
    }
    form.raw(&word.to_le_bytes());
    let returns = word & 0x0fff_ffff == 0x012f_ff1e || word & 0x0fff_8000 == 0x08bd_8000;
    if always && returns {
        form.end();
    } else if word & 0x0fff_fff0 == 0x012f_ff30 {
        form.call_unknown();
    }
}

fn thumb_instruction(
    layout: &Layout<'_>,
    bytes: &[u8],
    address: u64,
    offset: usize,
    form: &mut Form,
) {
    let first = half(bytes, 0);
    let idle = first == 0xbf00 || bytes.len() == 4 && first == 0xf3af && half(bytes, 1) == 0x8000;
    form.instruction(offset, !idle);
    if idle {
        return;
    }
    let signed = |value: u32, bits: u32| i64::from((value << (32 - bits)) as i32 >> (32 - bits));
    let at = |distance: i64| address.wrapping_add_signed(distance + 4);
    if bytes.len() == 2 {
        if first >> 12 == 0xd && first >> 8 & 0xf < 0xe {
            form.raw(&(first as u16 & 0xff00).to_le_bytes());
            form.jump(layout, at(signed(first << 1, 9)), true);
        } else if first >> 11 == 0b11100 {
            form.raw(&(first as u16 & 0xf800).to_le_bytes());
            form.jump(layout, at(signed(first << 1, 12)), false);
        } else if first & 0xf500 == 0xb100 {
            form.raw(&(first as u16 & 0xfd07).to_le_bytes());
            form.jump(
                layout,
                at(i64::from((first >> 9 & 1) << 6 | (first >> 3 & 0x1f) << 1)),
                true,
            );
        } else if first >> 11 == 0b01001 {
            form.raw(&(first as u16 & 0xff00).to_le_bytes());
        } else {
            form.raw(bytes);
            if first == 0x4770 || first & 0xff00 == 0xbd00 {
                form.end();
            } else if first & 0xff80 == 0x4780 {
                form.call_unknown();
            }
        }
        return;
    }
    let second = half(bytes, 1);
    if first >> 11 != 0b11110 || second >> 15 != 1 {
        form.raw(bytes);
        return;
    }
    let sign = first >> 10 & 1;
    let (one, two) = (second >> 13 & 1, second >> 11 & 1);
    let far = sign << 24
        | (!(one ^ sign) & 1) << 23
        | (!(two ^ sign) & 1) << 22
        | (first & 0x3ff) << 12
        | (second & 0x7ff) << 1;
    match (second >> 14 & 1, second >> 12 & 1) {
        // bl, blx
        (1, other) => {
            form.raw(&[0xf0, 0xc0 | (other as u8) << 4]);
            let target = at(signed(far, 25));
            form.call(layout, if other == 0 { target & !3 } else { target });
        }
        // b
        (0, 1) => {
            form.raw(&[0xf0, 0x90]);
            form.jump(layout, at(signed(far, 25)), false);
        }
        // b with a condition
        _ if first >> 6 & 0xe != 0xe => {
            form.raw(&[0xf0, 0x80, (first >> 6 & 0xf) as u8]);
            let near =
                sign << 20 | two << 19 | one << 18 | (first & 0x3f) << 12 | (second & 0x7ff) << 1;
            form.jump(layout, at(signed(near, 21)), true);
        }
        _ => form.raw(bytes),
    }
}
