//! The CPython in this program, without linking it: its functions by name, its structures by public layouts.

mod api;
pub mod build;
mod code;
pub mod frames;
pub mod layout;
mod lines;
pub mod objects;

pub use api::{AllocatorTable, Api, ArenaTable, MEM, OBJ, api, find_api};
pub use code::{keep_code, name_of, read_text};
pub use lines::{ask_for_line, line_in_kept};
