//! Quantiles and fits of data in memory, without sorting where passes over them are faster.

use super::sorted::SortedCells;
use crate::quantile::cell_walk::{CellFit, FitError};
use crate::quantile::streaming::{CellStream, Found, Goal, StreamError};

/// Fewer rows, or fewer to a cell, are sorted at once.
const WORTH_SELECTING: usize = 1 << 15;
const WORTH_BANDS: usize = 1 << 19;
const WORTH_PASSES_EACH: usize = 1 << 9;
/// Passes after which sorting everything is the better bargain.
const MOST_PASSES: usize = 4;

/// For each quantile (T) and cell (K) the order statistic number `ceil(tau n_c)`; NaN for an empty cell.
///
/// # Errors
/// When a quantile is not inside (0, 1).
///
/// # Panics
/// When the slices differ in length or a cell number is not below `cells`.
pub fn select_cell_quantiles(
    cell_of_row: &[u32],
    values: &[f64],
    cells: usize,
    quantiles: &[f64],
) -> Result<Vec<f64>, FitError> {
    if let Some(&tau) = quantiles.iter().find(|&&tau| !(tau > 0.0 && tau < 1.0)) {
        return Err(FitError::Quantile(tau));
    }
    match run_passes(cell_of_row, values, cells, quantiles, Goal::Select)? {
        Some(Found::Selected(selected)) => Ok(selected),
        _ => Ok(SortedCells::new(cell_of_row, values, cells).select(quantiles)),
    }
}

/// Fits a model with one coefficient for each column of `design` (K × p, by rows) at each quantile.
///
/// # Errors
/// As [`SortedCells::fit`].
///
/// # Panics
/// When the slices differ in length, a cell number is not below K, or `design` is not K × p.
pub fn fit_cells(
    cell_of_row: &[u32],
    values: &[f64],
    design: &[f64],
    parameters: usize,
    quantiles: &[f64],
) -> Result<CellFit, FitError> {
    let cells = design.len().checked_div(parameters).unwrap_or(0);
    let goal = Goal::Fit {
        design: design.to_vec(),
        parameters,
    };
    match run_passes(cell_of_row, values, cells, quantiles, goal)? {
        Some(Found::Fitted(fit)) => Ok(fit),
        _ => SortedCells::new(cell_of_row, values, cells).fit(design, parameters, quantiles),
    }
}

/// None when passes do not pay.
fn run_passes(
    cell_of_row: &[u32],
    values: &[f64],
    cells: usize,
    quantiles: &[f64],
    goal: Goal,
) -> Result<Option<Found>, FitError> {
    let n = values.len();
    let worth = match goal {
        Goal::Select => WORTH_SELECTING,
        Goal::Fit { .. } => WORTH_BANDS,
    };
    if n < worth || n / WORTH_PASSES_EACH < cells {
        return Ok(None);
    }
    let buckets = (n / 16).min(1 << 16) / cells.max(1);
    let bits = buckets.max(16).ilog2();
    let mut stream = CellStream::with_bits(cells, quantiles, goal, n, bits).remembering_rows();
    for _ in 0..MOST_PASSES {
        match stream.plan() {
            Ok(true) => {}
            Ok(false) => return Ok(stream.finish().ok()),
            Err(StreamError::Fit(error)) => return Err(error),
            Err(_) => return Ok(None),
        }
        if stream.read(cell_of_row, values).is_err() {
            return Ok(None);
        }
    }
    Ok(None)
}
