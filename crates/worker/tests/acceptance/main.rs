//! Whole trials through the binary.

mod builds;
mod factors;
mod families;
mod inherited;
mod interruptions;
mod packages;
mod privacy;
mod scripts;
mod support;
mod worlds;
