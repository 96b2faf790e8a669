//! One trial on this host, from its specification to its record.

mod collect;
mod inside;
mod prepared;
mod record;
mod run;
mod shared_build;
mod shipped;
mod spec_file;
mod worlds;

pub use record::{begin_record, unix_ns};
pub use run::run_trial;
pub use shared_build::build_shared_package;
pub use shipped::{make_build, record_build, run_with_build};
pub use spec_file::{check_spec, read_spec};
