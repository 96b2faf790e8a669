//! The marks that compilers leave in what they make: strings in the section `.comment`.

use std::collections::BTreeSet;
use std::path::Path;

use super::version::CompilerVersion;
use crate::elf_file::Elf;

/// Compilers whose marks are in a program or an object file; `None` when it is no ELF file, and empty
/// when it has no marks.
pub(crate) fn read_marks(path: &Path) -> Option<BTreeSet<String>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let section = Elf::open(path).ok()??.read_section(b".comment").ok()?;
    let marks = section
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .filter_map(|mark| CompilerVersion::of_mark(std::str::from_utf8(mark).ok()?))
        .map(|version| version.to_string())
        .collect();
    Some(marks)
}
