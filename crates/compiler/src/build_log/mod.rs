//! The log of a build's calls, and what they linked.

mod digest;
mod executable;
mod log;

pub use log::{BuildLook, read_compiler_log};
pub(crate) use log::{CallFacts, LOG_FILE, LinkFacts, append_call};
