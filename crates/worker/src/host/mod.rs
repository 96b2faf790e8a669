//! This host without a trial: which worlds it allows, what it shows, what dead workers left on it.

mod isolation;
mod places;
mod restore;

use datamill_protocol::WorkerFacts;

pub use isolation::find_isolation;
pub use places::{check_folders, look_at_places};
pub use restore::{RestoreOptions, restore, restore_quietly};

/// This program, by the name of the host that it runs on.
pub fn this_worker() -> WorkerFacts {
    WorkerFacts {
        id: datamill_host::hostname(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
