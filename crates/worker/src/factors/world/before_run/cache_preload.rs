//! `cache_preload`: whether the package's files are read just before `run.sh`, and whether they stay in memory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use datamill_protocol::{FactorFacts, FactorOffer};

use crate::factors::fact::fact;
use crate::factors::world::factor::{BeforeRun, BesideRun, WorldFactor, offer_all};
use crate::process::{LockedFiles, Pages, fill, resident_pages};
use crate::trouble::Step;
use crate::world::World;

/// The factor.
pub struct CachePreload;

impl WorldFactor for CachePreload {
    fn name(&self) -> &'static str {
        "cache_preload"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &["off", "on", "locked"])
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        match level {
            "off" | "on" | "locked" => Ok(()),
            _ => Err("off, on, locked".to_owned()),
        }
    }

    fn prepare(&self, level: &str, before: &mut BeforeRun<'_>) -> Step<Option<FactorFacts>> {
        if level == LOCKED {
            return Ok(lock_package(self.name(), before));
        }
        Ok(Some(preload_package(
            self.name(),
            before.world,
            level == "on",
        )))
    }

    fn observe_beside(&self, level: &str, beside: &BesideRun<'_>) -> Option<FactorFacts> {
        let locked = beside.locked.filter(|_| level == LOCKED)?;
        let (observed, evidence) = match locked.look() {
            Ok((pages, held)) => (
                (pages.all > 0 && pages.resident == pages.all && held >= pages.all)
                    .then(|| LOCKED.to_owned()),
                format!(
                    "{} of {} pages of the package's files were in memory just after run.sh, where the worker held {held} pages locked.",
                    pages.resident, pages.all
                ),
            ),
            Err(error) => (None, format!("It could not be read back: {error}.")),
        };
        Some(fact(self.name(), level, observed, evidence))
    }
}

/// The level at which files stay in memory.
const LOCKED: &str = "locked";

/// Reads all files of the package and keeps them in memory until `run.sh` has ended; tells what went wrong.
fn lock_package(name: &str, before: &mut BeforeRun<'_>) -> Option<FactorFacts> {
    let mut locked = LockedFiles::default();
    for path in package_files(before.world) {
        if let Err(error) = File::open(&path).and_then(|file| locked.lock(&file)) {
            let may = match error.raw_os_error() {
                Some(libc::ENOMEM | libc::EPERM | libc::EAGAIN) => {
                    "; it takes root or a larger limit of locked memory (ulimit -l)"
                }
                _ => "",
            };
            let evidence = format!("Locking {} in memory: {error}{may}.", path.display());
            return Some(fact(name, LOCKED, None, evidence));
        }
    }
    *before.locked = Some(locked);
    None
}

/// Reads all files of the package, so that `run.sh` finds them in memory.
fn preload_package(name: &str, world: &World, on: bool) -> FactorFacts {
    let level = if on { "on" } else { "off" };
    let told = |observed: Option<&str>, evidence: String| {
        fact(name, level, observed.map(str::to_owned), evidence)
    };
    if !on {
        return told(Some(level), "Nothing was read for this factor.".to_owned());
    }
    let files = package_files(world);
    for path in &files {
        let read = File::open(path).and_then(|file| fill(&file));
        if let Err(error) = read {
            return told(None, format!("Reading {}: {error}.", path.display()));
        }
    }
    let pages = package_pages(world);
    let observed = (pages.all > 0 && pages.resident == pages.all).then_some(level);
    told(
        observed,
        format!(
            "{} of {} pages of the package's {} files were in memory afterwards.",
            pages.resident,
            pages.all,
            files.len()
        ),
    )
}

fn package_pages(world: &World) -> Pages {
    package_files(world)
        .iter()
        .filter_map(|path| resident_pages(&File::open(path).ok()?).ok())
        .fold(Pages::default(), Pages::and)
}

/// Regular files of the package, and what its `setup.sh` has put into folders of its own.
fn package_files(world: &World) -> Vec<PathBuf> {
    let mut pending: Vec<PathBuf> = world.places.iter().map(|it| world.root.join(it)).collect();
    for entry in fs::read_dir(&world.root).into_iter().flatten().flatten() {
        if !world.foreign.contains(&entry.file_name()) {
            pending.push(entry.path());
        }
    }
    pending.sort();
    pending.dedup();
    let mut files = Vec::new();
    while let Some(path) = pending.pop() {
        let Ok(data) = fs::symlink_metadata(&path) else {
            continue;
        };
        if data.is_file() {
            files.push(path);
        } else if data.is_dir() {
            pending.extend(names_below(&path));
        }
    }
    files
}

fn names_below(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path())
}
