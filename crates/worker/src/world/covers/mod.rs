//! Places of the host that no trial sees: secrets, and what only some on the host may read.

mod aliases;
mod closed;
mod cover;
mod folders;
mod homes;
mod layer;
mod search;

pub use cover::Cover;
pub use folders::{ShownFolder, find_folders, make_way};
pub use layer::{CoveredPlace, make_cover_layer, mount_cover};
pub use search::CoverSearch;
