//! The trial specification: everything the worker needs to run one trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::QuietRule;

/// One planned trial, as handed to `datamill-worker run-trial`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    /// Version of this contract; see [`crate::SCHEMA_VERSION`].
    pub schema: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// Identity of the trial within its experiment.
    pub trial_id: String,
    /// 1 for the first attempt; infrastructure retries count up.
    pub attempt: u32,
    /// What is measured.
    pub package: PackageSpec,
    /// Level asked for, by factor name, for the factors that the worker sets.
    pub levels: BTreeMap<String, String>,
    /// Factors that the experiment brings along; their levels are in `levels` like all others.
    #[serde(default)]
    pub user_factors: Vec<UserFactorSpec>,
    /// Package that runs beside `run.sh`: the one that the level of `background_load` names.
    #[serde(default)]
    pub background: Option<PackageSpec>,
    /// How the trial is to be kept apart from the host.
    pub isolation: IsolationWanted,
    /// What the package needs of the host that packages usually do not get.
    #[serde(default)]
    pub needs: Needs,
    /// Absolute paths of the host that the trial must not see, besides those that no trial sees.
    #[serde(default)]
    pub covered: Vec<String>,
    /// When `run.sh` is to wait until the machine is quiet; absent: it does not wait.
    #[serde(default)]
    pub quiet: Option<QuietRule>,
    /// Whether this trial may reuse a build of the same package and build factors.
    pub build: BuildPolicy,
    /// Seed of this trial, below 2^53, for anything that the worker draws at random.
    pub seed: u64,
    /// Seed, below 2^53, for what is drawn at random for the build. Builds of equal levels with different
    /// seeds are different builds. Absent: the seed of the trial, and builds of equal levels are one.
    #[serde(default)]
    pub build_seed: Option<u64>,
    /// Architecture, as `uname -m` says it, that the package is to be built for where that is another than this
    /// machine's; absent: this machine's.
    #[serde(default)]
    pub build_for: Option<String>,
    /// Measurements that `run.sh` is to take and report after its warm-up; 0 leaves their number to the
    /// package.
    #[serde(default)]
    pub measurements: u32,
    /// Measurements that `run.sh` is to take and report before those.
    #[serde(default)]
    pub warmup: u32,
    /// Bounds on time and size.
    pub limits: TrialLimits,
    /// Folder for this trial alone: made if missing, removed afterwards.
    pub scratch_dir: String,
    /// Folder for unpacked packages and shared builds, kept between trials.
    pub cache_dir: String,
    /// Folder that receives the phases' output and the collected archive.
    pub output_dir: String,
}

/// The package of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PackageSpec {
    /// Name by which the experiment calls it.
    pub name: String,
    /// Absolute path of a folder or a `.tar.gz`.
    pub path: String,
    /// SHA-256 of the `.tar.gz` in lower-case hexadecimal; checked before use. Absent for a folder.
    pub sha256: Option<String>,
}

/// A factor that the experiment brings along: a folder with `factor.toml` and one executable a verb.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UserFactorSpec {
    /// Name of the factor.
    pub name: String,
    /// Absolute path of a folder or a `.tar.gz`.
    pub path: String,
    /// SHA-256 of the `.tar.gz` in lower-case hexadecimal; checked before use. Absent for a folder.
    pub sha256: Option<String>,
}

/// What a package needs of the host that packages usually do not get; the host's owner may refuse it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Needs {
    /// The host's network, instead of a loopback device of the trial's own.
    pub network: bool,
    /// Devices besides the usual ones, absolute paths below `/dev`.
    pub devices: Vec<String>,
    /// Interfaces of the kernel that are closed to other packages.
    pub kernel: Vec<KernelInterface>,
    /// All rights of root over the host.
    pub privileged: bool,
    /// Folders of the host to be shown although trials do not see them, absolute paths.
    pub folders: Vec<String>,
}

impl Needs {
    /// Whether it is nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// An interface of the kernel that a package gets only if it asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KernelInterface {
    /// `perf_event_open`.
    PerfEvents,
    /// `io_uring`.
    IoUring,
    /// `userfaultfd`.
    Userfaultfd,
    /// Its own user namespaces, and what can be done in them.
    Namespaces,
}

/// How a trial is to be kept apart from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IsolationWanted {
    /// The best that this host allows: confined, else user namespace, else overlay, else plain. What
    /// needs all rights of root gets the overlay.
    Auto,
    /// An emulated machine of the trial's own; needs qemu and an image.
    Guest,
    /// An overlay over the host's root, made by root, in which the package has no rights of root over
    /// the host; needs root.
    Confined,
    /// The same made without any privilege, inside a user namespace.
    UserNamespace,
    /// An overlay over the host's root in which the package is root of the host; needs root.
    Overlay,
    /// A private folder and nothing else.
    Plain,
}

/// Whether a build is made for one trial or shared by all trials with equal build factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BuildPolicy {
    /// `setup.sh` runs in every trial.
    Fresh,
    /// `setup.sh` runs once for each package and combination of build factors.
    Shared,
}

/// Bounds on time and size of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrialLimits {
    /// Time for `setup.sh`, in seconds.
    pub setup_timeout_s: f64,
    /// Time for `run.sh`, in seconds.
    pub run_timeout_s: f64,
    /// Time for `collect.sh`, in seconds.
    pub collect_timeout_s: f64,
    /// Kept bytes of each of stdout and stderr of a phase; the rest is read, counted and dropped.
    pub output_bytes: u64,
    /// Largest archive that is collected, in bytes.
    pub archive_bytes: u64,
    /// Largest unpacked package, in bytes.
    pub package_bytes: u64,
    /// Most files in an unpacked package.
    pub package_files: u64,
    /// Size of the trial's private world, in bytes; 0 leaves it to the worker (half of memory).
    pub world_bytes: u64,
    /// Processes and threads at a time; 0 leaves it to the worker.
    #[serde(default)]
    pub processes: u64,
    /// Memory, in bytes, files in memory included; 0 leaves it to the worker (all but a reserve).
    #[serde(default)]
    pub memory_bytes: u64,
    /// Open files of each process; 0 leaves it to the worker.
    #[serde(default)]
    pub descriptors: u64,
}
