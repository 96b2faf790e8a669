//! Factors of the trial's private world and of what is done in it before and beside `run.sh`: a file a
//! factor, each with its levels, what this host offers, and how it is read back.

mod before_run;
mod beside;
mod factor;
mod levels;
mod load_look;
mod place;
mod private_world;

use datamill_protocol::FactorOffer;

pub use beside::BACKGROUND_LOAD;
use factor::WorldFactor;
pub use factor::{BeforeRun, BesideRun, Moment};
pub use levels::WorldLevels;
pub use load_look::{LoadLook, time_between};

/// All world factors, in the order in which they are offered, read back and, within one moment, act.
static WORLD_FACTORS: [&dyn WorldFactor; 8] = [
    &place::WorkingDirectoryLength,
    &place::RootFilesystemFactor,
    &before_run::DropCaches,
    &before_run::CachePreload,
    &before_run::Warmups,
    &beside::BackgroundLoad,
    &beside::Session,
    &before_run::Reboot,
];

/// What this host offers of the world factors.
pub fn offer_factors() -> Vec<FactorOffer> {
    let factors = WORLD_FACTORS.iter();
    factors.map(|factor| factor.offer()).collect()
}
