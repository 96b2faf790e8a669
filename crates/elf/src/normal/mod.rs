//! The form in which code is compared: what an instruction does, without where anything lies.
//!
//! | part of an instruction | in the form |
//! |---|---|
//! | call or jump to another function | the stem of its symbol, and how far into it |
//! | jump inside the function | the number of the instruction that it reaches |
//! | address of named data | the stem of the symbol, and how far into it |
//! | address of a nameless constant | the text, the table of jumps, or as many bytes as are read; else all up to the next |
//! | text that is the whole path of a source file | the file's name, since folders differ between machines |
//! | address of other nameless data | the section's name; of `.data` also what it holds up to the next |
//! | word that the loader fills | what it will hold |
//! | instruction that does nothing | nothing, since compilers align loops with them |
//! | all else | its bytes |
//!
//! A *line* is a constant from 1 to 1,000,000 that is moved into an argument of a call which in the same stretch of
//! code also gets the name of a source file: what `__LINE__` beside `__FILE__` becomes. Any other constant stays, for
//! a count that changed from 5 to 6 is not a line.
//!
//! Where the linker fixed addresses (no position-independent program), a number that happens to be the address of
//! something is taken for it: a changed constant is then seen as another address, but one that only looks like an
//! address may seem to change when data move.
//!
//! Lost: on aarch64 where tables of jumps lead; on arm and riscv64 addresses that are put together in ways that
//! `arm` and `riscv` do not follow, so that moved data may look like a change there, and what a nameless table holds there
//! after its first 8 bytes; everywhere what nameless constants with pointers hold, and the entries of a table of jumps
//! after the second where no comparison before the jump says how many there are.
//!
//! Where a nameless table ends nothing says. It is taken to go up to the next place whose address code takes or data
//! hold, at most 4096 bytes, without zeros at its end: code may seem to change where something behind it does that is only
//! read or never referred to. What is only read ends nothing, since it may lie within the table; an address within it that
//! is taken does. A text of Rust ends so only where a constant of the code says that it is as long.

mod aarch64;
mod arm;
mod data;
mod extents;
mod form;
mod lines;
mod loops;
mod riscv;
mod texts;
mod x86;

pub(crate) use data::{Content, content_of};
pub(crate) use extents::{add_held, list_starts};
pub use form::Reference;
pub(crate) use form::{Form, Read, Used};

use crate::image::Machine;
use crate::image::layout::Layout;

/// Reads the function of that index.
pub(crate) fn read_function(layout: &Layout<'_>, index: usize, form: &mut Form) -> Read {
    let place = &layout.functions[index];
    let length = usize::try_from(place.end - place.start).unwrap_or(0);
    let section = layout.image.bytes_from(place.start).unwrap_or_default();
    let code = &section[..length.min(section.len())];
    form.begin(index, place, code.len());
    match layout.image.machine {
        Machine::X86_64 => x86::read(layout, section, code.len(), place.start, 64, form),
        Machine::I386 => x86::read(layout, section, code.len(), place.start, 32, form),
        Machine::Aarch64 => aarch64::read(layout, code, place.start, form),
        Machine::Arm => arm::read(layout, code, place.start, place.thumb, form),
        Machine::Riscv64 => riscv::read(layout, code, place.start, form),
    }
    form.finish()
}

/// Functions of the compiler and the C library that look at where sections begin and end.
///
/// Whatever data come first in the next section lie at the same address, so that elsewhere it means them.
fn uses_boundaries(symbol: &str) -> bool {
    const FUNCTIONS: [&str; 13] = [
        "deregister_tm_clones",
        "register_tm_clones",
        "__run_exit_handlers",
        "__minimal_malloc",
        "__libc_start_main",
        "__libc_start_main_impl",
        "__libc_start_call_main",
        "__libc_csu_init",
        "__libc_setup_tls",
        "_dl_relocate_static_pie",
        "_dl_non_dynamic_init",
        "call_init",
        "call_fini",
    ];
    FUNCTIONS.contains(&symbol)
}
