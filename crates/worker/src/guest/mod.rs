//! Isolation `guest`: a trial in an emulated machine with a kernel and a root of its own.
//!
//! The guest has three disks: its root, which it only reads and which has nothing of the host; the job with the
//! package; and one for the result. It has no network and shares no folder, and what it hands back is read as
//! that of an enemy. The emulator itself is a process without rights (see `jail`).

mod builds;
mod inside;
mod job;
mod machine;
mod probe;
mod result;
mod run;
mod trial;
mod troubles;
mod trust;

pub use builds::build_package_in_guest;
pub use inside::{boot_guest, run_guest_job};
pub use probe::{find_guests, offer_in_guest};
pub use trial::{make_attempt_in_guest, run_trial_in_guest};
