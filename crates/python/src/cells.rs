//! Moments by cell.

use datamill_numeric::cells;
use datamill_numeric::combinations::{self, Codes};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
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
        moments
            .iter()
            .map(of)
            .collect::<Vec<f64>>()
            .into_pyarray(py)
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

type Combinations<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);

/// A column of codes in either width.
#[derive(FromPyObject)]
enum CodeColumn<'py> {
    Narrow(PyReadonlyArray1<'py, u8>),
    Wide(PyReadonlyArray1<'py, u32>),
}

impl CodeColumn<'_> {
    fn codes(&self) -> PyResult<Codes<'_>> {
        Ok(match self {
            CodeColumn::Narrow(column) => Codes::Narrow(column.as_slice()?),
            CodeColumn::Wide(column) => Codes::Wide(column.as_slice()?),
        })
    }
}

/// Combinations of codes that occur, and the index of each row's among them.
#[pyfunction]
fn number_combinations<'py>(
    py: Python<'py>,
    columns: Vec<CodeColumn<'py>>,
    sizes: Vec<u32>,
) -> PyResult<Combinations<'py>> {
    let columns = columns
        .iter()
        .map(CodeColumn::codes)
        .collect::<PyResult<Vec<_>>>()?;
    let possible = sizes
        .iter()
        .try_fold(1_u32, |product, &size| product.checked_mul(size));
    if possible.is_none() || columns.len() != sizes.len() {
        return Err(PyValueError::new_err(
            "the sizes do not fit the columns or 32 bits",
        ));
    }
    let n = columns.first().map_or(0, Codes::len);
    if columns.iter().any(|column| column.len() != n) {
        return Err(PyValueError::new_err("columns of different length"));
    }
    // numpy's memory comes in large pages.
    let of_row = PyArray1::<u32>::zeros(py, n, false);
    let mut writable = of_row.readwrite();
    let rows = writable.as_slice_mut()?;
    let found = py.detach(|| combinations::number_combinations(&columns, &sizes, rows));
    drop(writable);
    let found =
        found.ok_or_else(|| PyValueError::new_err("a code is not below its column's size"))?;
    Ok((found.into_pyarray(py), of_row))
}

/// Refuses cell numbers that do not fit.
pub(crate) fn check_rows(cell_of_row: &[u32], values: usize, cells: usize) -> PyResult<()> {
    if cell_of_row.len() != values {
        return Err(PyValueError::new_err(format!(
            "{} cell numbers for {values} values",
            cell_of_row.len()
        )));
    }
    let largest = cells::find_largest(cell_of_row);
    if !cell_of_row.is_empty() && largest as usize >= cells {
        return Err(PyValueError::new_err(format!(
            "cell number {largest} is not below {cells}"
        )));
    }
    Ok(())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(gather_moments, module)?)?;
    module.add_function(wrap_pyfunction!(number_combinations, module)?)
}
