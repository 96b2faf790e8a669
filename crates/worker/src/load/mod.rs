//! The package that runs beside `run.sh`: kept by a process of its own, and reached over a line.

mod background;
mod descendants;
mod keeper;
mod line;

pub use background::{Load, perform_beside};
