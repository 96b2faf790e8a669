//! Texts of a column as numbers.

use datamill_numeric::texts::{self, TextChunk};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Chunk<'py> = (PyReadonlyArray1<'py, u64>, Vec<PyReadonlyArray1<'py, u8>>);
type Numbers<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

/// Number of every row's text in the order of appearance, and the first row of each.
#[pyfunction]
fn number_texts<'py>(py: Python<'py>, chunks: Vec<Chunk<'py>>) -> PyResult<Option<Numbers<'py>>> {
    let parts = chunks
        .iter()
        .map(|(views, buffers)| {
            let buffers = buffers.iter().map(|buffer| buffer.as_slice());
            Ok(TextChunk {
                views: views.as_slice()?,
                buffers: buffers.collect::<Result<_, _>>()?,
            })
        })
        .collect::<PyResult<Vec<_>>>()?;
    // numpy's memory comes in large pages.
    let codes = PyArray1::<u8>::zeros(py, parts.iter().map(TextChunk::rows).sum::<usize>(), false);
    let mut writable = codes.readwrite();
    let rows = writable.as_slice_mut()?;
    let first = py.detach(|| texts::number_texts(&parts, rows));
    drop(writable);
    Ok(first.map(|first| {
        let first: Vec<i64> = first.into_iter().map(|row| row as i64).collect();
        (codes, first.into_pyarray(py))
    }))
}

/// Replaces every code by its entry among 256.
#[pyfunction]
fn relabel<'py>(
    py: Python<'py>,
    mut codes: PyReadwriteArray1<'py, u8>,
    of_code: PyReadonlyArray1<'py, u8>,
) -> PyResult<()> {
    let of_code = <&[u8; 256]>::try_from(of_code.as_slice()?)
        .map_err(|_| PyValueError::new_err("256 entries are needed, one for each byte"))?;
    let rows = codes.as_slice_mut()?;
    py.detach(|| texts::relabel(rows, of_code));
    Ok(())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(number_texts, module)?)?;
    module.add_function(wrap_pyfunction!(relabel, module)?)
}
