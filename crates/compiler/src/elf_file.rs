//! ELF files: their headers, segments and sections.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(crate) const DYNAMIC_SEGMENT: u64 = 2;
pub(crate) const INTERPRETER_SEGMENT: u64 = 3;
pub(crate) const FLAGS_1_TAG: u64 = 0x6fff_fffb;
pub(crate) const PIE_FLAG: u64 = 0x0800_0000;

/// More than any linker makes.
const MAX_DYNAMIC_BYTES: u64 = 1 << 20;
/// More than the names of sections, or the marks of compilers, take.
const MAX_SECTION_BYTES: u64 = 1 << 20;

/// An ELF file, opened.
pub(crate) struct Elf {
    file: File,
    wide: bool,
    big_endian: bool,
    /// What it is: executable, shared object, object file.
    pub(crate) kind: u64,
    /// The machine that it is for.
    pub(crate) machine: u64,
    segments_at: u64,
    segment_bytes: u64,
    segments: u64,
    sections_at: u64,
    section_bytes: u64,
    sections: u64,
    names_section: u64,
}

impl Elf {
    /// `None` when the file is no ELF file.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let mut start = [0; 6];
        file.read_exact_at(&mut start, 0)?;
        if !start.starts_with(b"\x7fELF") {
            return Ok(None);
        }
        let mut elf = Self {
            file,
            wide: start[4] == 2,
            big_endian: start[5] == 2,
            kind: 0,
            machine: 0,
            segments_at: 0,
            segment_bytes: 0,
            segments: 0,
            sections_at: 0,
            section_bytes: 0,
            sections: 0,
            names_section: 0,
        };
        elf.kind = elf.number(16, 2)?;
        elf.machine = elf.number(18, 2)?;
        (elf.segments_at, elf.segment_bytes, elf.segments) = if elf.wide {
            (elf.number(32, 8)?, elf.number(54, 2)?, elf.number(56, 2)?)
        } else {
            (elf.number(28, 4)?, elf.number(42, 2)?, elf.number(44, 2)?)
        };
        let (table, entry) = if elf.wide { (40, 58) } else { (32, 46) };
        elf.sections_at = elf.number(table, if elf.wide { 8 } else { 4 })?;
        elf.section_bytes = elf.number(entry, 2)?;
        elf.sections = elf.number(entry + 2, 2)?;
        elf.names_section = elf.number(entry + 4, 2)?;
        Ok(Some(elf))
    }

    pub(crate) fn is_loaded_as_program(&self) -> io::Result<bool> {
        let mut has_interpreter = false;
        let mut dynamic = None;
        for index in 0..self.segments {
            let at = self.segments_at.saturating_add(index * self.segment_bytes);
            match self.number(at, 4)? {
                INTERPRETER_SEGMENT => has_interpreter = true,
                DYNAMIC_SEGMENT => dynamic = Some(at),
                _ => {}
            }
        }
        let has_flag = dynamic.map_or(Ok(false), |at| self.has_pie_flag(at))?;
        Ok(has_flag || has_interpreter)
    }

    /// Looks for `DF_1_PIE` in the dynamic section of the segment whose header is at this place.
    fn has_pie_flag(&self, header: u64) -> io::Result<bool> {
        let (offset, bytes, word) = if self.wide {
            (
                self.number(header.saturating_add(8), 8)?,
                self.number(header.saturating_add(32), 8)?,
                8,
            )
        } else {
            (
                self.number(header.saturating_add(4), 4)?,
                self.number(header.saturating_add(16), 4)?,
                4,
            )
        };
        for entry in 0..bytes.min(MAX_DYNAMIC_BYTES) / (2 * word) {
            let at = offset.saturating_add(entry * 2 * word);
            match self.number(at, word)? {
                0 => break,
                FLAGS_1_TAG => {
                    return Ok(self.number(at.saturating_add(word), word)? & PIE_FLAG != 0);
                }
                _ => {}
            }
        }
        Ok(false)
    }

    /// The content of the section of this name, up to [`MAX_SECTION_BYTES`]; `None` without one.
    pub(crate) fn read_section(&self, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let (names_at, names_bytes) = self.section_place(self.names_section)?;
        if names_bytes > MAX_SECTION_BYTES {
            return Ok(None);
        }
        let names = self.bytes(names_at, names_bytes)?;
        for index in 0..self.sections {
            let header = self.section_header(index);
            let rest = usize::try_from(self.number(header, 4)?)
                .ok()
                .and_then(|at| names.get(at..))
                .unwrap_or_default();
            if rest.split(|byte| *byte == 0).next() != Some(name) {
                continue;
            }
            let (at, bytes) = self.section_place(index)?;
            return Ok(Some(self.bytes(at, bytes.min(MAX_SECTION_BYTES))?));
        }
        Ok(None)
    }

    fn section_header(&self, index: u64) -> u64 {
        self.sections_at.saturating_add(index * self.section_bytes)
    }

    /// Where a section is in the file, and its bytes.
    fn section_place(&self, index: u64) -> io::Result<(u64, u64)> {
        let header = self.section_header(index);
        let (at, width) = if self.wide { (24, 8) } else { (16, 4) };
        Ok((
            self.number(header.saturating_add(at), width)?,
            self.number(header.saturating_add(at + width), width)?,
        ))
    }

    fn bytes(&self, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let mut read = vec![0; bytes as usize];
        self.file.read_exact_at(&mut read, at)?;
        Ok(read)
    }

    fn number(&self, at: u64, bytes: u64) -> io::Result<u64> {
        let mut read = [0; 8];
        let read = &mut read[..bytes as usize];
        self.file.read_exact_at(read, at)?;
        let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(if self.big_endian {
            read.iter().fold(0, join)
        } else {
            read.iter().rev().fold(0, join)
        })
    }
}
