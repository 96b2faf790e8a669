//! What is wanted of all calls of a build.

use std::ffi::OsString;

use super::link_order::LinkOrder;

/// What the levels of a build want of each of its calls; the default leaves a call as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallWishes {
    /// The optimisation level.
    pub optimization: Option<String>,
    /// The order of objects.
    pub link_order: LinkOrder,
    /// Whether executables are to be position-independent.
    pub pie: Option<bool>,
    /// The seed of names that the compiler makes up.
    pub symbol_seed: Option<u64>,
    /// Options to add behind those of the build system.
    pub flags: Vec<OsString>,
    /// The compiler that stands in for all.
    pub compiler: Option<String>,
}
