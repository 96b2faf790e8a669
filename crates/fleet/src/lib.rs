//! A machine that joined a fleet: enrolment, orders, the journal that survives reboots, and reports.
//!
//! The agent connects outward and waits. To measure, its process becomes the runner by `exec`, which has no
//! connection, and the runner becomes the agent again when the report is on the disk.

mod disk;
mod exec;
mod joining;
mod leasing;
mod locks;
mod machine;
mod measuring;
mod network;
mod reports;
mod serving;
mod termination;

pub use disk::{FleetFolder, OpenAttempt, Stage};
pub use exec::{become_worker, own_program};
pub use joining::{JoinRequest, join};
pub use leasing::free_bytes;
pub use locks::HostLock;
pub use machine::{Machine, Refusal, TrialEnd};
pub use measuring::{RunOptions, run_leased};
pub use serving::{ServeOptions, agent_arguments, serve};
