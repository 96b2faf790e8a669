//! aarch64: words of four bytes.
//!
//! An address is put together of a page (`adrp`) and what lies in it. Which register holds which page is followed along
//! the code and its jumps ahead; where two ways meet, what both know is known.

use std::collections::HashMap;

use super::form::Form;
use crate::image::layout::Layout;
use crate::image::slots::page_of;

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Page(u64),
    /// An address from which compilers also count the addresses of other data, so that only its use tells what is meant.
    Whole(u64),
}

type Pages = [Option<Held>; 32];

pub(super) fn read(layout: &Layout<'_>, code: &[u8], start: u64, form: &mut Form) {
    let mut pages: Pages = [None; 32];
    let mut ahead: HashMap<u64, Pages> = HashMap::new();
    let mut reached = true;
    let words = code.chunks_exact(4);
    let rest = words.remainder();
    for (index, bytes) in words.enumerate() {
        let word = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
        let address = start + 4 * index as u64;
        if let Some(known) = ahead.remove(&address) {
            for (page, other) in pages.iter_mut().zip(known) {
                *page = if reached {
                    page.filter(|page| Some(*page) == other)
                } else {
                    other
                };
            }
        } else if !reached {
            pages = [None; 32];
        }
        reached = true;
        let idle = word == 0xd503_201f;
        form.instruction(4 * index, !idle);
        if idle {
            continue;
        }
        let jump = branch(word, address);
        if let Some((masked, target, kind)) = jump {
            form.raw(&masked.to_le_bytes());
            match kind {
                Kind::Call => {
                    used(layout, 0..8, &pages, form);
                    form.call(layout, target);
                    // What a call returns; compilers know of local functions which other registers they leave alone.
                    pages[..2].fill(None);
                }
                Kind::Always | Kind::Maybe => {
                    // Arguments of a call in the place of a return.
                    if target.wrapping_sub(start) >= code.len() as u64 {
                        used(layout, 0..8, &pages, form);
                    }
                    if form.jump(layout, target, kind == Kind::Maybe) && target > address {
                        meet(&mut ahead, target, &pages);
                    }
                    reached = kind == Kind::Maybe;
                }
            }
            continue;
        }
        reached = other(layout, word, address, &mut pages, form);
    }
    if !rest.is_empty() {
        form.instruction(code.len() - rest.len(), true);
        form.raw(rest);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call,
    Always,
    Maybe,
}

/// A jump with its target left out of the word, the target, and what kind it is.
fn branch(word: u32, address: u64) -> Option<(u32, u64, Kind)> {
    let signed =
        |value: u32, bits: u32| i64::from((value << (32 - bits)) as i32 >> (32 - bits)) * 4;
    let (mask, distance, kind) = match word >> 26 {
        0b10_0101 => (0x03ff_ffff, signed(word, 26), Kind::Call),
        0b00_0101 => (0x03ff_ffff, signed(word, 26), Kind::Always),
        _ => match word >> 24 {
            0x54 | 0x34 | 0x35 | 0xb4 | 0xb5 => (0x00ff_ffe0, signed(word >> 5, 19), Kind::Maybe),
            0x36 | 0x37 | 0xb6 | 0xb7 => (0x0007_ffe0, signed(word >> 5, 14), Kind::Maybe),
            _ => return None,
        },
    };
    Some((word & !mask, address.wrapping_add_signed(distance), kind))
}

fn meet(ahead: &mut HashMap<u64, Pages>, target: u64, pages: &Pages) {
    ahead
        .entry(target)
        .and_modify(|known| {
            for (page, other) in known.iter_mut().zip(pages) {
                *page = page.filter(|page| Some(*page) == *other);
            }
        })
        .or_insert(*pages);
}

/// Any other instruction. False where the next one is not reached from it.
fn other(layout: &Layout<'_>, word: u32, address: u64, pages: &mut Pages, form: &mut Form) -> bool {
    let (first, second) = ((word & 31) as usize, ((word >> 5) & 31) as usize);
    // adrp: the page is not part of the form, what is found in it is.
    if word & 0x9f00_0000 == 0x9000_0000 {
        form.raw(&(word & 0x9f00_001f).to_le_bytes());
        pages[first] = Some(Held::Page(page_of(word, address)));
        return true;
    }
    // adr
    if word & 0x9f00_0000 == 0x1000_0000 {
        form.raw(&(word & 0x9f00_001f).to_le_bytes());
        let number = ((word >> 5) & 0x7_ffff) << 2 | (word >> 29) & 3;
        form.address(
            layout,
            address.wrapping_add_signed(i64::from((number << 11) as i32 >> 11)),
            0,
        );
        pages[first] = None;
        return true;
    }
    // add to a page or an address
    if word & 0xffc0_0000 == 0x9100_0000
        && let Some(Held::Page(base) | Held::Whole(base)) = pages[second]
    {
        form.raw(&(word & !0x003f_fc00).to_le_bytes());
        pages[first] = Some(Held::Whole(
            base.wrapping_add(u64::from((word >> 10) & 0xfff)),
        ));
        return true;
    }
    // mov
    if word & 0xffe0_ffe0 == 0xaa00_03e0 {
        form.raw(&word.to_le_bytes());
        pages[first] = pages[((word >> 16) & 31) as usize];
        return true;
    }
    // load or store of what lies in the page
    if word & 0x3b00_0000 == 0x3900_0000
        && let Some(Held::Page(page) | Held::Whole(page)) = pages[second]
    {
        used(layout, stored(word).then_some(first), pages, form);
        let vector = word & 0x0400_0000 != 0;
        let scale = if vector && word & 0x0080_0000 != 0 {
            4
        } else {
            word >> 30
        };
        form.raw(&(word & !0x003f_fc00).to_le_bytes());
        let slot = page.wrapping_add(u64::from((word >> 10) & 0xfff) << scale);
        form.address(layout, slot, 1 << scale);
        if !vector && word & 0x00c0_0000 != 0 {
            pages[first] = None;
        }
        return true;
    }
    // load of a word beside the code
    if word & 0x3b00_0000 == 0x1800_0000 {
        form.raw(&(word & 0xff00_001f).to_le_bytes());
        let distance = i64::from((((word >> 5) & 0x7_ffff) << 13) as i32 >> 13) * 4;
        let read = if word >> 30 == 0 { 4 } else { 8 };
        form.address(layout, address.wrapping_add_signed(distance), read);
        pages[first] = None;
        return true;
    }
    let position = form.position();
    form.raw(&word.to_le_bytes());
    used(layout, sources(word), pages, form);
    match word & 0xffff_fc1f {
        0xd61f_0000 => {
            form.jump_unknown(layout);
            return false;
        }
        0xd65f_0000 => {
            used(layout, 0..2, pages, form);
            form.end();
            return false;
        }
        0xd63f_0000 => {
            used(layout, 0..8, pages, form);
            form.call_unknown();
            pages[..2].fill(None);
            return true;
        }
        _ => {}
    }
    constants(word, first, position, form);
    if !stores(word) {
        pages[first] = None;
        // A pair is loaded into two registers.
        if word & 0x3a00_0000 == 0x2800_0000 {
            pages[((word >> 10) & 31) as usize] = None;
        }
    }
    true
}

/// Writes the addresses that registers hold where they are used.
fn used(
    layout: &Layout<'_>,
    registers: impl IntoIterator<Item = usize>,
    pages: &Pages,
    form: &mut Form,
) {
    for register in registers {
        if let Some(Held::Whole(address)) = pages[register] {
            form.address(layout, address, 0);
        }
    }
}

/// General registers that an instruction reads.
fn sources(word: u32) -> impl Iterator<Item = usize> {
    let field = |shift: u32| ((word >> shift) & 31) as usize;
    let mut found = [None; 3];
    if word & 0x1c00_0000 == 0x1000_0000 {
        // Immediates: moves of wide constants read nothing.
        if word & 0x1f80_0000 != 0x1280_0000 {
            found[0] = Some(field(5));
        }
    } else if word & 0x0a00_0000 == 0x0800_0000 {
        found[0] = Some(field(5));
        if word & 0x3b20_0c00 == 0x3820_0800 {
            found[1] = Some(field(16));
        }
        if stored(word) {
            found[2] = Some(field(0));
        }
    } else if word & 0x0e00_0000 == 0x0a00_0000 {
        found[0] = Some(field(5));
        found[1] = Some(field(16));
    }
    found.into_iter().flatten()
}

/// Whether the instruction stores its first register, a general one.
fn stored(word: u32) -> bool {
    word & 0x0400_0000 == 0 && stores(word)
}

/// Notes constants of moves, additions, subtractions and comparisons.
fn constants(word: u32, register: usize, position: usize, form: &mut Form) {
    match word & 0x7f80_0000 {
        // movz, and movn
        0x5280_0000 | 0x1280_0000 => {
            let moved = u64::from((word >> 5) & 0xffff) << (16 * ((word >> 21) & 3));
            let value = if word & 0x4000_0000 == 0 {
                !(moved as i64)
            } else {
                moved as i64
            };
            form.constant(value);
            if register < 8 && word & 0x4000_0000 != 0 {
                form.argument(value, position, 4);
            }
        }
        // add and sub of an immediate, not of the stack
        0x1100_0000 | 0x5100_0000 | 0x3100_0000 | 0x7100_0000
            if register != 31 || word & 0x2000_0000 != 0 =>
        {
            let shifted = if word & 0x0040_0000 != 0 { 12 } else { 0 };
            form.constant(i64::from((word >> 10) & 0xfff) << shifted);
        }
        _ => {}
    }
}

/// Whether the instruction only stores, so that its first register stays as it is.
fn stores(word: u32) -> bool {
    let load_or_store = word & 0x0a00_0000 == 0x0800_0000;
    let vector = word & 0x0400_0000 != 0;
    load_or_store
        && (vector
            || word & 0x00c0_0000 == 0
            || word & 0x3a00_0000 == 0x2800_0000 && word & 0x0040_0000 == 0)
}
