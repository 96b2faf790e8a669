//! Rows near a fit and the sums of all others, over subsets of the rows.

mod band_limits;
mod check;
mod levels;
mod line;
mod passes;

pub(crate) use band_limits::{Limits, Spread};
pub(crate) use check::{NewFit, find_wrong};
pub(crate) use levels::{Level, build_levels, choose_lasting};
pub(crate) use passes::{cut_bands, sum_above, sum_losses};
