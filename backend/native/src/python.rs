//! What Python sees: `read_perf_data(path, ...)` returns columns as bytes, for `numpy.frombuffer`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{ReadError, Result};
use crate::kinds::block_io::read_block_io;
use crate::kinds::futex::read_futex;
use crate::kinds::off_cpu::read_off_cpu;
use crate::kinds::wall_time::read_wall_time;
use crate::mapped::map_file;
use crate::modules::{Inlining, SymbolSources, UsedModule};
use crate::profile::{Columns, Profile, read_profile};
use crate::sched::{pack, read_schedule};
use crate::text::reader::TextReader;
use crate::trie::{Frames, Limits, Strings, Trie};

const LISTED_FRAMES: usize = 4_000_000;

create_exception!(culprit_native, ReaderError, PyException, "A file that is no profile: `args` are a key and a value.");

/// Read the samples of perf.data, or by `kind` what is computed from its events: `off_cpu`, `wall_time`, `block_io` or
/// `futex`. Of these, with `pids` only what is of these processes.
///
/// Returns a dictionary of columns (bytes of little-endian numbers), strings and numbers. Raises `ReaderError` with
/// (key, value), where the key is `not_perf_data`, `no_samples`, `no_overlap`, `limit` or `io`.
#[pyfunction]
#[pyo3(signature = (path, *, kind="samples", pids=Vec::new(), kallsyms=None, store=None, root=None, perf_maps=None, inlines=None, symbol=4096, frames=1_000_000, nodes=4_000_000, names=268_435_456))]
#[allow(clippy::too_many_arguments)]
fn read_perf_data<'py>(
    py: Python<'py>,
    path: PathBuf,
    kind: &str,
    pids: Vec<u32>,
    kallsyms: Option<PathBuf>,
    store: Option<PathBuf>,
    root: Option<PathBuf>,
    perf_maps: Option<PathBuf>,
    inlines: Option<bool>,
    symbol: usize,
    frames: usize,
    nodes: usize,
    names: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let inlining = match inlines {
        None => Inlining::OfCopies,
        Some(false) => Inlining::Never,
        Some(true) => Inlining::Always,
    };
    let sources = SymbolSources { kallsyms, store, root, perf_maps, inlining };
    let limits = Limits { symbol, frames, nodes, names };
    let read = |bytes: &[u8]| match kind {
        "off_cpu" => read_off_cpu(bytes, sources, limits, &pids),
        "wall_time" => read_wall_time(bytes, sources, limits, &pids),
        "block_io" => read_block_io(bytes, sources, limits, &pids),
        "futex" => read_futex(bytes, sources, limits, &pids),
        _ => read_profile(bytes, sources, limits),
    };
    let profile = py.detach(|| read(&map_recording(&path)?)).map_err(to_exception)?;
    to_dictionary(py, profile)
}

/// List the modules that the samples of perf.data are in, without reading symbols.
///
/// Returns the `modules` and the `kernel` of `read_perf_data`, with its errors.
#[pyfunction]
fn list_perf_modules<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let limits = Limits { symbol: 64, frames: LISTED_FRAMES, nodes: LISTED_FRAMES, names: 64 * LISTED_FRAMES };
    let read = |data: &[u8]| read_profile(data, SymbolSources::default(), limits);
    let profile = py.detach(|| read(data)).map_err(to_exception)?;
    let into = PyDict::new(py);
    add_modules(&into, profile.modules, profile.kernel)?;
    Ok(into)
}

pub(crate) fn map_recording(path: &Path) -> Result<Mmap> {
    let bytes = map_file(path).map_err(|error| ReadError::Io(error.to_string()))?;
    if bytes.is_empty() { Err(ReadError::damaged("it is empty")) } else { Ok(bytes) }
}

pub(crate) fn to_exception(error: ReadError) -> PyErr {
    match error {
        ReadError::NotPerfData(reason) => ReaderError::new_err(("not_perf_data", reason)),
        ReadError::NoSamples => ReaderError::new_err(("no_samples", "")),
        ReadError::NoOverlap => ReaderError::new_err(("no_overlap", "")),
        ReadError::Limit(name, limit) => ReaderError::new_err(("limit", name, limit)),
        ReadError::LimitAt(name, limit, line) => ReaderError::new_err(("limit_at", name, limit, line)),
        ReadError::NotText(line, text) => {
            ReaderError::new_err(("not_text", String::from_utf8_lossy(&text).into_owned(), line))
        }
        ReadError::Io(reason) => ReaderError::new_err(("io", reason)),
    }
}

/// Read a recording of the scheduler.
///
/// Returns a dictionary of columns and numbers, named as those of `SchedTable`. Raises `ReaderError`, as
/// `read_perf_data` does; `no_samples` means that no switch was recorded.
#[pyfunction]
fn read_perf_sched(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let schedule = py.detach(|| read_schedule(&map_recording(&path)?)).map_err(to_exception)?;
    let into = PyDict::new(py);
    into.set_item("t_ns", to_bytes(py, schedule.time)?)?;
    into.set_item("len_ns", to_bytes(py, schedule.length)?)?;
    into.set_item("cpu", to_bytes(py, schedule.cpu)?)?;
    into.set_item("task", to_bytes(py, schedule.task)?)?;
    into.set_item("state", to_bytes(py, schedule.state)?)?;
    into.set_item("delay_ns", to_bytes(py, schedule.delay)?)?;
    into.set_item("origin", to_bytes(py, schedule.origin)?)?;
    into.set_item("cut", to_bytes(py, schedule.cut)?)?;
    into.set_item("waker", to_bytes(py, schedule.waker)?)?;
    into.set_item("wake_cpu", to_bytes(py, schedule.wake_cpu)?)?;
    into.set_item("wake_context", to_bytes(py, schedule.wake_context)?)?;
    into.set_item("tid", to_bytes(py, schedule.tid)?)?;
    into.set_item("pid", to_bytes(py, schedule.pid)?)?;
    into.set_item("prio", to_bytes(py, schedule.priority)?)?;
    into.set_item("open_wait_ns", to_bytes(py, schedule.open_wait)?)?;
    add_strings(py, &into, "comm", pack(&schedule.comms))?;
    into.set_item("cpus", schedule.cpus)?;
    into.set_item("t0_ns", schedule.start)?;
    into.set_item("t1_ns", schedule.end)?;
    into.set_item("events", schedule.events)?;
    into.set_item("lost", schedule.lost)?;
    into.set_item("inconsistent", schedule.inconsistent)?;
    into.set_item("unreadable", schedule.unreadable)?;
    into.set_item("clock", schedule.clock)?;
    Ok(into)
}

trait Number: Copy {
    const SIZE: usize;
    fn write(self, out: &mut [u8]);
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            const SIZE: usize = size_of::<$kind>();
            fn write(self, out: &mut [u8]) { out.copy_from_slice(&self.to_le_bytes()); }
        }
    )*};
}
number!(u8, i32, i64);

fn to_bytes<'py, T: Number>(py: Python<'py>, numbers: Vec<T>) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, numbers.len() * T::SIZE, |out| {
        for (place, number) in out.chunks_exact_mut(T::SIZE).zip(&numbers) {
            number.write(place);
        }
        Ok(())
    })
}

fn add_strings(py: Python<'_>, into: &Bound<'_, PyDict>, name: &str, mut strings: Strings) -> PyResult<()> {
    if strings.offsets.is_empty() {
        strings.offsets.push(0);
    }
    into.set_item(format!("{name}.blob"), to_bytes(py, strings.blob)?)?;
    into.set_item(format!("{name}.offsets"), to_bytes(py, strings.offsets)?)
}

fn to_dictionary(py: Python<'_>, profile: Profile) -> PyResult<Bound<'_, PyDict>> {
    let into = PyDict::new(py);
    add_samples(py, &into, profile.columns)?;
    add_stacks(py, &into, profile.trie, profile.frames)?;
    add_strings(py, &into, "comms", profile.comms)?;
    into.set_item("events", profile.events)?;
    into.set_item("clock", profile.clock)?;
    into.set_item("has_time", profile.has_time)?;
    into.set_item("has_cpu", profile.has_cpu)?;
    into.set_item("lost", profile.lost)?;
    into.set_item("damaged", profile.damaged)?;
    add_modules(&into, profile.modules, profile.kernel)?;
    into.set_item("host", profile.texts.into_iter().collect::<HashMap<_, _>>())?;
    Ok(into)
}

fn add_modules(into: &Bound<'_, PyDict>, modules: Vec<UsedModule>, kernel: (u64, usize)) -> PyResult<()> {
    let modules: Vec<_> = modules
        .into_iter()
        .map(|item| {
            let places: Vec<_> = item.places.iter().map(|place| (place.pid, place.start, place.end)).collect();
            (item.path, item.key, item.is_anonymous, places, item.samples, item.symbols)
        })
        .collect();
    into.set_item("modules", modules)?;
    into.set_item("kernel", kernel)
}

fn add_samples(py: Python<'_>, into: &Bound<'_, PyDict>, columns: Columns) -> PyResult<()> {
    into.set_item("t_ns", to_bytes(py, columns.time)?)?;
    into.set_item("cpu", to_bytes(py, columns.cpu)?)?;
    into.set_item("pid", to_bytes(py, columns.pid)?)?;
    into.set_item("tid", to_bytes(py, columns.tid)?)?;
    into.set_item("comm", to_bytes(py, columns.comm)?)?;
    into.set_item("stack", to_bytes(py, columns.stack)?)?;
    into.set_item("weight", to_bytes(py, columns.weight)?)?;
    into.set_item("event", to_bytes(py, columns.event)?)
}

fn add_stacks(py: Python<'_>, into: &Bound<'_, PyDict>, trie: Trie, frames: Frames) -> PyResult<()> {
    into.set_item("trie.parent", to_bytes(py, trie.parent)?)?;
    into.set_item("trie.frame", to_bytes(py, trie.frame)?)?;
    into.set_item("trie.end", to_bytes(py, trie.end)?)?;
    into.set_item("trie.depth", to_bytes(py, trie.depth)?)?;
    into.set_item("frames.name", to_bytes(py, frames.name)?)?;
    into.set_item("frames.module", to_bytes(py, frames.module)?)?;
    into.set_item("frames.kind", to_bytes(py, frames.kind)?)?;
    into.set_item("frames.flags", to_bytes(py, frames.flags)?)?;
    add_strings(py, into, "strings", frames.strings)
}

/// Reads the text of `perf script` in pieces of any size: `feed(bytes)`, then `finish()`.
#[pyclass]
struct PerfScriptReader {
    reader: Option<TextReader>,
}

#[pymethods]
impl PerfScriptReader {
    #[new]
    #[pyo3(signature = (*, line, depth, symbol, frames, nodes, names))]
    fn new(line: usize, depth: usize, symbol: usize, frames: usize, nodes: usize, names: usize) -> Self {
        let limits = Limits { symbol, frames, nodes, names };
        Self { reader: Some(TextReader::new(limits, line, depth)) }
    }

    /// Read a piece. Raises `ReaderError`; then and after `finish`, nothing more can be read.
    fn feed(&mut self, py: Python<'_>, piece: &[u8]) -> PyResult<()> {
        let mut reader = self.reader.take().ok_or_else(|| ReaderError::new_err(("io", "it has ended")))?;
        py.detach(|| reader.feed(piece)).map_err(to_exception)?;
        self.reader = Some(reader);
        Ok(())
    }

    /// Return columns and numbers, as `read_perf_data` does, with `skipped`, `first_skipped` and `cut_names`.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reader = self.reader.take().ok_or_else(|| ReaderError::new_err(("io", "it has ended")))?;
        let profile = py.detach(|| reader.finish()).map_err(to_exception)?;
        let into = PyDict::new(py);
        add_samples(py, &into, profile.columns)?;
        add_stacks(py, &into, profile.trie, profile.frames)?;
        add_strings(py, &into, "comms", profile.comms)?;
        let events: Vec<_> = profile.events.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        into.set_item("events", events)?;
        into.set_item("has_time", profile.has_time)?;
        into.set_item("has_cpu", profile.has_cpu)?;
        into.set_item("lost", profile.lost)?;
        into.set_item("skipped", profile.skipped)?;
        into.set_item("first_skipped", profile.first_skipped)?;
        into.set_item("cut_names", profile.cut_names)?;
        Ok(into)
    }
}

#[pymodule]
fn culprit_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ReaderError", module.py().get_type::<ReaderError>())?;
    module.add_class::<PerfScriptReader>()?;
    module.add_function(wrap_pyfunction!(read_perf_data, module)?)?;
    module.add_function(wrap_pyfunction!(list_perf_modules, module)?)?;
    module.add_function(wrap_pyfunction!(read_perf_sched, module)?)?;
    crate::annotate::bindings::add_functions(module)
}
