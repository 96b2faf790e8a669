//! The walk from vertex to vertex: independent rows to begin with, edges, and whether a vertex is optimal.

mod crossings;
mod edge;
mod independent_rows;
mod optimum;
mod walk;

pub(crate) use independent_rows::choose_independent;
pub(crate) use walk::{Stop, Walk};
