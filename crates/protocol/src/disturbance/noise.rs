//! How quiet a host is.

use serde::{Deserialize, Serialize};

use crate::disturbance::DisturbanceFacts;

/// What a host does to a program that never stops computing, processor by processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoiseFacts {
    /// Time that was measured, over all processors.
    pub span_ns: u64,
    /// Each processor in turn.
    pub processors: Vec<ProcessorNoise>,
    /// What else went on meanwhile.
    pub disturbance: DisturbanceFacts,
}

/// Noise of one processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProcessorNoise {
    /// Number of the processor.
    pub processor: u32,
    /// Whether the measuring thread could be pinned to it.
    pub pinned: bool,
    /// Times of equal pieces of work of about a millisecond, in the order in which they ran.
    pub work_ns: Vec<u64>,
    /// Time that was watched for gaps.
    pub watched_ns: u64,
    /// Times at which the thread did not run for more than 10 µs.
    pub gaps: u64,
    /// Sum of these gaps.
    pub lost_ns: u64,
    /// The longest.
    pub longest_gap_ns: u64,
    /// How much later than asked a sleep of one millisecond ended, in the order in which they ran.
    pub late_ns: Vec<u64>,
}
