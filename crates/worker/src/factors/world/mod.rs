//! Factors of the trial's private world and of what is done in it before `run.sh`.

mod levels;
mod offer;
mod page_cache;

pub use levels::{WorldLevels, observe_world};
pub use offer::offer_factors;
pub use page_cache::{drop_caches, preload_package};
