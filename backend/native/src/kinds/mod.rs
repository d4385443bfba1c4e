//! Kinds of profiles that are computed from events: pairs of tracepoints, and samples with them.

pub mod block_io;
pub mod futex;
pub mod off_cpu;
pub mod wall_time;

use crate::perf::attributes::Attribute;
use crate::perf::file::Header;
use crate::perf::tracing::{Tracepoint, read_tracepoints};

/// What the samples of each event mean; None of those that a kind does not use.
fn list_readings<T>(
    header: &Header<'_>,
    read: impl Fn(&Attribute, Option<&Tracepoint>) -> Option<T>,
) -> Vec<Option<T>> {
    let tracepoints = header.tracing_data.map(read_tracepoints).unwrap_or_default();
    let of_event = |attribute: &Attribute| {
        let point = tracepoints.get(&attribute.config).filter(|_| attribute.is_tracepoint());
        read(attribute, point)
    };
    header.events.iter().map(|event| of_event(&event.attribute)).collect()
}
