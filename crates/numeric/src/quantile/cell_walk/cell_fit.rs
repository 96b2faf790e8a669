//! Quantile regression of a model whose design has one row for each of K cells.

use std::fmt;

use rayon::prelude::*;

use super::model::{Model, Shape, dot};
use super::start::guess_fitted;
use super::vertex::{End, Walk};
use crate::quantile::sorting::Lists;

/// Solutions of a model with p columns over K cells at T quantiles.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFit {
    /// Coefficients (T × p).
    pub coefficients: Vec<f64>,
    /// Fitted values (T × K), also of cells without data.
    pub fitted: Vec<f64>,
    /// Sum of check functions (T), in the unit of the values.
    pub objective: Vec<f64>,
    /// Steps of the walk (T).
    pub pivots: Vec<u64>,
    /// Whether counts prove the solution optimal (T).
    pub certified: Vec<bool>,
    /// Whether counts also prove that there is no other solution (T).
    pub unique: Vec<bool>,
    /// Cells of which the solution interpolates a value (T × p), ascending.
    pub basis: Vec<u32>,
}

/// Why a model cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FitError {
    /// The design's columns are not linearly independent over the cells that have data.
    Dependent,
    /// Not strictly between 0 and 1.
    Quantile(f64),
}

impl fmt::Display for FitError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dependent => write!(
                to,
                "the columns of the design are not linearly independent over the cells with data"
            ),
            Self::Quantile(tau) => write!(to, "the quantile {tau} is not between 0 and 1"),
        }
    }
}

impl std::error::Error for FitError {}

/// One quantile's solution; None when it may lie beyond the lists.
pub(crate) struct Solution {
    /// Coefficients of the scaled columns, for values less `origin`.
    pub beta: Vec<f64>,
    pub origin: f64,
    pub basis: Vec<usize>,
    pub pivots: u64,
    pub certified: bool,
    pub unique: bool,
}

/// Fits all quantiles; `loss(cell, tau, origin, fitted)` is a cell's sum of check functions when its fitted value
/// is `origin + fitted`.
///
/// # Panics
/// When `design` does not have `parameters` numbers for each cell.
pub(crate) fn fit_lists(
    lists: &Lists<'_>,
    design: &[f64],
    parameters: usize,
    quantiles: &[f64],
    loss: impl Fn(usize, f64, f64, f64) -> f64,
) -> Result<CellFit, FitError> {
    let shape = build_shape(lists.totals, design, parameters, quantiles)?;
    let model = Model::new(&shape, *lists);
    let solve = |&tau: &f64| solve_quantile(&model, tau, &guess_fitted(&model, tau));
    let solutions: Vec<Option<Solution>> = if model.occupied.len() * parameters <= 4096 {
        quantiles.iter().map(solve).collect()
    } else {
        quantiles.par_iter().map(solve).collect()
    };
    let solutions: Vec<Solution> = solutions.into_iter().flatten().collect();
    assert_eq!(
        solutions.len(),
        quantiles.len(),
        "whole lists hold every solution"
    );
    Ok(gather_fit(&shape, design, quantiles, solutions, loss))
}

pub(crate) fn build_shape(
    totals: &[f64],
    design: &[f64],
    parameters: usize,
    quantiles: &[f64],
) -> Result<Shape, FitError> {
    assert_eq!(
        design.len(),
        totals.len() * parameters,
        "one row of the design for each cell"
    );
    if let Some(&tau) = quantiles.iter().find(|&&tau| !(tau > 0.0 && tau < 1.0)) {
        return Err(FitError::Quantile(tau));
    }
    if parameters == 0 {
        return Err(FitError::Dependent);
    }
    Shape::new(totals, design, parameters).ok_or(FitError::Dependent)
}

pub(crate) fn gather_fit(
    shape: &Shape,
    design: &[f64],
    quantiles: &[f64],
    solutions: Vec<Solution>,
    loss: impl Fn(usize, f64, f64, f64) -> f64,
) -> CellFit {
    let parameters = shape.parameters;
    let mut fit = CellFit {
        coefficients: Vec::with_capacity(quantiles.len() * parameters),
        fitted: Vec::with_capacity(quantiles.len() * design.len() / parameters),
        objective: Vec::with_capacity(quantiles.len()),
        pivots: Vec::with_capacity(quantiles.len()),
        certified: Vec::with_capacity(quantiles.len()),
        unique: Vec::with_capacity(quantiles.len()),
        basis: Vec::with_capacity(quantiles.len() * parameters),
    };
    for (&tau, solution) in quantiles.iter().zip(solutions) {
        let coefficients = shape.unscale(&solution.beta, solution.origin);
        let mut fitted: Vec<f64> = (design.chunks_exact(parameters))
            .map(|row| dot(row, &coefficients))
            .collect();
        let mut objective = 0.0;
        for &cell in &shape.occupied {
            let centred = dot(shape.row(cell), &solution.beta);
            objective += loss(cell, tau, solution.origin, centred);
            fitted[cell] = centred + solution.origin;
        }
        fit.objective.push(objective.max(0.0));
        fit.coefficients.extend(coefficients);
        fit.fitted.extend(fitted);
        fit.pivots.push(solution.pivots);
        fit.certified.push(solution.certified);
        fit.unique.push(solution.unique);
        fit.basis
            .extend(solution.basis.iter().map(|&cell| cell as u32));
    }
    fit
}

impl Shape {
    /// Fitted values of the occupied cells (K; 0 elsewhere).
    pub(crate) fn predict(&self, solution: &Solution, cells: usize) -> Vec<f64> {
        let mut fitted = vec![0.0; cells];
        for &cell in &self.occupied {
            fitted[cell] = dot(self.row(cell), &solution.beta) + solution.origin;
        }
        fitted
    }
}

/// Walks from one start, and again where counts do not prove the end optimal.
const ATTEMPTS: usize = 4;

/// Walks to the solution of one quantile from near `start` (K fitted values, less the model's origin).
///
/// None when the solution may lie beyond the lists.
pub(crate) fn solve_quantile(model: &Model<'_>, tau: f64, start: &[f64]) -> Option<Solution> {
    let mut order: Vec<usize> = (model.occupied.iter().copied())
        .filter(|&cell| !model.lists.cell(cell).is_empty())
        .collect();
    let weight = |cell: usize| model.lists.totals[cell];
    order.sort_by(|&one, &other| weight(other).total_cmp(&weight(one)));
    let basis = model.choose_basis(order.iter().copied())?;
    let mut walk = Walk::new(model, tau, basis.clone(), start)?;
    let (mut certified, mut unique) = (false, false);
    for left in (0..ATTEMPTS).rev() {
        let end = walk.run();
        if end == End::Outside {
            return None;
        }
        (certified, unique) = walk.certify();
        certified &= end == End::Optimal;
        if certified || left == 0 {
            break;
        }
        // Rounding has led it astray: on from where it stands, or at last from another point.
        let pivots = walk.pivots;
        walk = if left > 1 {
            Walk::new(model, tau, walk.basis.clone(), &walk.fitted)?
        } else {
            Walk::new(model, tau, basis.clone(), &guess_fitted(model, tau))?
        };
        walk.pivots = pivots;
    }
    let (basis, beta, origin) = settle(&walk)?;
    Some(Solution {
        beta,
        origin,
        basis,
        pivots: walk.pivots,
        certified,
        unique: certified && unique,
    })
}

/// The vertex in terms of its first independent cells, so that the way to it leaves no trace in the digits.
fn settle(walk: &Walk<'_, '_>) -> Option<(Vec<usize>, Vec<f64>, f64)> {
    let model = walk.model;
    let touching = (model.occupied.iter().copied()).filter(|&cell| {
        walk.is_basic(cell) || {
            let (from, to) = walk.tied_places(cell);
            from < to
        }
    });
    let mut basis = model.choose_basis(touching.collect::<Vec<_>>().into_iter())?;
    basis.sort_unstable();
    let mut values: Vec<f64> = (basis.iter())
        .map(|&cell| {
            let (from, to) = walk.tied_places(cell);
            (model.lists.cell(cell)[from..to].iter().copied())
                .min_by(|one, other| {
                    let distance = |value: f64| (value - model.origin - walk.fitted[cell]).abs();
                    distance(*one).total_cmp(&distance(*other))
                })
                .unwrap_or(walk.fitted[cell] + model.origin)
        })
        .collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let origin = if model.helps_to_subtract(low, high) {
        values[0]
    } else {
        0.0
    };
    values.iter_mut().for_each(|value| *value -= origin);
    let p = model.parameters;
    let inverse = model.invert(&basis)?;
    let apply = |values: &[f64]| {
        let mut beta = vec![0.0; p];
        for (column, &value) in inverse.chunks_exact(p).zip(values) {
            super::vertex::add_scaled(&mut beta, column, value);
        }
        beta
    };
    let mut beta = apply(&values);
    let residuals: Vec<f64> = (basis.iter().zip(&values))
        .map(|(&cell, value)| value - dot(model.row(cell), &beta))
        .collect();
    for (coefficient, correction) in beta.iter_mut().zip(apply(&residuals)) {
        *coefficient += correction;
    }
    Some((basis, beta, origin))
}
