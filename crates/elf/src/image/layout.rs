//! What stands at an address: a function, named data, a name of another file, or a nameless place.

use std::borrow::Cow;
use std::ops::Range;

use super::slots::{Slot, Slots, slot_of_stub};
use super::starts::Starts;
use super::symbols::{Place, Symbols};
use super::{Holding, Image, Section};
use crate::names::stem;

/// What an address means.
#[derive(Clone, Copy)]
pub(crate) enum Target<'t> {
    /// The function of that index, and how far into it.
    Function(usize, u64),
    /// The data of that index, and how far into them.
    Object(usize, u64),
    /// The name in another file of that index.
    Import(usize),
    /// A place without a name.
    Place(&'t Section<'t>),
    /// Nothing that is loaded.
    Nowhere,
}

/// What stubs mean that jump to functions of other files: one each 16 bytes.
struct Stubs {
    start: u64,
    /// None of what is neither a function nor a name.
    targets: Vec<Option<Stub>>,
}

#[derive(Clone, Copy)]
enum Stub {
    Function(usize, u64),
    Import(usize),
}

/// The image with its functions and data.
pub(crate) struct Layout<'a> {
    pub(crate) image: Image<'a>,
    pub(crate) functions: Vec<Place<'a>>,
    pub(crate) objects: Vec<Place<'a>>,
    pub(crate) marks: Vec<(u64, bool)>,
    pub(crate) slots: Slots<'a>,
    /// Where most code lies.
    text: Range<u64>,
    stubs: Vec<Stubs>,
    /// Names of where sections begin and end, ascending by their addresses.
    boundaries: Vec<(u64, &'a str)>,
    function_starts: Starts,
    object_starts: Starts,
    /// By what functions and data are known in another build.
    function_stems: Vec<Cow<'a, str>>,
    pub(crate) object_stems: Vec<Cow<'a, str>>,
    /// Which functions have a symbol.
    has_symbol: Vec<bool>,
}

impl<'a> Layout<'a> {
    pub(crate) fn new(image: Image<'a>, mut symbols: Symbols<'a>, slots: Slots<'a>) -> Self {
        part_overlaps(&mut symbols.functions, &image, true);
        part_overlaps(&mut symbols.objects, &image, false);
        let stems = |places: &[Place<'a>]| places.iter().map(|place| stem(place.symbol)).collect();
        let starts = |places: &[Place<'a>]| {
            Starts::new(
                places
                    .iter()
                    .map(|place| (place.start, place.end))
                    .collect(),
            )
        };
        let mut boundaries: Vec<_> = symbols.boundaries.into_iter().collect();
        boundaries.sort_unstable();
        let mut layout = Self {
            function_starts: starts(&symbols.functions),
            object_starts: starts(&symbols.objects),
            function_stems: stems(&symbols.functions),
            object_stems: stems(&symbols.objects),
            has_symbol: (symbols.functions.iter())
                .map(|place| !place.symbol.is_empty())
                .collect(),
            functions: symbols.functions,
            objects: symbols.objects,
            marks: symbols.marks,
            boundaries,
            text: image.text(),
            image,
            slots,
            stubs: Vec::new(),
        };
        layout.stubs = layout.read_stubs();
        layout
    }

    /// Stubs are called far more often than there are any.
    fn read_stubs(&self) -> Vec<Stubs> {
        let are_stubs = |section: &&Section<'a>| {
            section.holding == Holding::Code && section.name.starts_with(".plt")
        };
        let sections = self.image.sections.iter().filter(are_stubs);
        sections
            .map(|section| Stubs {
                start: section.address,
                targets: (0..section.bytes.len() as u64 / 16)
                    .map(|index| match self.resolve(section.address + 16 * index) {
                        Target::Function(index, offset) => Some(Stub::Function(index, offset)),
                        Target::Import(index) => Some(Stub::Import(index)),
                        _ => None,
                    })
                    .collect(),
            })
            .collect()
    }

    /// What `address` means. A word that the loader fills means what it will hold, a stub what it jumps to.
    pub(crate) fn resolve(&self, address: u64) -> Target<'_> {
        if self.text.contains(&address)
            && let Some(target) = self.function_starts.within(address)
        {
            return Target::Function(target.0, target.1);
        }
        let Some(section) = self.image.section_at(address) else {
            return Target::Nowhere;
        };
        if section.holding == Holding::Code {
            if let Some(target) = self.stub_at(address) {
                return target;
            }
            if let Some(target) = self.function_starts.within(address) {
                return Target::Function(target.0, target.1);
            }
            if section.name.starts_with(".plt") || section.name == ".iplt" {
                return match slot_of_stub(&self.image, address) {
                    Some(slot) => self.held(slot).unwrap_or(Target::Place(section)),
                    None => Target::Place(section),
                };
            }
            return Target::Place(section);
        }
        if let Some(target) = self.object_starts.within(address) {
            return Target::Object(target.0, target.1);
        }
        if section.name.starts_with(".got") {
            return self.held(address).unwrap_or(Target::Place(section));
        }
        Target::Place(section)
    }

    /// What the stub at `address` jumps to, if one that was read begins there.
    fn stub_at(&self, address: u64) -> Option<Target<'_>> {
        self.stubs.iter().find_map(|stubs| {
            let distance = address.wrapping_sub(stubs.start);
            if distance % 16 != 0 {
                return None;
            }
            let index = usize::try_from(distance / 16).ok()?;
            Some(match (*stubs.targets.get(index)?)? {
                Stub::Function(index, offset) => Target::Function(index, offset),
                Stub::Import(index) => Target::Import(index),
            })
        })
    }

    /// What the word at `slot` will hold, if the file or the loader says so.
    fn held(&self, slot: u64) -> Option<Target<'_>> {
        let address = match self.slots.at(slot) {
            Some(Slot::Import(index)) => return Some(Target::Import(index)),
            Some(Slot::Here(address)) => address,
            None => self
                .image
                .pointer_at(slot)
                .filter(|_| !self.image.movable)?,
        };
        let section = self.image.section_at(address)?;
        if section.holding == Holding::Code {
            let (index, offset) = self.function_starts.within(address)?;
            return Some(Target::Function(index, offset));
        }
        match self.object_starts.within(address) {
            Some((index, offset)) => Some(Target::Object(index, offset)),
            None => Some(Target::Place(section)),
        }
    }

    /// By what a function is known in another build; empty where it has no symbol.
    #[inline]
    pub(crate) fn function_stem(&self, index: usize) -> &str {
        // Each call asks. Stripped programs have few symbols, and unlike all stems these bytes stay close to the processor.
        if self.has_symbol[index] {
            &self.function_stems[index]
        } else {
            ""
        }
    }

    /// Whether a function begins at `address`.
    pub(crate) fn begins(&self, address: u64) -> bool {
        self.function_starts.holds(address)
    }

    /// The name of where a section begins or ends, if `address` has one.
    pub(crate) fn boundary_at(&self, address: u64) -> Option<&'a str> {
        let index = self
            .boundaries
            .binary_search_by_key(&address, |(address, _)| *address)
            .ok()?;
        Some(self.boundaries[index].1)
    }
}

/// Ends places where the next begin, if together they are far larger than the sections that hold them.
///
/// Entries into the middle of a function do overlap; a damaged table could make reading take hours.
fn part_overlaps(places: &mut [Place<'_>], image: &Image<'_>, code: bool) {
    let held = |section: &&Section<'_>| (section.holding == Holding::Code) == code;
    let whole: u64 = image
        .sections
        .iter()
        .filter(held)
        .map(|section| section.bytes.len() as u64)
        .sum();
    let claimed: u64 = places
        .iter()
        .fold(0, |sum, place| sum.saturating_add(place.end - place.start));
    if claimed <= whole.saturating_mul(2).saturating_add(1 << 16) {
        return;
    }
    for index in 1..places.len() {
        let next = places[index].start;
        places[index - 1].end = places[index - 1].end.min(next);
    }
}
