//! The table of a program's functions and data.

use std::path::PathBuf;

use datamill_elf::{DataRow, Digits, FORM, FunctionRow, Reference, Rows};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

/// The first four fields of a table, its functions, its named data, the fields of how it was built, and what is lost.
type Table<'py> = (
    (u32, &'static str, &'static str, String),
    Bound<'py, PyTuple>,
    Bound<'py, PyTuple>,
    Bound<'py, PyTuple>,
    Bound<'py, PyTuple>,
);

/// The table of a program, of which `function` and `data` make the records of its rows.
#[pyfunction]
fn read_function_table(
    py: Python<'_>,
    path: PathBuf,
    function: Py<PyAny>,
    data: Py<PyAny>,
) -> PyResult<Py<PyTuple>> {
    let table = py.detach(|| {
        datamill_elf::read_path_rows(&path, |rows| {
            Python::attach(|py| {
                let table = make_table(rows, function.bind(py), data.bind(py))?;
                table.into_pyobject(py).map(Bound::unbind)
            })
        })
    });
    table.map_err(|trouble| PyValueError::new_err(trouble.to_string()))?
}

fn make_table<'py>(
    rows: &Rows<'_>,
    function: &Bound<'py, PyAny>,
    data: &Bound<'py, PyAny>,
) -> PyResult<Table<'py>> {
    let py = function.py();
    let names = Texts::new(py, rows);
    let functions: Vec<_> = (rows.functions().zip(&names.functions))
        .map(|(row, name)| function.call1(names.list_function(row, name)?))
        .collect::<PyResult<_>>()?;
    let data: Vec<_> = (rows.data().zip(&names.objects))
        .map(|(row, name)| data.call1(names.list_data(row, name)?))
        .collect::<PyResult<_>>()?;
    let build = &rows.build;
    Ok((
        (FORM, rows.machine, rows.source, rows.content.clone()),
        PyTuple::new(py, functions)?,
        PyTuple::new(py, data)?,
        (
            PyTuple::new(py, &build.producers)?,
            PyTuple::new(py, &build.libraries)?,
            &build.build_id,
            &build.debug_link,
        )
            .into_pyobject(py)?,
        PyTuple::new(py, &rows.lost)?,
    ))
}

/// Names as Python has them: each is one object, however often it is referred to.
struct Texts<'py> {
    py: Python<'py>,
    functions: Vec<Bound<'py, PyString>>,
    objects: Vec<Bound<'py, PyString>>,
    imports: Vec<Bound<'py, PyString>>,
    empty: Bound<'py, PyTuple>,
}

impl<'py> Texts<'py> {
    fn new(py: Python<'py>, rows: &Rows<'_>) -> Self {
        let all = |names: &[String]| names.iter().map(|name| PyString::new(py, name)).collect();
        Self {
            py,
            functions: all(&rows.names.functions),
            objects: all(&rows.names.objects),
            imports: all(&rows.names.imports),
            empty: PyTuple::empty(py),
        }
    }

    /// The fields of a function's record in their order.
    fn list_function(
        &self,
        row: FunctionRow<'_>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = self.py;
        let code = self.digits(row.code);
        // Where no function has a symbol both are the same.
        let without_names = row
            .code_without_names
            .map(|digits| match digits == row.code {
                true => code.clone(),
                false => self.digits(digits),
            });
        let fields = [
            name.clone().into_any(),
            code.into_any(),
            row.size.into_pyobject(py)?.into_any(),
            row.instructions.into_pyobject(py)?.into_any(),
            self.maybe(row.code_without_lines.map(|digits| self.digits(digits))),
            self.maybe(without_names),
            row.loops.into_pyobject(py)?.into_any(),
            PyString::new(py, row.symbol).into_any(),
            self.maybe(row.clone_of.map(|name| PyString::new(py, &name))),
            self.maybe(row.file.map(|file| PyString::new(py, file))),
            self.texts(&row.aliases, |alias| PyString::new(py, alias))?,
            self.texts(row.calls, |one| self.of(*one))?,
            self.texts(row.refers_to, |one| self.of(*one))?,
            self.numbers(row.constants)?,
        ];
        PyTuple::new(py, fields)
    }

    /// The fields of named data's record in their order.
    fn list_data(
        &self,
        row: DataRow<'_>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let fields = [
            name.clone().into_any(),
            self.digits(row.content).into_any(),
            row.size.into_pyobject(self.py)?.into_any(),
            PyString::new(self.py, row.section).into_any(),
            self.texts(row.refers_to, |one| self.of(*one))?,
            self.maybe(row.content_without_names.map(|digits| self.digits(digits))),
        ];
        PyTuple::new(self.py, fields)
    }

    fn of(&self, reference: Reference) -> Bound<'py, PyString> {
        match reference {
            Reference::Function(index) => self.functions[index].clone(),
            Reference::Object(index) => self.objects[index].clone(),
            Reference::Import(index) => self.imports[index].clone(),
        }
    }

    fn digits(&self, digits: Digits) -> Bound<'py, PyString> {
        PyString::new(
            self.py,
            std::str::from_utf8(&digits).expect("digits are ASCII"),
        )
    }

    fn maybe(&self, text: Option<Bound<'py, PyString>>) -> Bound<'py, PyAny> {
        text.map_or_else(|| self.py.None().into_bound(self.py), Bound::into_any)
    }

    fn texts<T>(
        &self,
        list: &[T],
        text: impl Fn(&T) -> Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if list.is_empty() {
            return Ok(self.empty.clone().into_any());
        }
        PyTuple::new(self.py, list.iter().map(text)).map(untrack)
    }

    fn numbers(&self, list: &[i64]) -> PyResult<Bound<'py, PyAny>> {
        if list.is_empty() {
            return Ok(self.empty.clone().into_any());
        }
        PyTuple::new(self.py, list).map(untrack)
    }
}

/// Tells the collector of garbage that it need not look at a tuple of texts or numbers: a table has thousands.
fn untrack(tuple: Bound<'_, PyTuple>) -> Bound<'_, PyAny> {
    // SAFETY: a tuple is an object that the collector knows. What it holds points to nothing, so that it is in no cycle;
    // the collector does the same with such tuples when it comes across them.
    unsafe { pyo3::ffi::PyObject_GC_UnTrack(tuple.as_ptr().cast()) };
    tuple.into_any()
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
