//! Models over cells: from a start over vertices to the optimum.

pub mod cell_fit;
mod line_search;
mod model;
mod start;
mod ties;
mod vertex;

pub use cell_fit::{CellFit, FitError};
pub(crate) use cell_fit::{Solution, build_shape, fit_lists, gather_fit, solve_quantile};
pub(crate) use model::{Model, Shape, dot, dot_sizes};
pub(crate) use start::guess_fitted;
pub(crate) use vertex::{End, TIE_SHARE, Walk, add_scaled, partition};
