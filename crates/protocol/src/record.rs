//! The trial record: what the worker saw. Facts only; `results/judgement/validity` judges them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::QuietFacts;
use crate::disturbance::DisturbanceFacts;
use crate::spec::{BuildPolicy, Needs};

/// What happened in one attempt at one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// The program that ran the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerFacts {
    /// Stable name of the worker: the host's name unless it was enrolled under another.
    pub id: String,
    /// Version of `datamill-worker`.
    pub version: String,
}

/// The machine that the trial ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The machine that the trial saw instead of the host; absent when it saw the host's.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accelerator {
    /// The host's processor, through its kernel.
    Kvm,
    /// A translator: times are those of no processor.
    Tcg,
}

/// What the scripts of a trial could use of the host, and who kept them to that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// The build that a trial measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildFacts {
    /// Identity of the build; trials with the same identity measured the same binaries.
    pub id: String,
    /// Whether the build could be shared.
    pub policy: BuildPolicy,
    /// Whether this trial reused a build made earlier.
    pub reused: bool,
    /// `setup.sh`; absent when the package has none.
    pub setup: Option<PhaseFacts>,
    /// What the compiler wrapper saw and changed.
    pub compiler: CompilerFacts,
    /// SHA-256 over the content of the executables that the build linked, in lower-case hexadecimal: equal
    /// for builds that chance made no different. Absent when the wrapper saw none that was still there.
    #[serde(default)]
    pub executables_sha256: Option<String>,
}

/// What the compiler wrapper saw and changed during a build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompilerFacts {
    /// Calls of any wrapped program but the assembler.
    pub invocations: u64,
    /// Calls that compiled at least one source file.
    pub compiles: u64,
    /// Compilations for each optimisation level that reached the real compiler.
    pub optimization_passed: BTreeMap<String, u64>,
    /// Compilations whose optimisation level was changed by the wrapper.
    pub optimization_changed: u64,
    /// Calls that linked or archived.
    pub links: u64,
    /// Links and archives with at least two objects, whose order therefore matters.
    pub orderable_links: u64,
    /// Orderable links whose object order was changed by the wrapper.
    pub links_reordered: u64,
    /// Orderable links whose objects reached the linker in the wanted order.
    pub links_in_order: u64,
    /// Real programs that ran, by name, with their number of calls.
    pub programs: BTreeMap<String, u64>,
    /// Compilations that did not pass through the wrapper, seen by the assembler that they called.
    pub escaped: u64,
    /// Compilations that have the wanted seed for symbols.
    #[serde(default)]
    pub seeded_compiles: u64,
    /// Compilations whose options end with the wanted ones.
    #[serde(default)]
    pub flagged_compiles: u64,
    /// Executables, read where they were linked, that are position-independent.
    #[serde(default)]
    pub pie_executables: u64,
    /// Executables, read where they were linked, that have a fixed address.
    #[serde(default)]
    pub fixed_executables: u64,
    /// Executables that were gone, moved or unreadable when the build had ended.
    #[serde(default)]
    pub unread_executables: u64,
    /// Compilations by the compiler that made them, as levels of `compiler_version` are named; this and
    /// the four below are empty unless that factor was asked for.
    #[serde(default)]
    pub compilers: BTreeMap<String, u64>,
    /// Executables, read where they were linked, with a mark of any compiler in their section `.comment`.
    #[serde(default)]
    pub marked_executables: u64,
    /// Executables by the compilers whose marks they have, but for those of start-up files.
    #[serde(default)]
    pub marks: BTreeMap<String, u64>,
    /// Compilers whose marks are in start-up files, and so in all that is linked with them.
    #[serde(default)]
    pub startup_marks: Vec<String>,
    /// Compilations that were told to leave no mark.
    #[serde(default)]
    pub unmarked_compiles: u64,
    /// Links of an executable whose type was asked for and left as the build system has it.
    #[serde(default)]
    pub executables_left: u64,
}

/// One measured phase: one process from its exec to its end, with the descendants that it waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterFacts {
    /// Name of the event: `cycles`, `instructions`, `cache_references`, `cache_misses`, `branches`,
    /// `branch_misses`, `context_switches`, `cpu_migrations`, `page_faults`, `task_clock_ns`.
    pub name: String,
    /// Count, scaled to the whole phase when the counter was multiplexed; absent when it could not be had.
    pub value: Option<u64>,
    /// Why there is no value, or that it is scaled; empty when it is exact.
    pub reason: String,
}

/// Read-back of one factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveFacts {
    /// File name within the output folder.
    pub file: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal.
    pub sha256: String,
}
