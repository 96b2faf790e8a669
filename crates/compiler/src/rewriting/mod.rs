//! What becomes of one call: arguments set, and objects in another order.

mod draws;
mod link_order;
mod optimization;
mod pie;
mod rewrite;
#[cfg(test)]
mod rewrite_tests;
mod symbol_seed;
mod wishes;

pub(crate) use link_order::LinkOrder;
pub(crate) use pie::{WantedPie, is_pie_option, is_static};
pub(crate) use rewrite::{Wanted, rewrite_call};
pub(crate) use symbol_seed::is_symbol_seed;
pub(crate) use wishes::CallWishes;
