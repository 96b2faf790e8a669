//! The trial's private world: what the package sees as the machine, thrown away afterwards.

mod confined;
mod copy;
mod covers;
mod enclosure;
mod entered;
mod keeping;
mod mounts;
mod package_rights;
mod plain;
mod request;
mod root_filesystem;
mod sight;
mod stacked;

use datamill_protocol::IsolationKind;

pub use copy::copy_tree;
pub use enclosure::{Companion, EncloseError, enclose, enclose_within};
pub use entered::{SEARCH_PATH, World, WorldFacts};
pub use keeping::{Keeping, named_places, state_folders};
pub use mounts::{bind_read_only, bind_tree};
pub use package_rights::{do_confined, open_confined};
pub use plain::{clear_scratch, remove_scratch, unchanged_host};
pub use request::{
    Changes, Confines, DROP_CACHES, PLAIN_TREE, RootFilesystem, WorldError, WorldRequest,
    WorldSettings, factor_failure, impossible_failure, own_binary,
};
pub use root_filesystem::{detach_abandoned, filesystem_of};
pub use sight::{Sight, explain_folders};
pub use stacked::ROOT_LAYER;

/// Makes the world and enters it; this process must be enclosed for the same kind.
pub fn enter_world(kind: IsolationKind, request: &WorldRequest<'_>) -> Result<World, WorldError> {
    match kind {
        IsolationKind::Confined | IsolationKind::UserNamespace | IsolationKind::Overlay => {
            stacked::enter(request, kind)
        }
        IsolationKind::Plain => plain::enter(request),
        IsolationKind::Guest => Err(WorldError::Impossible(
            "a guest is not a world of the host".to_owned(),
        )),
    }
}
