//! Quantile regression for any model matrix of cells and covariates.

use datamill_numeric::quantile::general::{self, CellMatrix, GeneralError, GeneralFit, Scheme};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    datamill._native,
    DependentColumnsError,
    PyValueError,
    "Columns are combinations of others; `columns` lists (column, its parts)."
);

type Fits<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<i64>>,
);

fn raise(py: Python<'_>, error: GeneralError) -> PyErr {
    match error {
        GeneralError::Input(sentence) => PyValueError::new_err(sentence),
        GeneralError::Dependent(ref found) => {
            let columns: Vec<(usize, Vec<usize>)> = found
                .iter()
                .map(|found| (found.column, found.of.clone()))
                .collect();
            let error = DependentColumnsError::new_err(error.to_string());
            match error.value(py).setattr("columns", columns) {
                Ok(()) => error,
                Err(other) => other,
            }
        }
    }
}

/// The numbers of a table in C order; numpy would also lend those of one in Fortran order.
fn row_by_row<'a>(table: &'a PyReadonlyArray2<'_, f64>) -> PyResult<&'a [f64]> {
    if !table.is_c_contiguous() {
        return Err(PyValueError::new_err(
            "tables have to be contiguous, row by row",
        ));
    }
    Ok(table.as_slice()?)
}

/// Borrows the matrix from numpy; all arrays have to be contiguous.
fn borrow<'a>(
    by_cell: &'a PyReadonlyArray2<'_, f64>,
    cell_of_row: &'a PyReadonlyArray1<'_, u32>,
    products: &'a PyReadonlyArray2<'_, f64>,
    of_product: &'a PyReadonlyArray1<'_, i64>,
) -> PyResult<CellMatrix<'a>> {
    CellMatrix::new(
        row_by_row(by_cell)?,
        by_cell.shape()[1],
        cell_of_row.as_slice()?,
        row_by_row(products)?,
        of_product.as_slice()?,
    )
    .map_err(PyValueError::new_err)
}

/// Exact quantile regression: coefficients, objectives, certificates, flags and iterations by quantile.
#[pyfunction]
#[pyo3(signature = (by_cell, cell_of_row, products, of_product, values, quantiles, weights=None))]
#[allow(clippy::too_many_arguments)]
fn fit_general<'py>(
    py: Python<'py>,
    by_cell: PyReadonlyArray2<'py, f64>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    products: PyReadonlyArray2<'py, f64>,
    of_product: PyReadonlyArray1<'py, i64>,
    values: PyReadonlyArray1<'py, f64>,
    quantiles: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Fits<'py>> {
    let matrix = borrow(&by_cell, &cell_of_row, &products, &of_product)?;
    let (values, quantiles) = (values.as_slice()?, quantiles.as_slice()?);
    let weights = weights
        .as_ref()
        .map(|weights| weights.as_slice())
        .transpose()?;
    let columns = matrix.columns();
    let fits = py
        .detach(|| general::fit_general(matrix, values, quantiles, weights))
        .map_err(|error| raise(py, error))?;
    let coefficients: Vec<f64> = fits
        .iter()
        .flat_map(|fit| fit.coefficients.iter().copied())
        .collect();
    Ok((
        table(py, coefficients, columns)?,
        column(py, &fits, |fit| fit.objective),
        column(py, &fits, |fit| fit.certified),
        column(py, &fits, |fit| fit.not_unique),
        column(py, &fits, |fit| fit.iterations as i64),
    ))
}

/// X'WX for one weight a row.
#[pyfunction]
#[pyo3(name = "weighted_cross_products")]
fn cross_products<'py>(
    py: Python<'py>,
    by_cell: PyReadonlyArray2<'py, f64>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    products: PyReadonlyArray2<'py, f64>,
    of_product: PyReadonlyArray1<'py, i64>,
    weights: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let matrix = borrow(&by_cell, &cell_of_row, &products, &of_product)?;
    let weights = weights.as_slice()?;
    if weights.len() != matrix.rows() {
        return Err(PyValueError::new_err(
            "there is not one weight for each row",
        ));
    }
    let product = py.detach(|| general::weighted_cross_products(&matrix, weights));
    table(py, product, matrix.columns())
}

/// Fitted values of several vectors of coefficients.
#[pyfunction]
fn fitted_general<'py>(
    py: Python<'py>,
    by_cell: PyReadonlyArray2<'py, f64>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    products: PyReadonlyArray2<'py, f64>,
    of_product: PyReadonlyArray1<'py, i64>,
    coefficients: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let matrix = borrow(&by_cell, &cell_of_row, &products, &of_product)?;
    if coefficients.shape()[1] != matrix.columns() {
        return Err(PyValueError::new_err(
            "there is not one coefficient for each column",
        ));
    }
    let coefficients = row_by_row(&coefficients)?;
    let fitted: Vec<f64> = py.detach(|| {
        coefficients
            .chunks(matrix.columns())
            .flat_map(|vector| matrix.times(vector))
            .collect()
    });
    table(py, fitted, matrix.rows())
}

/// Coefficients of refits to draws of rows, clusters or blocks.
#[pyfunction]
#[pyo3(signature = (by_cell, cell_of_row, products, of_product, values, quantiles, clusters, scheme, replicates, seed, block=0))]
#[allow(clippy::too_many_arguments)]
fn bootstrap_general<'py>(
    py: Python<'py>,
    by_cell: PyReadonlyArray2<'py, f64>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    products: PyReadonlyArray2<'py, f64>,
    of_product: PyReadonlyArray1<'py, i64>,
    values: PyReadonlyArray1<'py, f64>,
    quantiles: PyReadonlyArray1<'py, f64>,
    clusters: Option<PyReadonlyArray1<'py, u32>>,
    scheme: &str,
    replicates: usize,
    seed: u64,
    block: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let matrix = borrow(&by_cell, &cell_of_row, &products, &of_product)?;
    let (values, quantiles) = (values.as_slice()?, quantiles.as_slice()?);
    let clusters = clusters
        .as_ref()
        .map(|clusters| clusters.as_slice())
        .transpose()?;
    let columns = matrix.columns();
    let scheme = match (scheme, clusters) {
        ("rows", None) => Scheme::Rows,
        ("clusters", Some(clusters)) => Scheme::Clusters(clusters),
        ("blocks", None) => Scheme::Blocks(block),
        ("exponential", None) => Scheme::Exponential,
        ("exponential", Some(clusters)) => Scheme::ExponentialClusters(clusters),
        _ => {
            return Err(PyValueError::new_err(
                "scheme is rows, blocks, clusters (with clusters) or exponential (with or without)",
            ));
        }
    };
    let found = py
        .detach(|| general::bootstrap_general(matrix, values, quantiles, scheme, replicates, seed))
        .map_err(|error| raise(py, error))?;
    found
        .into_pyarray(py)
        .reshape([replicates, quantiles.len(), columns])
}

type Limits<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// Lower and upper limits of all coefficients by inversion of rank tests.
#[pyfunction]
#[pyo3(signature = (by_cell, cell_of_row, products, of_product, values, quantiles, cutoff, densities=None, interpolate=true))]
#[allow(clippy::too_many_arguments)]
fn invert_rank_tests<'py>(
    py: Python<'py>,
    by_cell: PyReadonlyArray2<'py, f64>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    products: PyReadonlyArray2<'py, f64>,
    of_product: PyReadonlyArray1<'py, i64>,
    values: PyReadonlyArray1<'py, f64>,
    quantiles: PyReadonlyArray1<'py, f64>,
    cutoff: f64,
    densities: Option<PyReadonlyArray2<'py, f64>>,
    interpolate: bool,
) -> PyResult<Limits<'py>> {
    let matrix = borrow(&by_cell, &cell_of_row, &products, &of_product)?;
    let (values, quantiles) = (values.as_slice()?, quantiles.as_slice()?);
    let densities = densities.as_ref().map(row_by_row).transpose()?;
    let columns = matrix.columns();
    let (low, high) = py
        .detach(|| {
            general::invert_rank_tests(matrix, values, quantiles, cutoff, densities, interpolate)
        })
        .map_err(|error| raise(py, error))?;
    Ok((table(py, low, columns)?, table(py, high, columns)?))
}

fn table(py: Python<'_>, numbers: Vec<f64>, columns: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = numbers.len() / columns;
    numbers.into_pyarray(py).reshape([rows, columns])
}

fn column<'py, T: numpy::Element>(
    py: Python<'py>,
    fits: &[GeneralFit],
    of: fn(&GeneralFit) -> T,
) -> Bound<'py, PyArray1<T>> {
    fits.iter().map(of).collect::<Vec<T>>().into_pyarray(py)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add(
        "DependentColumnsError",
        module.py().get_type::<DependentColumnsError>(),
    )?;
    module.add_function(wrap_pyfunction!(fit_general, module)?)?;
    module.add_function(wrap_pyfunction!(bootstrap_general, module)?)?;
    module.add_function(wrap_pyfunction!(invert_rank_tests, module)?)?;
    module.add_function(wrap_pyfunction!(cross_products, module)?)?;
    module.add_function(wrap_pyfunction!(fitted_general, module)?)
}
