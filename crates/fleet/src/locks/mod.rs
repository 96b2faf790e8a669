//! One measurement at a time: on a host, and on the machine below it.

mod host_lock;
mod machine_lock;

pub(crate) use host_lock::TRY_AGAIN_MS;
pub use host_lock::{HostLock, holder};
