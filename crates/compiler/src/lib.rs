//! The compiler wrapper: sets build factors whatever the build system passed.
//!
//! [`install_wrappers`] puts a folder of wrappers before the real compilers, linkers and archivers;
//! each wrapper is the worker's own binary, which calls [`run_wrapper`] when it is started under
//! such a name. The wrapper rewrites the arguments, appends one line to a log and becomes the real
//! program. Afterwards [`read_compiler_log`] sums the log up, reads the executables that were linked,
//! and [`observe_build_factors`] says which levels the build really had.
//!
//! A compilation that goes around its wrapper is seen by the wrapper of `as`, which changes nothing,
//! if it calls that: clang has its assembler within itself, and stays unseen.
//!
//! ```text
//! <dir>/datamill-worker       the binary
//! <dir>/bin/gcc               -> ../datamill-worker, first in PATH
//! <dir>/compiler.json         what is asked for
//! <dir>/compiler.log          one JSON line for each call
//! ```

mod arguments;
mod build_log;
mod compilers;
mod elf_file;
mod factors;
mod program;
mod rewriting;
mod settings;
mod wrapping;

pub use build_log::{BuildLook, read_compiler_log};
pub use compilers::{CrossCompiler, find_cross_compilers, find_triplet};
pub use factors::{is_listed_factor, lacks_build_level, observe_build_factors, offer_factors};
pub use program::is_wrapped_program;
pub use settings::WrapperSettings;
pub use wrapping::{install_wrappers, run_wrapper};
