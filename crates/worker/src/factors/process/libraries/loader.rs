//! The dynamic loader of this host, as its programs name it.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Programs that every host has; the first that is dynamic is taken.
const PROGRAMS: [&str; 3] = ["/bin/cat", "/usr/bin/cat", "/usr/local/bin/cat"];

const MAGIC: &[u8; 4] = b"\x7fELF";
const CLASS_64: u8 = 2;
const PROGRAM_INTERPRETER: u32 = 3;
/// Bytes of an entry of a 64-bit program header table.
const ENTRY_BYTES: usize = 56;

/// How a file is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executable {
    /// Not an ELF file of 64 bits.
    Other,
    /// By the kernel alone.
    Static,
    /// By this loader.
    Dynamic(PathBuf),
}

/// A `cat` that a dynamic loader starts, with that loader.
pub fn find_dynamic_program() -> Option<(&'static Path, PathBuf)> {
    PROGRAMS
        .iter()
        .map(Path::new)
        .find_map(|program| match read_executable(program) {
            Ok(Executable::Dynamic(loader)) => Some((program, loader)),
            _ => None,
        })
}

/// Whether the C library here is musl.
pub fn is_musl() -> bool {
    find_dynamic_program().is_some_and(|(_, loader)| {
        let name = loader.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("ld-musl")
    })
}

/// Reads how a file is executed, in the byte order of this machine.
pub fn read_executable(path: &Path) -> io::Result<Executable> {
    let file = File::open(path)?;
    let mut header = [0u8; 64];
    if file.read_exact_at(&mut header, 0).is_err() || &header[..4] != MAGIC || header[4] != CLASS_64
    {
        return Ok(Executable::Other);
    }
    let table = u64_at(&header, 32);
    let count = u16::from_ne_bytes([header[56], header[57]]);
    for index in 0..u64::from(count) {
        let mut entry = [0u8; ENTRY_BYTES];
        file.read_exact_at(&mut entry, table + index * ENTRY_BYTES as u64)?;
        let kind = u32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
        if kind == PROGRAM_INTERPRETER {
            let (at, bytes) = (u64_at(&entry, 8), u64_at(&entry, 32));
            let mut name = vec![0u8; bytes.min(libc::PATH_MAX as u64) as usize];
            file.read_exact_at(&mut name, at)?;
            name.truncate(
                name.iter()
                    .position(|byte| *byte == 0)
                    .unwrap_or(name.len()),
            );
            return Ok(Executable::Dynamic(
                std::ffi::OsString::from_vec(name).into(),
            ));
        }
    }
    Ok(Executable::Static)
}

/// Whether a shared library is for the same kind of machine as this worker.
pub fn is_for_this_machine(library: &Path) -> bool {
    let kind = |path: &Path| -> io::Result<([u8; 6], [u8; 2])> {
        let mut start = [0u8; 20];
        File::open(path)?.read_exact_at(&mut start, 0)?;
        let mut ident = [0u8; 6];
        ident.copy_from_slice(&start[..6]);
        Ok((ident, [start[18], start[19]]))
    };
    match (kind(library), kind(Path::new("/proc/self/exe"))) {
        (Ok(library), Ok(own)) => library == own,
        _ => false,
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0u8; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_no_program_of_the_loader() {
        assert_eq!(
            read_executable(Path::new("/etc/passwd")).unwrap(),
            Executable::Other
        );
    }

    #[test]
    fn a_program_without_a_loader_is_static() {
        let mut header = [0u8; 64];
        header[..5].copy_from_slice(b"\x7fELF\x02");
        let path = std::env::temp_dir().join(format!("datamill-static-{}", std::process::id()));
        std::fs::write(&path, header).unwrap();
        let told = read_executable(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(told.unwrap(), Executable::Static);
    }

    #[test]
    fn the_loader_of_a_dynamic_program_exists() {
        let Some((program, loader)) = find_dynamic_program() else {
            eprintln!("skipped: no dynamic cat here");
            return;
        };
        assert!(loader.exists(), "{program:?} {loader:?}");
        assert!(is_for_this_machine(&loader));
        assert!(!is_for_this_machine(Path::new("/etc/passwd")));
    }
}
