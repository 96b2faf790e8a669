//! Whole trials through the binary.

mod background;
mod builds;
mod factors;
mod families;
mod interruptions;
mod packages;
mod placing;
mod replication;
mod scripts;
mod support;
mod worlds;
