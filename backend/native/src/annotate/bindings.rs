//! What Python sees of one function: `count_function`, `list_file_parts` and `read_function`.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::annotate::code::{FunctionCode, NoCode, list_parts, read_code};
use crate::annotate::counts::{FunctionName, count_addresses};
use crate::bytes::from_hexadecimal;
use crate::mapped::map_file;
use crate::modules::{FileId, Inlining, SymbolSources};
use crate::python::{map_recording, to_exception};
use crate::symbols::programs::{Program, open_program};
use crate::trie::Limits;

/// Count the samples in a function of perf.data by address.
///
/// Returns `samples` of the event, and `functions`: a list of (module, key, is_kernel, is_anonymous, start, end, counts)
/// with the most samples first, where counts are pairs of address and samples. Raises `ReaderError`, as `read_perf_data`.
#[pyfunction]
#[pyo3(signature = (path, *, event, function, module=None, kallsyms=None, store=None, root=None, perf_maps=None))]
#[allow(clippy::too_many_arguments)]
fn count_function<'py>(
    py: Python<'py>,
    path: PathBuf,
    event: &str,
    function: &str,
    module: Option<&str>,
    kallsyms: Option<PathBuf>,
    store: Option<PathBuf>,
    root: Option<PathBuf>,
    perf_maps: Option<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let sources = SymbolSources { kallsyms, store, root, perf_maps, inlining: Inlining::Never };
    let name =
        FunctionName { event: event.as_bytes(), function: function.as_bytes(), module: module.map(str::as_bytes) };
    let read = || count_addresses(&map_recording(&path)?, sources, Limits::default(), &name);
    let counts = py.detach(read).map_err(to_exception)?;
    let into = PyDict::new(py);
    into.set_item("samples", counts.samples)?;
    let functions: Vec<_> = counts
        .functions
        .into_iter()
        .map(|item| (item.module, item.key, item.is_kernel, item.is_anonymous, item.start, item.end, item.counts))
        .collect();
    into.set_item("functions", functions)?;
    Ok(into)
}

/// List where the sections of lines are in an ELF file, of which only the headers need to be at hand.
///
/// Returns None, or (build ID or None, whether its instructions can be printed, [(name, offset, size)]).
#[pyfunction]
#[allow(clippy::type_complexity)]
fn list_file_parts(path: PathBuf) -> Option<(Option<String>, bool, Vec<(&'static str, u64, u64)>)> {
    let parts = list_parts(&map_file(&path).ok()?)?;
    Some((parts.build_id, parts.is_known, parts.sections))
}

/// Read the instructions at the offsets from `start` to `end` of a program: the file `program`, and `debug` with its
/// debugging information; else the file `module` below `root`, if it has the build ID `key`.
///
/// Returns None if it is not at hand, or a dictionary: `supported`, and if that is true `address`, `cut`, `files` and
/// `instructions`: (offset, length, text, target or None, callee or None, file, line), with file -1 where it is unknown.
#[pyfunction]
#[pyo3(signature = (*, start, end, program=None, debug=None, root=None, module="", key="", lines=true))]
#[allow(clippy::too_many_arguments)]
fn read_function<'py>(
    py: Python<'py>,
    start: u64,
    end: u64,
    program: Option<PathBuf>,
    debug: Option<PathBuf>,
    root: Option<PathBuf>,
    module: &str,
    key: &str,
    lines: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let open = || match program {
        Some(path) => {
            let debug = debug.and_then(|path| map_file(&path).ok()).map(Arc::new);
            Some(Program { bytes: Arc::new(map_file(&path).ok()?), debug })
        }
        None => {
            let id = FileId::BuildId(from_hexadecimal(key)?);
            open_program(&SymbolSources { root, ..SymbolSources::default() }, module.as_bytes(), &id)
        }
    };
    let code = py.detach(|| open().map(|program| read_code(&program, start, end, lines)));
    match code {
        None | Some(Err(NoCode::NotThere)) => Ok(None),
        Some(Err(NoCode::Architecture)) => {
            let into = PyDict::new(py);
            into.set_item("supported", false)?;
            Ok(Some(into))
        }
        Some(Ok(code)) => to_dictionary(py, code).map(Some),
    }
}

fn to_dictionary(py: Python<'_>, code: FunctionCode) -> PyResult<Bound<'_, PyDict>> {
    let into = PyDict::new(py);
    into.set_item("supported", true)?;
    into.set_item("address", code.address)?;
    into.set_item("cut", code.is_cut)?;
    into.set_item("files", code.files)?;
    let instructions: Vec<_> = code
        .instructions
        .into_iter()
        .map(|item| {
            let (file, line) = item.line.map_or((-1, 0), |(file, line)| (file as i64, line));
            let own = item.instruction;
            (own.offset, own.length, own.text, own.target, item.callee, file, line)
        })
        .collect();
    into.set_item("instructions", instructions)?;
    Ok(into)
}

/// Add the functions to the module.
pub fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(count_function, module)?)?;
    module.add_function(wrap_pyfunction!(list_file_parts, module)?)?;
    module.add_function(wrap_pyfunction!(read_function, module)?)
}
