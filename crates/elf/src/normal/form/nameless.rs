//! Constants without a name, among them tables of jumps.

use super::{Form, UNKNOWN};
use crate::image::Machine;
use crate::image::layout::{Layout, Target};
use crate::normal::texts::{may_be_numbers, names_source, text_in, without_folder};

impl Form {
    /// A nameless constant by what it holds.
    #[inline(never)]
    pub(super) fn nameless(&mut self, layout: &Layout<'_>, address: u64, read: usize) {
        let bytes = layout.image.bytes_from(address).unwrap_or_default();
        if matches!(read, 0 | 4 | 8) && self.begins_table(layout, address, bytes, read) {
            self.used.places.push(address);
            self.bytes.push(b'T');
            return;
        }
        // What is only read may lie within what another function has the address of: nothing ends there.
        if read == 0 {
            self.used.places.push(address);
        }
        // Texts of Rust end where the next one begins, with no zero between.
        if read == 0 && self.follows(layout) && self.of_rust {
            self.bytes.push(b'R');
            self.open(layout, address);
            return;
        }
        if read == 0
            && let Some(text) = text_in(bytes)
        {
            let mut shown = text;
            if names_source(text) {
                self.lines.file();
                shown = without_folder(text);
            }
            self.bytes.push(b'"');
            self.bytes.extend_from_slice(shown);
            self.bytes.push(0);
            if may_be_numbers(bytes, text.len()) {
                self.open(layout, address);
            }
            return;
        }
        if read == 0 && self.follows(layout) {
            // What it holds is told as far as it goes: eight bytes may be its neighbour's too.
            self.bytes.push(b'=');
            self.open(layout, address);
            return;
        }
        let length = if read == 0 { 8 } else { read.min(64) };
        self.bytes.push(b'=');
        self.bytes
            .extend_from_slice(&bytes[..length.min(bytes.len())]);
    }

    /// A nameless constant that goes to where the next one begins, as far as is known.
    pub(super) fn open(&mut self, layout: &Layout<'_>, address: u64) {
        if self.follows(layout) {
            self.used.places.push(address);
            self.used.open.push(address);
        }
    }

    /// Elsewhere not all addresses are followed, so that a constant would seem to go on into others.
    fn follows(&self, layout: &Layout<'_>) -> bool {
        matches!(
            layout.image.machine,
            Machine::X86_64 | Machine::I386 | Machine::Aarch64
        )
    }

    /// Whether a table of jumps into this function begins at `address`: what it holds is told by the jump.
    fn begins_table(
        &mut self,
        layout: &Layout<'_>,
        address: u64,
        bytes: &[u8],
        read: usize,
    ) -> bool {
        let pointer = layout.image.machine.pointer();
        let distances = if read == 8 {
            None
        } else if layout.image.machine == Machine::I386 && layout.image.movable {
            layout.image.offset_table.map(Entries::Distances)
        } else {
            (pointer == 8).then_some(Entries::Distances(address))
        };
        let addresses = (!layout.image.movable).then_some(Entries::Addresses(pointer));
        for entries in distances.into_iter().chain(addresses) {
            if (0..2).all(|index| {
                entries
                    .target(bytes, index)
                    .is_some_and(|target| self.is_own(layout, target))
            }) {
                self.tables.push((address, entries));
                return true;
            }
        }
        false
    }

    /// Reads the last table that was seen, as far as the comparison before the jump allows.
    pub(super) fn read_table(&mut self, layout: &Layout<'_>) {
        let Some((address, entries)) = self.tables.pop() else {
            return;
        };
        let bytes = layout.image.bytes_from(address).unwrap_or_default();
        self.table.clear();
        for index in 0..self.bound.take().unwrap_or(2).min(4096) as usize {
            let Some(target) = entries
                .target(bytes, index)
                .filter(|target| self.is_own(layout, *target))
            else {
                break;
            };
            match self.inside(target) {
                Some(offset) => {
                    self.table.push(offset);
                    self.wait(offset, UNKNOWN);
                }
                None => self.target(layout, layout.resolve(target), 0, 0),
            }
        }
    }

    /// Whether code lies in this function or in a part that was split from it.
    fn is_own(&self, layout: &Layout<'_>, address: u64) -> bool {
        if self.inside(address).is_some() {
            return true;
        }
        let Target::Function(index, _) = layout.resolve(address) else {
            return false;
        };
        let (part, whole) = (
            layout.function_stem(index),
            layout.function_stem(self.index),
        );
        part.strip_prefix(whole)
            .is_some_and(|marks| marks.starts_with(".cold"))
    }
}

/// What a table of jumps holds.
#[derive(Clone, Copy)]
pub(super) enum Entries {
    /// Four bytes each: how far the target is from an address.
    Distances(u64),
    /// Addresses of so many bytes.
    Addresses(usize),
}

impl Entries {
    fn target(self, bytes: &[u8], index: usize) -> Option<u64> {
        match self {
            Self::Distances(base) => {
                let entry = bytes.get(4 * index..4 * index + 4)?;
                Some(
                    base.wrapping_add_signed(i64::from(i32::from_le_bytes(entry.try_into().ok()?))),
                )
            }
            Self::Addresses(width) => {
                let entry = bytes.get(width * index..width * (index + 1))?;
                Some(
                    entry
                        .iter()
                        .rev()
                        .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
                )
            }
        }
    }
}
