//! A random forest and a support vector machine.

use datamill_numeric::classify::machine::Kernel;
use datamill_numeric::classify::{Cases, forest, machine};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Floats<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = Bound<'py, PyArray1<i64>>;
/// Features, values, left and right nodes of all trees, and where each tree begins.
type Trees<'py> = (
    Integers<'py>,
    Floats<'py>,
    Integers<'py>,
    Integers<'py>,
    Integers<'py>,
);

/// Trees of a random forest.
#[pyfunction]
fn grow_forest<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, bool>,
    weights: PyReadonlyArray1<'py, f64>,
    trees: usize,
    tried: usize,
    seed: u64,
) -> PyResult<Trees<'py>> {
    let cases = Cases::new(
        values.as_slice()?,
        labels.as_slice()?,
        weights.as_slice()?,
        values.shape()[1],
    )
    .map_err(PyValueError::new_err)?;
    let grown = py.detach(|| forest::grow(cases, trees, tried, seed));
    let (mut features, mut thresholds) = (vec![], vec![]);
    let (mut left, mut right, mut starts) = (vec![], vec![], vec![0]);
    for tree in grown {
        for node in tree {
            features.push(node.feature.map_or(-1, |feature| feature as i64));
            thresholds.push(node.value);
            left.push(node.left as i64);
            right.push(node.right as i64);
        }
        starts.push(features.len() as i64);
    }
    Ok((
        features.into_pyarray(py),
        thresholds.into_pyarray(py),
        left.into_pyarray(py),
        right.into_pyarray(py),
        starts.into_pyarray(py),
    ))
}

/// A support vector machine: coefficients of the rows, the bias, and whether it converged.
#[pyfunction]
fn fit_machine<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, bool>,
    weights: PyReadonlyArray1<'py, f64>,
    kernel: &str,
    gamma: f64,
    cost: f64,
) -> PyResult<(Floats<'py>, f64, bool)> {
    let kernel = match kernel {
        "sigmoid" => Kernel::Sigmoid,
        "polynomial" => Kernel::Polynomial,
        "rbf" => Kernel::Rbf,
        other => {
            return Err(PyValueError::new_err(format!(
                "no kernel is called {other}"
            )));
        }
    };
    let cases = Cases::new(
        values.as_slice()?,
        labels.as_slice()?,
        weights.as_slice()?,
        values.shape()[1],
    )
    .map_err(PyValueError::new_err)?;
    let found = py
        .detach(|| machine::fit(cases, kernel, gamma, cost))
        .map_err(PyValueError::new_err)?;
    Ok((
        found.coefficients.into_pyarray(py),
        found.bias,
        found.converged,
    ))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(grow_forest, module)?)?;
    module.add_function(wrap_pyfunction!(fit_machine, module)?)
}
