//! Sets of processors: as the kernel writes them, and groups of processes that are kept to them.

mod group;
mod list;

pub(crate) use group::{enter_group, find_group, remove_group};
pub(crate) use list::{Processors, format_list, format_mask, parse_list, parse_mask};
