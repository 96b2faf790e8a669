//! The trial record: what the worker saw. Facts only; `results/judgement/validity` judges them.

mod build;
mod ending;
mod measured;
mod place;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::QuietFacts;
use crate::disturbance::DisturbanceFacts;

pub use build::*;
pub use ending::*;
pub use measured::*;
pub use place::*;

/// What happened in one attempt at one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrialRecord {
    /// Version of this contract.
    pub schema: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// Identity of the trial within its experiment.
    pub trial_id: String,
    /// Attempt that this record is about, from 1.
    pub attempt: u32,
    /// Name of the package.
    pub package: String,
    /// SHA-256 of the package archive; absent when the package was a folder.
    pub package_sha256: Option<String>,
    /// Level asked for, by factor name.
    pub levels: BTreeMap<String, String>,
    /// Seed of the trial.
    pub seed: u64,
    /// Who ran it.
    pub worker: WorkerFacts,
    /// Where it ran.
    pub host: HostFacts,
    /// How it was kept apart from the host.
    pub isolation: IsolationFacts,
    /// What it could use of the host; absent when it was not reached.
    #[serde(default)]
    pub resources: Option<ResourceFacts>,
    /// Start of the attempt, nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// End of the attempt, nanoseconds since the Unix epoch.
    pub ended_unix_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it did not complete.
    pub failure: Option<Failure>,
    /// The build that was measured; absent when none was reached.
    pub build: Option<BuildFacts>,
    /// Executions of `run.sh` before the measured one.
    #[serde(default)]
    pub warmups: Vec<PhaseFacts>,
    /// How it waited for a quiet machine before `run.sh`; absent when it was not to wait or came not so far.
    #[serde(default)]
    pub quiet: Option<QuietFacts>,
    /// `run.sh`; absent when not reached.
    pub run: Option<PhaseFacts>,
    /// What else went on while `run.sh` ran; absent when it was not reached.
    #[serde(default)]
    pub disturbance: Option<DisturbanceFacts>,
    /// `collect.sh`; absent when not reached.
    pub collect: Option<PhaseFacts>,
    /// Read-back of every factor in `levels`.
    pub factors: Vec<FactorFacts>,
    /// Responses that the package reported, each with one value or one for each measurement.
    pub metrics: BTreeMap<String, Vec<f64>>,
    /// The collected archive.
    pub archive: Option<ArchiveFacts>,
    /// Changes to the host that could not be undone after the trial, one sentence each; they stay in
    /// the journal.
    #[serde(default)]
    pub unrestored: Vec<String>,
    /// Things worth knowing that did not end the trial, one sentence each.
    pub notices: Vec<String>,
}
