//! Factors of every stage: set, read back, and put back.

mod effective;
mod host_factors;
mod inherited;
mod process_factors;
mod user_factors;
mod world_factors;
