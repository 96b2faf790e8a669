//! How the program was built.

use gimli::{AttributeValue, DebugAbbrev, DebugInfo, DebugStr, LittleEndian};
use object::{Object, ObjectSection};

use super::Image;
use crate::table::Build;

/// What `file` and the file with its debug information say about the build.
pub(crate) fn read_build(
    file: &object::File<'_>,
    debug: Option<&object::File<'_>>,
    image: &Image<'_>,
) -> Build {
    let mut producers = producers(debug.unwrap_or(file));
    for name in [".GCC.command.line", ".comment"] {
        let bytes = file
            .section_by_name(name)
            .and_then(|section| section.data().ok())
            .unwrap_or_default();
        producers.extend(bytes.split(|byte| *byte == 0).filter_map(text));
    }
    producers.sort_unstable();
    producers.dedup();
    Build {
        producers,
        libraries: libraries(image),
        build_id: file.build_id().ok().flatten().map(hexadecimal),
        debug_link: file
            .gnu_debuglink()
            .ok()
            .flatten()
            .and_then(|(name, _)| text(name)),
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `DW_AT_producer` of all units.
fn producers(file: &object::File<'_>) -> Vec<String> {
    let bytes = |name: &str| {
        file.section_by_name(name)
            .and_then(|section| section.data().ok())
            .unwrap_or_default()
    };
    let info = DebugInfo::new(bytes(".debug_info"), LittleEndian);
    let abbreviations = DebugAbbrev::new(bytes(".debug_abbrev"), LittleEndian);
    let strings = DebugStr::new(bytes(".debug_str"), LittleEndian);
    let mut offsets = Vec::new();
    let mut found = Vec::new();
    let mut units = info.units();
    while let Ok(Some(unit)) = units.next() {
        let Ok(table) = unit.abbreviations(&abbreviations) else {
            continue;
        };
        let mut entries = unit.entries(&table);
        let Ok(Some(root)) = entries.next_dfs() else {
            continue;
        };
        match root.attr_value(gimli::DW_AT_producer) {
            // Most units name the same text: once is enough.
            Some(AttributeValue::DebugStrRef(offset)) if !offsets.contains(&offset) => {
                offsets.push(offset);
                found.extend(
                    strings
                        .get_str(offset)
                        .ok()
                        .and_then(|reader| text(reader.slice())),
                );
            }
            Some(AttributeValue::String(reader)) => found.extend(text(reader.slice())),
            _ => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// `DT_NEEDED` entries in their order.
fn libraries(image: &Image<'_>) -> Vec<String> {
    let section = |name: &str| image.sections.iter().find(|section| section.name == name);
    let (Some(dynamic), Some(names)) = (section(".dynamic"), section(".dynstr")) else {
        return Vec::new();
    };
    let width = image.machine.pointer();
    dynamic
        .bytes
        .chunks_exact(2 * width)
        .map(|entry| entry.split_at(width))
        .map(|(tag, value)| (number(tag), number(value)))
        .take_while(|(tag, _)| *tag != 0)
        .filter(|(tag, _)| *tag == 1)
        .filter_map(|(_, offset)| {
            let rest = names.bytes.get(usize::try_from(offset).ok()?..)?;
            text(rest.split(|byte| *byte == 0).next()?)
        })
        .collect()
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn text(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
