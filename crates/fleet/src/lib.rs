//! A machine that joined a fleet: enrolment, orders, the journal that survives reboots, and reports.
//!
//! The agent connects outward and waits. To measure, its process becomes the runner by `exec`, which has no
//! connection, and the runner becomes the agent again when the report is on the disk.

mod agent;
mod answers;
mod attempt;
mod broker;
mod credential;
mod delays;
mod delivery;
mod durable;
mod enrol;
mod exec;
mod files;
mod folder;
mod following;
mod host_lock;
mod identity;
mod journal;
mod lease;
mod live_output;
mod machine;
mod machine_lock;
mod policy;
mod recovery;
mod reports;
mod rest;
mod restart;
mod run_leased;
mod seen;
mod serve;
mod session;
mod spool;
mod termination;
mod token;

pub use enrol::{JoinRequest, join};
pub use exec::{become_worker, own_program};
pub use folder::FleetFolder;
pub use host_lock::HostLock;
pub use journal::{OpenAttempt, Stage};
pub use lease::free_bytes;
pub use machine::{Machine, Refusal, TrialEnd};
pub use run_leased::{RunOptions, run_leased};
pub use serve::{ServeOptions, agent_arguments, serve};
