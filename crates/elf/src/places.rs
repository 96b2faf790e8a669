//! Functions and lines of addresses in a program, from what the compiler wrote down about them.

use std::borrow::Cow;
use std::path::Path;

use addr2line::Context;
use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use serde::Serialize;

use crate::names::shown;
use crate::path::separate_file;
use crate::trouble::Trouble;

/// A line of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// As people read it; with the distance from its beginning where there is no line: `main+0x1a`.
    pub function: String,
    /// The file of the source; empty where there is no line.
    pub file: String,
    /// From 1 on; 0 where the file does not say.
    pub line: u32,
}

/// Finds the places of return addresses: for each the function that was called in, and then those that it was inlined
/// into. Without debug information there is one, with the symbol before the address.
///
/// Offsets are addresses as the program's file has them. Debug information is looked for in the file, and where gdb
/// does.
///
/// # Errors
/// [`Trouble`] where the file cannot be read or is no program.
pub fn find_places(path: &Path, offsets: &[u64]) -> Result<Vec<Vec<Place>>, Trouble> {
    let bytes = std::fs::read(path).map_err(|why| Trouble::Unreadable(why.to_string()))?;
    let file =
        object::File::parse(bytes.as_slice()).map_err(|why| Trouble::NotElf(why.to_string()))?;
    let needs_other = file.section_by_name(".debug_info").is_none();
    let separate = needs_other.then(|| separate_file(path, &file)).flatten();
    let other = separate
        .as_deref()
        .and_then(|bytes| object::File::parse(bytes).ok());
    let sections = read_sections(other.as_ref().unwrap_or(&file));
    let context = sections.as_ref().and_then(|sections| {
        let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
        Context::from_dwarf(dwarf).ok()
    });
    let mut symbols = list_symbols(&file);
    if let Some(other) = &other {
        symbols.append(&mut list_symbols(other));
    }
    symbols.sort_unstable();
    Ok(offsets
        .iter()
        .map(|offset| {
            // The call is before the address that it returns to.
            let inside = offset.saturating_sub(1);
            let places = context
                .as_ref()
                .map(|context| find_lines(context, inside))
                .unwrap_or_default();
            if places.is_empty() {
                vec![find_symbol(&symbols, *offset)]
            } else {
                places
            }
        })
        .collect())
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

fn read_sections<'a>(file: &object::File<'a>) -> Option<DwarfSections<Cow<'a, [u8]>>> {
    file.section_by_name(".debug_line")?;
    let load = |id: SectionId| {
        let section = file
            .section_by_name(id.name())
            .and_then(|section| section.uncompressed_data().ok());
        Ok::<_, gimli::Error>(section.unwrap_or(Cow::Borrowed(&[])))
    };
    DwarfSections::load(load).ok()
}

fn find_lines(context: &Context<Bytes<'_>>, address: u64) -> Vec<Place> {
    let mut places = Vec::new();
    let Ok(mut frames) = context.find_frames(address).skip_all_loads() else {
        return places;
    };
    while let Ok(Some(frame)) = frames.next() {
        let Some(location) = frame.location else {
            break;
        };
        let (Some(file), Some(line)) = (location.file, location.line) else {
            break;
        };
        let name = frame
            .function
            .as_ref()
            .and_then(|function| function.raw_name().ok().map(|name| shown(&name)))
            .unwrap_or_else(|| "?".to_owned());
        places.push(Place {
            function: name,
            file: file.to_owned(),
            line,
        });
    }
    places
}

/// Functions by their address: address, size, name.
fn list_symbols(file: &object::File<'_>) -> Vec<(u64, u64, String)> {
    file.symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .filter_map(|symbol| {
            Some((
                symbol.address(),
                symbol.size(),
                symbol.name().ok()?.to_owned(),
            ))
        })
        .collect()
}

fn find_symbol(symbols: &[(u64, u64, String)], offset: u64) -> Place {
    let inside = offset.saturating_sub(1);
    let end = symbols.partition_point(|(begin, _, _)| *begin <= inside);
    // One without a size reaches as far as the next.
    let found = symbols[..end]
        .last()
        .filter(|(begin, size, _)| *size == 0 || inside - begin < *size);
    Place {
        function: match found {
            Some((begin, _, name)) => format!("{}+{:#x}", shown(name), offset - begin),
            None => format!("{offset:#x}"),
        },
        file: String::new(),
        line: 0,
    }
}
