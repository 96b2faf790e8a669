//! The CPython in this program, without linking it: its functions by name, its structures by public layouts.

mod api;
pub mod build;
mod code;
pub mod frames;
pub mod layout;
pub mod objects;

pub use api::{AllocatorTable, Api, ArenaTable, MEM, OBJ, api, find_api};
pub use code::{keep_code, line_of, name_of, read_text};
