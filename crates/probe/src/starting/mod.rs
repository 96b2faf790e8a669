//! The child between its birth and its `execve`: settings, namespaces, rights.

mod apply;
mod child;
mod confinement;
mod settings;

pub use child::Step;
pub(crate) use child::{ChildPlan, child_main, clock_ns};
pub use confinement::Confinement;
pub use settings::{
    BitSet, Limit, MemoryPolicy, ProcessSettings, ProcessorSet, REAL_TIME_PRIORITY,
    SchedulingPolicy,
};
