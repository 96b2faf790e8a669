//! How a trial ended, and why it did not complete.

use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All phases ended well and the archive was collected.
    Completed,
    /// A phase, the package or the host failed; see `failure`.
    Failed,
    /// A phase exceeded its time and was killed.
    TimedOut,
    /// The worker was interrupted, or never reported.
    Lost,
}

/// Parts of a trial in which it can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Unpacking and checking the package.
    Unpack,
    /// Making the trial's private world and setting its factors.
    Isolate,
    /// `setup.sh`.
    Setup,
    /// `run.sh`.
    Run,
    /// `collect.sh`, its archive and the metrics in it.
    Collect,
}

/// Why a trial did not complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Where it failed.
    pub phase: Phase,
    /// What kind of failure it was.
    pub kind: FailureKind,
    /// One sentence that names the file and the cause.
    pub message: String,
    /// One sentence that says what to do.
    pub remedy: String,
}

/// Kinds of failure. The last four are the host's, not the package's: such a trial is attempted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The package is not one: unsafe member, missing or non-executable script, wrong hash, bad `env`.
    BadPackage,
    /// A script ended with a status other than 0.
    ExitStatus,
    /// A script was killed by a signal.
    Signal,
    /// A script exceeded its time.
    Timeout,
    /// `collect.sh` named no archive, one that is missing, outside, too large or not its own.
    NoArchive,
    /// `metrics.json` or `metrics.csv` in the archive cannot be read.
    BadMetrics,
    /// A factor could not be set, or its read-back failed.
    Factor,
    /// It had as many processes and threads as it may.
    ProcessLimit,
    /// It used as much memory as it may.
    MemoryLimit,
    /// It wrote as much as it may: its private world is full, or little was left of the disk.
    DiskLimit,
    /// A process had as many open files as it may.
    DescriptorLimit,
    /// The disk is full.
    DiskFull,
    /// The private world could not be made.
    Isolation,
    /// The machine had no memory left, and its kernel chose a process of the trial to kill.
    MemoryKilled,
    /// A defect of the worker.
    Internal,
}
