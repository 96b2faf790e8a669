//! Launching one process and measuring it.
//!
//! Between the worker and the measured program stands nothing: no shell, no copied address
//! space. The child shares the worker's memory until its `execve` (`CLONE_VM | CLONE_VFORK`), so
//! neither the copying of page tables nor their destruction falls into the measured time; the
//! child itself takes the start time as its last act, and the worker takes the end time as its
//! first act after the kernel reports the end. While the process is silent the worker sleeps.

mod bounds;
mod counters;
mod interruption;
mod launch;
mod own_priority;
mod starting;
mod streams;
mod watching;

pub use bounds::{Alarm, Bounds, Ceiling, MOST_ALARMS};
pub use counters::counters_can_be_read;
pub use interruption::Interruption;
pub use launch::{Launch, LaunchError, Measured, USUAL_UMASK, launch};
pub use starting::Step as ChildStep;
pub use starting::{
    BitSet, Confinement, Limit, MemoryPolicy, ProcessSettings, ProcessorSet, REAL_TIME_PRIORITY,
    SchedulingPolicy,
};
pub use streams::Output;
pub use watching::{Family, end_orphans};
