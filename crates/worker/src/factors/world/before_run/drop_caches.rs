//! `drop_caches`: caches of the kernel that are dropped just before `run.sh`.

use std::fs::File;
use std::io::{self, Read, Write};

use datamill_protocol::{FactorFacts, FactorOffer};

use crate::factors::fact::fact;
use crate::factors::world::factor::{BeforeRun, WorldFactor, choices, missing, offer_all};
use crate::process::{fill, resident_pages};
use crate::trouble::Step;
use crate::world::{DROP_CACHES, World, WorldSettings, factor_failure, filesystem_of};

/// Counts of directory entries: all, then those that nobody uses.
const DENTRIES: &str = "/proc/sys/fs/dentry-state";

/// The factor.
pub struct DropCaches;

impl WorldFactor for DropCaches {
    fn name(&self) -> &'static str {
        "drop_caches"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = offer_all(self.name(), &["none"]);
        for caches in DroppedCaches::ALL.into_iter().skip(1) {
            match missing_caches() {
                None => offer.levels.push(caches.name().to_owned()),
                Some(reason) => offer.missing.push(missing(caches.name(), &reason)),
            }
        }
        offer
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        let Some(caches) = DroppedCaches::named(level) else {
            return Err(DroppedCaches::ALL.map(DroppedCaches::name).join(", "));
        };
        match missing_caches() {
            Some(reason) if caches != DroppedCaches::None => {
                Err(choices(["none"].into_iter(), level, &reason))
            }
            _ => Ok(()),
        }
    }

    fn shape_world(&self, level: &str, settings: &mut WorldSettings<'_>) {
        settings.drops_caches = DroppedCaches::named(level) != Some(DroppedCaches::None);
    }

    fn prepare(&self, level: &str, before: &mut BeforeRun<'_>) -> Step<Option<FactorFacts>> {
        DroppedCaches::named(level)
            .map(|caches| drop_caches(self.name(), before.world, caches))
            .transpose()
    }
}

/// Why the kernel's caches cannot be dropped here.
fn missing_caches() -> Option<String> {
    match File::options().write(true).open(DROP_CACHES) {
        Ok(_) => None,
        Err(error) => Some(format!("{DROP_CACHES} cannot be written: {error}")),
    }
}

/// Levels; their numbers are the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DroppedCaches {
    /// None of them.
    None = 0,
    /// Contents of files.
    Page = 1,
    /// Directory entries and inodes.
    Inode = 2,
    /// All of that.
    All = 3,
}

impl DroppedCaches {
    /// All levels.
    const ALL: [Self; 4] = [Self::None, Self::Page, Self::Inode, Self::All];

    /// The level's name.
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Page => "page",
            Self::Inode => "inode",
            Self::All => "all",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Writes changed pages to the disks and has the kernel drop its caches; tells what shows that it did.
fn drop_caches(name: &str, world: &World, caches: DroppedCaches) -> Step<FactorFacts> {
    let told = |observed: Option<DroppedCaches>, evidence: String| {
        let observed = observed.map(|caches| caches.name().to_owned());
        Ok(fact(name, caches.name(), observed, evidence))
    };
    if caches == DroppedCaches::None {
        return told(
            Some(caches),
            "Nothing was dropped for this factor.".to_owned(),
        );
    }
    let failed = |error: io::Error| factor_failure(name, error);
    let mut switch = world
        .caches
        .as_ref()
        .ok_or_else(|| failed(io::Error::other("its switch was not opened")))?;
    let empties_pages = caches != DroppedCaches::Inode;
    let on_disk = !matches!(filesystem_of(&world.run_script), Ok(Some("tmpfs")) | Err(_));
    let filled = (empties_pages && on_disk)
        .then(|| fill(&world.run_script))
        .transpose()
        .map_err(failed)?;
    // SAFETY: no pointers involved.
    unsafe { libc::sync() };
    let unused_before = unused_entries();
    writeln!(switch, "{}", caches as u8).map_err(failed)?;
    let unused_after = unused_entries();
    let left = match filled {
        Some(_) => Some(resident_pages(&world.run_script).map_err(failed)?),
        None => None,
    };

    // Looking at other files now would bring their names and inodes back.
    let mut evidence = String::new();
    let pages_gone = match (filled, left) {
        (Some(before), Some(after)) => {
            evidence.push_str(&format!(
                "Of the package's run.sh, {} of {} pages were in memory before and {} after.",
                before.resident, before.all, after.resident
            ));
            // Others may have dropped them since they were read: then nothing is shown.
            (before.resident > 0).then_some(after.resident == 0)
        }
        _ if !empties_pages => None,
        _ => {
            evidence.push_str("The package lies in memory, where its files are not dropped, so that the page cache shows nothing.");
            None
        }
    };
    let entries_gone = match (unused_before, unused_after) {
        (Some(before), Some(after)) => {
            evidence.push_str(&format!(
                "{}Unused directory entries went from {before} to {after}.",
                if evidence.is_empty() { "" } else { " " }
            ));
            // Others may have left new ones since: then nothing is shown.
            (after < before).then_some(true)
        }
        _ => None,
    };
    let gone = match caches {
        DroppedCaches::None | DroppedCaches::Page => pages_gone,
        DroppedCaches::Inode => entries_gone,
        DroppedCaches::All if pages_gone == Some(false) => pages_gone,
        DroppedCaches::All => pages_gone.and(entries_gone),
    };
    let observed = match gone {
        Some(true) => Some(caches),
        Some(false) => Some(DroppedCaches::None),
        None => None,
    };
    told(observed, evidence)
}

fn unused_entries() -> Option<u64> {
    let mut text = String::new();
    File::open(DENTRIES).ok()?.read_to_string(&mut text).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}
