//! Linear quantile regression, exact.
//!
//! The task: minimise the sum of check functions `rho_tau(y_i - x_i'beta)`, with
//! `rho_tau(u) = u (tau - [u < 0])` (Koenker and Bassett 1978).
//!
//! # Which solution
//! The optimal solutions form a face of a polyhedron, often a large one on balanced designs. Ours is
//! the limit from below: `beta(tau)` is the limit of the solutions as `tau'` rises to `tau`. In a
//! saturated model that is the `ceil(tau n_c)`-th order statistic of each cell, the left-continuous
//! inverse of the distribution function. In general the objective at `tau - eps` is that at `tau` plus
//! `eps` times the total of the fitted values, up to a constant, so ours is the optimal solution with
//! the smallest total of fitted values over all observations. If several share that total, it is the
//! one whose fitted values are lexicographically smallest in the order of the cells. Nothing in this
//! depends on the coding of the design, on labels or on the order of the rows.

mod bands;
mod bucket_sort;
pub mod cell_fit;
pub mod general;
pub mod in_memory;
mod leaves;
mod line_search;
mod lists;
mod model;
pub mod order;
mod passes;
pub mod retargeted;
mod scale;
pub mod sorted;
mod start;
pub mod stream;
mod sums;
mod ties;
mod vertex;
