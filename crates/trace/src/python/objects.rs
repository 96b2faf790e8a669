//! Lists, dictionaries and sets as they lie in memory (`Include/cpython/*object.h`, the same from 3.11 to 3.15).

use super::Api;
use super::build::{is_free_threaded, widened};
use crate::readable::{Pages, read_word};

/// A container whose table the allocator serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    List = 0,
    Dict = 1,
    Set = 2,
}

const TYPE: u64 = 8;
const TYPE_FLAGS: u64 = 168;
const TYPE_BASE: u64 = 256;
const IS_TYPE: u64 = 1 << 31;
const LIST_SIZE: u64 = 16;
const LIST_ALLOCATED: u64 = 32;
/// Steps from a type to its bases; longer chains are no types.
const MOST_BASES: usize = 64;

impl Kind {
    /// From the object to the pointer to its table: `ob_item`, `ma_keys`, `table`.
    pub fn table_offset(self) -> u64 {
        widened()
            + match self {
                Self::List => 24,
                Self::Dict => 32,
                Self::Set => 40,
            }
    }

    fn has_type(self, api: &Api, kind: u64) -> bool {
        match self {
            Self::List => kind == api.types.list,
            Self::Dict => kind == api.types.dict,
            Self::Set => kind == api.types.set || kind == api.types.frozenset,
        }
    }
}

/// The class of the object at an address, if there is one.
#[inline(always)]
pub fn read_class(pages: &Pages, address: u64) -> Option<u64> {
    pages.read_word(address + TYPE + widened())
}

/// Whether objects of a class are containers of a kind; `class` may be any word.
pub fn is_class_of(api: &Api, pages: &Pages, class: u64, kind: Kind) -> bool {
    if kind.has_type(api, class) {
        return true;
    }
    // The interpreter's own types are based on no other container.
    if api.types.has(class) {
        return false;
    }
    is_based_on(api, pages, class, kind).unwrap_or(false)
}

fn is_based_on(api: &Api, pages: &Pages, mut class: u64, kind: Kind) -> Option<bool> {
    let more = widened();
    let metaclass = pages.read_word(class + TYPE + more)?;
    if pages.read_word(metaclass + TYPE_FLAGS + more)? & IS_TYPE == 0 {
        return None;
    }
    for _ in 0..MOST_BASES {
        class = pages.read_word(class + TYPE_BASE + more)?;
        if class == 0 {
            return None;
        }
        if kind.has_type(api, class) {
            return Some(true);
        }
    }
    None
}

/// The table of a container.
pub fn read_table(pages: &Pages, container: u64, kind: Kind) -> Option<u64> {
    pages.read_word(container + kind.table_offset())
}

/// Whether something refers to an object: what nothing refers to is kept by the interpreter for the next object of its type,
/// which then has another table.
///
/// Its count of references is 0 then or, from 3.13 on, the address of the next such object lies in place of it. In a count the
/// upper half is 0 but for flags in its last two bytes (`Include/refcount.h`).
pub fn is_referred_to(pages: &Pages, address: u64) -> bool {
    if is_free_threaded() {
        return true;
    }
    pages
        .read_word(address + widened())
        .is_some_and(|count| count as u32 != 0 && (count >> 32) as u16 == 0)
}

/// Whether a list's room is what its items say, so that they are no remains of another list's.
///
/// Without items it has no room. Without the global lock the room is written before the items, too.
pub fn has_sound_items(pages: &Pages, address: u64, items: u64) -> bool {
    let Some(allocated) = pages.read_word(address + LIST_ALLOCATED + widened()) else {
        return false;
    };
    match items {
        0 => allocated == 0,
        _ if is_free_threaded() => {
            pages.read_word(items.wrapping_sub(LIST_HEAD)) == Some(allocated)
        }
        _ => true,
    }
}

/// Whether a list has as many items as it has room for.
pub fn is_full_list(address: u64) -> bool {
    let read = |offset| read_word(address + offset + widened());
    read(LIST_SIZE) == read(LIST_ALLOCATED)
}

/// Bytes before the items of a list, where it does not ask for them alone: its room (`_PyListArray`).
pub const LIST_HEAD: u64 = 8;

/// Whether a block may be the items of a list that grows or shrinks, where that is a new block each time.
///
/// Its room is a multiple of four (`list_resize`).
#[inline(always)]
pub fn is_new_list_size(size: u64) -> bool {
    is_free_threaded() && size % 32 == LIST_HEAD
}

/// Sizes of tables of keys up to 512 bytes, a bit for each multiple of eight, less one.
///
/// A table is a header of 32 bytes, an index of 1 to 8 bytes for each of 2^n places, and room for two thirds as
/// many entries of 16 or 24 bytes (`new_keys_object`).
pub const SMALL_KEYS: u64 = {
    let mut bits = 0;
    let mut log = 3;
    while log < 6 {
        let [texts, any] = keys_sizes(log);
        if texts <= 512 {
            bits |= 1 << (texts / 8 - 1);
        }
        if any <= 512 {
            bits |= 1 << (any / 8 - 1);
        }
        log += 1;
    }
    bits
};

const fn keys_sizes(log: u32) -> [u64; 2] {
    let places = 1_u64 << log;
    let index = places
        * match log {
            0..8 => 1,
            8..16 => 2,
            16..32 => 4,
            _ => 8,
        };
    let entries = (places << 1) / 3;
    [32 + index + entries * 16, 32 + index + entries * 24]
}

/// Whether the second word of a block may be that of a table of keys that is in use.
///
/// Its bytes are the logarithms of the number of places and of the bytes of the index, and one of three kinds of entries
/// (`struct _dictkeysobject`).
pub fn may_be_keys(second: u64) -> bool {
    let [places, index, kind, ..] = second.to_le_bytes();
    let width = match places {
        3..8 => 0,
        8..16 => 1,
        16..32 => 2,
        32..64 => 3,
        _ => return false,
    };
    index == places + width && kind <= 2
}

/// Sizes below this are looked up.
const LOOKED_UP: u64 = 1 << 15;

/// A bit for each multiple of eight that a table of keys may have as its size.
static KEYS_SIZES: [u64; (LOOKED_UP / 512) as usize] = {
    let mut bits = [0; (LOOKED_UP / 512) as usize];
    let mut log = 3;
    while log < 16 {
        let sizes = keys_sizes(log);
        let mut number = 0;
        while number < 2 {
            if sizes[number] < LOOKED_UP {
                let place = sizes[number] / 8;
                bits[(place / 64) as usize] |= 1 << (place % 64);
            }
            number += 1;
        }
        log += 1;
    }
    bits
};

/// Whether a table of keys may have that size.
#[inline(always)]
pub fn is_keys_size(size: u64) -> bool {
    if size < LOOKED_UP {
        let place = size / 8;
        size.is_multiple_of(8) && KEYS_SIZES[(place / 64) as usize] >> (place % 64) & 1 == 1
    } else {
        is_large_keys_size(size)
    }
}

#[inline(never)]
fn is_large_keys_size(size: u64) -> bool {
    // A place takes 11 to 24 bytes with its part of the entries and of the index.
    let guess = 63 - (size / 12).leading_zeros();
    (guess.saturating_sub(2).max(3)..=guess + 1).any(|log| keys_sizes(log).contains(&size))
}

/// Whether a table of a set may have that size: 2^n entries of 16 bytes, at least 16 of them.
pub fn is_set_size(size: u64) -> bool {
    size >= 256 && size.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_tables_are_those_that_getsizeof_tells() {
        // sys.getsizeof of dictionaries less 64 bytes (3.11 to 3.15): texts as keys, integers as keys.
        for size in [120, 208, 400, 160, 288, 568, 768, 1104] {
            assert!(is_keys_size(size), "{size}");
        }
        for size in [0, 112, 128, 256, 512, 1024] {
            assert!(!is_keys_size(size), "{size}");
        }
    }

    #[test]
    fn every_size_that_keys_can_have_is_found() {
        for log in 3..40 {
            for size in keys_sizes(log) {
                assert!(is_keys_size(size), "{log} {size}");
            }
        }
        let small: Vec<u64> = (1..=64)
            .filter(|n| SMALL_KEYS >> (n - 1) & 1 == 1)
            .map(|n| n * 8)
            .collect();
        assert_eq!(small, [120, 160, 208, 288, 400]);
    }

    #[test]
    fn a_table_of_keys_is_told_by_how_its_second_word_is_written() {
        assert!(may_be_keys(0x0001_0303));
        assert!(may_be_keys(0x0000_0908));
        assert!(may_be_keys(0x1234_5678_0002_1210));
        // A type, a word of the collector's, nothing; other widths of the index, other entries.
        for word in [
            0x7fff_f7d5_e8a0,
            0x5555_5574_1b12,
            0,
            0x0808,
            0x0a08,
            0x0001_0403,
            0x0003_0303,
        ] {
            assert!(!may_be_keys(word), "{word:x}");
        }
    }

    #[test]
    fn tables_of_sets_are_powers_of_two() {
        assert!(is_set_size(512));
        assert!(!is_set_size(128));
        assert!(!is_set_size(768));
    }
}
