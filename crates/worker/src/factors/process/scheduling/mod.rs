//! Factors of when and where `run.sh` is scheduled.

mod cpu_set;
mod niceness;
mod permissions;
mod scheduler_policy;

pub use cpu_set::CpuSet;
pub use niceness::Niceness;
pub use scheduler_policy::SchedulerPolicy;
