//! Words that the loader fills, and the stubs that jump through them.

use std::collections::HashMap;

use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use super::{Image, Machine};

/// What the loader writes into a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The address of a name in another file, by its index among them.
    Import(usize),
    /// An address in this file.
    Here(u64),
}

/// Words that the loader fills, ascending by their addresses: most questions are about neighbours.
#[derive(Default)]
pub(crate) struct Slots<'a> {
    words: Vec<(u64, Slot)>,
    imports: Vec<&'a str>,
}

impl<'a> Slots<'a> {
    /// What the loader writes into the word at `address`.
    pub(crate) fn at(&self, address: u64) -> Option<Slot> {
        let index = self
            .words
            .binary_search_by_key(&address, |(address, _)| *address)
            .ok()?;
        Some(self.words[index].1)
    }

    /// Names in other files, each once.
    pub(crate) fn imports(&self) -> &[&'a str] {
        &self.imports
    }

    /// The words from `start` up to `end`, which is left out.
    pub(crate) fn between(&self, start: u64, end: u64) -> &[(u64, Slot)] {
        let first = self.words.partition_point(|(address, _)| *address < start);
        let after = first + self.words[first..].partition_point(|(address, _)| *address < end);
        &self.words[first..after]
    }
}

/// Words that the loader fills.
pub(crate) fn read_slots<'a>(file: &'a object::File<'a>, image: &Image<'a>) -> Slots<'a> {
    let (mut words, mut imports) = (Vec::new(), Vec::new());
    let mut known: HashMap<&'a str, usize> = HashMap::new();
    let Some(relocations) = file.dynamic_relocations() else {
        return Slots::default();
    };
    let table = file.dynamic_symbol_table();
    for (address, relocation) in relocations {
        let slot = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let Some(symbol) = table
                    .as_ref()
                    .and_then(|table| table.symbol_by_index(index).ok())
                else {
                    continue;
                };
                if symbol.is_definition() && image.section_at(symbol.address()).is_some() {
                    Slot::Here(symbol.address().wrapping_add_signed(relocation.addend()))
                } else {
                    match symbol.name() {
                        Ok(name) if !name.is_empty() => {
                            Slot::Import(*known.entry(name).or_insert_with(|| {
                                imports.push(name);
                                imports.len() - 1
                            }))
                        }
                        _ => continue,
                    }
                }
            }
            // The address itself: beside the word (rela), or in it (rel).
            _ if relocation.addend() != 0 => Slot::Here(relocation.addend() as u64),
            _ => match image.pointer_at(address) {
                Some(value) => Slot::Here(value),
                None => continue,
            },
        };
        words.push((address, slot));
    }
    // The loader goes through them in order: of two for one word the last one holds.
    words.reverse();
    words.sort_by_key(|(address, _)| *address);
    words.dedup_by_key(|(address, _)| *address);
    Slots { words, imports }
}

/// The word through which the stub at `address` jumps.
pub(crate) fn slot_of_stub(image: &Image<'_>, address: u64) -> Option<u64> {
    let bytes = image.bytes_from(address)?;
    match image.machine {
        Machine::X86_64 | Machine::I386 => {
            let start = [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0xf3, 0x0f, 0x1e, 0xfb]]
                .iter()
                .find(|mark| bytes.starts_with(mark))
                .map_or(0, |mark| mark.len());
            let start = start + usize::from(bytes.get(start) == Some(&0xf2));
            let jump = bytes.get(start..start + 6)?;
            let number = i32::from_le_bytes(jump[2..].try_into().ok()?);
            match (image.machine, jump[0], jump[1]) {
                (Machine::X86_64, 0xff, 0x25) => Some(
                    address
                        .wrapping_add(start as u64 + 6)
                        .wrapping_add_signed(i64::from(number)),
                ),
                (Machine::I386, 0xff, 0x25) => Some(u64::from(number as u32)),
                (Machine::I386, 0xff, 0xa3) => image
                    .offset_table
                    .map(|base| base.wrapping_add_signed(i64::from(number))),
                _ => None,
            }
        }
        Machine::Aarch64 => (0..2).find_map(|skipped| {
            let (page, load) = (word(bytes, skipped)?, word(bytes, skipped + 1)?);
            let is_stub = page & 0x9f00_001f == 0x9000_0010 && load & 0xffc0_03ff == 0xf940_0211;
            is_stub.then(|| {
                page_of(page, address + 4 * skipped as u64)
                    .wrapping_add(u64::from((load >> 10) & 0xfff) * 8)
            })
        }),
        Machine::Arm => {
            let (first, second, load) = (word(bytes, 0)?, word(bytes, 1)?, word(bytes, 2)?);
            let is_stub =
                first >> 12 == 0xe28fc && second >> 12 == 0xe28cc && load >> 12 == 0xe5bcf;
            let turned = |word: u32| (word & 0xff).rotate_right(2 * ((word >> 8) & 0xf));
            is_stub.then(|| {
                let offset = turned(first)
                    .wrapping_add(turned(second))
                    .wrapping_add(load & 0xfff);
                address.wrapping_add(8 + u64::from(offset)) & 0xffff_ffff
            })
        }
        Machine::Riscv64 => {
            let (upper, load) = (word(bytes, 0)?, word(bytes, 1)?);
            let is_stub = upper & 0xfff == 0xe17 && load & 0xf_ffff == 0xe_3e03;
            is_stub.then(|| {
                address
                    .wrapping_add_signed(i64::from((upper & 0xffff_f000) as i32))
                    .wrapping_add_signed(i64::from(load as i32 >> 20))
            })
        }
    }
}

/// The page that aarch64's `adrp` at `address` names.
pub(crate) fn page_of(word: u32, address: u64) -> u64 {
    let number = ((word >> 5) & 0x7_ffff) << 2 | (word >> 29) & 3;
    let pages = i64::from((number << 11) as i32 >> 11);
    (address & !0xfff).wrapping_add_signed(pages << 12)
}

fn word(bytes: &[u8], index: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(4 * index..4 * index + 4)?.try_into().ok()?,
    ))
}
