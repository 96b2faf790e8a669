//! Booting into another kernel, or with other parameters of it, for one trial.
//!
//! What is booted so is borrowed: the running kernel starts the other one itself (kexec), so that nothing on a
//! disk changes and the next ordinary boot is the machine's own. A mark on the command line, which the kernel
//! ignores, tells a borrowed boot from the machine's own, whatever became of the worker that asked for it.

mod assignments;
mod kernels;
mod loading;
mod reboots;
mod state;
mod wanted;

pub use kernels::list_kernels;
pub use loading::{boot_into, check_boots};
pub use state::BootState;
pub use wanted::{
    BOOT_PARAMETERS, DEFAULT_PARAMETERS, KERNEL_RELEASE, WantedBoot, check_parameters,
};
