//! Standing in for real programs: the folder of wrappers, and one call of one of them.

mod chain;
mod escape;
mod install;
mod wrapper;

pub(crate) use install::find_wrapped_programs;
pub use install::install_wrappers;
pub use wrapper::run_wrapper;
