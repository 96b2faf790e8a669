//! What this machine is: its facts, its processors' names, and its inventory for a fleet.

mod arm_core;
mod host_facts;
mod inventory;

pub use host_facts::{hostname, kernel_version, read_host_facts};
pub use inventory::{InventoryParts, read_inventory};
