//! Whole trials through the binary.

mod background;
mod builds;
mod factors;
mod families;
mod host_factors;
mod inherited;
mod interruptions;
mod packages;
mod privacy;
mod process_factors;
mod replication;
mod scripts;
mod support;
mod user_factors;
mod world_factors;
mod worlds;
