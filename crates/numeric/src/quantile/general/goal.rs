//! What is to be solved over a level of rows, from where, and what comes of it.

use crate::quantile::general::bands::Limits;
use crate::quantile::general::vertices::Stop;

/// First width of the band in standard errors; what it misses is found and put right.
pub(super) const BAND_WIDTH: f64 = 3.0;

/// Where a search begins: a fit, and the band about it as a function of its width.
pub(super) struct Start<'s> {
    pub coefficients: &'s [f64],
    pub limits: &'s (dyn Fn(f64) -> Limits + Sync),
    /// Whether Newton steps led here, so that more of them are no use.
    pub narrowed: bool,
}

/// What is to be solved over a level.
#[derive(Clone, Copy)]
pub(super) struct Goal<'g> {
    pub tau: f64,
    /// Whether the level has all rows, so that the canonical optimum at tau itself is wanted, with its certificate.
    pub last: bool,
    /// First width of the band in standard errors.
    pub width: f64,
    pub tilt: Option<&'g Tilt>,
}

impl Goal<'_> {
    pub fn of_all(tau: f64) -> Self {
        Self {
            tau,
            last: true,
            width: BAND_WIDTH,
            tilt: None,
        }
    }
}

/// A linear term `size * functional'b` that is added to the loss.
pub(super) struct Tilt {
    pub functional: Vec<f64>,
    pub size: f64,
}

impl Tilt {
    pub fn amount(&self) -> Vec<f64> {
        self.functional
            .iter()
            .map(|value| self.size * value)
            .collect()
    }
}

/// An optimum over the rows of one level.
pub(super) struct Solution {
    pub basis: Vec<usize>,
    pub coefficients: Vec<f64>,
    pub certified: bool,
    pub not_unique: bool,
    /// How the walk ended; at `Widen` the loss, tilted, has no minimum over these rows.
    pub stop: Stop,
    /// Magnitudes of the tilt between which the basis stays optimal.
    pub range: Option<(f64, f64)>,
}
