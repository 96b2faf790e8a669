//! Hot kernels of the inference: slices in, values out.
//!
//! Nothing here reads a file, prints, or knows Python. Results do not depend on the number of threads.

pub mod cells;
pub mod classify;
pub mod combinations;
mod draws;
pub mod nested;
pub mod quantile;
pub mod residuals;
pub mod subsets;
pub mod texts;
