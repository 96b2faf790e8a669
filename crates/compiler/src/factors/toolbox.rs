//! The build tools of a host.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use datamill_protocol::{FactorOffer, MissingLevel};

use crate::program::{ProgramKind, identify_program};
use crate::wrapping::find_wrapped_programs;

const NO_COMPILER: &str = "no compiler is installed here";
const NO_LINKER: &str = "no linker is installed here";

/// Build tools of a host, by what they are called.
#[derive(Debug, Default)]
pub(super) struct Toolbox {
    names: BTreeSet<String>,
    /// Where they are, separated by colons.
    search_path: String,
}

impl Toolbox {
    /// The tools in these folders, separated by colons.
    pub(super) fn find(search_path: &str) -> Self {
        let names = find_wrapped_programs(None, Path::new("/"), search_path);
        Self {
            names: names.unwrap_or_default(),
            search_path: search_path.to_owned(),
        }
    }

    /// Tools of these names in a folder.
    #[cfg(test)]
    pub(super) fn of(names: &[&str], search_path: &str) -> Self {
        Self {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            search_path: search_path.to_owned(),
        }
    }

    /// Where they are, separated by colons.
    pub(super) fn search_path(&self) -> &str {
        &self.search_path
    }

    /// Why nothing can be compiled here; absent when it can.
    pub(super) fn lacks_compiler(&self) -> Option<&'static str> {
        self.find_driver(|_| true).is_none().then_some(NO_COMPILER)
    }

    /// Why nothing can be linked here; absent when it can.
    pub(super) fn lacks_linker(&self) -> Option<&'static str> {
        (!self.has(ProgramKind::Linker)).then_some(NO_LINKER)
    }

    fn has(&self, kind: ProgramKind) -> bool {
        self.names
            .iter()
            .any(|name| identify_program(name.as_bytes()) == Some(kind))
    }

    /// A compiler whose name is accepted: the one that builds call by default, if there is one.
    pub(super) fn find_driver(&self, is_accepted: impl Fn(&str) -> bool) -> Option<PathBuf> {
        let usual = ["cc", "gcc", "clang"].iter().map(|name| (*name).to_owned());
        let others = self.names.iter().cloned();
        let name = usual.chain(others).find(|name| {
            self.names.contains(name)
                && identify_program(name.as_bytes()) == Some(ProgramKind::Driver)
                && self.resolve(name).is_some_and(|real| {
                    is_accepted(&real.file_name().unwrap_or_default().to_string_lossy())
                })
        })?;
        self.path_of(&name)
    }

    fn path_of(&self, name: &str) -> Option<PathBuf> {
        let folders = self.search_path.split(':').map(PathBuf::from);
        folders
            .map(|folder| folder.join(name))
            .find(|path| path.exists())
    }

    fn resolve(&self, name: &str) -> Option<PathBuf> {
        self.path_of(name)?.canonicalize().ok()
    }
}

/// Moves levels for which there is a reason to those that do not exist here.
pub(super) fn lose_levels(offer: &mut FactorOffer, reason: impl Fn(&str) -> Option<String>) {
    for level in std::mem::take(&mut offer.levels) {
        match reason(&level) {
            None => offer.levels.push(level),
            Some(reason) => offer.missing.push(MissingLevel { level, reason }),
        }
    }
}
