//! Factors that say which processors serve what.

mod irq_affinity;
mod shield;

pub use irq_affinity::IrqAffinity;
pub use shield::{SHIELD, Shield};
