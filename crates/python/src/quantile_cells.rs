//! Quantile regression over cells.

use std::sync::Mutex;

use datamill_numeric::quantile::cell_fit::CellFit as Fit;
use datamill_numeric::quantile::in_memory;
use datamill_numeric::quantile::sorted::SortedCells as Sorted;
use datamill_numeric::quantile::stream::{CellStream as Stream, Found, Goal, StreamError};
use numpy::ndarray::Array2;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::cells::check_rows;

/// Solutions of a model over cells at T quantiles.
#[pyclass(frozen, module = "datamill._native")]
struct CellFit {
    fit: Fit,
    parameters: usize,
    cells: usize,
}

#[pymethods]
impl CellFit {
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        by_rows(py, self.fit.coefficients.clone(), self.parameters)
    }

    #[getter]
    fn fitted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        by_rows(py, self.fit.fitted.clone(), self.cells)
    }

    #[getter]
    fn objective<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.fit.objective.clone().into_pyarray(py)
    }

    #[getter]
    fn pivots<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.fit.pivots.clone().into_pyarray(py)
    }

    #[getter]
    fn certified<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.fit.certified.clone().into_pyarray(py)
    }

    #[getter]
    fn unique<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.fit.unique.clone().into_pyarray(py)
    }

    #[getter]
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        by_rows(py, self.fit.basis.clone(), self.parameters)
    }
}

/// The values of each cell in ascending order.
#[pyclass(frozen, module = "datamill._native")]
struct SortedCells {
    sorted: Sorted,
}

#[pymethods]
impl SortedCells {
    #[new]
    #[pyo3(signature = (cell_of_row, values, cells, weights=None))]
    fn new(
        py: Python<'_>,
        cell_of_row: PyReadonlyArray1<'_, u32>,
        values: PyReadonlyArray1<'_, f64>,
        cells: usize,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let (rows, values) = (cell_of_row.as_slice()?, values.as_slice()?);
        check_rows(rows, values.len(), cells)?;
        let sorted = match &weights {
            None => py.detach(|| Sorted::new(rows, values, cells)),
            Some(weights) => {
                let weights = weights.as_slice()?;
                if weights.len() != values.len() {
                    return Err(PyValueError::new_err(format!(
                        "{} weights for {} values",
                        weights.len(),
                        values.len()
                    )));
                }
                if let Some(bad) = weights.iter().find(|w| !(**w >= 0.0 && w.is_finite())) {
                    return Err(PyValueError::new_err(format!(
                        "the weight {bad} is negative or not finite"
                    )));
                }
                py.detach(|| Sorted::with_weights(rows, values, cells, weights))
            }
        };
        Ok(Self { sorted })
    }

    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let counts: Vec<i64> = self.sorted.counts().into_iter().map(|n| n as i64).collect();
        counts.into_pyarray(py)
    }

    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.sorted.totals().to_vec().into_pyarray(py)
    }

    fn select<'py>(
        &self,
        py: Python<'py>,
        quantiles: Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        check_quantiles(&quantiles)?;
        let selected = py.detach(|| self.sorted.select(&quantiles));
        by_rows(py, selected, self.sorted.cells())
    }

    #[pyo3(signature = (thresholds, *, inclusive=false))]
    fn weigh_below<'py>(
        &self,
        py: Python<'py>,
        thresholds: PyReadonlyArray2<'py, f64>,
        inclusive: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if thresholds.shape()[1] != self.sorted.cells() {
            return Err(PyValueError::new_err(format!(
                "thresholds for {} cells, not for {}",
                thresholds.shape()[1],
                self.sorted.cells()
            )));
        }
        let thresholds = thresholds.as_slice()?;
        let weights = py.detach(|| self.sorted.weigh_below(thresholds, inclusive));
        by_rows(py, weights, self.sorted.cells())
    }

    fn fit(
        &self,
        py: Python<'_>,
        design: PyReadonlyArray2<'_, f64>,
        quantiles: Vec<f64>,
    ) -> PyResult<CellFit> {
        let (design, parameters) = read_design(&design, self.sorted.cells())?;
        let fit = py
            .detach(|| self.sorted.fit(&design, parameters, &quantiles))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(CellFit {
            fit,
            parameters,
            cells: self.sorted.cells(),
        })
    }
}

/// Quantiles or a fit from passes over data that need not fit in memory.
#[pyclass(frozen, module = "datamill._native")]
struct CellStream {
    stream: Mutex<Option<Stream>>,
    cells: usize,
    parameters: usize,
}

#[pymethods]
impl CellStream {
    #[new]
    #[pyo3(signature = (cells, quantiles, design=None, most_values=1 << 24))]
    fn new(
        cells: usize,
        quantiles: Vec<f64>,
        design: Option<PyReadonlyArray2<'_, f64>>,
        most_values: usize,
    ) -> PyResult<Self> {
        let (goal, parameters) = match &design {
            None => (Goal::Select, 0),
            Some(design) => {
                let (design, parameters) = read_design(design, cells)?;
                (Goal::Fit { design, parameters }, parameters)
            }
        };
        let stream = Stream::new(cells, &quantiles, goal, most_values);
        Ok(Self {
            stream: Mutex::new(Some(stream)),
            cells,
            parameters,
        })
    }

    fn plan(&self, py: Python<'_>) -> PyResult<bool> {
        self.with_stream(py, |stream| stream.plan())
    }

    fn read(
        &self,
        py: Python<'_>,
        cell_of_row: PyReadonlyArray1<'_, u32>,
        values: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<()> {
        let (rows, values) = (cell_of_row.as_slice()?, values.as_slice()?);
        check_rows(rows, values.len(), self.cells)?;
        self.with_stream(py, |stream| stream.read(rows, values))
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.stream.lock().ok().and_then(|mut guard| guard.take());
        let found = stream.map_or(Err(StreamError::NoPass), Stream::finish);
        match found.map_err(|error| PyValueError::new_err(error.to_string()))? {
            Found::Selected(selected) => Ok(by_rows(py, selected, self.cells)?.into_any()),
            Found::Fitted(fit) => {
                let fit = CellFit {
                    fit,
                    parameters: self.parameters,
                    cells: self.cells,
                };
                Ok(Bound::new(py, fit)?.into_any())
            }
        }
    }
}

impl CellStream {
    fn with_stream<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Stream) -> Result<T, StreamError> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut guard = self.stream.lock().ok();
            match guard.as_mut().and_then(|guard| guard.as_mut()) {
                Some(stream) => work(stream),
                None => Err(StreamError::NoPass),
            }
        })
        .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Selects the quantiles of each cell.
#[pyfunction]
fn select_cell_quantiles<'py>(
    py: Python<'py>,
    cell_of_row: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
    cells: usize,
    quantiles: Vec<f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (rows, values) = (cell_of_row.as_slice()?, values.as_slice()?);
    check_rows(rows, values.len(), cells)?;
    let selected = py
        .detach(|| in_memory::select_cell_quantiles(rows, values, cells, &quantiles))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    by_rows(py, selected, cells)
}

/// Fits a model over cells.
#[pyfunction]
fn fit_cells(
    py: Python<'_>,
    cell_of_row: PyReadonlyArray1<'_, u32>,
    values: PyReadonlyArray1<'_, f64>,
    design: PyReadonlyArray2<'_, f64>,
    quantiles: Vec<f64>,
) -> PyResult<CellFit> {
    let cells = design.shape()[0];
    let (rows, values) = (cell_of_row.as_slice()?, values.as_slice()?);
    check_rows(rows, values.len(), cells)?;
    let (design, parameters) = read_design(&design, cells)?;
    let fit = py
        .detach(|| in_memory::fit_cells(rows, values, &design, parameters, &quantiles))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(CellFit {
        fit,
        parameters,
        cells,
    })
}

/// The design by rows, whichever way numpy keeps it, and its number of columns.
fn read_design(design: &PyReadonlyArray2<'_, f64>, cells: usize) -> PyResult<(Vec<f64>, usize)> {
    let (rows, columns) = (design.shape()[0], design.shape()[1]);
    if rows != cells {
        return Err(PyValueError::new_err(format!(
            "the design has {rows} rows for {cells} cells"
        )));
    }
    Ok((design.as_array().iter().copied().collect(), columns))
}

fn check_quantiles(quantiles: &[f64]) -> PyResult<()> {
    match quantiles.iter().find(|tau| !(**tau > 0.0 && **tau < 1.0)) {
        Some(tau) => Err(PyValueError::new_err(format!(
            "the quantile {tau} is not between 0 and 1"
        ))),
        None => Ok(()),
    }
}

fn by_rows<T: numpy::Element>(
    py: Python<'_>,
    values: Vec<T>,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    let array = Array2::from_shape_vec((rows, columns), values)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(array.into_pyarray(py))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CellFit>()?;
    module.add_class::<SortedCells>()?;
    module.add_class::<CellStream>()?;
    module.add_function(wrap_pyfunction!(select_cell_quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(fit_cells, module)?)
}
