//! This host without a trial: which worlds it allows, what it shows, what dead workers left on it.

mod isolation;
mod places;
mod restore;

pub use isolation::find_isolation;
pub use places::{check_folders, look_at_places};
pub use restore::{RestoreOptions, restore, restore_quietly};
