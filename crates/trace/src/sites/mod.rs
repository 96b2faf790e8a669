//! Which calls of the allocator serve the table of a list, a dictionary or a set.
//!
//! `list_resize`, `dictresize` and `set_table_resize` are inlined, cloned and nameless in most builds. What remains
//! is the call: its return address, with that of its caller and so on where one is not enough (`new_keys_object`
//! makes tables for new dictionaries as well as for those that grow). A new chain of return addresses is *asked*: a
//! container is looked for in registers and stack, and whether its table has become the block that was returned.
//! Three answers that agree make a chain trusted; trusted chains are asked again now and then.

pub mod chain;
pub mod scan;
mod table;

pub use table::{Answer, Site, Verdict, classify, learn, recall};
