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

mod cell_walk;
pub mod general;
pub mod in_memory;
pub mod retargeted;
pub mod sorted;
mod sorting;
mod streaming;

pub use cell_walk::cell_fit;
pub use sorting::order;
pub use streaming::stream;
