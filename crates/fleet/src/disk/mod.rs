//! What a worker of a fleet keeps on its disk, where it outlives crashes and reboots.

mod durable;
mod folder;
mod identity;
mod journal;
mod seen;
mod session;
mod spool;

pub use durable::{read_if_there, write_durably};
pub use folder::FleetFolder;
pub use identity::Identity;
pub use journal::{OpenAttempt, Stage};
pub use seen::Seen;
pub use session::begin_session;
pub use spool::{
    clear_work, is_spooled, list_artifacts, list_spooled, read_spooled, remove_spooled,
    spool_report, work_folder, work_output,
};
