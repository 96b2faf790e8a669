//! Factors of the trial's private world and of what is done in it before and beside `run.sh`: a file a
//! factor, each with its levels, what this host offers, and how it is read back.

mod before_run;
mod beside;
mod factor;
mod levels;
mod place;
mod private_world;

use datamill_protocol::FactorOffer;

pub use before_run::{drop_caches, preload_package};
use factor::WorldFactor;
pub use levels::{WorldLevels, observe_world};

/// All world factors, in the order in which they are offered.
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
