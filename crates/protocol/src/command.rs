//! What `datamill-worker measure-commands` is asked for and answers, a line each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::disturbance::DisturbanceFacts;
use crate::record::{
    CompilerFacts, FactorFacts, Failure, HostFacts, IsolationFacts, PhaseFacts, WorkerFacts,
};

/// The first line: who measures, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandGreeting {
    /// Version of this contract.
    pub schema: u32,
    /// Who measures.
    pub worker: WorkerFacts,
    /// The machine.
    pub host: HostFacts,
    /// How commands are kept apart from the host: not at all.
    pub isolation: IsolationFacts,
}

/// One execution of a command, as the user who asks would execute it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    /// Version of this contract; see [`crate::SCHEMA_VERSION`].
    pub schema: u32,
    /// Program and arguments. A program without a slash is looked up in the PATH of the environment that
    /// it gets; any other that is not absolute is relative to `directory`.
    pub command: Vec<String>,
    /// Absolute path of its working folder.
    pub directory: String,
    /// Variables that are added to the worker's own environment, or replace some of it.
    pub variables: BTreeMap<String, String>,
    /// Absolute path of the file that it reads; absent means `/dev/null`.
    pub input: Option<String>,
    /// Where its output goes.
    pub output: CommandOutput,
    /// Absolute path of the file that its stdout goes to, emptied first; for `file` alone.
    pub output_file: Option<String>,
    /// Time after which it is killed with all that it started, in seconds; 0 for none.
    pub timeout_s: f64,
    /// Level asked for, by factor name, for factors of its process, and of a build where it is one.
    pub levels: BTreeMap<String, String>,
    /// How it builds, if it does: behind the compiler wrappers.
    pub build: Option<BuildRequest>,
}

/// What a command that builds a program is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BuildRequest {
    /// Absolute path of the folder for the wrappers, which outlives the build: it may note their paths. It is
    /// made where it does not exist, and set anew where it does.
    pub tools: String,
    /// Seed of levels that are `random`.
    pub seed: u64,
}

/// What a command that builds a program did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandBuild {
    /// What the wrappers saw.
    pub compiler: CompilerFacts,
    /// SHA-256 over the content of the executables that were linked; absent where none was.
    pub executables_sha256: Option<String>,
}

/// Where the output of a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommandOutput {
    /// Both streams are read; stdout is hashed, which holds up a command that writes a lot.
    Capture,
    /// Both streams are read.
    Read,
    /// Stdout goes to `/dev/null`; stderr is read.
    Null,
    /// Both go where the worker's stderr goes.
    Inherit,
    /// Stdout goes to a file; stderr is read.
    File,
}

/// What was seen of one execution of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandAnswer {
    /// Version of this contract.
    pub schema: u32,
    /// What was measured; absent when it was not executed. Nothing of its output is to be kept, so none
    /// of it counts as truncated.
    pub run: Option<PhaseFacts>,
    /// Why it was not executed or was ended; its exit status or signal is not a failure.
    pub failure: Option<Failure>,
    /// SHA-256 of all that it wrote to stdout, in lower-case hexadecimal; absent where that was not read.
    pub stdout_sha256: Option<String>,
    /// The last of what it wrote to stderr, at most 2048 bytes of it; what is not UTF-8 is replaced.
    pub stderr_tail: String,
    /// Read-back of every factor in `levels`.
    pub factors: Vec<FactorFacts>,
    /// What else went on while it ran; absent when it was not executed.
    pub disturbance: Option<DisturbanceFacts>,
    /// What it built; for a request that builds.
    pub build: Option<CommandBuild>,
}
