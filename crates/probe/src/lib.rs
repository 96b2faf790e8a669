//! Launching one process and measuring it.
//!
//! Between the worker and the measured program stands nothing: no shell, no copied address
//! space. The child shares the worker's memory until its `execve` (`CLONE_VM | CLONE_VFORK`), so
//! neither the copying of page tables nor their destruction falls into the measured time; the
//! child itself takes the start time as its last act, and the worker takes the end time as its
//! first act after the kernel reports the end. While the process is silent the worker sleeps.

mod apply;
mod bounds;
mod child;
mod confinement;
mod counters;
mod family;
mod hashing;
mod interruption;
mod launch;
mod orphans;
mod output;
mod own_priority;
mod settings;
mod streams;
mod watch;

pub use bounds::{Alarm, Bounds, Ceiling, MOST_ALARMS};
pub use child::Step as ChildStep;
pub use confinement::Confinement;
pub use counters::counters_can_be_read;
pub use family::{Family, end_orphans};
pub use interruption::Interruption;
pub use launch::{Launch, LaunchError, Measured, USUAL_UMASK, launch};
pub use settings::{
    BitSet, Limit, MemoryPolicy, ProcessSettings, ProcessorSet, REAL_TIME_PRIORITY,
    SchedulingPolicy,
};
pub use streams::Output;
