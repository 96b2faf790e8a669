//! What the agent needs of the program that runs trials.

use std::path::Path;

use datamill_protocol::{Inventory, IsolationKind, Policy, RefusalReason, TrialRecord, TrialSpec};

/// Why an attempt is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of reason.
    pub reason: RefusalReason,
    /// The same in one sentence.
    pub message: String,
}

impl Refusal {
    /// A refusal in words.
    pub fn new(reason: RefusalReason, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { reason, message }
    }
}

/// How a leased trial ended.
#[derive(Debug)]
pub enum TrialEnd {
    /// With its record; files are in the output folder.
    Record(Box<TrialRecord>),
    /// By an interruption, which leaves nothing to tell.
    Interrupted,
}

/// The machine, as the program that runs trials knows it.
pub trait Machine {
    /// What this machine is and offers; `cache` is where packages and builds go.
    fn inventory(&self, cache: &Path) -> Inventory;

    /// Whether a factor of this name is one of datamill's own, here or on another machine.
    fn has_factor(&self, name: &str) -> bool;

    /// Whether the folders that a trial's package needs are here and may be shown.
    fn check_folders(&self, spec: &TrialSpec, policy: &Policy) -> Result<(), Refusal>;

    /// Whether a specification, its paths filled in, can be carried out here; with `is_built`, of a build that was
    /// made elsewhere.
    fn check_spec(&self, spec: &TrialSpec, is_built: bool) -> Result<(), Refusal>;

    /// The strongest kind of world that a trial can have here.
    fn isolation(&self) -> IsolationKind;

    /// Whether the factors that a specification brings along, which are here, do no more than the
    /// machine's owner allows.
    fn check_factors(&self, spec: &TrialSpec, policy: &Policy) -> Result<(), Refusal>;

    /// Undoes what a dead worker left of its changes to this host; the error is one sentence.
    fn restore_host(&self) -> Result<(), String>;
}
