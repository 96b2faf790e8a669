//! Builds: `setup.sh` behind the compiler wrappers, builds that trials share, and builds that travel.

mod cross;
mod setup;
mod shared;
mod shipped;
mod store;

pub use setup::{build_package, check_still_there, fresh_id, keep_wrappers_passive};
pub use shared::{BuildError, SharedBuild, obtain_shared_build};
pub use shipped::{
    BUILD_ARTIFACT, IDENTITY_DIGITS, Origin, install_build, pack_build, remove_installed,
};
pub use store::{Kept, builds_folder, find_or_make, name_build, storing};
