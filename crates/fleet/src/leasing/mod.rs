//! From a lease to an attempt that can be made here: what the owner allows, files, folders, a reboot.

mod lease;
mod policy;
mod restart;

pub use lease::{
    Understood, check_lease, fetch_files, free_bytes, is_attempt, place_lease, read_orders,
    refuse_version,
};
pub use policy::{keep_apart, read_policy};
pub use restart::{boot_for, is_borrowed, is_ready, reboot_machine};
