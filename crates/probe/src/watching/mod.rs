//! A process that runs and its descendants: awaited, heard, reaped and ended.

mod family;
mod hashing;
mod orphans;
mod output;
mod watch;

pub use family::{Family, end_orphans};
pub(crate) use orphans::Orphans;
pub(crate) use output::OutputStream;
pub(crate) use watch::{EndCause, Watch, await_end};
