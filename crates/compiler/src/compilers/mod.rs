//! Which compilers there are, by family and version; the one that a build is made with; its marks in
//! what it made.

mod cross;
mod installed;
mod marks;
mod toolchain;
mod version;

pub(crate) use cross::name_machine;
pub use cross::{CrossCompiler, find_cross_compilers, find_triplet};
pub(crate) use installed::find_installed;
pub(crate) use marks::read_marks;
pub(crate) use toolchain::{Driver, Toolchain};
pub(crate) use version::CompilerVersion;
