//! Allocation tracing inside the traced program.
//!
//! The dynamic linker loads this library into each program of a traced tree. Where there is a CPython in it, the
//! library waits for that interpreter to begin its program, puts itself around the tables of the object allocator,
//! and counts in a file that the observer has mapped as well: what was counted is there however the program ends.
//!
//! Nothing of CPython is linked. Functions are found by name when the program runs, layouts are those of public
//! headers ([`python::layout`]), and each is checked against the interpreter at hand before it is used.

mod allocator;
mod begin;
mod events;
mod executed;
mod forks;
mod latency;
mod ledger;
mod native;
mod own;
mod pending;
mod python;
mod readable;
mod record;
mod sites;
mod spin;
mod turns;

/// Called by the dynamic linker before the program's own code.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = begin::on_load;

/// Called by the dynamic linker when the program ends by itself.
#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOADED: extern "C" fn() = begin::on_exit;

/// Begin counting, for programs that say where (`datamill.allocators.region`).
///
/// Returns 1 when this call began it, 0 when there was nothing to begin.
#[unsafe(no_mangle)]
pub extern "C" fn datamill_trace_enable() -> libc::c_int {
    libc::c_int::from(begin::enable_region())
}

/// End what [`datamill_trace_enable`] began.
///
/// Returns 1 when this call ended it, 0 when there was nothing to end.
#[unsafe(no_mangle)]
pub extern "C" fn datamill_trace_disable() -> libc::c_int {
    libc::c_int::from(begin::disable_region())
}
