//! What coordinator and worker tell each other. The trial itself stays in its own two records.
//!
//! A coordinator sends each worker its [`Orders`]: what it is to do now, whole, so that only the latest count
//! and repeated ones change nothing. A worker answers with [`WorkerReport`]s, and keeps each report of an attempt
//! on its disk until an order's `receipts` name it. Nothing in between keeps a message or answers one: each side
//! sends again what the other was not heard to have.

use serde::{Deserialize, Serialize};

use crate::QuietRule;
use crate::offer::FactorOffer;
use crate::record::{Accelerator, HostFacts, IsolationKind, TrialRecord};
use crate::spec::{KernelInterface, TrialSpec};

/// Version of the messages between coordinator and worker. Each side refuses a newer one of the other, and says so.
pub const FLEET_SCHEMA_VERSION: u32 = 4;

/// What a machine is and offers, as its worker sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// Version of the messages that the worker speaks; see [`FLEET_SCHEMA_VERSION`].
    pub schema: u32,
    /// Version of the trial's records that the worker speaks.
    pub trial_schema: u32,
    /// Version of `datamill-worker`.
    pub worker_version: String,
    /// The machine's own name.
    pub hostname: String,
    /// The machine.
    pub host: HostFacts,
    /// Highest clock of any processor, in kilohertz; absent when the kernel does not tell.
    pub clock_khz: Option<u64>,
    /// Caches of the first processor, smallest level first; empty when the kernel does not tell.
    pub caches: Vec<CacheFacts>,
    /// Distribution as `/etc/os-release` names it, `ID VERSION_ID`, or "unknown".
    pub distribution: String,
    /// Compilers in `PATH`.
    pub compilers: Vec<CompilerVersion>,
    /// Compilers for machines of other architectures.
    #[serde(default)]
    pub cross: Vec<CrossCompilerVersion>,
    /// Whether hardware counters can be read.
    pub counters: bool,
    /// Strongest way to keep a trial apart that works here, but for guests.
    pub isolation: IsolationKind,
    /// Whether trials can run in guests here.
    #[serde(default)]
    pub guest: GuestOffer,
    /// Whether the worker has the rights of root.
    pub root: bool,
    /// Free bytes where the worker keeps packages and builds.
    pub free_disk_bytes: u64,
    /// What this host offers of each factor.
    pub factors: Vec<FactorOffer>,
    /// The worker's clock, nanoseconds since the Unix epoch.
    pub clock_unix_ns: u64,
}

/// Emulated machines for trials, as a machine has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GuestOffer {
    /// What executes their instructions; absent where there are none.
    pub accelerator: Option<Accelerator>,
    /// Why there are none, one sentence without a full stop; empty where there are.
    pub reason: String,
    /// What they offer of each factor.
    pub factors: Vec<FactorOffer>,
}

impl Default for GuestOffer {
    fn default() -> Self {
        Self {
            accelerator: None,
            reason: "its worker does not tell".to_owned(),
            factors: Vec::new(),
        }
    }
}

/// One cache of a processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CacheFacts {
    /// 1 is next to the processor.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size, in bytes.
    pub size_bytes: u64,
}

/// A compiler that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompilerVersion {
    /// Name of the program, such as `gcc`.
    pub name: String,
    /// Its version, such as `12.2.0`.
    pub version: String,
}

/// A compiler for machines of another architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CrossCompilerVersion {
    /// Their architecture, as `uname -m` says it.
    pub arch: String,
    /// What stands before the names of its programs, such as `aarch64-linux-gnu`.
    pub triplet: String,
    /// The compiler, as a level of `compiler_version` names it, such as `gcc-12`.
    pub compiler: String,
}

/// What the owner of a machine allows: the worker refuses everything else, whatever the coordinator orders.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Users whose experiments may run; empty: any.
    pub users: Vec<String>,
    /// SHA-256 of packages that may run; empty: any.
    pub packages: Vec<String>,
    /// Factors that must not be set here.
    pub forbidden_factors: Vec<String>,
    /// Whether the machine may be rebooted.
    pub reboot: bool,
    /// Names of the kernel's parameters that experiments may add for a trial, such as `mitigations`.
    pub boot_parameters: Vec<String>,
    /// Whether experiments may boot another kernel that is installed for a trial.
    pub kernels: bool,
    /// Largest package, in bytes; 0: any.
    pub package_bytes: u64,
    /// Whether packages that ask for it get this machine's network.
    pub network: bool,
    /// Devices that packages may ask for, absolute paths below `/dev`.
    pub devices: Vec<String>,
    /// Interfaces of the kernel that packages may ask for.
    pub kernel: Vec<KernelInterface>,
    /// Whether packages and factors that ask for it get all rights of root over this machine.
    pub privileged: bool,
    /// Whether packages may run where nothing better than a folder keeps them apart from this machine.
    pub plain: bool,
    /// Whether packages may run in guests alone: each in its own emulated machine.
    pub guests_only: bool,
    /// Absolute paths that no trial sees.
    pub covered: Vec<String>,
    /// Folders that packages may ask to see, and what is in them; absolute paths.
    pub folders: Vec<String>,
    /// When trials wait until this machine is quiet whose experiment does not say so; absent: they do not.
    pub quiet: Option<QuietRule>,
}

/// `POST /api/workers/enrol`: a machine joins the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EnrolmentRequest {
    /// The part of the enrolment token before its fingerprint; works once.
    pub token: String,
    /// Name that the worker would like to have: the host's unless its owner gave another.
    pub name: String,
    /// Public NKEY of the worker (`U...`); its seed never leaves the machine.
    pub public_key: String,
    /// The machine.
    pub inventory: Inventory,
    /// What its owner allows.
    pub policy: Policy,
}

/// What a machine that joined needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Enrolment {
    /// Identity of the worker, for ever; letters and digits.
    pub worker_id: String,
    /// Its name: that of the request, with a number behind it where that was taken.
    pub name: String,
    /// Addresses of the broker, `nats://HOST:PORT` or `tls://HOST:PORT`; HOST `{host}` stands for the host of
    /// the coordinator's own address.
    pub nats_urls: Vec<String>,
    /// The worker's credential for the broker, a user JWT for its public key.
    pub nats_jwt: String,
    /// The worker's credential for files, sent as a bearer token.
    pub api_key: String,
    /// Certificate authority of coordinator and broker, in PEM; absent where they speak without TLS.
    pub ca_pem: Option<String>,
    /// The coordinator's clock, nanoseconds since the Unix epoch.
    pub clock_unix_ns: u64,
}

/// `POST /api/workers/credential`, with the worker's credential for files: it asks for a new one for the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CredentialRequest {
    /// The worker.
    pub worker_id: String,
    /// Drawn for this request.
    pub nonce: String,
    /// Signature of `datamill-credential WORKER_ID NONCE` with the NKEY with which the worker joined, in
    /// lower-case hexadecimal.
    pub signature: String,
}

/// The answer: a new credential for the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Credential {
    /// The worker.
    pub worker_id: String,
    /// User JWT for the public key with which it joined.
    pub nats_jwt: String,
    /// The coordinator's clock, nanoseconds since the Unix epoch.
    pub clock_unix_ns: u64,
}

/// What a worker is to do now: the message on `jobs.WORKER_ID`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// Version of the messages.
    pub schema: u32,
    /// Worker that they are for: any other ignores them.
    pub worker_id: String,
    /// Grows with every change of this worker's orders; older ones are void.
    pub sequence: u64,
    /// Identities of the latest sessions whose hello came, the latest last.
    pub sessions: Vec<String>,
    /// Attempts whose report is in the coordinator's database: the worker may forget them.
    pub receipts: Vec<String>,
    /// Whether the worker is to ask for a new credential for the broker.
    pub renew_credential: bool,
    /// The attempt that this worker is to make; absent: wait.
    pub lease: Option<Lease>,
}

/// One attempt at a trial, lent to one worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// Identity of the attempt in the whole fleet, `EXPERIMENT.TRIAL.ATTEMPT`, such as `7.t0012.1`.
    pub attempt: String,
    /// User who asks for it.
    pub user: String,
    /// What to do. Paths are empty: packages, loads and factors are named by their SHA-256 and fetched from
    /// the coordinator; folders are the worker's own.
    pub spec: TrialSpec,
    /// Files that the attempt needs.
    pub files: Vec<FileNeed>,
    /// Whether the machine is rebooted before the trial.
    pub reboot: bool,
    /// Time from now in which the coordinator expects the report, in seconds.
    pub expected_s: f64,
    /// Whether output is sent while the scripts run: for debug trials, which measure nothing.
    pub live_output: bool,
    /// What is asked for: a trial, or what it needs before.
    pub task: LeaseTask,
    /// A build of the package made elsewhere, that is measured or profiled; absent: it builds here.
    pub prebuilt: Option<FileNeed>,
}

/// What a lease asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeaseTask {
    /// A trial.
    Trial,
    /// The output of `setup.sh`, packed as the artifact `build.tar.gz`, for other workers to measure.
    Build,
    /// `profile.sh` in place of `run.sh`, and the file that it names; nothing is measured.
    Profile,
}

/// A file that the coordinator serves at `/files/SHA256`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FileNeed {
    /// SHA-256 of its bytes, lower-case hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// What a worker tells the coordinator.
///
/// `hello`, `goodbye`, `record`, `refused` and `gave_up` go to `results.WORKER_ID`, and all but `goodbye` are sent
/// again until orders answer them; `taken` and `output` go to `status.WORKER_ID` and may be lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkerReport {
    /// Version of the messages.
    pub schema: u32,
    /// Worker that sends it: that of the subject, or the report is refused.
    pub worker_id: String,
    /// Boot in which it was sent.
    pub boot_id: String,
    /// The worker's clock, nanoseconds since the Unix epoch.
    pub clock_unix_ns: u64,
    /// What it tells.
    pub content: ReportContent,
}

/// One process of the agent, from its first hello to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Counted on the worker's disk: higher than that of any session before.
    pub number: u64,
    /// Drawn for it: a disk that was put back counts a number twice.
    pub id: String,
}

/// What a report tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum ReportContent {
    /// The worker is there, after a boot or a loss of connection, and has no attempt but those named.
    Hello {
        /// The machine, as it is now.
        inventory: Box<Inventory>,
        /// What its owner allows now.
        policy: Box<Policy>,
        /// Attempts on its disk: taken and not yet reported.
        attempts: Vec<String>,
        /// The process that says it; absent when its number could not be kept.
        #[serde(default)]
        session: Option<Session>,
    },
    /// The process that said hello in this session ends in order: it takes no attempt any more.
    Goodbye {
        /// The process.
        session: Session,
    },
    /// The attempt is in the worker's journal and about to begin; silence follows.
    Taken {
        /// The attempt.
        attempt: String,
    },
    /// The attempt ended, and this is its record.
    Record {
        /// The attempt.
        attempt: String,
        /// What happened.
        record: Box<TrialRecord>,
        /// Files that were uploaded before this report.
        artifacts: Vec<ArtifactFile>,
        /// Whether the machine was rebooted between taking the attempt and its trial.
        rebooted: bool,
        /// Identity of the boot in which the attempt was taken.
        taken_boot_id: String,
    },
    /// The worker will not or cannot make the attempt; nothing of it ran.
    Refused {
        /// The attempt.
        attempt: String,
        /// Why.
        reason: RefusalReason,
        /// The same in one sentence.
        message: String,
    },
    /// The attempt began and cannot be finished: the machine went down in it, or does not come back well.
    GaveUp {
        /// The attempt.
        attempt: String,
        /// Why, in one sentence.
        message: String,
    },
    /// A piece of what a script printed, of a debug trial.
    Output {
        /// The attempt.
        attempt: String,
        /// Phase of the trial, such as `setup`.
        phase: String,
        /// Number of the piece, from 0.
        number: u64,
        /// The text.
        text: String,
    },
}

/// Why a worker does not make an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// The machine's owner does not allow it.
    Policy,
    /// A file is missing, could not be fetched, or has another digest.
    File,
    /// There is no room on its disk.
    Disk,
    /// The worker does not speak this version.
    Version,
    /// This host lacks a factor or level.
    Factor,
}

/// A file that an attempt produced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArtifactFile {
    /// Its name in the folder of the attempt, such as `run.stdout`.
    pub name: String,
    /// SHA-256 of its bytes, lower-case hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}
