//! What a trial's carrier and the keeper of its background package say to each other.

use serde::{Deserialize, Serialize};

/// Sets the package up and starts its `run.sh`; answered by [`SetUp`].
pub const START: u8 = b's';
/// Asks for a [`Look`].
pub const LOOK: u8 = b'l';
/// Ends what runs; answered by a last [`Look`].
pub const STOP: u8 = b'x';

/// Whether the background package was set up; otherwise why not.
pub type SetUp = Result<(), String>;

/// What the keeper of a background package sees of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Look {
    /// How its `run.sh` ended; absent while it runs.
    pub end: Option<String>,
    /// Processor time of all its processes since the start of its `run.sh`.
    pub processor_time_ns: u64,
    /// The scheduler's group of `run.sh`; absent where there is none.
    pub autogroup: Option<String>,
    /// Whether its `run.sh` leads a session of its own.
    pub leads_session: bool,
}
