//! Sums over residuals.

use datamill_numeric::residuals;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::cells::check_rows;

type Sums = (f64, f64, f64, f64, f64, f64, f64, f64);

/// Mean position of the rows of each cell, counted from the middle of all.
#[pyfunction]
fn mean_positions<'py>(
    py: Python<'py>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    cells: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let rows = cell_of_row.as_slice()?;
    check_rows(rows, rows.len(), cells)?;
    Ok(py
        .detach(|| residuals::mean_positions(rows, cells))
        .into_pyarray(py))
}

/// Σe², Σe³, Σe⁴, the largest e², Σ of neighbours' products and squared steps, of e times what the
/// model leaves of its position, and of squares of the latter.
#[pyfunction]
fn sum_residuals(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    cell_of_row: PyReadonlyArray1<'_, u32>,
    fitted: PyReadonlyArray1<'_, f64>,
    positions: PyReadonlyArray1<'_, f64>,
    scale: f64,
) -> PyResult<Sums> {
    let (values, rows) = (values.as_slice()?, cell_of_row.as_slice()?);
    let (fitted, positions) = (fitted.as_slice()?, positions.as_slice()?);
    check_rows(rows, values.len(), fitted.len())?;
    if positions.len() != fitted.len() {
        return Err(PyValueError::new_err(format!(
            "{} positions for {} cells",
            positions.len(),
            fitted.len()
        )));
    }
    let sums = py.detach(|| residuals::sum_residuals(values, rows, fitted, positions, scale));
    Ok((
        sums.second,
        sums.third,
        sums.fourth,
        sums.largest,
        sums.neighbours,
        sums.steps,
        sums.trend,
        sums.room,
    ))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(mean_positions, module)?)?;
    module.add_function(wrap_pyfunction!(sum_residuals, module)?)
}
