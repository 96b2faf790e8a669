//! Factors of the libraries that the dynamic loader gives `run.sh`.

mod allocator;
mod allocators;
mod libc_tunables;
mod loader;

pub use allocator::AllocatorFactor;
pub use libc_tunables::LibcTunables;
pub use loader::is_musl;

/// Evidence where the witness, a static program, cannot show a factor and no other program can.
const NO_DYNAMIC_PROGRAM: &str =
    "This host has no dynamic `cat` that could show what the loader does.";
