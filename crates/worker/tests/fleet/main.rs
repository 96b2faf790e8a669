//! A worker of a fleet, over the real wire: a broker, HTTP, and the binary.

mod builds;
mod coordinator;
mod crashes;
mod profiles;
mod refusals;
mod trials;
mod worker;
