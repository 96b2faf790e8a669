//! Whether an executable is position-independent, from its ELF headers.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How an executable can be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecutableType {
    /// Anywhere.
    PositionIndependent,
    /// At the address that the linker chose.
    Fixed,
}

const EXECUTABLE: u64 = 2;
const SHARED_OBJECT: u64 = 3;
const DYNAMIC_SEGMENT: u64 = 2;
const INTERPRETER_SEGMENT: u64 = 3;
const FLAGS_1_TAG: u64 = 0x6fff_fffb;
const PIE_FLAG: u64 = 0x0800_0000;

/// More than any linker makes.
const MAX_DYNAMIC_BYTES: u64 = 1 << 20;

/// Reads the type of an executable; `None` when the file is gone, or is none.
///
/// A position-independent executable is a shared object with the flag `DF_1_PIE` or, from linkers
/// that do not set it, with an interpreter.
pub(crate) fn read_executable_type(path: &Path) -> Option<ExecutableType> {
    // Opening anything else might wait.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let elf = Elf::open(path).ok()??;
    match elf.kind {
        EXECUTABLE => Some(ExecutableType::Fixed),
        SHARED_OBJECT => elf
            .is_loaded_as_program()
            .ok()?
            .then_some(ExecutableType::PositionIndependent),
        _ => None,
    }
}

struct Elf {
    file: File,
    wide: bool,
    big_endian: bool,
    kind: u64,
    segments_at: u64,
    segment_bytes: u64,
    segments: u64,
}

impl Elf {
    /// `None` when the file is no ELF file.
    fn open(path: &Path) -> io::Result<Option<Self>> {
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
            segments_at: 0,
            segment_bytes: 0,
            segments: 0,
        };
        elf.kind = elf.number(16, 2)?;
        (elf.segments_at, elf.segment_bytes, elf.segments) = if elf.wide {
            (elf.number(32, 8)?, elf.number(54, 2)?, elf.number(56, 2)?)
        } else {
            (elf.number(28, 4)?, elf.number(42, 2)?, elf.number(44, 2)?)
        };
        Ok(Some(elf))
    }

    fn is_loaded_as_program(&self) -> io::Result<bool> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a file with these segments and, at its end, the entries of a dynamic section.
    struct Image {
        wide: bool,
        big_endian: bool,
        kind: u64,
        segments: Vec<u64>,
        entries: Vec<(u64, u64)>,
    }

    impl Image {
        fn bytes(&self) -> Vec<u8> {
            let word = if self.wide { 8 } else { 4 };
            let (header, segment_bytes) = if self.wide { (64, 56) } else { (52, 32) };
            let dynamic_at = header + segment_bytes * self.segments.len();
            let mut bytes = vec![0; dynamic_at + 2 * word * self.entries.len()];
            bytes[..4].copy_from_slice(b"\x7fELF");
            bytes[4] = if self.wide { 2 } else { 1 };
            bytes[5] = if self.big_endian { 2 } else { 1 };
            let mut put = |at: usize, width: usize, number: u64| {
                let little = number.to_le_bytes();
                for (index, byte) in little[..width].iter().enumerate() {
                    let place = if self.big_endian {
                        width - 1 - index
                    } else {
                        index
                    };
                    bytes[at + place] = *byte;
                }
            };
            put(16, 2, self.kind);
            let places = if self.wide {
                (32, 54, 56)
            } else {
                (28, 42, 44)
            };
            put(places.0, word, header as u64);
            put(places.1, 2, segment_bytes as u64);
            put(places.2, 2, self.segments.len() as u64);
            for (index, kind) in self.segments.iter().enumerate() {
                let at = header + index * segment_bytes;
                put(at, 4, *kind);
                let (offset, size) = if self.wide { (8, 32) } else { (4, 16) };
                put(at + offset, word, dynamic_at as u64);
                put(at + size, word, (2 * word * self.entries.len()) as u64);
            }
            for (index, (tag, value)) in self.entries.iter().enumerate() {
                put(dynamic_at + 2 * index * word, word, *tag);
                put(dynamic_at + (2 * index + 1) * word, word, *value);
            }
            bytes
        }
    }

    fn type_of(name: &str, bytes: &[u8]) -> Option<ExecutableType> {
        let path = std::env::temp_dir().join(format!("datamill-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let read = read_executable_type(&path);
        std::fs::remove_file(&path).unwrap();
        read
    }

    const SHAPES: [(bool, bool); 4] = [(true, false), (true, true), (false, false), (false, true)];

    #[test]
    fn types_are_told_apart_in_either_width_and_byte_order() {
        use ExecutableType::{Fixed, PositionIndependent};
        let flagged = vec![(1, 1), (FLAGS_1_TAG, PIE_FLAG | 1), (0, 0)];
        let bare = vec![(1, 1), (FLAGS_1_TAG, 1), (0, 0)];
        let (interpreted, dynamic) = (vec![1, INTERPRETER_SEGMENT, DYNAMIC_SEGMENT], vec![1, 2]);
        for (wide, big_endian) in SHAPES {
            for (kind, segments, entries, expected) in [
                (EXECUTABLE, &interpreted, &bare, Some(Fixed)),
                (SHARED_OBJECT, &dynamic, &flagged, Some(PositionIndependent)),
                (
                    SHARED_OBJECT,
                    &interpreted,
                    &bare,
                    Some(PositionIndependent),
                ),
                (SHARED_OBJECT, &dynamic, &bare, None),
                (1, &dynamic, &bare, None),
            ] {
                let image = Image {
                    wide,
                    big_endian,
                    kind,
                    segments: segments.clone(),
                    entries: entries.clone(),
                };
                let found = type_of("types", &image.bytes());
                assert_eq!(found, expected, "{wide} {big_endian} {kind} {segments:?}");
            }
        }
    }

    #[test]
    fn files_that_are_no_executables_or_damaged_have_no_type() {
        let image = Image {
            wide: true,
            big_endian: false,
            kind: SHARED_OBJECT,
            segments: vec![DYNAMIC_SEGMENT],
            entries: vec![(FLAGS_1_TAG, PIE_FLAG)],
        };
        let whole = image.bytes();
        assert!(type_of("whole", &whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(type_of("cut", &whole[..length]), None, "{length}");
        }
        for place in 16..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] = 0xff;
            // Whatever it says, it says it without an end in sight or a panic.
            let _ = type_of("damaged", &damaged);
        }
        assert_eq!(type_of("script", b"#!/bin/sh\n"), None);
        assert_eq!(read_executable_type(Path::new("/")), None);
        assert_eq!(read_executable_type(Path::new("/dev/zero")), None);
        assert_eq!(read_executable_type(Path::new("/nonexistent")), None);
    }

    #[test]
    fn this_program_has_a_type() {
        let own = std::env::current_exe().unwrap();
        assert!(read_executable_type(&own).is_some());
    }
}
