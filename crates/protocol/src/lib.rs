//! The contract between Python and the worker: what a trial is asked to do, and
//! what was seen when it ran. `../../protocol` holds the JSON Schemas written
//! from these types and examples that both languages round-trip.

mod command;
pub mod digest;
mod disturbance;
mod fleet;
mod offer;
mod record;
#[cfg(feature = "schemas")]
mod schemas;
mod spec;

pub use command::*;
pub use disturbance::*;
pub use fleet::*;
pub use offer::*;
pub use record::*;
#[cfg(feature = "schemas")]
pub use schemas::write_schemas;
pub use spec::*;

/// Version of both records, and of what commands are measured by; a worker refuses a specification of another version.
pub const SCHEMA_VERSION: u32 = 5;
