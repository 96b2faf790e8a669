//! Data in batches that pass several times: counted, then known value by value where it matters.

mod bands;
mod leaves;
mod passes;
pub mod stream;

pub use stream::{CellStream, Found, Goal, StreamError};
