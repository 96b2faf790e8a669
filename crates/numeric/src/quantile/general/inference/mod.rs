//! How sure the coefficients are: refits with random weights, inverted rank tests.

mod bootstrap;
mod rank_tests;

pub use bootstrap::{Scheme, bootstrap_general};
pub use rank_tests::invert_rank_tests;
