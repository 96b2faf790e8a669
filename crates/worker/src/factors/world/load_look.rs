//! What is seen of the package that runs beside `run.sh`.

use serde::{Deserialize, Serialize};

/// What the keeper of a background package sees of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadLook {
    /// How its `run.sh` ended; absent while it runs.
    pub end: Option<String>,
    /// Processor time of all its processes since the start of its `run.sh`.
    pub processor_time_ns: u64,
    /// The scheduler's group of `run.sh`; absent where there is none.
    pub autogroup: Option<String>,
    /// Whether its `run.sh` leads a session of its own.
    pub leads_session: bool,
}

/// Processor time of the background package between two looks.
pub fn time_between(before: &LoadLook, after: &LoadLook) -> u64 {
    after
        .processor_time_ns
        .saturating_sub(before.processor_time_ns)
}
