//! Compilations that no wrapper saw, caught by the assembler that they call.
//!
//! A compiler called by absolute path, or from a folder before the wrappers in PATH, still looks for
//! `as` in PATH. Three kinds of compilations stay unseen: those of compilers with an integrated
//! assembler (clang), those of compilers that have their assembler beside them, and those for which
//! PATH has a folder with an assembler before the wrappers.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::parent_id;
use std::path::Path;

use crate::arguments::{Role, expand_response_files, parse_driver_call};
use crate::program::{ProgramKind, identify_program, is_named};

/// Parts of compilers that call the assembler, and drivers that the wrapper does not stand in for.
const OTHER_CALLERS: [&str; 11] = [
    "cc1",
    "cc1plus",
    "cc1obj",
    "f951",
    "lto1",
    "gnat1",
    "d21",
    "collect2",
    "lto-wrapper",
    "gccgo",
    "gdc",
];

/// Whether the process that called this one is a compiler that compiles.
///
/// A build system, or a shell, that assembles a file of its own is none; where `/proc` tells
/// nothing, nothing is known to have escaped.
pub(crate) fn is_called_by_compiler() -> bool {
    let parent = Path::new("/proc").join(parent_id().to_string());
    let program = fs::read_link(parent.join("exe")).unwrap_or_default();
    let line = fs::read(parent.join("cmdline")).unwrap_or_default();
    let words = line
        .split_inclusive(|byte| *byte == 0)
        .map(|word| OsString::from_vec(word.strip_suffix(b"\0").unwrap_or(word).to_vec()))
        .collect();
    compiles(&program, words)
}

fn compiles(program: &Path, mut words: Vec<OsString>) -> bool {
    let started_as = if words.is_empty() {
        OsString::new()
    } else {
        words.remove(0)
    };
    let names = [program, Path::new(&started_as)].map(|path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    });
    let is_driver = names.iter().any(|name| {
        matches!(
            identify_program(name.as_bytes()),
            Some(ProgramKind::Driver | ProgramKind::Preprocessor)
        )
    });
    if is_driver {
        return !only_assembles(words);
    }
    names
        .iter()
        .any(|name| OTHER_CALLERS.iter().any(|known| is_named(name, known)))
}

fn only_assembles(words: Vec<OsString>) -> bool {
    let words = expand_response_files(words.clone()).unwrap_or(words);
    let call = parse_driver_call(words, false);
    let has = |role| call.arguments.iter().any(|a| a.role == role);
    has(Role::Assembly) && !has(Role::Source) && !has(Role::FixedSource)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_compilation(program: &str, line: &str) -> bool {
        compiles(
            Path::new(program),
            line.split(' ').map(OsString::from).collect(),
        )
    }

    #[test]
    fn drivers_that_compile_are_told_from_those_that_assemble() {
        let gcc = "/usr/bin/x86_64-linux-gnu-gcc-12";
        assert!(is_compilation(gcc, "/usr/bin/gcc -O1 -c a.c"));
        assert!(is_compilation(gcc, "gcc a.c b.s"));
        assert!(is_compilation(gcc, "/usr/bin/gcc a.o -flto -o program"));
        assert!(!is_compilation(gcc, "/usr/bin/gcc -c start.S"));
        assert!(!is_compilation(gcc, "gcc -x assembler -c /dev/null"));
    }

    #[test]
    fn compilers_are_known_by_their_file_or_by_the_name_that_they_were_started_under() {
        assert!(is_compilation("/opt/tool", "/opt/bin/gcc-13 -c a.c"));
        assert!(is_compilation("/usr/bin/gfortran-12", "tool -c a.f90"));
        assert!(is_compilation("/usr/libexec/lto-wrapper", "lto-wrapper x"));
        assert!(is_compilation(
            "/usr/bin/x86_64-linux-gnu-gdc-12",
            "gdc -c a.d"
        ));
    }

    #[test]
    fn build_systems_and_other_compilers_may_assemble() {
        for program in ["/usr/bin/make", "/bin/dash", "/usr/bin/ocamlopt", ""] {
            assert!(!is_compilation(program, "make -j4"), "{program}");
        }
        assert!(!compiles(Path::new(""), Vec::new()));
    }
}
