//! The compiler that a build is made with, whatever names the build calls.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cross::find_cross_version;
use super::installed::{ask, ask_version, find_version};
use super::marks::read_marks;
use super::version::{CompilerVersion, Family};
use crate::program::{is_executable, split_target, strip_version};

/// File within the wrapper's folder that says what the compiler is.
const TOOLCHAIN_FILE: &str = "toolchain.json";

/// Files that a link adds by itself: what compiled them has its mark in every program.
const STARTUP_FILES: [&str; 6] = [
    "crt1.o",
    "Scrt1.o",
    "crti.o",
    "crtbegin.o",
    "crtbeginS.o",
    "crtbeginT.o",
];

/// The programs of one compiler on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Toolchain {
    /// The level that asks for it, such as `gcc-12`.
    pub level: String,
    /// What it compiles for, as it names it: `x86_64-linux-gnu`.
    target: String,
    c: PathBuf,
    cxx: Option<PathBuf>,
    fortran: Option<PathBuf>,
    preprocessor: Option<PathBuf>,
    /// Whether it compiles for another machine, and stands in for programs with that target in their names alone.
    #[serde(default)]
    is_cross: bool,
    /// Compilers whose marks are in start-up files that it links.
    pub startup_marks: BTreeSet<String>,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Driver {
    /// It does not belong to this compiler: it compiles for another machine, or does not compile.
    Own,
    /// This program stands in, with options before those of the call.
    Replaced(PathBuf, Vec<OsString>),
}

impl Toolchain {
    /// Leaves it for the wrappers in `dir`; `None` removes what an earlier build left.
    pub(crate) fn leave(toolchain: Option<&Self>, dir: &Path) -> io::Result<()> {
        let path = dir.join(TOOLCHAIN_FILE);
        match toolchain {
            Some(toolchain) => fs::write(path, serde_json::to_vec(toolchain)?),
            None => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }

    /// What [`leave`](Self::leave) left; `None` where no compiler was asked for.
    pub(crate) fn read_from(dir: &Path) -> io::Result<Option<Self>> {
        let path = dir.join(TOOLCHAIN_FILE);
        let explain = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(explain(error)),
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| explain(error.into())),
        }
    }

    /// Looks for the compiler that a level names, among those of a target where it is to compile for another machine;
    /// the error says what is missing.
    pub(crate) fn find(
        level: &str,
        cross: Option<&str>,
        search_path: &str,
    ) -> Result<Self, String> {
        let version =
            CompilerVersion::parse(level).ok_or_else(|| format!("{level} names no compiler"))?;
        let c = match cross {
            None => find_version(version, search_path)
                .ok_or_else(|| format!("{level} is not installed where programs are looked for"))?,
            Some(triplet) => {
                find_cross_version(version, triplet, search_path).ok_or_else(|| {
                    format!("{triplet}-{level} is not installed where programs are looked for")
                })?
            }
        };
        let target = ask(&c, "-dumpmachine").unwrap_or_default();
        let startup_marks = STARTUP_FILES
            .iter()
            .filter_map(|file| ask(&c, &format!("-print-file-name={file}")))
            .filter_map(|path| read_marks(Path::new(path.trim_end())))
            .flatten()
            .collect();
        let prefix = cross.map_or_else(String::new, |triplet| format!("{triplet}-"));
        let sibling = |program: &str| find_sibling(&format!("{prefix}{program}"), version, &c);
        let (cxx, fortran, preprocessor) = match version.family {
            Family::Gcc => ("g++", Some("gfortran"), "cpp"),
            Family::Clang => ("clang++", None, "clang-cpp"),
        };
        Ok(Self {
            level: level.to_owned(),
            target: target.trim_end().to_owned(),
            cxx: sibling(cxx),
            fortran: fortran.and_then(sibling),
            preprocessor: sibling(preprocessor),
            c,
            is_cross: cross.is_some(),
            startup_marks,
        })
    }

    /// The program that stands in for the driver of this name; the error says what is missing.
    pub(crate) fn choose(&self, name: &str) -> Result<Driver, String> {
        let (target, program) = split_target(strip_version(name));
        // What a build executes itself it compiles for the machine that it runs on.
        let is_of_other = match target.is_empty() {
            true => self.is_cross,
            false => !self.is_own_target(target),
        };
        if is_of_other {
            return Ok(Driver::Own);
        }
        let replaced = |path: &PathBuf| Ok(Driver::Replaced(path.clone(), Vec::new()));
        let lacking = |language: &str| {
            Err(format!(
                "{name} is called, and {} has no compiler of {language} here",
                self.level
            ))
        };
        match program {
            "cc" | "gcc" | "clang" => replaced(&self.c),
            "c89" | "c99" => {
                let standard = OsString::from(format!("-std={program}"));
                Ok(Driver::Replaced(self.c.clone(), vec![standard]))
            }
            "c++" | "g++" | "clang++" => match &self.cxx {
                Some(path) => replaced(path),
                None => lacking("C++"),
            },
            "gfortran" | "f77" | "f95" => match &self.fortran {
                Some(path) => replaced(path),
                None => lacking("Fortran"),
            },
            "cpp" | "clang-cpp" => match &self.preprocessor {
                Some(path) => replaced(path),
                None => Ok(Driver::Own),
            },
            _ => Ok(Driver::Own),
        }
    }

    /// Whether a target such as `x86_64-pc-linux-gnu` is the compiler's own: vendors differ.
    fn is_own_target(&self, target: &str) -> bool {
        let ends = |text: &str| {
            let parts: Vec<&str> = text.split('-').collect();
            let system = parts.len().saturating_sub(2).max(1);
            (parts[0].to_owned(), parts[system..].join("-"))
        };
        ends(target) == ends(&self.target)
    }
}

/// Another program of the same version: beside the compiler of C, or where that really is.
fn find_sibling(program: &str, version: CompilerVersion, c: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(c).ok();
    let folders = [c.parent(), real.as_deref().and_then(Path::parent)];
    for folder in folders.into_iter().flatten() {
        let versioned = folder.join(format!("{program}-{}", version.number()));
        if is_program(&versioned) {
            return Some(versioned);
        }
        let plain = folder.join(program);
        if is_program(&plain) && ask_version(&plain) == Some(version) {
            return Some(plain);
        }
    }
    None
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| is_executable(&metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolchain() -> Toolchain {
        Toolchain {
            level: "gcc-11".to_owned(),
            target: "x86_64-linux-gnu".to_owned(),
            is_cross: false,
            c: "/usr/bin/gcc-11".into(),
            cxx: Some("/usr/bin/g++-11".into()),
            fortran: None,
            preprocessor: None,
            startup_marks: BTreeSet::new(),
        }
    }

    fn chosen(name: &str) -> Option<String> {
        match toolchain().choose(name).unwrap() {
            Driver::Own => None,
            Driver::Replaced(path, options) => {
                let words = options
                    .iter()
                    .map(|option| format!(" {}", option.display()));
                Some(format!("{}{}", path.display(), words.collect::<String>()))
            }
        }
    }

    #[test]
    fn every_name_of_a_compiler_of_this_machine_is_replaced() {
        for name in [
            "cc",
            "gcc",
            "clang",
            "gcc-12",
            "clang-16",
            "x86_64-linux-gnu-gcc-12",
            "x86_64-pc-linux-gnu-gcc",
        ] {
            assert_eq!(chosen(name).as_deref(), Some("/usr/bin/gcc-11"), "{name}");
        }
        assert_eq!(chosen("c++").as_deref(), Some("/usr/bin/g++-11"));
        assert_eq!(chosen("c99").as_deref(), Some("/usr/bin/gcc-11 -std=c99"));
    }

    #[test]
    fn compilers_for_other_machines_stay() {
        for name in [
            "aarch64-linux-gnu-gcc",
            "i686-w64-mingw32-g++",
            "musl-gcc",
            "cpp",
        ] {
            assert_eq!(chosen(name), None, "{name}");
        }
    }

    #[test]
    fn a_language_without_its_compiler_is_refused() {
        let refused = toolchain().choose("gfortran").unwrap_err();
        assert!(
            refused.contains("gcc-11 has no compiler of Fortran"),
            "{refused}"
        );
    }

    #[test]
    fn a_compiler_that_is_not_there_is_refused() {
        let refused = Toolchain::find("gcc-3.1", None, "/usr/bin").unwrap_err();
        assert!(refused.contains("gcc-3.1 is not installed"), "{refused}");
    }
}
