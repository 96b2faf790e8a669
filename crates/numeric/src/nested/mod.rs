//! Measurements nested in executions, which are nested in builds (Kalibera and Tuma, EPEW 2006).
//!
//! l builds, m executions of each, n measurements in each execution; none of it has to be balanced.

mod comparisons;
mod groups;
mod impact;
mod layout;
mod means;
mod resampled;

pub use comparisons::{Comparisons, UNDEFINED, compare_single_builds, simulate_comparisons};
pub use impact::{Impact, resample_impact};
pub use layout::Nesting;
pub use means::{MeanSquares, NestedMeans, nested_mean_squares, nested_means};
pub use resampled::{Differences, resample_builds};
