//! Factors of what is linked.

mod link_order;
mod pie;

pub(super) use link_order::LinkOrderFactor;
pub(super) use pie::Pie;
