//! What is to be done in a trial's world: its specification, understood, with all that was prepared for it outside.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use datamill_host::{KernelLog, OtherProcesses};
use datamill_protocol::TrialSpec;
use serde::{Deserialize, Serialize};

use crate::factors::{EnvironmentFactor, Levels, find_factor_set_at};
use crate::interrupt::Interrupt;
use crate::package::Package;
use crate::process::Stage;
use crate::resources::Resources;
use crate::world::World;

/// What is to come of a trial's `run` phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// What `run.sh` takes.
    Measurements,
    /// What `profile.sh` finds out.
    Profile,
}

/// What the phases of a trial need to know.
pub struct Assignment<'a> {
    /// The trial.
    pub spec: &'a TrialSpec,
    /// What is to come of it.
    pub purpose: Purpose,
    /// Its levels, understood.
    pub levels: &'a Levels,
    /// Its package.
    pub package: &'a Package,
    /// The package that runs beside `run.sh`.
    pub background: Option<&'a Package>,
    /// Folder that receives output and archive.
    pub output: &'a OwnedFd,
    /// What its processes may use of the host.
    pub resources: &'a Rc<Resources>,
    /// The pending interruption.
    pub interrupt: &'a Interrupt,
    /// The kernel's log, opened before the world was entered.
    pub kernel_log: Option<&'a KernelLog>,
    /// The host's processes that do not belong to the trial, found before the world was entered.
    pub others: Option<&'a OtherProcesses>,
    /// Factors of the environment that the experiment brings along.
    pub environment_factors: &'a [EnvironmentFactor],
}

impl Assignment<'_> {
    /// What all its scripts have in common.
    pub fn stage<'a>(&'a self, world: &'a World) -> Stage<'a> {
        Stage {
            world,
            limits: &self.spec.limits,
            output: self.output,
            interrupt: self.interrupt,
            set_at: find_factor_set_at,
        }
    }
}
