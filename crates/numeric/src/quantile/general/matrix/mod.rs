//! The model matrix of few distinct rows times covariates: its order, sums, products and coordinates.

mod cell_matrix;
mod cell_order;
mod centring;
mod cross_products;
mod frame;
mod matrix_sums;

pub(crate) use cell_matrix::BLOCK;
pub use cell_matrix::CellMatrix;
pub(crate) use cell_order::CellOrder;
pub(crate) use centring::Shifts;
pub use cross_products::weighted_cross_products;
pub use frame::DependentColumn;
pub(crate) use frame::{Frame, invert_columns, solve_exactly};
