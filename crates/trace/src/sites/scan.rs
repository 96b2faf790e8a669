//! Containers that are live where the allocator was called: their addresses are in registers or on the stack.

use crate::python::objects::{
    Kind, has_sound_items, is_class_of, is_referred_to, read_class, read_table,
};
use crate::python::{Api, api};
use crate::readable::{Pages, can_read};

/// A container, and its table before the call.
#[derive(Clone, Copy, Default)]
pub struct Candidate {
    pub object: u64,
    pub table: u64,
}

/// Containers that are kept from one scan.
pub const MOST_CANDIDATES: usize = 8;
/// Words of the callers' frames that are looked at.
const DEPTH: u64 = 160;

pub type Candidates = ([Candidate; MOST_CANDIDATES], usize);

/// Words that were considered in one scan: the same words are on the stack again and again.
struct Considered([u64; 64]);

impl Considered {
    /// Note a word, and say whether it is new, as far as is remembered.
    fn is_new(&mut self, word: u64) -> bool {
        let slot = &mut self.0[(word >> 4) as usize % 64];
        std::mem::replace(slot, word) != word
    }
}

/// Registers that a called function must leave as they were.
type Registers = [u64; 10];

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_registers(here: &mut Registers) -> u64 {
    let stack: u64;
    unsafe {
        std::arch::asm!(
            "mov [{0}], rbx",
            "mov [{0} + 8], rbp",
            "mov [{0} + 16], r12",
            "mov [{0} + 24], r13",
            "mov [{0} + 32], r14",
            "mov [{0} + 40], r15",
            "mov {1}, rsp",
            in(reg) here.as_mut_ptr(),
            out(reg) stack,
            options(nostack)
        );
    }
    stack
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn read_registers(here: &mut Registers) -> u64 {
    let stack: u64;
    unsafe {
        std::arch::asm!(
            "stp x19, x20, [{0}]",
            "stp x21, x22, [{0}, #16]",
            "stp x23, x24, [{0}, #32]",
            "stp x25, x26, [{0}, #48]",
            "stp x27, x28, [{0}, #64]",
            "mov {1}, sp",
            in(reg) here.as_mut_ptr(),
            out(reg) stack,
            options(nostack)
        );
    }
    stack
}

/// Find live containers of a kind.
///
/// What the callers held in registers is still there, or was saved between here and `at`, where the hook's return
/// address is; what they held on the stack is above.
///
/// Args: `wanted` is the table that they must have, where it is known: that of a list is an argument of the call.
#[inline(never)]
pub fn find_containers(at: u64, kind: Kind, wanted: Option<u64>) -> Candidates {
    let mut registers = Registers::default();
    let stack = read_registers(&mut registers);
    scan(&registers, stack, at, kind, wanted)
}

/// Look through registers, and the stack from `stack` on: what the scan itself keeps lies below.
#[inline(never)]
fn scan(registers: &Registers, stack: u64, at: u64, kind: Kind, wanted: Option<u64>) -> Candidates {
    let mut found: Candidates = Default::default();
    let Some(api) = api() else { return found };
    let (first, last) = api.types.range();
    let mut search = Search {
        api,
        pages: Pages::beside(first, last),
        kind,
        wanted,
        strangers: [0; 32],
    };
    let mut considered = Considered([0; 64]);
    for word in *registers {
        if considered.is_new(word) {
            search.consider(word, &mut found);
        }
    }
    let mut place = stack & !7;
    while place < at + DEPTH * 8 && found.1 < MOST_CANDIDATES {
        // Above `at` the stack may end.
        if place > at && place % 4096 < 8 && !can_read(place) {
            break;
        }
        let word = unsafe { std::ptr::read_volatile(place as *const u64) };
        if word.is_multiple_of(16) && considered.is_new(word) {
            search.consider(word, &mut found);
        }
        place += 8;
    }
    found
}

/// What is looked for in one scan.
struct Search {
    api: &'static Api,
    pages: Pages,
    kind: Kind,
    wanted: Option<u64>,
    /// Words found where a class would be that are not classes of this kind of container, or classes of other objects.
    strangers: [u64; 32],
}

impl Search {
    fn consider(&mut self, word: u64, found: &mut Candidates) {
        if !word.is_multiple_of(16)
            || !(1 << 16..1 << 47).contains(&word)
            || found.1 == MOST_CANDIDATES
        {
            return;
        }
        let Some(class) = read_class(&self.pages, word) else {
            return;
        };
        let slot = (class >> 4 ^ class >> 9) as usize % self.strangers.len();
        if self.strangers[slot] == class {
            return;
        }
        if !is_class_of(self.api, &self.pages, class, self.kind) {
            self.strangers[slot] = class;
            return;
        }
        if let Some(table) = self.read_live_table(word) {
            let is_known = found.0[..found.1].iter().any(|known| known.object == word);
            if !is_known {
                found.0[found.1] = Candidate {
                    object: word,
                    table,
                };
                found.1 += 1;
            }
        }
    }

    /// The table of a container, where it is one that is looked for.
    fn read_live_table(&self, container: u64) -> Option<u64> {
        let table = read_table(&self.pages, container, self.kind)?;
        let is_wanted = self.wanted.is_none_or(|wanted| wanted == table)
            && is_referred_to(&self.pages, container)
            && (self.kind != Kind::List || has_sound_items(&self.pages, container, table));
        is_wanted.then_some(table)
    }
}
