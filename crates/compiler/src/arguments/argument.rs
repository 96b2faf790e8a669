//! Arguments of drivers, linkers and archivers, each with the part that it plays.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The part that an argument plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The value of an option, or an option that the wrapper leaves alone.
    Plain,
    /// An option of a driver, complete in one argument, that a factor may replace.
    Option,
    /// `--` of a driver: after it, everything is an input.
    Terminator,
    /// Sets the optimisation level.
    Level,
    /// A source file that is compiled.
    Source,
    /// A source that is compiled and must stay in place: standard input, or a file whose name would
    /// be taken for an option elsewhere.
    FixedSource,
    /// A source file that is only assembled.
    Assembly,
    /// An object file.
    Object,
    /// A library; where it stands decides which of its members are linked.
    Library,
    /// A start-up file such as `crt1.o`.
    Startup,
    /// Another input: a linker script, standard input, a file of unknown kind.
    OtherInput,
    /// An option whose meaning depends on the inputs before and after it, or the value of one.
    Bracket,
}

impl Role {
    /// Whether the file may change places with its neighbours.
    pub(crate) fn is_movable(self) -> bool {
        matches!(self, Role::Source | Role::Assembly | Role::Object)
    }

    /// Whether files must not move from one side of this argument to the other.
    pub(crate) fn is_barrier(self) -> bool {
        matches!(
            self,
            Role::FixedSource | Role::Library | Role::Startup | Role::OtherInput | Role::Bracket
        )
    }

    pub(crate) fn is_input(self) -> bool {
        self.is_movable() || (self.is_barrier() && self != Role::Bracket)
    }
}

/// One argument and the part that it plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    pub text: OsString,
    pub role: Role,
}

const OBJECT_SUFFIXES: [&str; 4] = ["o", "obj", "os", "lo"];
const LIBRARY_SUFFIXES: [&str; 7] = ["a", "so", "la", "lib", "dll", "dylib", "tbd"];

/// Options of a linker that open, close or change a section of its command line. Libraries under
/// `--as-needed` and `-Bstatic` are found by position, but objects are linked all the same.
const BRACKETS: [&str; 11] = [
    "whole-archive",
    "no-whole-archive",
    "start-group",
    "end-group",
    "(",
    ")",
    "start-lib",
    "end-lib",
    "push-state",
    "pop-state",
    "format",
];

/// Classifies a file that goes to the linker.
pub(crate) fn classify_linker_input(file: &OsStr) -> Role {
    if is_startup_file(file) {
        return Role::Startup;
    }
    match extension(file) {
        Some(suffix) if OBJECT_SUFFIXES.contains(&suffix) => Role::Object,
        Some(suffix) if LIBRARY_SUFFIXES.contains(&suffix) => Role::Library,
        _ => Role::OtherInput,
    }
}

/// Whether an option of the linker, as the linker itself sees it, is a bracket.
pub(crate) fn is_linker_bracket(option: &[u8]) -> bool {
    let Some(name) = option.strip_prefix(b"-") else {
        return false;
    };
    let name = name.strip_prefix(b"-").unwrap_or(name);
    let name = name.split(|byte| *byte == b'=').next().unwrap_or(name);
    let names_format = option.starts_with(b"-b") && !option.starts_with(b"-build-id");
    names_format || BRACKETS.iter().any(|known| known.as_bytes() == name)
}

/// The part of a file name after its last dot.
pub(crate) fn extension(file: &OsStr) -> Option<&str> {
    Path::new(file).extension().and_then(OsStr::to_str)
}

fn is_startup_file(file: &OsStr) -> bool {
    let Some(name) = Path::new(file).file_name() else {
        return false;
    };
    let name = name.as_bytes();
    let Some(stem) = name.strip_suffix(b".o") else {
        return false;
    };
    const STARTUP: [&[u8]; 8] = [
        b"crt0", b"crt1", b"Scrt1", b"rcrt1", b"gcrt1", b"Mcrt1", b"crti", b"crtn",
    ];
    STARTUP.contains(&stem) || stem.starts_with(b"crtbegin") || stem.starts_with(b"crtend")
}
