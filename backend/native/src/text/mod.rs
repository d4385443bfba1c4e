//! The text of `perf script`, as perf 4.x to 6.x print it.

pub mod kinds;
pub mod lines;
pub mod reader;
