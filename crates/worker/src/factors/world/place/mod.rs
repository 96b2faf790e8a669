//! Factors of where `run.sh` is in its world.

mod root_filesystem;
mod working_directory_length;

pub use root_filesystem::RootFilesystemFactor;
pub use working_directory_length::WorkingDirectoryLength;
