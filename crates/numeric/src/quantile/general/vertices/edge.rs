//! What a step along an edge does to the rows, many at a time.

use crate::quantile::general::arrays::wide;

/// Rows on an edge: how fast the fit moves there, on which side of it they are, and how far.
pub(crate) struct Edge<'w> {
    pub moved: &'w [f64],
    pub signs: &'w [f64],
    pub residuals: &'w [f64],
    pub shadows: &'w [f64],
    /// Speed that counts as none.
    pub tiny: f64,
}

wide! {
    /// Largest magnitude.
    pub(crate) fn find_largest(numbers: &[f64]) -> f64 {
        let (eights, rest) = numbers.as_chunks::<8>();
        let mut lanes = [0.0; 8];
        for eight in eights {
            for (most, number) in lanes.iter_mut().zip(eight) {
                let size = number.abs();
                *most = if size > *most { size } else { *most };
            }
        }
        lanes.iter().chain(rest).fold(0.0, |most: f64, number| most.max(number.abs()))
    }
}

wide! {
    /// Flags the rows with a residual that the edge meets within its reach.
    pub(crate) fn flag_crossings(edge: &Edge<'_>, reach: f64, flags: &mut [u8]) {
        let rows = edge.moved.iter().zip(edge.signs).zip(edge.residuals).zip(edge.shadows);
        for ((((moved, sign), residual), shadow), flag) in rows.zip(flags) {
            let (speed, distance) = (moved * sign, residual * sign);
            let met = (speed > edge.tiny) & (distance <= reach * speed);
            *flag = u8::from(met & (*shadow == 0.0));
        }
    }
}

wide! {
    /// Takes a step along the edge.
    pub(crate) fn move_fit(residuals: &mut [f64], moved: &[f64], step: f64) {
        for (residual, moved) in residuals.iter_mut().zip(moved) {
            *residual -= step * moved;
        }
    }
}

wide! {
    /// Flags rows beside the basic ones whose residuals are zero up to `share` of the values and the magnitude.
    pub(crate) fn flag_zeros(
        residuals: &[f64],
        signs: &[f64],
        values: &[f64],
        magnitude: f64,
        share: f64,
        flags: &mut [u8],
    ) {
        let rows = residuals.iter().zip(signs).zip(values);
        for (((residual, sign), value), flag) in rows.zip(flags) {
            let zero = share * (value.abs() + magnitude);
            *flag = u8::from((*sign != 0.0) & (residual.abs() <= zero));
        }
    }
}
