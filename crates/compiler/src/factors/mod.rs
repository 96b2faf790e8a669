//! The build factors: their levels, what this host offers, and which a build really had.

mod flags;
mod levels;
mod observe;
mod offer;

pub use observe::observe_build_factors;
pub use offer::{lacks_compiler, offer_factors};
