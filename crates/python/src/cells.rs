//! Moments by cell.

use datamill_numeric::cells;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Moments<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Counts, means, sums of squares, minima and maxima of `values - origin` by cell.
#[pyfunction]
fn gather_moments<'py>(
    py: Python<'py>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
    cells: usize,
    origin: f64,
) -> PyResult<Moments<'py>> {
    let (rows, values) = (cell_of_row.as_slice()?, values.as_slice()?);
    check_rows(rows, values.len(), cells)?;
    let moments = py.detach(|| cells::gather_moments(rows, values, cells, origin));
    let column = |of: fn(&cells::CellMoments) -> f64| {
        moments.iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
    };
    let counts: Vec<i64> = moments.iter().map(|moment| moment.count as i64).collect();
    Ok((
        counts.into_pyarray(py),
        column(|moment| moment.mean),
        column(|moment| moment.within_ss),
        column(|moment| moment.min),
        column(|moment| moment.max),
    ))
}

/// Refuses cell numbers that do not fit.
pub(crate) fn check_rows(cell_of_row: &[u32], values: usize, cells: usize) -> PyResult<()> {
    if cell_of_row.len() != values {
        return Err(PyValueError::new_err(format!(
            "{} cell numbers for {values} values",
            cell_of_row.len()
        )));
    }
    match cell_of_row.iter().max() {
        Some(&largest) if largest as usize >= cells => Err(PyValueError::new_err(format!(
            "cell number {largest} is not below {cells}"
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(gather_moments, module)?)
}
