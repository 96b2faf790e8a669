//! The host as it is, where no private world is wanted.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use datamill_probe::Family;

use super::entered::{World, WorldFacts};

/// The host itself, in which programs are started in a folder; `tools` has the worker's binary.
pub fn unchanged_host(directory: &Path, tools: &Path) -> io::Result<World> {
    Ok(World {
        root: directory.to_owned(),
        directory: directory.to_owned(),
        own_session: true,
        foreign: BTreeSet::new(),
        places: Vec::new(),
        run_script: File::open("/dev/null")?,
        caches: None,
        tools: tools.to_owned(),
        family: Family::Subreaper,
        space: File::open(directory)?,
        resources: None,
        in_memory: false,
        notices: Vec::new(),
        facts: WorldFacts::default(),
        confining: None,
    })
}
