//! Whole trials through the binary.

mod builds;
mod factors;
mod interruptions;
mod packages;
mod scripts;
mod support;
mod worlds;
