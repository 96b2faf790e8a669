//! A support vector machine.

use datamill_numeric::classify::machine::{self, Kernel};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::{Floats, read_cases};

/// A support vector machine: coefficients of the rows, the bias, and whether it converged.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "arrays cross this border one by one"
)]
pub fn fit_machine<'py>(
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
    let cases = read_cases(&values, &labels, &weights)?;
    let found = py
        .detach(|| machine::fit(cases, kernel, gamma, cost))
        .map_err(PyValueError::new_err)?;
    Ok((
        found.coefficients.into_pyarray(py),
        found.bias,
        found.converged,
    ))
}
