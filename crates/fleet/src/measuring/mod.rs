//! The runner: a leased trial made without a connection, and what a start finds of one.

mod recovery;
mod run_leased;

pub use recovery::{Found, give_up, recover};
pub use run_leased::{RunOptions, run_leased};
