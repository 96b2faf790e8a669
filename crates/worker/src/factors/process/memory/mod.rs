//! Factors of where the memory of `run.sh` lies and how much of it there may be.

mod aslr;
mod limits;
mod numa_policy;

pub use aslr::Aslr;
pub use limits::{HEAP_LIMIT, STACK_LIMIT};
pub use numa_policy::NumaPolicy;
