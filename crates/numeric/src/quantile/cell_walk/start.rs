//! A point to start the walk from: weighted least squares on the cells' quantiles.

use super::model::{Model, dot};
use super::vertex::add_scaled;
use crate::quantile::sorting::target_below;

/// Fitted values (K, less the origin) near the solution; the cells' own quantiles if the fit breaks down.
///
/// Near its minimum a cell's loss is half its weight times its density times the squared distance from
/// the cell's quantile; the sum of these is what is minimised.
pub(crate) fn guess_fitted(model: &Model<'_>, tau: f64) -> Vec<f64> {
    let lists = &model.lists;
    let mut quantiles = vec![0.0; lists.cells()];
    let mut weights = vec![0.0; lists.cells()];
    for &cell in &model.occupied {
        let length = lists.cell(cell).len();
        if length == 0 {
            continue;
        }
        let place = lists.place_of(cell, target_below(tau, lists.totals[cell]));
        quantiles[cell] = model.value(cell, place);
        let reach = ((length as f64).powf(2.0 / 3.0) / 2.0) as usize + 1;
        let (from, to) = (place.saturating_sub(reach), (place + reach).min(length - 1));
        let width = model.value(cell, to) - model.value(cell, from);
        let weight = lists.before(cell, to) - lists.before(cell, from);
        weights[cell] = weight / width;
    }
    let most = (weights.iter().copied().filter(|weight| weight.is_finite())).fold(0.0f64, f64::max);
    for &cell in &model.occupied {
        // A cell without spread where it matters is one to hit.
        if !weights[cell].is_finite() || weights[cell] == 0.0 {
            weights[cell] = if most > 0.0 { most } else { lists.totals[cell] };
        }
    }
    let scale = weights.iter().copied().fold(0.0f64, f64::max);
    if scale > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= scale);
    }
    match solve(model, &weights, &quantiles) {
        Some(beta) => {
            for &cell in &model.occupied {
                quantiles[cell] = dot(model.row(cell), &beta);
            }
            quantiles
        }
        None => quantiles,
    }
}

/// Weighted least squares by the normal equations; good enough for a start.
fn solve(model: &Model<'_>, weights: &[f64], values: &[f64]) -> Option<Vec<f64>> {
    let p = model.parameters;
    let mut normal = vec![0.0; p * p];
    let mut right = vec![0.0; p];
    for &cell in &model.occupied {
        let row = model.row(cell);
        add_scaled(&mut right, row, weights[cell] * values[cell]);
        for (at, x) in row.iter().enumerate() {
            let factor = weights[cell] * x;
            if factor != 0.0 {
                add_scaled(&mut normal[at * p..=at * p + at], row, factor);
            }
        }
    }
    // Cholesky, then forwards and backwards.
    for at in 0..p {
        for before in 0..at {
            let sum = dot(
                &normal[at * p..at * p + before],
                &normal[before * p..before * p + before],
            );
            normal[at * p + before] = (normal[at * p + before] - sum) / normal[before * p + before];
        }
        let own = &normal[at * p..at * p + at];
        let left = normal[at * p + at] - dot(own, own);
        if !(left > 1e-13 * normal[at * p + at] && left.is_finite()) {
            return None;
        }
        normal[at * p + at] = left.sqrt();
    }
    for at in 0..p {
        let sum = dot(&normal[at * p..at * p + at], &right[..at]);
        right[at] = (right[at] - sum) / normal[at * p + at];
    }
    for at in (0..p).rev() {
        let mut left = right[at];
        for later in at + 1..p {
            left -= normal[later * p + at] * right[later];
        }
        right[at] = left / normal[at * p + at];
    }
    right.iter().all(|x| x.is_finite()).then_some(right)
}
