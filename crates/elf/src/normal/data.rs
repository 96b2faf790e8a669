//! What named data hold, without where they and what they point to lie.

use std::collections::HashSet;

use rayon::prelude::*;

use super::extents::constant_at;
use super::form::Reference;
use crate::digest::mix;
use crate::image::Holding;
use crate::image::layout::{Layout, Target};
use crate::image::slots::Slot;
use crate::names::is_of_rust;

/// What is known of named data but their names.
pub(crate) struct Content<'a> {
    pub(crate) digest: (u64, u64),
    /// Without names of what pointers lead to; none where they lead to nothing with a name.
    pub(crate) without_names: Option<(u64, u64)>,
    pub(crate) size: u64,
    pub(crate) section: &'a str,
    pub(crate) refers_to: Vec<Reference>,
}

/// Data of Rust, where the length of a constant follows its address.
pub(super) struct OfRust<'s> {
    /// Where constants begin, ascending.
    pub(super) starts: &'s [u64],
    /// The data's end.
    pub(super) end: u64,
}

/// What data hold in the form in which it is compared.
#[derive(Default)]
pub(super) struct Held {
    pub(super) form: Vec<u8>,
    /// Where it names functions and data of this program: position and bytes.
    names: Vec<(usize, usize)>,
    refers_to: Vec<Reference>,
    noted: HashSet<Reference>,
}

impl Held {
    pub(super) fn clear(&mut self) {
        self.form.clear();
        self.names.clear();
        self.refers_to.clear();
        self.noted.clear();
    }

    fn named(&mut self, kind: u8, name: &str, offset: u64) {
        self.form.push(kind);
        if matches!(kind, b'F' | b'O') {
            self.names.push((self.form.len(), name.len()));
        }
        self.form.extend_from_slice(name.as_bytes());
        self.form.push(0);
        self.form.extend_from_slice(&offset.to_le_bytes());
    }

    fn note(&mut self, reference: Reference) {
        if self.noted.insert(reference) {
            self.refers_to.push(reference);
        }
    }

    fn without_names(&self) -> Option<(u64, u64)> {
        if self.names.is_empty() {
            return None;
        }
        let mut rest = Vec::with_capacity(self.form.len());
        let mut next = 0;
        for &(position, length) in &self.names {
            rest.extend_from_slice(&self.form[next..position]);
            next = position + length;
        }
        rest.extend_from_slice(&self.form[next..]);
        Some(mix(&rest))
    }
}

/// Named data with their digests, in the order of their addresses.
///
/// A word that the loader fills counts as what it will hold. Where the linker fixed addresses, an aligned word that is
/// the address of code or data counts as that. Data that begin as zeros are known by their
/// size, data that the file cannot show whole by what it shows.
pub(crate) fn content_of<'a>(layout: &Layout<'a>) -> Vec<Content<'a>> {
    let mut pointed: Vec<u64> = list_slots(layout).collect();
    pointed.sort_unstable();
    layout
        .objects
        .par_iter()
        .map_init(Held::default, |held, place| {
            held.clear();
            let section = layout.image.section_at(place.start);
            let rust = is_of_rust(place.symbol).then_some(OfRust {
                starts: &pointed,
                end: place.end,
            });
            write(layout, place.start, place.end, rust.as_ref(), held);
            Content {
                digest: mix(&held.form),
                without_names: held.without_names(),
                size: place.end - place.start,
                section: section.map_or("", |section| section.name),
                refers_to: held.refers_to.clone(),
            }
        })
        .collect()
}

/// Where words lead to that the loader fills.
pub(super) fn list_slots(layout: &Layout<'_>) -> impl Iterator<Item = u64> {
    layout
        .slots
        .between(0, u64::MAX)
        .iter()
        .filter_map(|(_, slot)| match slot {
            Slot::Here(address) => Some(*address),
            Slot::Import(_) => None,
        })
}

/// Adds what lies from `start` to `end`.
pub(super) fn write(
    layout: &Layout<'_>,
    start: u64,
    end: u64,
    rust: Option<&OfRust<'_>>,
    held: &mut Held,
) {
    held.form.extend_from_slice(&(end - start).to_le_bytes());
    let bytes = layout.image.bytes_from(start).unwrap_or_default();
    let bytes = &bytes[..bytes.len().min(usize::try_from(end - start).unwrap_or(0))];
    if layout.image.movable {
        write_filled(layout, bytes, start, rust, held);
    } else {
        write_fixed(layout, bytes, start, rust, held);
    }
}

/// Where the loader chooses the addresses, only words that it fills point to anything.
fn write_filled(
    layout: &Layout<'_>,
    bytes: &[u8],
    start: u64,
    rust: Option<&OfRust<'_>>,
    held: &mut Held,
) {
    let width = layout.image.machine.pointer();
    let mut next = 0;
    for (address, slot) in layout.slots.between(start, start + bytes.len() as u64) {
        let offset = (address - start) as usize;
        if !address.is_multiple_of(width as u64) || offset + width > bytes.len() {
            continue;
        }
        held.form.extend_from_slice(&bytes[next..offset]);
        point(layout, *address, *slot, rust, held);
        next = offset + width;
    }
    held.form.extend_from_slice(&bytes[next..]);
}

/// Where the linker fixed addresses, each aligned word may be one.
fn write_fixed(
    layout: &Layout<'_>,
    bytes: &[u8],
    start: u64,
    rust: Option<&OfRust<'_>>,
    held: &mut Held,
) {
    let width = layout.image.machine.pointer();
    let unaligned = (start.wrapping_neg() % width as u64) as usize;
    let (head, words) = bytes.split_at(unaligned.min(bytes.len()));
    held.form.extend_from_slice(head);
    let mut address = start + head.len() as u64;
    for word in words.chunks(width) {
        match pointed(layout, address).filter(|_| word.len() == width) {
            Some(target) => point(layout, address, target, rust, held),
            None => held.form.extend_from_slice(word),
        }
        address += width as u64;
    }
}

/// Whether the aligned word at `address` is a pointer, by what fills it or where the linker fixed addresses by its value.
pub(super) fn begins_pointer(layout: &Layout<'_>, address: u64) -> bool {
    if layout.image.movable {
        layout.slots.at(address).is_some()
    } else {
        pointed(layout, address).is_some()
    }
}

/// What the word at `address` points to.
fn pointed(layout: &Layout<'_>, address: u64) -> Option<Slot> {
    if let Some(slot) = layout.slots.at(address) {
        return Some(slot);
    }
    let value = layout.image.pointer_at(address)?;
    let section = layout.image.section_at(value)?;
    let meant = match section.holding {
        Holding::Code => layout.begins(value) || is_label(layout, address, value),
        _ => !section.name.starts_with(".eh_frame"),
    };
    meant.then_some(Slot::Here(value))
}

/// Whether a word is one of a table of labels: the next one or the one before lies in the same function. Three letters
/// of a text are often an address within some function.
fn is_label(layout: &Layout<'_>, address: u64, value: u64) -> bool {
    let Target::Function(own, _) = layout.resolve(value) else {
        return false;
    };
    let width = layout.image.machine.pointer() as u64;
    [address.checked_sub(width), address.checked_add(width)]
        .into_iter()
        .flatten()
        .any(|beside| {
            layout.image.pointer_at(beside).is_some_and(
                |value| matches!(layout.resolve(value), Target::Function(other, _) if other == own),
            )
        })
}

fn point(layout: &Layout<'_>, word: u64, target: Slot, rust: Option<&OfRust<'_>>, held: &mut Held) {
    let imports = layout.slots.imports();
    let address = match target {
        Slot::Import(index) => return held.named(b'N', imports[index], 0),
        Slot::Here(address) => address,
    };
    match layout.resolve(address) {
        Target::Function(index, offset) => {
            held.note(Reference::Function(index));
            held.named(b'F', layout.function_stem(index), offset);
        }
        Target::Object(index, offset) => {
            held.note(Reference::Object(index));
            held.named(b'O', &layout.object_stems[index], offset);
        }
        Target::Import(index) => held.named(b'N', imports[index], 0),
        Target::Place(section) => {
            held.named(b'S', section.name, 0);
            if section.holding == Holding::Constant {
                let constant = constant_at(layout, word, address, rust);
                held.form.extend_from_slice(constant);
            }
        }
        Target::Nowhere => held.named(b'?', "", address),
    }
}
