//! Functions of a file without symbols, from what unwinding a stack needs.

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};

use super::symbols::Place;
use super::{Holding, Image};

/// Functions that `.eh_frame` describes, in the order of their addresses, without names.
///
/// A function that was split has a part for each stretch of code. Reading ends at the first entry that makes no
/// sense.
pub(crate) fn read_frames<'a>(image: &Image<'a>) -> Vec<Place<'a>> {
    let address_of = |name: &str| image.sections.iter().find(|section| section.name == name);
    let Some(section) = address_of(".eh_frame") else {
        return Vec::new();
    };
    let mut frames = EhFrame::new(section.bytes, LittleEndian);
    frames.set_address_size(image.machine.pointer() as u8);
    let mut bases = BaseAddresses::default().set_eh_frame(section.address);
    if let Some(text) = address_of(".text") {
        bases = bases.set_text(text.address);
    }
    if let Some(got) = image.offset_table {
        bases = bases.set_got(got);
    }
    let mut places = Vec::new();
    let mut entries = frames.entries(&bases);
    // Most entries share what they have in common with the one before.
    let mut last: Option<(gimli::EhFrameOffset, gimli::CommonInformationEntry<_>)> = None;
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let found = partial.parse(|section, bases, offset| match &last {
            Some((known, shared)) if *known == offset => Ok(shared.clone()),
            _ => {
                let shared = section.cie_from_offset(bases, offset)?;
                Ok(last.insert((offset, shared)).1.clone())
            }
        });
        let Ok(fde) = found else {
            continue;
        };
        let (start, length) = (fde.initial_address(), fde.len());
        let Some(section) = image.section_at(start) else {
            continue;
        };
        if section.holding != Holding::Code || section.name.starts_with(".plt") || length == 0 {
            continue;
        }
        let end = start
            .saturating_add(length)
            .min(section.address + section.size);
        places.push(Place {
            start,
            end,
            symbol: "",
            aliases: Vec::new(),
            file: None,
            thumb: false,
        });
    }
    places.sort_by_key(|place| place.start);
    places.dedup_by_key(|place| place.start);
    places
}
