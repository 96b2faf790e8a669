//! One change to the host, with what is needed to undo it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A change to the host. It is written to the journal before it is made; undoing it needs nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A text is written to a file of the kernel, below `/proc` or `/sys`.
    Setting {
        /// The file.
        path: PathBuf,
        /// What to write to have it as before.
        before: String,
        /// What is written.
        after: String,
    },
    /// A swap area goes out of use.
    SwapOff {
        /// Its device or file.
        path: PathBuf,
        /// Its priority.
        priority: i32,
    },
    /// A file is made and used as swap area.
    SwapFile {
        /// The file; it exists only while it is used.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A factor that the experiment brought along is set.
    UserFactor {
        /// Its name.
        name: String,
        /// Folder with its executables, kept until the change is undone.
        folder: PathBuf,
        /// Level before, as its `verify` told it.
        before: String,
        /// Level that is set.
        after: String,
        /// Time that each of its executables has.
        timeout_s: u64,
    },
}
