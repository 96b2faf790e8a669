//! Joining a fleet: the token, and what follows from it.

mod enrol;
mod token;

pub use enrol::{JoinRequest, join};
