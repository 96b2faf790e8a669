//! Command lines of compiler drivers, linkers and archivers, read argument by argument.

mod archiver_arguments;
mod argument;
mod driver_arguments;
mod driver_options;
mod linker_arguments;
mod response_file;

pub(crate) use archiver_arguments::parse_archiver_call;
pub(crate) use argument::{Argument, Role};
pub(crate) use driver_arguments::{DriverCall, Stage, parse_driver_call};
pub(crate) use linker_arguments::{makes_no_executable, parse_linker_call};
pub(crate) use response_file::{expand_response_files, names_response_file, write_response_file};
