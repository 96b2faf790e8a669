//! The functions and data of a program, read from its ELF file, in a form in which two builds can be compared.
//!
//! What a table holds of each function does not depend on where the linker put anything: a call is known by the name
//! that it calls, data by their symbol or by what they hold, a jump by the instruction that it reaches. The module
//! [`normal`] states the form for each architecture and what is lost where. Nothing here executes the program, and
//! no content of a file makes it panic.

mod digest;
mod image;
mod names;
mod normal;
mod path;
mod places;
mod read;
mod rows;
mod table;
mod trouble;

pub use digest::digest;
pub use normal::Reference;
pub use path::{read_path, read_path_rows};
pub use places::{Place, find_places};
pub use read::read_table;
pub use rows::{DataRow, Digits, FunctionRow, Names, Rows};
pub use table::{Build, DataObject, FORM, Function, FunctionTable, Library};
pub use trouble::Trouble;
