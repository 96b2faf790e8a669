//! How far constants without a name go: to the next place that anything refers to.

use std::collections::HashSet;

use super::data::{Held, OfRust, begins_pointer, list_slots, write};
use super::form::{Read, Used};
use super::texts::{may_be_numbers, text_in};
use crate::digest::mix;
use crate::image::Holding;
use crate::image::layout::Layout;

/// Most bytes that are taken for one.
const MOST: u64 = 1 << 12;

/// Where code and data refer to: named data, and what `used` tells and pointers lead to without a name. Ascending.
pub(crate) fn list_starts<'u>(
    layout: &Layout<'_>,
    used: impl Iterator<Item = &'u Used>,
) -> Vec<u64> {
    let mut starts: Vec<u64> = used.flat_map(|used| used.places.iter().copied()).collect();
    starts.extend(layout.objects.iter().map(|place| place.start));
    starts.extend(list_slots(layout));
    if !layout.image.movable {
        starts.extend(list_pointed(layout));
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Where the linker fixed addresses, each aligned word may be one.
fn list_pointed(layout: &Layout<'_>) -> impl Iterator<Item = u64> {
    let width = layout.image.machine.pointer();
    layout
        .image
        .sections
        .iter()
        .filter(|section| matches!(section.holding, Holding::Constant | Holding::Data))
        .flat_map(move |section| {
            let unaligned = (section.address.wrapping_neg() % width as u64) as usize;
            section
                .bytes
                .get(unaligned..)
                .unwrap_or_default()
                .chunks_exact(width)
                .map(|word| {
                    word.iter()
                        .rev()
                        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
                })
        })
        .filter(|address| {
            layout
                .image
                .section_at(*address)
                .is_some_and(|section| matches!(section.holding, Holding::Constant | Holding::Data))
        })
}

/// Adds to the digests of functions what the constants hold of which their code says only where they begin.
pub(crate) fn add_held(layout: &Layout<'_>, starts: &[u64], reads: &mut [Read], used: &Used) {
    let mut open = used.open.as_slice();
    let mut constants = used.constants.as_slice();
    let mut held = Held::default();
    let mut seen = HashSet::new();
    for read in reads {
        let (own, rest) = open.split_at(read.open);
        open = rest;
        let (lengths, rest) = constants.split_at(read.constants);
        constants = rest;
        held.clear();
        seen.clear();
        // Each once: together they are then no longer than the sections.
        for address in own.iter().filter(|address| seen.insert(**address)) {
            let text = read
                .of_rust
                .then(|| find_end_of_text(layout, starts, *address, lengths))
                .flatten();
            let end = text.unwrap_or_else(|| find_end(layout, starts, *address));
            let rust = read.of_rust.then_some(OfRust { starts, end });
            write(layout, *address, end, rust.as_ref(), &mut held);
        }
        if own.is_empty() {
            continue;
        }
        let (first, second) = mix(&held.form);
        let digests = [
            Some(&mut read.code),
            read.without_lines.as_mut(),
            read.without_names.as_mut(),
        ];
        for digest in digests.into_iter().flatten() {
            let words = [digest.0, digest.1, first, second];
            *digest = mix(words.map(u64::to_le_bytes).as_flattened());
        }
    }
}

/// The end of a text of Rust: the first place that begins as far behind it as a constant of the code says, which is its
/// length then. Else its zero, or the next place if that is farther: texts and tables of bytes may hold zeros.
fn find_end_of_text(
    layout: &Layout<'_>,
    starts: &[u64],
    address: u64,
    lengths: &[i64],
) -> Option<u64> {
    let bytes = layout.image.bytes_from(address)?;
    let text = text_in(bytes).filter(|text| !may_be_numbers(bytes, text.len()))?;
    let end = (address + text.len() as u64).max(find_end(layout, starts, address));
    let next = starts[starts.partition_point(|start| *start <= address)..]
        .iter()
        .take_while(|start| **start < end)
        .find(|start| lengths.binary_search(&((**start - address) as i64)).is_ok());
    Some(next.copied().unwrap_or(end))
}

/// The end of what begins at `address`, without zeros: the linker fills with them up to the next.
///
/// How many there are depends on where it lies. Only a pointer is taken with its own: what it points to counts.
fn find_end(layout: &Layout<'_>, starts: &[u64], address: u64) -> u64 {
    let next = starts
        .get(starts.partition_point(|start| *start <= address))
        .map_or(MOST, |next| (next - address).min(MOST));
    let bytes = layout.image.bytes_from(address).unwrap_or_default();
    let bytes = &bytes[..bytes.len().min(next as usize)];
    let length = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let end = address + length as u64;
    let width = layout.image.machine.pointer() as u64;
    let whole = end.next_multiple_of(width);
    let is_pointer = whole
        .checked_sub(width)
        .is_some_and(|word| word >= address && word < end && begins_pointer(layout, word));
    if is_pointer && whole <= address + bytes.len() as u64 {
        whole
    } else {
        end
    }
}

/// The constant at `address`, to which the word at `word` of data points: a text up to its zero, of another nothing.
///
/// In data of Rust (`rust`) the word behind the pointer is its length: fewer bytes than up to the zero are taken only
/// where something else begins there, more always.
pub(super) fn constant_at<'a>(
    layout: &Layout<'a>,
    word: u64,
    address: u64,
    rust: Option<&OfRust<'_>>,
) -> &'a [u8] {
    let bytes = layout.image.bytes_from(address).unwrap_or_default();
    let text = text_in(bytes);
    let after = word + layout.image.machine.pointer() as u64;
    let Some((rust, length)) = rust
        .filter(|rust| after < rust.end && !begins_pointer(layout, after))
        .zip(layout.image.pointer_at(after))
    else {
        return text.unwrap_or_default();
    };
    // What goes beyond the section is no length.
    if length > bytes.len() as u64 {
        return text.unwrap_or_default();
    }
    let is_end = || rust.starts.binary_search(&(address + length)).is_ok();
    match text {
        Some(text) if length < text.len() as u64 && !is_end() => text,
        _ => &bytes[..length.min(MOST) as usize],
    }
}
