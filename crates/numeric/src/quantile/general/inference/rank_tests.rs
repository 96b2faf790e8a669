//! Confidence intervals by inversion of rank tests.
//!
//! The rank score test of `beta_j = xi` (Gutenbrunner, Jureckova, Koenker and Portnoy 1993) has the statistic
//! `T(xi) = x_j'(a(xi) - (1 - tau)) / sqrt(tau (1 - tau) q_j)`, where a are the rank scores of the model without
//! column j fitted to `y - xi x_j`, and q_j the sum of squares of what the other columns leave of column j. It is
//! a decreasing step function of xi, and the interval is where it stays within the cut-off (Koenker 1994).
//! Rank scores with `x_j'(a - (1 - tau)) = theta` are those of the whole model with `theta b_j` added to the
//! loss, and the minimiser's b_j is the xi at which T passes theta: one fit for each limit.

use rayon::prelude::*;

use crate::quantile::general::arrays::dot;
use crate::quantile::general::bands::Spread;
use crate::quantile::general::fit::Prepared;
use crate::quantile::general::goal::{BAND_WIDTH, Goal, Solution, Start, Tilt};
use crate::quantile::general::input::{GeneralError, check_quantiles};
use crate::quantile::general::matrix::{CellMatrix, solve_exactly, weighted_cross_products};
use crate::quantile::general::refine::refine;
use crate::quantile::general::vertices::Stop;

/// Lower and upper limits, each T x p; infinite where no value is rejected.
///
/// `cutoff` is the critical value of the statistic, normal or Student's. `densities` (T x n), when given, are those
/// of the responses at their quantiles: then q_j takes the projection weighted by them, which makes the
/// test valid for errors that are not identically distributed (Koenker and Machado 1999). With `interpolate`
/// a limit lies between the last value that is not rejected and the first that is, by linear interpolation of
/// the statistic (Koenker 1994); without, it is the first that is.
///
/// # Errors
/// As `fit_general`, and when the densities do not fit.
pub fn invert_rank_tests(
    matrix: CellMatrix<'_>,
    values: &[f64],
    quantiles: &[f64],
    cutoff: f64,
    densities: Option<&[f64]>,
    interpolate: bool,
) -> Result<(Vec<f64>, Vec<f64>), GeneralError> {
    check_quantiles(quantiles)?;
    let (rows, p) = (matrix.rows(), matrix.columns());
    if densities.is_some_and(|densities| densities.len() != rows * quantiles.len()) {
        return Err(GeneralError::Input(
            "densities need n numbers for each quantile".into(),
        ));
    }
    if !(cutoff > 0.0 && cutoff.is_finite()) {
        return Err(GeneralError::Input(format!(
            "the cut-off {cutoff} is not a positive number"
        )));
    }
    let prepared = Prepared::new(matrix, values, None)?;
    let ones = vec![1.0; rows];
    let plain = prepared
        .frame
        .products(&weighted_cross_products(&prepared.levels[0].matrix, &ones));
    let limits: Vec<Vec<(f64, f64)>> = quantiles
        .par_iter()
        .enumerate()
        .map(|(at, &tau)| {
            let weighted = densities.map(|densities| {
                let own = prepared.arrange(&densities[at * rows..(at + 1) * rows]);
                prepared
                    .frame
                    .products(&weighted_cross_products(&prepared.levels[0].matrix, &own))
            });
            let full = prepared.solve(tau).0;
            let all = &prepared.levels[0];
            let spread = Spread::new(all, &full.coefficients);
            (0..p)
                .into_par_iter()
                .map(|column| {
                    let functional = find_functional(&prepared, column);
                    let squares = sum_rest(
                        &prepared,
                        &functional,
                        &plain,
                        weighted.as_deref().unwrap_or(&plain),
                    );
                    let scale = (tau * (1.0 - tau) * squares).sqrt();
                    let limit = |side: f64| {
                        let tilt = Tilt {
                            functional: functional.clone(),
                            size: -side * cutoff * scale,
                        };
                        find_limit(&prepared, (&full, &spread), tau, column, &tilt, interpolate)
                    };
                    (limit(-1.0), limit(1.0))
                })
                .collect()
        })
        .collect();
    Ok(limits.into_iter().flatten().unzip())
}

/// The coefficient of the matrix as given, as a function of those of the centred matrix.
fn find_functional(prepared: &Prepared<'_>, column: usize) -> Vec<f64> {
    (0..prepared.frame.columns)
        .map(|other| {
            let mut unit = vec![0.0; prepared.frame.columns];
            unit[other] = 1.0;
            prepared.shifts.undo(&mut unit);
            unit[column]
        })
        .collect()
}

/// Sum of squares of what the weighted projection on the other columns leaves of the column.
fn sum_rest(prepared: &Prepared<'_>, functional: &[f64], plain: &[f64], weighted: &[f64]) -> f64 {
    let p = functional.len();
    let mut own = vec![0.0; p];
    prepared.frame.row_to_frame(functional, &mut own);
    let Some(mut rest) = solve_exactly(weighted, &own) else {
        return f64::NAN;
    };
    let length = dot(&rest, &own);
    rest.iter_mut().for_each(|value| *value /= length);
    plain
        .chunks(p)
        .zip(&rest)
        .map(|(row, value)| value * dot(row, &rest))
        .sum()
}

/// Relative distance beyond the end of a basis's range at which the next basis is asked for.
const STEP: f64 = 1e-9;
/// Bases at one and the same value of the coefficient, which ties in the data make.
const MOST_BASES: usize = 50;

fn find_limit(
    prepared: &Prepared<'_>,
    (full, spread): (&Solution, &Spread<'_>),
    tau: f64,
    column: usize,
    tilt: &Tilt,
    interpolate: bool,
) -> f64 {
    let centre = prepared.restore(prepared.polish(full))[column];
    let sign = tilt.size.signum();
    let solve = |magnitude: f64, basis: &[usize]| {
        let tilt = Tilt {
            functional: tilt.functional.clone(),
            size: sign * magnitude,
        };
        let goal = Goal {
            tau,
            last: true,
            width: BAND_WIDTH + 3.0,
            tilt: Some(&tilt),
        };
        let start = Start {
            coefficients: &full.coefficients,
            limits: &|width| spread.limits(tau, width),
            narrowed: false,
        };
        let all = &prepared.levels[0];
        let mut solution = refine(&prepared.frame, all, Some(&start), &goal, basis, &mut 0);
        solution.basis.sort_unstable();
        let value = if solution.stop == Stop::Widen {
            -f64::INFINITY * sign
        } else if solution.certified {
            prepared.restore(prepared.polish(&solution))[column]
        } else {
            f64::NAN
        };
        (value, solution)
    };
    let cut = tilt.size.abs();
    let (outer, solution) = solve(cut, &full.basis);
    let Some((mut near, mut far)) = solution.range.filter(|_| interpolate && outer.is_finite())
    else {
        return outer;
    };
    let same = |value: f64| (value - outer).abs() <= 1e-10 * (outer - centre).abs();
    // The statistic jumps from `near` to `far` at `outer`; `inner` is where it last jumped before.
    let mut inner = outer;
    let mut basis = solution.basis.clone();
    for _ in 0..MOST_BASES {
        if near <= 0.0 {
            break;
        }
        let (value, next) = solve(near * (1.0 - STEP), &basis);
        inner = value;
        if !same(value) {
            break;
        }
        near = next.range.map_or(near, |range| range.0.min(near));
        basis = next.basis;
    }
    basis = solution.basis;
    for _ in 0..MOST_BASES {
        let (value, next) = solve(far * (1.0 + STEP), &basis);
        if !same(value) {
            break;
        }
        far = next.range.map_or(far, |range| range.1.max(far));
        basis = next.basis;
    }
    if near > 0.0 && far > near && inner.is_finite() {
        inner + (outer - inner) * (cut - near) / (far - near)
    } else {
        outer
    }
}
