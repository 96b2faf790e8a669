//! What named data hold, without where they and what they point to lie.

use super::texts::text_in;
use crate::digest::mix;
use crate::image::Holding;
use crate::image::layout::{Layout, Target};
use crate::image::slots::Slot;
use crate::names::{shown, tell_apart};
use crate::table::DataObject;

/// Data with their digests, in the order of their addresses.
///
/// A word that the loader fills counts as what it will hold. Where the linker fixed addresses, an aligned word that is
/// the address of code or data counts as that. Data that begin as zeros are known by their
/// size, data that the file cannot show whole by what it shows.
pub(crate) fn content_of(layout: &Layout<'_>) -> Vec<DataObject> {
    let names = tell_apart(
        layout
            .objects
            .iter()
            .map(|place| (shown(place.symbol), place.file))
            .collect(),
    );
    let mut form = Vec::new();
    layout
        .objects
        .iter()
        .zip(names)
        .map(|(place, name)| {
            form.clear();
            let section = layout.image.section_at(place.start);
            write(layout, place.start, place.end, &mut form);
            let (first, second) = mix(&form);
            DataObject {
                name,
                content: format!("{first:016x}{second:016x}"),
                size: place.end - place.start,
                section: section.map_or("", |section| section.name).to_owned(),
            }
        })
        .collect()
}

fn write(layout: &Layout<'_>, start: u64, end: u64, form: &mut Vec<u8>) {
    form.extend_from_slice(&(end - start).to_le_bytes());
    let Some(section) = layout.image.section_at(start) else {
        return;
    };
    let bytes = layout.image.bytes_from(start).unwrap_or_default();
    let bytes = &bytes[..bytes.len().min(usize::try_from(end - start).unwrap_or(0))];
    if section.holding == Holding::Zero
        || section.holding == Holding::Constant && layout.slots.is_empty() && layout.image.movable
    {
        form.extend_from_slice(bytes);
        return;
    }
    let width = layout.image.machine.pointer() as u64;
    let mut address = start;
    while address < start + bytes.len() as u64 {
        let offset = (address - start) as usize;
        let aligned = address.is_multiple_of(width) && offset + width as usize <= bytes.len();
        match if aligned {
            pointed(layout, address)
        } else {
            None
        } {
            Some(target) => {
                point(layout, target, form);
                address += width;
            }
            None => {
                let step = if aligned { width as usize } else { 1 };
                form.extend_from_slice(&bytes[offset..(offset + step).min(bytes.len())]);
                address += step as u64;
            }
        }
    }
}

/// What the word at `address` points to.
enum Pointed<'l> {
    Name(&'l str),
    Here(u64),
}

fn pointed<'l>(layout: &'l Layout<'_>, address: u64) -> Option<Pointed<'l>> {
    match layout.slots.get(&address) {
        Some(Slot::Name(name)) => return Some(Pointed::Name(name)),
        Some(Slot::Here(target)) => return Some(Pointed::Here(*target)),
        None if layout.image.movable => return None,
        None => {}
    }
    let value = layout.image.pointer_at(address)?;
    let section = layout.image.section_at(value)?;
    let meant = match section.holding {
        Holding::Code => layout.begins(value) || is_label(layout, address, value),
        _ => !section.name.starts_with(".eh_frame"),
    };
    meant.then_some(Pointed::Here(value))
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

fn point(layout: &Layout<'_>, target: Pointed<'_>, form: &mut Vec<u8>) {
    let mut named = |kind: u8, name: &str, offset: u64| {
        form.push(kind);
        form.extend_from_slice(name.as_bytes());
        form.push(0);
        form.extend_from_slice(&offset.to_le_bytes());
    };
    let address = match target {
        Pointed::Name(name) => return named(b'N', name, 0),
        Pointed::Here(address) => address,
    };
    match layout.resolve(address) {
        Target::Function(index, offset) => named(b'F', &layout.function_stems[index], offset),
        Target::Object(index, offset) => named(b'O', &layout.object_stems[index], offset),
        Target::Import(name) => named(b'N', name, 0),
        Target::Place(section) => {
            named(b'S', section.name, 0);
            let bytes = layout.image.bytes_from(address).unwrap_or_default();
            if section.holding == Holding::Constant
                && let Some(text) = text_in(bytes)
            {
                form.extend_from_slice(text);
            }
        }
        Target::Nowhere => named(b'?', "", address),
    }
}
