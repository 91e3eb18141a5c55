//! The command line, and `dedup` over files or rows in memory.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use lookalike::{Closeness, kind::Input, search::AlikePair};
use lookalike_jobs::{
    CallerOptions, CustomDigester, Host, Id, RawText, Silent,
    options::{CommandOption, OptionValue, options_of},
};
use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyList, PyModule, PyString, PyTuple},
};

use crate::{
    error,
    own::{Own, named},
    recipe::Recipe,
    table,
    work::interruptible,
};

/// The result of `dedup`.
#[pyclass(frozen, module = "lookalike._native")]
pub struct Answer {
    inner: lookalike_jobs::DedupResult,
}

/// Custom functions: a recipe, the functions, and their arguments instead of texts, for the rows and
/// for those of `against`.
#[derive(FromPyObject)]
pub struct CustomFunctions(Py<Recipe>, Own, Option<Py<PyList>>, Option<Py<PyList>>);

/// An option: name, help, default, choices, whether it is a switch, whether it is hidden.
type OptionRow = (String, String, Option<String>, Vec<String>, bool, bool);

/// The options of a command.
#[pyfunction]
pub fn options(command: &str) -> Vec<OptionRow> {
    let all = options_of(command).into_iter();
    all.map(|option| {
        let CommandOption { name, help, default, choices, is_switch, is_hidden } = option;
        (name, help, default, choices, is_switch, is_hidden)
    })
    .collect()
}

/// The values of options: `None` is unset, a `bool` a switch.
fn values(given: &Bound<'_, PyDict>) -> PyResult<Vec<(String, OptionValue)>> {
    let given = given.iter().filter(|(_, value)| !value.is_none());
    let value = |value: Bound<'_, PyAny>| match value.cast::<PyBool>() {
        Ok(switch) => PyResult::Ok(OptionValue::Switch(switch.is_true())),
        Err(_) => {
            let text = PyModule::import(value.py(), "os")?.call_method1("fspath", (&value,));
            let text = text.or_else(|_| value.str().map(Bound::into_any))?;
            Ok(OptionValue::Text(text.extract::<OsString>()?))
        }
    };
    given.map(|(name, given)| PyResult::Ok((name.extract()?, value(given)?))).collect()
}

/// Runs `lookalike dedup` with these options, over files or over rows.
#[pyfunction]
#[pyo3(signature = (inputs, options, rows=None, against=None, custom=None))]
pub fn dedup(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    options: &Bound<'_, PyDict>,
    rows: Option<&Bound<'_, PyAny>>,
    against: Option<&Bound<'_, PyAny>>,
    custom: Option<CustomFunctions>,
) -> PyResult<Answer> {
    let options = values(options)?;
    let rows = rows.map(table::rows).transpose()?;
    let against = against.map(table::rows).transpose()?;
    let answer = interruptible(py, |stop| {
        let on_progress = || stop.check();
        let make = custom.as_ref().map(CustomFunctions::function);
        let make = make.as_ref().map(|make| make as CustomDigester<'_>);
        let host = Host::new(Silent, lookalike_cli::folders(), "python".to_owned());
        lookalike_jobs::dedup(
            inputs,
            options,
            CallerOptions { rows, against, on_progress: &on_progress, custom_digester: make },
            &host,
        )
    })?;
    answer.map(|inner| Answer { inner }).map_err(|failed| raised(py, &failed))
}

impl CustomFunctions {
    fn function(&self) -> impl for<'t> Fn(RawText<'t>) -> anyhow::Result<Input<'t>> + Sync {
        |raw| self.item(raw)
    }

    fn item<'t>(&self, raw: RawText<'t>) -> anyhow::Result<Input<'t>> {
        let Self(recipe, own, rows, others) = self;
        let RawText { text, name, row, is_other } = raw;
        let values = if is_other { others } else { rows };
        let make = |py: Python<'_>| {
            let (item, place) = match values {
                Some(values) => (values.bind(py).get_item(row)?, format!("row {row}")),
                None => (PyString::new(py, text).into_any(), name.into_owned()),
            };
            recipe.get().item(&item, text, own).map_err(|error| named(py, error, &place))
        };
        Ok(Python::attach(make)?)
    }
}

/// The exception of a custom function, or an error of the command line.
fn raised(py: Python<'_>, failed: &anyhow::Error) -> PyErr {
    let Some(error) = failed.chain().find_map(|cause| cause.downcast_ref::<PyErr>()) else {
        return error::command_line(failed);
    };
    error.clone_ref(py)
}

/// Runs the command line and returns its exit code.
#[pyfunction]
pub fn run(py: Python<'_>, args: Vec<OsString>) -> u8 {
    let code = py.detach(|| lookalike_cli::run(args));
    // The exit codes: success or match, no match, error.
    [0, 1].into_iter().find(|&known| ExitCode::from(known) == code).unwrap_or(2)
}

#[pymethods]
impl Answer {
    /// The number of items.
    #[getter]
    fn items(&self) -> usize {
        self.inner.items
    }

    /// Each group: the id of the keeper, and for each member its id, the id of the item it was
    /// compared with, distance and similarity.
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let id = |item: u32| self.id(py, item);
        let group = |group: &lookalike::groups::Group| {
            let member = |member: &lookalike::groups::Member| {
                let Closeness { distance, similarity, .. } = member.closeness;
                (id(member.item)?, id(member.alike)?, distance, similarity).into_pyobject(py)
            };
            let members: PyResult<Vec<_>> = group.members.iter().map(member).collect();
            (id(group.keep)?, members?).into_pyobject(py)
        };
        self.inner.groups.iter().map(group).collect()
    }

    /// Every pair: two ids, distance, similarity.
    fn pairs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let pair = |pair: AlikePair| {
            let Closeness { distance, similarity, .. } = pair.closeness;
            (self.id(py, pair.a)?, self.id(py, pair.b)?, distance, similarity).into_pyobject(py)
        };
        let pairs = interruptible(py, |stop| {
            let pairs = self.inner.pairs(&|| stop.check())?;
            Ok(pairs.to_vec()?)
        })?;
        pairs.map_err(|failed| raised(py, &failed))?.into_iter().map(pair).collect()
    }

    /// The kept rows, from 0, or the ids of the kept items of files.
    fn kept<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.inner.kept().map(|item| self.row_or_id(py, item)).collect()
    }

    /// Like `kept`, for the removed items.
    fn removed<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let members = self.inner.groups.iter().flat_map(|group| &group.members);
        let mut members: Vec<u32> = members.map(|member| member.item).collect();
        members.sort_unstable();
        members.into_iter().map(|item| self.row_or_id(py, item)).collect()
    }

    /// The summary as JSON.
    #[getter]
    fn summary(&self) -> &str {
        &self.inner.summary
    }

    /// The messages for skipped records.
    #[getter]
    fn skipped(&self) -> Vec<String> {
        self.inner.skipped.clone()
    }

    /// Why nothing may be removed, if more than `max_remove` would be.
    #[getter]
    fn refused(&self) -> Option<String> {
        self.inner.refused.as_ref().map(|error| error::in_python(&lookalike_jobs::message(error)))
    }
}

impl Answer {
    fn id<'py>(&self, py: Python<'py>, item: u32) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.inner.id(item) {
            Id::Number(number) => number.into_pyobject(py)?.into_any(),
            Id::Row(number) => (number - 1).into_pyobject(py)?.into_any(),
            Id::Text(text) => text.into_pyobject(py)?.into_any(),
        })
    }

    fn row_or_id<'py>(&self, py: Python<'py>, item: u32) -> PyResult<Bound<'py, PyAny>> {
        match self.inner.rows.get(item as usize) {
            Some(row) => Ok(row.into_pyobject(py)?.into_any()),
            None => self.id(py, item),
        }
    }
}
