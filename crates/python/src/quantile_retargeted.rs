//! Draws of a model over cells by drawn counts.

use datamill_numeric::quantile::sorted::SortedCells;
use numpy::{
    IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::cells::check_rows;

/// Coefficients (R × p) for which drawn numbers of values (R × K) lie below the fit.
#[pyfunction]
fn fit_cell_targets<'py>(
    py: Python<'py>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
    design: PyReadonlyArray2<'py, f64>,
    quantile: f64,
    targets: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (cells, parameters) = (design.shape()[0], design.shape()[1]);
    let (rows, values) = (cell_of_row.as_slice()?, values.as_slice()?);
    check_rows(rows, values.len(), cells)?;
    let draws = targets.shape()[0];
    if targets.shape()[1] != cells {
        return Err(PyValueError::new_err(format!(
            "targets for {} cells, not for {cells}",
            targets.shape()[1]
        )));
    }
    let (design, targets) = (design.as_slice()?, targets.as_slice()?);
    let drawn = py
        .detach(|| {
            SortedCells::new(rows, values, cells).fit_targets(design, parameters, quantile, targets)
        })
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    drawn.into_pyarray(py).reshape([draws, parameters])
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fit_cell_targets, module)?)
}
