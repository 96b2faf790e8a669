//! The best subset of predictors: exact, with an intercept, for many sets of rows at once.
//!
//! All subsets of linearly independent columns are searched (a column that others determine to 8 digits adds no
//! fit and has no coefficient of its own), but for those that a bound excludes. Two subsets tie when their
//! residual sums of squares differ by 1e-8 of the smaller, or by what rounding does (1e-12 of the length of the
//! response); of those that tie the smaller one is returned, then the one with the earlier columns. A sum of
//! squares below 1e-22 of the total is 0: an exact fit. Then larger subsets are not searched.

mod aims;
mod downward;
mod forward;
mod frame;
mod level;
mod products;
mod relations;
mod search;
mod tree;

pub use frame::{MOST_COLUMNS, Table};
pub use search::{
    BestOfSize, Chosen, Criterion, NOT_COUNTED, best_by_criterion, best_of_each, best_of_sizes,
};
