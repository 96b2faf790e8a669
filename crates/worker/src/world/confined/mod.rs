//! What a package may do in its world: the rights of root over its own files, and nothing of the host.

mod confining;
mod filter;
mod identity;
mod network;

pub use confining::{Confining, folder_of_mount, give};
pub use identity::{FIRST_ID, TrialIdentity};
pub use network::bring_loopback_up;
