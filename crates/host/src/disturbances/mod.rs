//! What else goes on on this machine: beside a trial, in the kernel's log, and while nothing is measured.

mod disturbance;
mod kernel_log;
mod noise;

pub use disturbance::HostLook;
pub use kernel_log::KernelLog;
pub use noise::measure_noise;
