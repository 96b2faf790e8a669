//! The values of each cell in order: buckets, sorted lists, sums over them.

mod bucket_sort;
mod lists;
pub mod order;
mod scale;
mod sums;

pub(crate) use bucket_sort::{Scratch, sort_cells, sort_values};
pub(crate) use lists::Lists;
pub(crate) use order::{key_of, value_of};
pub use order::{quantile_rank, target_below};
pub(crate) use scale::{Scale, find_scales};
pub(crate) use sums::BlockSums;
