//! Which compilers there are, by family and version; the one that a build is made with; its marks in
//! what it made.

mod installed;
mod marks;
mod toolchain;
mod version;

pub(crate) use installed::find_installed;
pub(crate) use marks::read_marks;
pub(crate) use toolchain::{Driver, Toolchain};
pub(crate) use version::CompilerVersion;
