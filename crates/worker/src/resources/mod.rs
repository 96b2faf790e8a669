//! What a trial may use of its host: processes, memory, disk and open files; and who keeps it to that.
//!
//! The scripts of a trial run in a control group of their own; the worker stays outside, so that it goes
//! on when the trial has taken everything that it may. Where the machine gives no control group, limits
//! of processes and a look at the machine's own counters have to do.

mod amounts;
mod group;
mod hierarchy;
mod kept;
mod members;
mod reached;
mod reports;
mod script_bounds;
mod watching;

pub use amounts::{Reached, files_in_world};
pub use group::Members;
pub use kept::{Resources, memory_ceiling, remove_abandoned_groups};
pub use reached::{descriptor_failure, reached_failure, world_failure};
pub use script_bounds::ScriptBounds;
