//! Which program the wrapper stands for, and where the real one is.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a wrapped program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// A compiler driver: compiles, assembles and links.
    Driver,
    /// `cpp`: a driver that only ever preprocesses.
    Preprocessor,
    /// A linker.
    Linker,
    /// A maker of static libraries.
    Archiver,
    /// `as`: passed through, to see which compilations call it.
    Assembler,
}

const PROGRAMS: [(&str, ProgramKind); 23] = [
    ("cc", ProgramKind::Driver),
    ("gcc", ProgramKind::Driver),
    ("g++", ProgramKind::Driver),
    ("c++", ProgramKind::Driver),
    ("c89", ProgramKind::Driver),
    ("c99", ProgramKind::Driver),
    ("clang", ProgramKind::Driver),
    ("clang++", ProgramKind::Driver),
    ("gfortran", ProgramKind::Driver),
    ("f77", ProgramKind::Driver),
    ("f95", ProgramKind::Driver),
    ("cpp", ProgramKind::Preprocessor),
    ("clang-cpp", ProgramKind::Preprocessor),
    ("ld", ProgramKind::Linker),
    ("ld.bfd", ProgramKind::Linker),
    ("ld.gold", ProgramKind::Linker),
    ("ld.lld", ProgramKind::Linker),
    ("ld.mold", ProgramKind::Linker),
    ("ar", ProgramKind::Archiver),
    ("gcc-ar", ProgramKind::Archiver),
    ("llvm-ar", ProgramKind::Archiver),
    ("ld64.lld", ProgramKind::Linker),
    ("as", ProgramKind::Assembler),
];

/// Searched when PATH is unset or lacks the program.
pub(crate) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether the program of this `argv[0]` is one that the wrapper stands in for.
///
/// Knows compiler drivers, linkers, archivers and assemblers by file name, with a version (`gcc-12`), with a
/// target (`x86_64-linux-gnu-gcc`) or both.
pub fn is_wrapped_program(argv0: &OsStr) -> bool {
    Path::new(argv0)
        .file_name()
        .is_some_and(|name| identify_program(name.as_bytes()).is_some())
}

/// What the program of this file name does; `None` when it is not wrapped.
pub(crate) fn identify_program(name: &[u8]) -> Option<ProgramKind> {
    let name = strip_version(std::str::from_utf8(name).ok()?);
    let known = PROGRAMS.iter().find(|(known, _)| is_targeted(name, known));
    known.map(|(_, kind)| *kind)
}

/// Whether this file name is that of a program, with a version, a target or both.
pub(crate) fn is_named(name: &str, program: &str) -> bool {
    is_targeted(strip_version(name), program)
}

/// `x86_64-linux-gnu-gcc` -> `x86_64-linux-gnu`, `gcc`; the target is empty where the name has none.
pub(crate) fn split_target(name: &str) -> (&str, &str) {
    let known = PROGRAMS.iter().find(|(known, _)| is_targeted(name, known));
    let program = known.map_or(name, |(program, _)| *program);
    let target = name.strip_suffix(program).unwrap_or_default();
    (target.strip_suffix('-').unwrap_or_default(), program)
}

fn is_targeted(name: &str, program: &str) -> bool {
    match name.strip_suffix(program) {
        Some("") => true,
        Some(target) => target.strip_suffix('-').is_some_and(is_target),
        None => false,
    }
}

/// `gcc-12` -> `gcc`, `clang-cpp-14.0` -> `clang-cpp`.
pub(crate) fn strip_version(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((stem, version))
            if version.starts_with(|c: char| c.is_ascii_digit())
                && version.chars().all(|c| c.is_ascii_digit() || c == '.') =>
        {
            stem
        }
        _ => name,
    }
}

/// Whether this is a target such as `x86_64-linux-gnu`: two parts or more. `musl` is the one that
/// distributions put before `-gcc` alone.
fn is_target(prefix: &str) -> bool {
    let parts = prefix.split('-').filter(|part| !part.is_empty()).count();
    prefix == "musl" || (parts >= 2 && parts == prefix.split('-').count())
}

/// Identity of a file, whatever path leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (device, inode) = text.split_once('/')?;
        Some(Self {
            device: device.parse().ok()?,
            inode: inode.parse().ok()?,
        })
    }
}

impl fmt::Display for FileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.device, self.inode)
    }
}

/// The next program of this name on `search_path`, then on the default path, that is none of `passed`.
///
/// Comparing files rather than folders finds the wrapper behind any link, and lets a compiler cache
/// that sits under the same name, and comes back to the wrapper, go on to the compiler behind it.
pub(crate) fn find_real_program(
    name: &OsStr,
    search_path: Option<OsString>,
    passed: &[FileIdentity],
) -> Option<PathBuf> {
    let search_path = search_path.unwrap_or_default();
    let asked = search_path.as_bytes().split(|byte| *byte == b':');
    let default = DEFAULT_PATH.as_bytes().split(|byte| *byte == b':');
    asked.chain(default).find_map(|folder| {
        let folder = if folder.is_empty() { b"." } else { folder };
        let candidate = Path::new(OsStr::from_bytes(folder)).join(name);
        let metadata = fs::metadata(&candidate).ok()?;
        (is_executable(&metadata) && !passed.contains(&FileIdentity::of(&metadata)))
            .then_some(candidate)
    })
}

/// Whether this is a file that someone may execute.
pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.mode() & 0o111 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(name: &str) -> Option<ProgramKind> {
        identify_program(name.as_bytes())
    }

    #[test]
    fn compilers_are_known_by_plain_versioned_and_targeted_names() {
        for name in
            "cc gcc g++ c++ c89 c99 clang clang++ gcc-12 g++-12 clang-14 clang++-14 gcc-4.9 \
        x86_64-linux-gnu-gcc musl-gcc x86_64-linux-gnu-g++-12 arm-none-eabi-gcc \
        i686-w64-mingw32-g++ gfortran gfortran-12 x86_64-linux-gnu-gfortran-12 f95"
                .split(' ')
        {
            assert_eq!(kind_of(name), Some(ProgramKind::Driver), "{name}");
        }
        assert_eq!(kind_of("cpp-12"), Some(ProgramKind::Preprocessor));
    }

    #[test]
    fn linkers_and_archivers_are_known_by_plain_and_targeted_names() {
        for name in [
            "ld",
            "ld.bfd",
            "ld.gold",
            "ld.lld",
            "ld.lld-14",
            "x86_64-linux-gnu-ld.bfd",
        ] {
            assert_eq!(kind_of(name), Some(ProgramKind::Linker), "{name}");
        }
        for name in [
            "ar",
            "gcc-ar",
            "gcc-ar-12",
            "llvm-ar-14",
            "x86_64-linux-gnu-gcc-ar-12",
        ] {
            assert_eq!(kind_of(name), Some(ProgramKind::Archiver), "{name}");
        }
    }

    #[test]
    fn assemblers_are_known_by_plain_and_targeted_names() {
        for name in ["as", "x86_64-linux-gnu-as"] {
            assert_eq!(kind_of(name), Some(ProgramKind::Assembler), "{name}");
        }
    }

    #[test]
    fn other_programs_are_not_wrapped() {
        for name in [
            "",
            "gcc-nm",
            "gcc-ranlib",
            "tar",
            "ld.so",
            "libc++",
            "abcc",
            "ccache",
            "gccgo-12",
            "nasm",
            "has",
            "datamill-worker",
            "-gcc",
            "--gcc",
            "12",
            "c++filt",
            "clang-format-14",
            "build-ld2",
        ] {
            assert_eq!(kind_of(name), None, "{name}");
        }
    }

    #[test]
    fn only_the_file_name_of_argv0_matters() {
        assert!(is_wrapped_program(OsStr::new("/somewhere/bin/gcc-12")));
        assert!(!is_wrapped_program(OsStr::new("/opt/gcc/true")));
        assert!(!is_wrapped_program(OsStr::new("")));
    }
}
