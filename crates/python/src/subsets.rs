//! Best subsets of predictors.

use datamill_numeric::subsets::{self, Chosen, Criterion, MOST_COLUMNS, Table};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Floats<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = Bound<'py, PyArray1<i64>>;
/// Residual sums of squares, members, ties, total sums of squares.
type Subsets<'py> = (Floats<'py>, Integers<'py>, Integers<'py>, Floats<'py>);

fn read_table<'a>(values: &'a PyReadonlyArray2<'_, f64>) -> PyResult<Table<'a>> {
    Table::new(values.as_slice()?, values.shape()[1]).map_err(PyValueError::new_err)
}

/// The sets of rows, checked.
fn split_rows(
    rows: &PyReadonlyArray1<'_, i64>,
    offsets: &PyReadonlyArray1<'_, i64>,
    count: usize,
) -> PyResult<Vec<Vec<usize>>> {
    let rows = rows.as_slice()?;
    if rows
        .iter()
        .any(|row| usize::try_from(*row).map_or(true, |row| row >= count))
    {
        return Err(PyValueError::new_err(format!(
            "a row is not from 0 to {}",
            count.saturating_sub(1)
        )));
    }
    let ends = offsets.as_slice()?.windows(2).map(|pair| {
        usize::try_from(pair[0])
            .ok()
            .zip(usize::try_from(pair[1]).ok())
            .and_then(|(start, end)| rows.get(start..end))
    });
    ends.map(|part| {
        part.map(|part| part.iter().map(|row| *row as usize).collect())
            .ok_or_else(|| PyValueError::new_err("the offsets do not fit the rows"))
    })
    .collect()
}

/// The numbers of the members, ascending, then -1.
fn list_members(set: u64, width: usize) -> impl Iterator<Item = i64> {
    let members = (0..MOST_COLUMNS as i64).filter(move |column| set >> column & 1 == 1);
    members.chain(std::iter::repeat(-1)).take(width)
}

fn check_response(response: &[f64], table: Table<'_>) -> PyResult<()> {
    if response.len() == table.rows() {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{} values of the response for {} rows",
        response.len(),
        table.rows()
    )))
}

/// The best subset of each size.
#[pyfunction]
fn best_of_sizes<'py>(
    py: Python<'py>,
    predictors: PyReadonlyArray2<'py, f64>,
    response: PyReadonlyArray1<'py, f64>,
    rows: PyReadonlyArray1<'py, i64>,
    offsets: PyReadonlyArray1<'py, i64>,
    largest: usize,
) -> PyResult<Subsets<'py>> {
    let table = read_table(&predictors)?;
    let response = response.as_slice()?;
    check_response(response, table)?;
    let row_sets = split_rows(&rows, &offsets, table.rows())?;
    let found = py.detach(|| subsets::best_of_sizes(table, response, &row_sets, largest));
    let (mut rss, mut members, mut ties, mut totals) = (vec![], vec![], vec![], vec![]);
    for (total, best) in found {
        totals.push(total);
        for best in best {
            rss.push(best.map_or(f64::NAN, |best| best.rss));
            ties.push(best.map_or(0, |best| best.ties));
            members.extend(list_members(best.map_or(0, |best| best.set), largest));
        }
    }
    Ok((
        rss.into_pyarray(py),
        members.into_pyarray(py),
        ties.into_pyarray(py),
        totals.into_pyarray(py),
    ))
}

/// Columns of what was chosen.
fn spread<'py>(
    py: Python<'py>,
    chosen: impl Iterator<Item = Option<Chosen>>,
    width: usize,
) -> Subsets<'py> {
    let (mut rss, mut members, mut ties, mut totals) = (vec![], vec![], vec![], vec![]);
    for chosen in chosen {
        rss.push(chosen.map_or(f64::NAN, |chosen| chosen.rss));
        totals.push(chosen.map_or(0.0, |chosen| chosen.total));
        ties.push(chosen.map_or(0, |chosen| chosen.ties));
        members.extend(list_members(chosen.map_or(0, |chosen| chosen.set), width));
    }
    (
        rss.into_pyarray(py),
        members.into_pyarray(py),
        ties.into_pyarray(py),
        totals.into_pyarray(py),
    )
}

/// The subset that is best by one criterion.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "arrays cross this border one by one"
)]
fn best_by_criterion<'py>(
    py: Python<'py>,
    predictors: PyReadonlyArray2<'py, f64>,
    response: PyReadonlyArray1<'py, f64>,
    rows: PyReadonlyArray1<'py, i64>,
    offsets: PyReadonlyArray1<'py, i64>,
    by_cp: bool,
    largest: usize,
    variances: PyReadonlyArray1<'py, f64>,
) -> PyResult<Subsets<'py>> {
    let table = read_table(&predictors)?;
    let response = response.as_slice()?;
    check_response(response, table)?;
    let row_sets = split_rows(&rows, &offsets, table.rows())?;
    let variances = variances.as_slice()?;
    if by_cp && variances.len() != row_sets.len() {
        return Err(PyValueError::new_err(format!(
            "{} variances for {} sets",
            variances.len(),
            row_sets.len()
        )));
    }
    let criterion = if by_cp {
        Criterion::Cp
    } else {
        Criterion::AdjustedR2
    };
    let chosen = py.detach(|| {
        subsets::best_by_criterion(table, response, &row_sets, criterion, largest, variances)
    });
    Ok(spread(py, chosen.into_iter().map(Some), largest))
}

/// Each column in turn the response, by both criteria.
#[pyfunction]
fn best_of_each<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, f64>,
    rows: PyReadonlyArray1<'py, i64>,
    offsets: PyReadonlyArray1<'py, i64>,
    largest: usize,
    variances: PyReadonlyArray1<'py, f64>,
) -> PyResult<(Subsets<'py>, Subsets<'py>)> {
    let table = read_table(&table)?;
    let row_sets = split_rows(&rows, &offsets, table.rows())?;
    let variances = variances.as_slice()?;
    if variances.len() != row_sets.len() * table.columns() {
        return Err(PyValueError::new_err(format!(
            "{} variances for {} sets of {} columns",
            variances.len(),
            row_sets.len(),
            table.columns()
        )));
    }
    let chosen = py.detach(|| subsets::best_of_each(table, &row_sets, largest, variances));
    let [by_r2, by_cp] = [0, 1].map(|criterion| {
        let of_criterion = chosen
            .iter()
            .flatten()
            .map(|both| both.map(|both| both[criterion]));
        spread(py, of_criterion, largest)
    });
    Ok((by_r2, by_cp))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(best_of_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(best_by_criterion, module)?)?;
    module.add_function(wrap_pyfunction!(best_of_each, module)?)
}
