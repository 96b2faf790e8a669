//! What this machine is, what it is set to, and what else goes on on it.

mod boot;
mod changes;
mod disturbances;
mod ending_signals;
mod factors;
mod facts;
mod known_folders;
mod machine_lock;
#[cfg(test)]
mod restore_tests;
mod state;

pub use boot::{
    BOOT_PARAMETERS, BootState, KERNEL_RELEASE, WantedBoot, boot_into, check_boots, list_kernels,
};
pub use changes::{
    Change, ChangeError, Entry, Journal, JournalContent, JournalError, NoUserVerbs, PlannedChange,
    Restored, SwapArea, UserVerbs, abandoned_states, check_writable, foresee_restore, make_changes,
    plan_setting, read_setting, restore_host, swap_areas_in_use, unescape_kernel_path,
};
pub use disturbances::{
    HostLook, KernelLog, OtherProcesses, ProcessLook, measure_noise, wait_for_quiet,
};
pub use ending_signals::EndingSignals;
pub use factors::{
    FileSetting, HostFactor, HostLevels, LevelError, host_factors, lacks_level, offer_factors,
    offer_with_boots,
};
pub use facts::{InventoryParts, hostname, kernel_version, read_host_facts, read_inventory};
pub use known_folders::{list_folders, note_folder};
pub use machine_lock::{machine_lock_path, open_machine_lock, wait_for_machine};
pub use state::{Host, STATE_VARIABLE};
