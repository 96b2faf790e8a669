//! Quantile regression over cells, through the crate's surface.

mod enumeration;
mod equivariance;
mod passes;
mod planted;
