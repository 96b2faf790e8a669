//! Changes to this machine: planned, written to the journal, made and undone.

mod change;
mod fault;
mod journal;
mod processors;
mod restore;
mod setting;
mod swap_area;
mod threads;
mod turn;

pub use change::{Change, NoUserVerbs, UserVerbs};
#[cfg(test)]
pub(crate) use fault::{die_at_step, fault_point};
pub use journal::{Entry, Journal, JournalContent, JournalError, PlannedChange};
pub(crate) use processors::{
    Processors, find_group, format_list, format_mask, parse_list, parse_mask,
};
pub use restore::{ChangeError, Restored, foresee_restore, make_changes, restore_host};
pub(crate) use setting::write_setting;
pub use setting::{check_writable, plan_setting, read_setting};
pub(crate) use swap_area::page_bytes;
pub use swap_area::{SwapArea, swap_areas_in_use, unescape_kernel_path};
pub use threads::ThreadId;
pub(crate) use threads::{Thread, leave_out_family, list_threads, note_places};
pub use turn::abandoned_states;
