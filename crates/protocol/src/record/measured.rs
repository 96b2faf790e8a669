//! What was measured of a phase, and what was read back and collected.

use serde::{Deserialize, Serialize};

/// One measured phase: one process from its exec to its end, with the descendants that it waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PhaseFacts {
    /// Just before exec, nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// From just before exec to the end, monotonic clock.
    pub wall_time_ns: u64,
    /// Processor time in user mode.
    pub user_time_ns: u64,
    /// Processor time in the kernel.
    pub system_time_ns: u64,
    /// Largest resident set of any one process.
    pub peak_memory_bytes: u64,
    /// Peak that the launcher itself leaves behind: a peak at or below it is only known to be at most that.
    pub peak_memory_floor_bytes: u64,
    /// Page faults served without input or output.
    pub minor_faults: u64,
    /// Page faults that needed input or output.
    pub major_faults: u64,
    /// Context switches while waiting.
    pub voluntary_switches: u64,
    /// Context switches by preemption.
    pub involuntary_switches: u64,
    /// Exit status; absent when a signal ended it.
    pub exit_code: Option<i32>,
    /// Signal that ended it; absent when it exited.
    pub signal: Option<i32>,
    /// Whether its time ran out and it was killed.
    pub timed_out: bool,
    /// Processes that it left behind, which were killed.
    pub left_processes: u32,
    /// Bytes that it wrote to stdout.
    pub stdout_bytes: u64,
    /// Bytes that it wrote to stderr.
    pub stderr_bytes: u64,
    /// Whether more was written than is kept.
    pub output_truncated: bool,
    /// Event counters; those without a value are listed for `run.sh` alone.
    pub counters: Vec<CounterFacts>,
}

/// One event counter over a phase, inherited by its descendants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CounterFacts {
    /// Name of the event: `cycles`, `instructions`, `cache_references`, `cache_misses`, `branches`,
    /// `branch_misses`, `context_switches`, `cpu_migrations`, `page_faults`, `task_clock_ns`.
    pub name: String,
    /// Count, scaled to the whole phase when the counter was multiplexed; absent when it could not be read.
    pub value: Option<u64>,
    /// Why there is no value, or that it is scaled; empty when it is exact.
    pub reason: String,
}

/// Read-back of one factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FactorFacts {
    /// Name of the factor.
    pub name: String,
    /// Level asked for.
    pub asked: String,
    /// Level read back; absent when nothing showed it (no compiler ran, say).
    pub observed: Option<String>,
    /// How it was read back, one sentence.
    pub evidence: String,
}

/// The collected archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArchiveFacts {
    /// File name within the output folder.
    pub file: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal.
    pub sha256: String,
}
