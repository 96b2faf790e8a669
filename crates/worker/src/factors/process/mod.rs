//! Factors that act on the process of `run.sh` and on all that it starts: what is asked for, how it
//! is set, how it is read back.

mod conditions;
mod levels;
mod loader;
mod offers;
mod read_back;

pub use conditions::{RunConditions, prepare_run};
pub use levels::ProcessLevels;
pub use offers::offer_factors;
pub use read_back::{launch_witness, read_back_process_factors};
