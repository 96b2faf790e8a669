//! Libraries that replace the C library's allocator when they are loaded before it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::loader::{is_for_this_machine, is_musl};

/// An allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocator {
    /// The C library's own: nothing is loaded before it.
    Glibc,
    /// jemalloc.
    Jemalloc,
    /// mimalloc.
    Mimalloc,
    /// tcmalloc.
    Tcmalloc,
}

/// Allocators by level name, the usual one first.
pub const ALLOCATORS: [(&str, Allocator); 4] = [
    ("glibc", Allocator::Glibc),
    ("jemalloc", Allocator::Jemalloc),
    ("mimalloc", Allocator::Mimalloc),
    ("tcmalloc", Allocator::Tcmalloc),
];

/// Where the loader finds libraries.
const FOLDERS: [&str; 5] = ["/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib"];

const LOADER_CACHE: &str = "/etc/ld.so.cache";

impl Allocator {
    /// Names of its library without what follows `.so`, best first; those for debugging are left out.
    fn libraries(self) -> &'static [&'static str] {
        match self {
            Self::Glibc => &[],
            Self::Jemalloc => &["libjemalloc"],
            Self::Mimalloc => &["libmimalloc"],
            Self::Tcmalloc => &["libtcmalloc_minimal", "libtcmalloc"],
        }
    }

    /// Package that Debian and its relatives have it in.
    fn package(self) -> &'static str {
        match self {
            Self::Glibc => "libc6",
            Self::Jemalloc => "libjemalloc2",
            Self::Mimalloc => "libmimalloc2.0",
            Self::Tcmalloc => "libtcmalloc-minimal4",
        }
    }

    /// The library to load first, `None` for the C library's own; the error says that there is none.
    pub fn find_library(self) -> Result<Option<PathBuf>, String> {
        if self == Self::Glibc {
            return if is_musl() {
                Err("the C library here is musl, not glibc".to_owned())
            } else {
                Ok(None)
            };
        }
        let best_of = |candidates: BTreeSet<PathBuf>| {
            let mut names = self.libraries().iter();
            names.find_map(|name| choose(name, &candidates))
        };
        let cache = fs::read(LOADER_CACHE).unwrap_or_default();
        best_of(cached_libraries(&cache))
            .or_else(|| best_of(libraries_in_folders()))
            .map(Some)
            .ok_or_else(|| {
                format!(
                    "{}.so is not installed here (on Debian: {})",
                    self.libraries()[0],
                    self.package()
                )
            })
    }
}

/// The newest of the libraries with a name that is for this machine.
fn choose(name: &str, candidates: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    candidates
        .iter()
        .rev()
        .filter(|path| {
            path.file_name()
                .is_some_and(|file| is_version_of(file, name))
        })
        .find(|path| is_for_this_machine(path))
        .cloned()
}

fn is_version_of(file: &OsStr, name: &str) -> bool {
    file.as_bytes()
        .strip_prefix(name.as_bytes())
        .and_then(|rest| rest.strip_prefix(b".so"))
        .is_some_and(|version| version.is_empty() || version[0] == b'.')
}

/// Allocators in the usual folders: the loader's cache may not know them yet, or not be there.
fn libraries_in_folders() -> BTreeSet<PathBuf> {
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    // As Debian names its folders: x86_64-linux-gnu.
    folders.push(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into());
    let entries = folders
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(Iterator::flatten);
    entries
        .filter(|entry| is_any_allocator(&entry.file_name()))
        .map(|entry| entry.path())
        .collect()
}

/// Allocators among the paths that the loader's cache holds: they stand in it as NUL-terminated text.
fn cached_libraries(cache: &[u8]) -> BTreeSet<PathBuf> {
    cache
        .split(|byte| *byte == 0)
        .filter(|text| text.starts_with(b"/"))
        .map(|text| Path::new(OsStr::from_bytes(text)))
        .filter(|path| path.file_name().is_some_and(is_any_allocator))
        .map(Path::to_owned)
        .collect()
}

fn is_any_allocator(file: &OsStr) -> bool {
    ALLOCATORS.iter().any(|(_, allocator)| {
        allocator
            .libraries()
            .iter()
            .any(|name| is_version_of(file, name))
    })
}

/// Which allocator a process uses, by its memory maps: its level and the library's path as the maps
/// tell it. `None` when neither a known allocator nor glibc is in them.
pub fn allocator_in_maps(maps: &str) -> Option<(&'static str, &str)> {
    let files: Vec<&str> = maps
        .lines()
        .filter_map(|line| line.find('/').map(|start| &line[start..]))
        .collect();
    let with = |fits: &dyn Fn(&str) -> bool| {
        files.iter().copied().find(|path| {
            let name = path.rsplit('/').next().unwrap_or_default();
            fits(name)
        })
    };
    for (level, allocator) in &ALLOCATORS[1..] {
        let library = with(&|name| {
            allocator
                .libraries()
                .iter()
                .any(|library| name.starts_with(library))
        });
        if let Some(path) = library {
            return Some((level, path));
        }
    }
    let libc = with(&|name| name == "libc.so.6" || name.starts_with("libc-2."));
    libc.map(|path| ("glibc", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_the_loader_is_searched_for_allocators() {
        let cache =
            b"ld.so-1.7.0\0libx\0/usr/lib/libm.so.6\0libjemalloc.so.2\0/opt/lib/libjemalloc.so.2\0";
        let expected: BTreeSet<PathBuf> = ["/opt/lib/libjemalloc.so.2".into()].into();
        assert_eq!(cached_libraries(cache), expected);
    }

    #[test]
    fn what_the_cache_of_the_loader_knows_is_in_the_folders_too() {
        let cache = fs::read(LOADER_CACHE).unwrap_or_default();
        let usual = format!("{}-linux-gnu", std::env::consts::ARCH);
        let names = |found: BTreeSet<PathBuf>| -> BTreeSet<_> {
            let in_usual = |path: &&PathBuf| path.parent().is_some_and(|at| at.ends_with(&usual));
            let files = found.iter().filter(in_usual);
            files
                .filter_map(|path| Some(path.file_name()?.to_owned()))
                .collect()
        };
        let cached = names(cached_libraries(&cache));
        assert!(
            cached.is_subset(&names(libraries_in_folders())),
            "{cached:?}"
        );
    }

    #[test]
    fn variants_for_debugging_are_not_taken() {
        for (file, name, expected) in [
            ("libtcmalloc_minimal.so.4", "libtcmalloc_minimal", true),
            (
                "libtcmalloc_minimal_debug.so.4",
                "libtcmalloc_minimal",
                false,
            ),
            ("libmimalloc-secure.so.2", "libmimalloc", false),
            ("libmimalloc.so", "libmimalloc", true),
            ("libjemalloc.sox", "libjemalloc", false),
        ] {
            assert_eq!(is_version_of(OsStr::new(file), name), expected, "{file}");
        }
    }

    #[test]
    fn maps_tell_which_allocator_is_in_use() {
        let libc = "7f00-7f01 r-xp 0 00:1 5   /usr/lib/x86_64-linux-gnu/libc.so.6\n";
        let other = "7f02-7f03 r-xp 0 00:1 6   /usr/lib/x86_64-linux-gnu/libjemalloc.so.2\n";
        assert_eq!(allocator_in_maps(libc).unwrap().0, "glibc");
        assert_eq!(
            allocator_in_maps(&format!("{libc}{other}")),
            Some(("jemalloc", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"))
        );
        assert_eq!(
            allocator_in_maps("7f00-7f01 r-xp 0 00:1 5   /lib/ld-musl-x86_64.so.1\n"),
            None
        );
        assert_eq!(allocator_in_maps(""), None);
    }
}
