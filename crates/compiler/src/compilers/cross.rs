//! Compilers that are installed for machines of other architectures, as Debian names them.

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

use super::installed::{ask, ask_version};
use super::version::{CompilerVersion, Family};
use crate::program::is_executable;

/// Architectures as `uname -m` says them, what Debian puts before the names of their tools, and the number of
/// their machine in ELF files.
const TARGETS: [(&str, &str, u64); 7] = [
    ("aarch64", "aarch64-linux-gnu", 183),
    ("armv7l", "arm-linux-gnueabihf", 40),
    ("i686", "i686-linux-gnu", 3),
    ("ppc64le", "powerpc64le-linux-gnu", 21),
    ("riscv64", "riscv64-linux-gnu", 243),
    ("s390x", "s390x-linux-gnu", 22),
    ("x86_64", "x86_64-linux-gnu", 62),
];

/// A compiler for machines of another architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrossCompiler {
    /// Their architecture, as `uname -m` says it.
    pub arch: &'static str,
    /// What stands before the names of its programs, such as `aarch64-linux-gnu`.
    pub triplet: &'static str,
    /// Its version, as a level of `compiler_version` names it.
    pub compiler: String,
}

/// Compilers of C for other architectures than this machine's, in these folders, that have a C library to link
/// with; each is asked.
pub fn find_cross_compilers(search_path: &str) -> Vec<CrossCompiler> {
    TARGETS
        .into_iter()
        .filter(|(arch, ..)| *arch != ARCH)
        .filter_map(|(arch, triplet, _)| {
            let program = find_program(&format!("{triplet}-gcc"), search_path)?;
            find_program(&format!("{triplet}-ar"), search_path)?;
            // Without the library's files a compiler prints the name alone.
            let start = ask(&program, "-print-file-name=crt1.o")?;
            Path::new(start.trim()).is_absolute().then_some(())?;
            Some(CrossCompiler {
                arch,
                triplet,
                compiler: ask_version(&program)?.to_string(),
            })
        })
        .collect()
}

/// What stands before the names of tools for an architecture; none of one that is not known.
pub fn find_triplet(arch: &str) -> Option<&'static str> {
    let found = TARGETS.iter().find(|(known, ..)| *known == arch)?;
    Some(found.1)
}

/// The architecture of the machine with this number in ELF files; none of one that is not known.
pub(crate) fn name_machine(number: u64) -> Option<&'static str> {
    let found = TARGETS.iter().find(|(.., known)| *known == number)?;
    Some(found.0)
}

/// The program of a target that is this compiler: `TRIPLET-gcc-12`, or `TRIPLET-gcc` where that is this version.
pub(crate) fn find_cross_version(
    version: CompilerVersion,
    triplet: &str,
    search_path: &str,
) -> Option<PathBuf> {
    if version.family != Family::Gcc {
        return None;
    }
    [format!("{triplet}-{version}"), format!("{triplet}-gcc")]
        .iter()
        .filter_map(|name| find_program(name, search_path))
        .find(|path| ask_version(path) == Some(version))
}

fn find_program(name: &str, search_path: &str) -> Option<PathBuf> {
    search_path
        .split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.metadata().is_ok_and(|data| is_executable(&data)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_cross_compiler_counts_with_its_archiver_and_its_library() {
        let folder = std::env::temp_dir().join(format!("datamill-{}-cross", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let gcc = |start: &str| {
            format!(
                "case $1 in --version) echo 'gcc (X) 12.2.0'; echo 'Free Software Foundation';; *) echo {start};; esac"
            )
        };
        let search = folder.to_str().unwrap();
        let arches = || -> Vec<&str> {
            let found = find_cross_compilers(search);
            found.iter().map(|compiler| compiler.arch).collect()
        };
        put(
            "riscv64-linux-gnu-gcc",
            &gcc("/usr/riscv64-linux-gnu/lib/crt1.o"),
        );
        put("s390x-linux-gnu-gcc", &gcc("crt1.o"));
        put("s390x-linux-gnu-ar", "");
        assert!(arches().is_empty());
        put("riscv64-linux-gnu-ar", "");
        assert_eq!(arches(), ["riscv64"]);
        let version = CompilerVersion::parse("gcc-12").unwrap();
        let found = find_cross_version(version, "riscv64-linux-gnu", search);
        assert_eq!(found, Some(folder.join("riscv64-linux-gnu-gcc")));
        let other = CompilerVersion::parse("gcc-11").unwrap();
        assert_eq!(find_cross_version(other, "riscv64-linux-gnu", search), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
