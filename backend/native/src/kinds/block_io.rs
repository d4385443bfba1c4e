//! Requests to block devices by the stack that submitted them, from `block_rq_insert`, `block_rq_issue` and
//! `block_rq_complete`.
//!
//! A request that a device cannot take at once is inserted into a queue by the thread that submits it, and issued by any
//! thread that runs the queue later. So the first of both events has the stack.

use std::collections::HashMap;

use ahash::RandomState;

use super::list_readings;
use crate::error::Result;
use crate::modules::{Modules, SymbolSources};
use crate::order::{Areas, Order, Ordered};
use crate::perf::file::Header;
use crate::perf::records::kind;
use crate::perf::samples::Sample;
use crate::perf::tracing::{Field, Tracepoint};
use crate::profile::{Columns, Profile};
use crate::stacks::Stacks;
use crate::trie::{FrameKind, Limits};

/// Bits of a device number that are its minor number.
const MINOR_BITS: u32 = 20;
const TIME: usize = 0;
const BYTES: usize = 1;

enum Reading {
    Insert { device: Field, sector: Field, operation: Field },
    Issue { device: Field, sector: Field, bytes: Field, operation: Field },
    Complete { device: Field, sector: Field },
}

/// A request in a queue, or that the device works on. `since`: when it was issued.
struct Request {
    since: u64,
    pid: u32,
    tid: u32,
    comm: u32,
    cpu: Option<u32>,
    node: u32,
}

/// Read the requests of a whole file: a row of the event `device_time` (nanoseconds) and one of `bytes` for each.
///
/// Issue and completion are paired by device and sector. A request that has not ended counts up to the last event.
pub fn read_block_io(bytes: &[u8], sources: SymbolSources, limits: Limits, pids: &[u32]) -> Result<Profile> {
    let (header, area) = Header::parse(bytes)?;
    let readings = list_readings(&header, |_, point| read_tracepoint(point?));
    let areas = Areas::unpack(area)?;
    let mut reader = Reader {
        stacks: Stacks::new(Modules::new(sources, header.build_ids.clone()).with_clock(header.clock()), limits),
        columns: Columns::default(),
        queued: HashMap::default(),
        requests: HashMap::default(),
        pids,
        end: 0,
    };
    for item in Order::of(&header, &areas).records(&areas) {
        if item.record.kind == kind::SAMPLE {
            reader.sample(&header, &readings, &item)?;
        } else {
            reader.stacks.read(&item.record);
        }
    }
    let mut open: Vec<_> = std::mem::take(&mut reader.requests).into_iter().collect();
    open.sort_by_key(|(key, request)| (request.since, *key));
    for (_, request) in open {
        reader.end_request(&request, reader.end);
    }
    Profile::build(&header, reader.columns, reader.stacks, vec!["device_time".to_owned(), "bytes".to_owned()])
}

fn read_tracepoint(point: &Tracepoint) -> Option<Reading> {
    let (device, sector) = (point.field("dev")?, point.field("sector")?);
    match (point.system.as_str(), point.name.as_str()) {
        ("block", "block_rq_insert") => Some(Reading::Insert { device, sector, operation: point.field("rwbs")? }),
        ("block", "block_rq_issue") => {
            let (bytes, operation) = (point.field("bytes")?, point.field("rwbs")?);
            Some(Reading::Issue { device, sector, bytes, operation })
        }
        ("block", "block_rq_complete") => Some(Reading::Complete { device, sector }),
        _ => None,
    }
}

struct Reader<'a> {
    stacks: Stacks,
    columns: Columns,
    /// Requests by device and sector.
    queued: HashMap<(u32, i64), Request, RandomState>,
    requests: HashMap<(u32, i64), Request, RandomState>,
    pids: &'a [u32],
    end: u64,
}

impl Reader<'_> {
    fn sample(&mut self, header: &Header<'_>, readings: &[Option<Reading>], item: &Ordered<'_>) -> Result<()> {
        let parsed = item.event.and_then(|event| {
            let sample = Sample::parse(&header.events[event].attribute, item.record.payload)?;
            Some((readings[event].as_ref()?, sample))
        });
        let Some((reading, sample)) = parsed else { return Ok(()) };
        self.end = item.time;
        let raw = sample.raw.unwrap_or(&[]);
        if self.read(reading, &sample, raw, item)?.is_none() {
            self.stacks.damaged += 1;
        }
        Ok(())
    }

    fn read(&mut self, reading: &Reading, sample: &Sample<'_>, raw: &[u8], item: &Ordered<'_>) -> Result<Option<()>> {
        match reading {
            Reading::Insert { device, sector, operation } => {
                let numbers = (device.number(raw), sector.number(raw), operation.text(raw));
                let (Some(device), Some(sector), Some(operation)) = numbers else { return Ok(None) };
                let request = self.submit(sample, item, device as u32, operation)?;
                self.queued.insert((device as u32, sector), request);
            }
            Reading::Issue { device, sector, bytes, operation } => {
                let numbers = (device.number(raw), sector.number(raw), bytes.number(raw), operation.text(raw));
                let (Some(device), Some(sector), Some(bytes), Some(operation)) = numbers else { return Ok(None) };
                let key = (device as u32, sector);
                let mut request = match (self.requests.remove(&key), self.queued.remove(&key)) {
                    // Issued again, after the device had refused it, or its completion was lost.
                    (Some(request), None) => {
                        self.end_request(&request, item.time);
                        request
                    }
                    (before, Some(request)) => {
                        if let Some(before) = before {
                            self.end_request(&before, item.time);
                        }
                        request
                    }
                    (None, None) => self.submit(sample, item, device as u32, operation)?,
                };
                request.since = item.time;
                if self.pids.is_empty() || self.pids.contains(&request.pid) {
                    self.push(&request, BYTES, i64::from(bytes as u32));
                    self.requests.insert(key, request);
                }
            }
            Reading::Complete { device, sector } => {
                let (Some(device), Some(sector)) = (device.number(raw), sector.number(raw)) else { return Ok(None) };
                if let Some(request) = self.requests.remove(&(device as u32, sector)) {
                    self.end_request(&request, item.time);
                }
            }
        }
        Ok(Some(()))
    }

    fn submit(&mut self, sample: &Sample<'_>, item: &Ordered<'_>, device: u32, operation: &[u8]) -> Result<Request> {
        let (major, minor) = (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1));
        let text = format!("{} {major}:{minor}", name_operation(operation));
        let comm = self.stacks.comm_of(sample.tid);
        let root = self.stacks.comm_node(comm)?;
        let mark = self.stacks.trie.add_frame(text.as_bytes(), b"", FrameKind::Comm, 0)?;
        let below = self.stacks.trie.child(root, mark)?;
        let node = self.stacks.stack(below, sample, item.record.misc)?;
        Ok(Request { since: item.time, pid: sample.pid, tid: sample.tid, comm, cpu: sample.cpu, node })
    }

    fn end_request(&mut self, request: &Request, time: u64) {
        self.push(request, TIME, time.saturating_sub(request.since) as i64);
    }

    fn push(&mut self, request: &Request, event: usize, weight: i64) {
        let of = Sample { pid: request.pid, tid: request.tid, cpu: request.cpu, ..Sample::default() };
        self.columns.push(request.since, &of, request.comm, request.node, event);
        self.columns.weight.push(weight);
    }
}

/// What a request does, by the letters that the kernel gives it (`blk_fill_rwbs`): a leading F asks for a flush first.
fn name_operation(letters: &[u8]) -> &'static str {
    match letters {
        [b'F', b'W', ..] => "flush and write",
        [b'F', ..] => "flush",
        [b'W', rest @ ..] if rest.contains(&b'F') => "write through",
        [b'W', ..] => "write",
        [b'R', rest @ ..] if rest.contains(&b'A') => "read ahead",
        [b'R', ..] => "read",
        [b'D', ..] => "discard",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_names() {
        let names = [&b"R"[..], b"RA", b"RM", b"WS", b"WFSM", b"FWFS", b"FF", b"D", b"N"].map(name_operation);
        let expected =
            ["read", "read ahead", "read", "write", "write through", "flush and write", "flush", "discard", "other"];
        assert_eq!(names, expected);
    }
}
