//! `datamill._native`: the kernels of `datamill-numeric` for numpy arrays. Wrappers only.

use pyo3::prelude::*;

mod cells;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    cells::register(module)
}
