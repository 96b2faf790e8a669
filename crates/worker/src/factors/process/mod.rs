//! Factors that act on the process of `run.sh` and on all that it starts: what is asked for, how it
//! is set, how it is read back.

mod allocators;
mod conditions;
mod levels;
mod loaded;
mod loader;
mod locales;
mod memory_nodes;
mod names;
mod number_lists;
mod observer;
mod offers;
mod padding;
mod permissions;
mod read_back;
mod tunables;

use datamill_protocol::FactorFacts;

pub use conditions::{RunConditions, prepare_run};
pub use levels::ProcessLevels;
pub use observer::launch_witness;
pub use offers::offer_factors;
pub use read_back::read_back_process_factors;

/// Read-back of one factor.
pub fn fact(name: &str, asked: &str, observed: Option<String>, evidence: String) -> FactorFacts {
    FactorFacts {
        name: name.to_owned(),
        asked: asked.to_owned(),
        observed,
        evidence,
    }
}
