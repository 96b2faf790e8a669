//! Whether an executable is position-independent, from its ELF headers.

use std::path::Path;

use crate::compilers::name_machine;
use crate::elf_file::Elf;

/// How an executable can be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecutableType {
    /// Anywhere.
    PositionIndependent,
    /// At the address that the linker chose.
    Fixed,
}

/// Architecture that an executable is for, as `uname -m` says it; `None` when the file is gone or no executable, and
/// "unknown" of a machine that nothing is known of.
pub(crate) fn read_architecture(path: &Path) -> Option<&'static str> {
    read_executable_type(path)?;
    let elf = Elf::open(path).ok()??;
    Some(name_machine(elf.machine).unwrap_or("unknown"))
}

const EXECUTABLE: u64 = 2;
const SHARED_OBJECT: u64 = 3;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf_file::{DYNAMIC_SEGMENT, FLAGS_1_TAG, INTERPRETER_SEGMENT, PIE_FLAG};

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
