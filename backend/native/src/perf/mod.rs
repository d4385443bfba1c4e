//! The format of perf.data, from `include/uapi/linux/perf_event.h` and
//! `tools/perf/Documentation/perf.data-file-format.txt` of Linux.

pub mod attributes;
pub mod file;
pub mod records;
pub mod samples;
pub mod tracing;
pub mod user_state;
