//! What else goes on on this machine: beside a trial, in the kernel's log, and while nothing is measured.

mod disturbance;
mod kernel_log;
mod noise;
mod processes;
mod quiet;

pub use disturbance::HostLook;
pub use kernel_log::KernelLog;
pub use noise::measure_noise;
pub use processes::{OtherProcesses, ProcessLook};
pub use quiet::wait_for_quiet;
