//! The file as it will lie in memory: sections, and what stands at an address.

pub(crate) mod build;
pub(crate) mod frames;
pub(crate) mod layout;
pub(crate) mod slots;
mod starts;
pub(crate) mod symbols;

use std::ops::Range;

use object::{Architecture, Object, ObjectKind, ObjectSection, SectionFlags, SectionKind};

use crate::trouble::Trouble;

/// Architectures whose code is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    X86_64,
    I386,
    Aarch64,
    Arm,
    Riscv64,
}

impl Machine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86-64",
            Self::I386 => "i386",
            Self::Aarch64 => "aarch64",
            Self::Arm => "arm",
            Self::Riscv64 => "riscv64",
        }
    }

    /// Bytes of a pointer.
    pub(crate) fn pointer(self) -> usize {
        match self {
            Self::X86_64 | Self::Aarch64 | Self::Riscv64 => 8,
            Self::I386 | Self::Arm => 4,
        }
    }
}

/// What a section holds while the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holding {
    Code,
    Constant,
    Data,
    Zero,
}

/// A section that is loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Empty where the section begins as zeros.
    pub(crate) bytes: &'a [u8],
    pub(crate) holding: Holding,
}

/// Loaded sections in the order of their addresses.
pub(crate) struct Image<'a> {
    pub(crate) machine: Machine,
    /// Whether the loader chooses where the program lies, so that no number in its code is an address.
    pub(crate) movable: bool,
    pub(crate) sections: Vec<Section<'a>>,
    /// The first address after all sections.
    end: u64,
    /// Of each kind the largest section that no other overlaps: most addresses lie in them.
    largest: Vec<Section<'a>>,
    /// What i386 counts addresses of data from.
    pub(crate) offset_table: Option<u64>,
}

impl<'a> Image<'a> {
    /// Reads the headers.
    ///
    /// # Errors
    /// [`Trouble`] where the file is not linked, is for another machine, or contradicts itself.
    pub(crate) fn new(file: &object::File<'a>) -> Result<Self, Trouble> {
        let machine = match file.architecture() {
            Architecture::X86_64 if file.is_64() => Machine::X86_64,
            Architecture::I386 => Machine::I386,
            Architecture::Aarch64 if file.is_64() => Machine::Aarch64,
            Architecture::Arm => Machine::Arm,
            Architecture::Riscv64 => Machine::Riscv64,
            other => return Err(Trouble::Machine(format!("{other:?}"))),
        };
        if !file.is_little_endian() {
            return Err(Trouble::Machine(format!("big-endian {}", machine.name())));
        }
        let movable = match file.kind() {
            ObjectKind::Executable => false,
            ObjectKind::Dynamic => true,
            ObjectKind::Relocatable => return Err(Trouble::NotLinked("an object file")),
            ObjectKind::Core => return Err(Trouble::NotLinked("a core")),
            _ => return Err(Trouble::NotLinked("of an unknown kind")),
        };
        let mut sections: Vec<Section<'a>> = file
            .sections()
            .filter_map(|section| loaded(&section))
            .collect();
        sections.sort_by_key(|section| section.address);
        let offset_table = [".got.plt", ".got"]
            .iter()
            .find_map(|name| sections.iter().find(|section| section.name == *name))
            .map(|section| section.address);
        let end = sections
            .iter()
            .map(|section| section.address + section.size)
            .max()
            .unwrap_or(0);
        Ok(Self {
            machine,
            movable,
            largest: find_largest(&sections),
            sections,
            end,
            offset_table,
        })
    }

    /// The section that holds `address`.
    #[inline]
    pub(crate) fn section_at(&self, address: u64) -> Option<&Section<'a>> {
        // Most words are not addresses.
        if address < self.sections.first()?.address || address >= self.end {
            return None;
        }
        for section in &self.largest {
            if address.wrapping_sub(section.address) < section.size {
                return Some(section);
            }
        }
        let after = self
            .sections
            .partition_point(|section| section.address <= address);
        let section = self.sections.get(after.checked_sub(1)?)?;
        (address - section.address < section.size).then_some(section)
    }

    /// Where the largest section of code lies that no other overlaps; empty without one.
    pub(crate) fn text(&self) -> Range<u64> {
        let is_code = |section: &&Section<'_>| section.holding == Holding::Code;
        self.largest.iter().find(is_code).map_or(0..0, |section| {
            section.address..section.address + section.size
        })
    }

    /// The bytes from `address` to the end of its section; none in a section of zeros.
    pub(crate) fn bytes_from(&self, address: u64) -> Option<&'a [u8]> {
        let section = self.section_at(address)?;
        section
            .bytes
            .get(usize::try_from(address - section.address).ok()?..)
    }

    /// The pointer that stands at `address` in the file.
    pub(crate) fn pointer_at(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes_from(address)?;
        match self.machine.pointer() {
            8 => Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?)),
            _ => Some(u64::from(u32::from_le_bytes(
                bytes.get(..4)?.try_into().ok()?,
            ))),
        }
    }
}

/// Of those that end before the next begins the largest of each kind, larger ones first.
fn find_largest<'a>(sections: &[Section<'a>]) -> Vec<Section<'a>> {
    let mut apart: Vec<Section<'a>> = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let next = sections.get(index + 1);
        if next.is_none_or(|next| next.address >= section.address + section.size) {
            apart.push(*section);
        }
    }
    apart.sort_by_key(|section| std::cmp::Reverse(section.size));
    let mut known = Vec::new();
    apart.retain(|section| {
        let is_first = !known.contains(&section.holding);
        known.push(section.holding);
        is_first
    });
    apart
}

fn loaded<'a>(section: &object::Section<'a, '_>) -> Option<Section<'a>> {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
        return None;
    };
    let flags = sh_flags.0;
    let (allocated, writable, executable) = (flags & 2 != 0, flags & 1 != 0, flags & 4 != 0);
    let thread_local = flags & 0x400 != 0;
    if !allocated
        || section.size() == 0
        || (thread_local && section.kind() == SectionKind::UninitializedTls)
    {
        return None;
    }
    let bytes = section.data().unwrap_or_default();
    let holding = if executable {
        Holding::Code
    } else if bytes.is_empty() {
        Holding::Zero
    } else if writable {
        Holding::Data
    } else {
        Holding::Constant
    };
    // A header may claim more than the file holds, or a range beyond the last address.
    section.address().checked_add(section.size())?;
    Some(Section {
        name: section.name().unwrap_or(""),
        address: section.address(),
        size: section.size(),
        bytes,
        holding,
    })
}
