//! The wrapped programs that led to this process.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::program::{FileIdentity, ProgramKind, identify_program};

/// Names the wrapped programs, and the files that they turned out to be, that led to this process.
pub(crate) const CHAIN_VARIABLE: &str = "DATAMILL_WRAPPED";

/// The links of the chain, outermost first: `gcc/<device>/<inode>:…` in the environment.
#[derive(Debug, Default)]
pub(crate) struct Chain(Vec<(String, FileIdentity)>);

impl Chain {
    pub(crate) fn from_environment() -> Self {
        Self::parse(env::var_os(CHAIN_VARIABLE).as_deref())
    }

    /// What is no link was set by somebody else, and means nothing.
    fn parse(text: Option<&OsStr>) -> Self {
        let text = text.and_then(OsStr::to_str).unwrap_or_default();
        let links = text.split(':').filter_map(|link| {
            let (name, identity) = link.split_once('/')?;
            identify_program(name.as_bytes())?;
            Some((name.to_owned(), FileIdentity::parse(identity)?))
        });
        Self(links.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a compiler driver led here.
    pub(crate) fn has_driver(&self) -> bool {
        self.0.iter().any(|(name, _)| {
            matches!(
                identify_program(name.as_bytes()),
                Some(ProgramKind::Driver | ProgramKind::Preprocessor)
            )
        })
    }

    /// The files that calls of this name turned out to be, so far.
    pub(crate) fn passed_programs(&self, name: &OsStr) -> Vec<FileIdentity> {
        let links = self.0.iter().filter(|(known, _)| known.as_str() == name);
        links.map(|(_, identity)| *identity).collect()
    }

    /// The variable's value for the program that this call of `name` turned out to be.
    pub(crate) fn extended(&self, name: &OsStr, real: &Path) -> String {
        let mut links: Vec<String> = self
            .0
            .iter()
            .map(|(name, identity)| format!("{name}/{identity}"))
            .collect();
        if let (Some(name), Ok(metadata)) = (name.to_str(), fs::metadata(real)) {
            links.push(format!("{name}/{}", FileIdentity::of(&metadata)));
        }
        links.join(":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Chain {
        Chain::parse(Some(OsStr::new(text)))
    }

    #[test]
    fn what_somebody_else_set_is_no_link() {
        for text in ["", "1", "gcc", "gcc/1", "gcc/x/y", "/1/2", "make/1/2"] {
            assert!(parsed(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn the_links_of_a_chain_are_told_apart() {
        let chain = parsed("ar/1/2:gcc/3/4:gcc/5/6");
        assert!(chain.has_driver() && !parsed("ar/1/2").has_driver());
        assert_eq!(chain.passed_programs(OsStr::new("gcc")).len(), 2);
        assert_eq!(chain.passed_programs(OsStr::new("cc")).len(), 0);
        let extended = chain.extended(OsStr::new("cc"), Path::new("/"));
        assert!(
            extended.starts_with("ar/1/2:gcc/3/4:gcc/5/6:cc/"),
            "{extended}"
        );
    }
}
