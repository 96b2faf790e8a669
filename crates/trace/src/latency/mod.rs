//! The latency of every request: fast ones too, each with what it cost to read the counter taken off.

mod calls;
pub mod clock;
mod growth;

pub use calls::{
    NativeCall, Way, attach, begin, current, mark, note_own_time, prepare, read_faults, record,
    write_native,
};
pub use growth::{grow, released};
