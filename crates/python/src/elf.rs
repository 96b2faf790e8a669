//! The table of a program's functions and data.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The table of a program as JSON.
#[pyfunction]
fn read_function_table(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let json = py.detach(|| datamill_elf::read_json(&path));
    json.map(|json| PyBytes::new(py, &json))
        .map_err(|trouble| PyValueError::new_err(trouble.to_string()))
}

/// The places of return addresses in a program as JSON.
#[pyfunction]
fn read_places(py: Python<'_>, path: PathBuf, offsets: Vec<u64>) -> PyResult<Bound<'_, PyBytes>> {
    let json = py.detach(|| {
        let places =
            datamill_elf::find_places(&path, &offsets).map_err(|trouble| trouble.to_string())?;
        serde_json::to_vec(&places).map_err(|why| why.to_string())
    });
    json.map(|json| PyBytes::new(py, &json))
        .map_err(PyValueError::new_err)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_places, module)?)?;
    module.add_function(wrap_pyfunction!(read_function_table, module)?)
}
