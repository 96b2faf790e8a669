//! Where a trial ran: the worker, the host, and how it was kept apart and kept to its resources.

use serde::{Deserialize, Serialize};

use crate::spec::Needs;

/// The program that ran the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkerFacts {
    /// Stable name of the worker: the host's name unless it was enrolled under another.
    pub id: String,
    /// Version of `datamill-worker`.
    pub version: String,
}

/// The machine that the trial ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// Machine architecture as `uname -m` names it.
    pub arch: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model as the kernel names it, or "unknown".
    pub cpu_model: String,
    /// Processors online.
    pub cores: u32,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// The kernel's random identity of this boot, or "unknown".
    pub boot_id: String,
}

/// How the trial was kept apart from the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IsolationFacts {
    /// What was used.
    pub kind: IsolationKind,
    /// Why not something stronger; empty when it is the strongest.
    pub reason: String,
    /// What the package was given besides what every package gets.
    #[serde(default)]
    pub needs: Needs,
    /// Id of the host that the scripts ran as, without any right over it; absent where they ran as
    /// the user that the worker ran as.
    #[serde(default)]
    pub owner: Option<u32>,
    /// Places of the host that the trial did not see.
    #[serde(default)]
    pub covered: u32,
    /// What this kind usually stops and did not stop here, one sentence each.
    #[serde(default)]
    pub gaps: Vec<String>,
    /// The machine that the trial saw instead of the host, or that made the build; absent when it was the host's.
    #[serde(default)]
    pub guest: Option<GuestFacts>,
}

impl IsolationFacts {
    /// A kind of which nothing else is to be said.
    pub fn of(kind: IsolationKind, reason: String) -> Self {
        Self {
            kind,
            reason,
            needs: Needs::default(),
            owner: None,
            covered: 0,
            gaps: Vec::new(),
            guest: None,
        }
    }
}

/// An emulated machine of a trial's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GuestFacts {
    /// What executes its instructions.
    pub accelerator: Accelerator,
    /// Release of its kernel.
    pub kernel: String,
    /// Number of its processors.
    pub processors: u32,
    /// Size of its memory, in bytes.
    pub memory_bytes: u64,
}

/// What executes the instructions of an emulated machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Accelerator {
    /// The host's processor, through its kernel.
    Kvm,
    /// A translator: times are those of no processor.
    Tcg,
}

/// What the scripts of a trial could use of the host, and who kept them to that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResourceFacts {
    /// Who kept them to it.
    pub means: ResourceMeans,
    /// Why not something stronger; empty when it is a control group.
    pub reason: String,
    /// Processes and threads at a time.
    pub processes: u64,
    /// Memory, in bytes, files in memory included.
    pub memory_bytes: u64,
    /// Files of a private world, in bytes.
    pub world_bytes: u64,
    /// Open files of each process.
    pub descriptors: u64,
}

/// Ways to keep a trial to what it may use, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResourceMeans {
    /// A control group of the unified hierarchy.
    CgroupV2,
    /// Control groups of the hierarchies of single controllers.
    CgroupV1,
    /// Limits of each process, and a look at the machine's counters now and then.
    Rlimits,
}

/// Ways to keep a trial apart from the host, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IsolationKind {
    /// An emulated machine of the trial's own.
    Guest,
    /// An overlay over the host's root, made by root, in which the package has no rights of root over
    /// the host.
    Confined,
    /// The same made without any privilege, inside a user namespace.
    UserNamespace,
    /// An overlay over the host's root in which the package is root of the host.
    Overlay,
    /// A private folder.
    Plain,
}
