//! A random forest.

use datamill_numeric::classify::forest;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{Floats, Integers, read_cases};

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
pub fn grow_forest<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, bool>,
    weights: PyReadonlyArray1<'py, f64>,
    trees: usize,
    tried: usize,
    seed: u64,
) -> PyResult<Trees<'py>> {
    let cases = read_cases(&values, &labels, &weights)?;
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
