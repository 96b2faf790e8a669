//! Measurements nested in executions, nested in builds.

use datamill_numeric::nested::{self, Nesting};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Means<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);
type Draws<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

fn nest<'a>(offsets: &'a [i64], entries: usize, of: &str) -> PyResult<Nesting<'a>> {
    Nesting::new(offsets, entries, of).map_err(PyValueError::new_err)
}

/// The offsets of executions and builds, checked.
fn nest_both<'a>(
    values: usize,
    executions: &'a PyReadonlyArray1<'_, i64>,
    builds: &'a PyReadonlyArray1<'_, i64>,
) -> PyResult<(Nesting<'a>, Nesting<'a>)> {
    let executions = nest(executions.as_slice()?, values, "executions")?;
    let builds = nest(builds.as_slice()?, executions.count(), "builds")?;
    Ok((executions, builds))
}

/// Means of executions, squares inside them, and means of builds.
#[pyfunction]
fn nested_means<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    executions: PyReadonlyArray1<'py, i64>,
    builds: PyReadonlyArray1<'py, i64>,
) -> PyResult<Means<'py>> {
    let values = values.as_slice()?;
    let (executions, builds) = nest_both(values.len(), &executions, &builds)?;
    let means = py.detach(|| nested::nested_means(values, executions, builds));
    Ok((
        means.execution_means.into_pyarray(py),
        means.execution_ss.into_pyarray(py),
        means.build_means.into_pyarray(py),
    ))
}

/// Mean, S²_V, S²_B and S²_E.
#[pyfunction]
fn nested_mean_squares(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    executions: PyReadonlyArray1<'_, i64>,
    builds: PyReadonlyArray1<'_, i64>,
) -> PyResult<(f64, f64, f64, f64)> {
    let values = values.as_slice()?;
    let (executions, builds) = nest_both(values.len(), &executions, &builds)?;
    let found = py.detach(|| nested::nested_mean_squares(values, executions, builds));
    Ok((found.mean, found.version, found.build, found.execution))
}

/// Differences and ratios of the means of drawn builds.
#[pyfunction]
fn resample_builds<'py>(
    py: Python<'py>,
    build_means_a: PyReadonlyArray1<'py, f64>,
    build_means_b: PyReadonlyArray1<'py, f64>,
    draws: usize,
    seed: u64,
) -> PyResult<Draws<'py>> {
    let (a, b) = (build_means_a.as_slice()?, build_means_b.as_slice()?);
    if a.is_empty() || b.is_empty() {
        return Err(PyValueError::new_err("a version has no builds"));
    }
    let found = py.detach(|| nested::resample_builds(a, b, draws, seed));
    Ok((
        found.differences.into_pyarray(py),
        found.ratios.into_pyarray(py),
    ))
}

/// Impact factor, both standard deviations, and the factor of each draw.
#[pyfunction]
fn resample_impact<'py>(
    py: Python<'py>,
    execution_means: PyReadonlyArray1<'py, f64>,
    builds: PyReadonlyArray1<'py, i64>,
    draws: usize,
    seed: u64,
) -> PyResult<(f64, f64, f64, Bound<'py, PyArray1<f64>>)> {
    let means = execution_means.as_slice()?;
    let builds = nest(builds.as_slice()?, means.len(), "builds")?;
    check_builds(builds)?;
    let found = py.detach(|| nested::resample_impact(means, builds, draws, seed));
    Ok((
        found.factor,
        found.between_sd,
        found.within_sd,
        found.draws.into_pyarray(py),
    ))
}

/// Comparisons of a version with itself, by the number of builds in a group.
#[pyclass(frozen, module = "datamill._native")]
struct SimulatedComparisons {
    found: Vec<nested::Comparisons>,
    single: i64,
}

impl SimulatedComparisons {
    fn counts<'py>(
        &self,
        py: Python<'py>,
        of: fn(&nested::Comparisons) -> i64,
    ) -> Bound<'py, PyArray1<i64>> {
        let counts: Vec<i64> = self.found.iter().map(of).collect();
        counts.into_pyarray(py)
    }

    fn statistics<'py>(
        &self,
        py: Python<'py>,
        of: fn(&nested::Comparisons) -> &Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows: Vec<&[f64]> = self.found.iter().map(|one| &of(one)[..]).collect();
        let repetitions = rows.first().map_or(0, |row| row.len());
        rows.concat()
            .into_pyarray(py)
            .reshape([self.found.len(), repetitions])
    }
}

#[pymethods]
impl SimulatedComparisons {
    #[getter]
    fn disjoint<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let flags: Vec<bool> = self.found.iter().map(|one| one.disjoint).collect();
        flags.into_pyarray(py)
    }

    #[getter]
    fn paper<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.counts(py, |one| one.paper)
    }

    #[getter]
    fn executions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.counts(py, |one| one.executions)
    }

    #[getter]
    fn single_build(&self) -> i64 {
        self.single
    }

    #[getter]
    fn welch_t<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.statistics(py, |one| &one.welch_t)
    }

    #[getter]
    fn welch_df<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.statistics(py, |one| &one.welch_df)
    }

    #[getter]
    fn execution_t<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.statistics(py, |one| &one.execution_t)
    }

    #[getter]
    fn execution_df<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.statistics(py, |one| &one.execution_df)
    }
}

/// Compares groups of builds of one version by each rule.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn simulate_comparisons(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    executions: PyReadonlyArray1<'_, i64>,
    builds: PyReadonlyArray1<'_, i64>,
    sizes: Vec<usize>,
    repetitions: usize,
    critical: f64,
    seed: u64,
) -> PyResult<SimulatedComparisons> {
    let values = values.as_slice()?;
    let (executions, builds) = nest_both(values.len(), &executions, &builds)?;
    check_builds(builds)?;
    if sizes.contains(&0) {
        return Err(PyValueError::new_err("a group has one build or more"));
    }
    Ok(py.detach(|| {
        let means = nested::nested_means(values, executions, builds);
        let simulate = nested::simulate_comparisons;
        let single = nested::compare_single_builds;
        SimulatedComparisons {
            found: simulate(
                &means,
                executions,
                builds,
                &sizes,
                repetitions,
                critical,
                seed,
            ),
            single: single(&means, executions, builds, repetitions, critical, seed),
        }
    }))
}

fn check_builds(builds: Nesting<'_>) -> PyResult<()> {
    if builds.count() < 2 {
        return Err(PyValueError::new_err("two builds or more are needed"));
    }
    Ok(())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SimulatedComparisons>()?;
    module.add_function(wrap_pyfunction!(nested_means, module)?)?;
    module.add_function(wrap_pyfunction!(nested_mean_squares, module)?)?;
    module.add_function(wrap_pyfunction!(resample_builds, module)?)?;
    module.add_function(wrap_pyfunction!(resample_impact, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_comparisons, module)?)
}
