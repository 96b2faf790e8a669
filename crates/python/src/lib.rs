//! `datamill._native`: the kernels of `datamill-numeric` for numpy arrays, and `datamill-elf`. Wrappers only.

use pyo3::prelude::*;

mod cells;
mod classify;
mod elf;
mod nested;
mod quantile_cells;
mod quantile_general;
mod quantile_retargeted;
mod residuals;
mod subsets;
mod texts;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    cells::register(module)?;
    classify::register(module)?;
    elf::register(module)?;
    nested::register(module)?;
    quantile_cells::register(module)?;
    quantile_general::register(module)?;
    quantile_retargeted::register(module)?;
    residuals::register(module)?;
    subsets::register(module)?;
    texts::register(module)
}
