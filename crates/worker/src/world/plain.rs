//! A private copy of the package in a folder, where nothing better is possible.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use datamill_probe::Family;
use datamill_protocol::Phase;

use super::copy::copy_tree;
use super::entered::{BACKGROUND, World, WorldFacts, open_run_script};
use super::request::{PLAIN_TREE, WorldError, WorldRequest, factor_failed, open_caches};
use crate::package::RUN;
use crate::scratch::remove_tree;
use crate::trouble::io_failure;

/// What a plain world is worth.
const NOTHING_KEPT_APART: &str =
    "Nothing kept the package from what the worker's user may read, change and reach.";

/// Folder, in the scratch folder, of the worker's own files.
const TOOLS: &str = "datamill";

/// Removes what a plain world puts into the scratch folder, and nothing else.
pub fn clear_scratch(scratch: &Path) -> io::Result<()> {
    remove_tree(&scratch.join(PLAIN_TREE))?;
    remove_tree(&scratch.join(TOOLS))
}

/// Removes the scratch folder; fails when it holds anything that is not a world's.
pub fn remove_scratch(scratch: &Path) -> io::Result<()> {
    clear_scratch(scratch)?;
    match fs::remove_dir(scratch) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Copies the package, or the stored build of it, into the trial's scratch folder.
pub fn enter(request: &WorldRequest<'_>) -> Result<World, WorldError> {
    let failed = |doing: &'static str| {
        move |error: io::Error| WorldError::Failed(io_failure(Phase::Isolate, doing)(error))
    };
    refuse_stacked_factors(request)?;
    let caches = open_caches(&request.settings)?;
    let root = request.scratch.join(PLAIN_TREE);
    fs::create_dir_all(&root).map_err(failed("making the private folder"))?;
    let stored = request.build.map(|build| build.join(PLAIN_TREE));
    copy_tree(stored.as_deref().unwrap_or(request.package), &root)
        .map_err(failed("copying the package into its private folder"))?;
    let tools = request.scratch.join(TOOLS);
    fs::create_dir_all(&tools).map_err(failed("making the worker's folder"))?;
    link_or_copy(request.worker, &tools.join("datamill-worker"))
        .map_err(failed("copying the worker"))?;
    if let Some(background) = request.settings.background {
        let place = tools.join(BACKGROUND);
        fs::create_dir(&place)
            .and_then(|()| copy_tree(background, &place))
            .map_err(failed("copying the background package"))?;
    }
    let space = File::open(&root).map_err(failed("opening the private folder"))?;
    let run_script = open_run_script(&root.join(RUN)).map_err(failed("opening run.sh"))?;
    Ok(World {
        directory: root.clone(),
        own_session: !request.settings.shares_session,
        foreign: BTreeSet::new(),
        places: Vec::new(),
        run_script,
        caches,
        root,
        tools,
        family: Family::Subreaper,
        space,
        resources: None,
        in_memory: false,
        notices: Vec::new(),
        facts: WorldFacts {
            gaps: vec![NOTHING_KEPT_APART.to_owned()],
            ..WorldFacts::default()
        },
        confining: None,
    })
}

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

/// What needs a world of layers is not silently left out.
fn refuse_stacked_factors(request: &WorldRequest<'_>) -> Result<(), WorldError> {
    let settings = &request.settings;
    let refused = match (settings.directory_length, settings.root_filesystem) {
        (Some(_), _) => "working_directory_length",
        (None, Some(_)) => "root_filesystem",
        (None, None) => return Ok(()),
    };
    Err(factor_failed(
        refused,
        "it needs a private world, and this trial has a plain one",
    ))
}

/// A hard link where the file system allows one, for the sake of time.
fn link_or_copy(original: &Path, target: &Path) -> io::Result<()> {
    fs::hard_link(original, target).or_else(|_| fs::copy(original, target).map(drop))
}
