//! Commands of users, measured one at a time as they would run without us: no package, no world.

mod building;
mod execution;
mod program;
mod read_back;
mod request;
mod session;

pub use session::{SessionEnd, serve_commands};
