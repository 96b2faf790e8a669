//! A random forest and a support vector machine.

use datamill_numeric::classify::Cases;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

mod forest;
mod machine;

type Floats<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = Bound<'py, PyArray1<i64>>;

/// The cases in arrays, checked.
fn read_cases<'a>(
    values: &'a PyReadonlyArray2<'_, f64>,
    labels: &'a PyReadonlyArray1<'_, bool>,
    weights: &'a PyReadonlyArray1<'_, f64>,
) -> PyResult<Cases<'a>> {
    Cases::new(
        values.as_slice()?,
        labels.as_slice()?,
        weights.as_slice()?,
        values.shape()[1],
    )
    .map_err(PyValueError::new_err)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(forest::grow_forest, module)?)?;
    module.add_function(wrap_pyfunction!(machine::fit_machine, module)?)
}
