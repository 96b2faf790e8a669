//! Factors of what is compiled.

mod compiler_flags;
mod compiler_version;
mod flags;
mod optimization;
mod symbol_seed;

pub(super) use compiler_flags::CompilerFlags;
pub(super) use compiler_version::CompilerVersionFactor;
pub(super) use optimization::Optimization;
pub(super) use symbol_seed::SymbolSeed;
