//! Waits in futex(2) by the address of the lock, from `sys_enter_futex` with call chains and `sys_exit_futex`.

use std::collections::HashMap;

use ahash::RandomState;

use super::list_readings;
use crate::bytes::Cursor;
use crate::error::Result;
use crate::modules::{Modules, SymbolSources};
use crate::order::{Areas, Order, Ordered};
use crate::perf::file::Header;
use crate::perf::records::{Record, kind};
use crate::perf::samples::Sample;
use crate::perf::tracing::{Field, Tracepoint};
use crate::processes::{Mapping, Processes};
use crate::profile::{Columns, Profile};
use crate::stacks::Stacks;
use crate::trie::{FrameKind, Limits, Strings};

/// Operations that wait: WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI and LOCK_PI2.
const WAITS: [i64; 5] = [0, 6, 9, 11, 13];
const COMMAND_BITS: i64 = 0x7f;
/// The lock is known only to its process.
const PRIVATE: i64 = 0x80;
const PATH_MAX: usize = 4096;

enum Reading {
    Enter { address: Field, operation: Field },
    Exit,
}

struct Wait {
    since: u64,
    pid: u32,
    comm: u32,
    cpu: Option<u32>,
    node: u32,
}

/// Read the waits of a whole file: weights are nanoseconds, times those at which the waits began.
///
/// The outermost frame is the lock: its address, and the mapping that it is in. A wait that has not ended counts up to
/// the last event.
pub fn read_futex(bytes: &[u8], sources: SymbolSources, limits: Limits, pids: &[u32]) -> Result<Profile> {
    let (header, area) = Header::parse(bytes)?;
    let readings = list_readings(&header, |_, point| read_tracepoint(point?));
    let areas = Areas::unpack(area)?;
    let mut reader = Reader {
        stacks: Stacks::new(Modules::new(sources, header.build_ids.clone()).with_clock(header.clock()), limits),
        columns: Columns::default(),
        waits: HashMap::default(),
        memory: Memory::default(),
        pids,
        end: 0,
    };
    for item in Order::of(&header, &areas).records(&areas) {
        if item.record.kind == kind::SAMPLE {
            reader.sample(&header, &readings, &item)?;
        } else {
            reader.memory.read(&item.record);
            reader.stacks.read(&item.record);
        }
    }
    let mut open: Vec<_> = std::mem::take(&mut reader.waits).into_iter().collect();
    open.sort_by_key(|(tid, wait)| (wait.since, *tid));
    for (tid, wait) in open {
        reader.end_wait(tid, &wait, reader.end);
    }
    Profile::build(&header, reader.columns, reader.stacks, vec!["futex".to_owned()])
}

fn read_tracepoint(point: &Tracepoint) -> Option<Reading> {
    match (point.system.as_str(), point.name.as_str()) {
        ("syscalls", "sys_enter_futex") => {
            Some(Reading::Enter { address: point.field("uaddr")?, operation: point.field("op")? })
        }
        ("syscalls", "sys_exit_futex") => Some(Reading::Exit),
        _ => None,
    }
}

struct Reader<'a> {
    stacks: Stacks,
    columns: Columns,
    waits: HashMap<u32, Wait, RandomState>,
    memory: Memory,
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
        // Without its end, a wait has ended before the thread calls again.
        if let Some(wait) = self.waits.remove(&sample.tid) {
            self.end_wait(sample.tid, &wait, item.time);
        }
        if let Reading::Enter { address, operation } = reading {
            let raw = sample.raw.unwrap_or(&[]);
            let (Some(address), Some(operation)) = (address.number(raw), operation.number(raw)) else {
                self.stacks.damaged += 1;
                return Ok(());
            };
            let is_wait = WAITS.contains(&(operation & COMMAND_BITS));
            if is_wait && (self.pids.is_empty() || self.pids.contains(&sample.pid)) {
                self.begin_wait(&sample, item, address as u64, operation & PRIVATE != 0)?;
            }
        }
        Ok(())
    }

    fn begin_wait(&mut self, sample: &Sample<'_>, item: &Ordered<'_>, address: u64, is_private: bool) -> Result<()> {
        let (place, path) = self.memory.describe(sample.pid, address);
        let owner = if is_private { format!("process {}", sample.pid) } else { "shared".to_owned() };
        let text = format!("{address:#x} {place} ({owner})");
        let lock = self.stacks.trie.add_frame(text.as_bytes(), &path, FrameKind::Comm, 0)?;
        let root = self.stacks.trie.child(0, lock)?;
        let comm = self.stacks.comm_of(sample.tid);
        let below = self.stacks.comm_below(root, comm)?;
        let node = self.stacks.stack(below, sample, item.record.misc)?;
        let wait = Wait { since: item.time, pid: sample.pid, comm, cpu: sample.cpu, node };
        self.waits.insert(sample.tid, wait);
        Ok(())
    }

    fn end_wait(&mut self, tid: u32, wait: &Wait, time: u64) {
        let waiter = Sample { pid: wait.pid, tid, cpu: wait.cpu, ..Sample::default() };
        self.columns.push(wait.since, &waiter, wait.comm, wait.node, 0);
        self.columns.weight.push(time.saturating_sub(wait.since) as i64);
    }
}

/// Which file, or which kind of memory, is at an address of a process: code and data.
#[derive(Default)]
struct Memory {
    processes: Processes,
    paths: Strings,
}

impl Memory {
    /// MMAP2: pid, tid, address, length, offset, device and inode, protection, flags, path. FORK: pid, ppid, tid, ptid.
    fn read(&mut self, record: &Record<'_>) -> Option<()> {
        let mut cursor = Cursor::new(record.payload);
        match record.kind {
            kind::MMAP2 => {
                let pid = cursor.u32()?;
                cursor.skip(4)?;
                let (start, size, file_offset) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
                cursor.skip(24 + 8)?;
                let path = cursor.text();
                let module = self.paths.intern(&path[..path.len().min(PATH_MAX)]);
                let mapping = Mapping { start, end: start.checked_add(size)?, file_offset, module };
                self.processes.add_mapping(pid, mapping);
            }
            kind::FORK => {
                let (pid, parent, tid, parent_tid) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
                self.processes.fork(pid, tid, parent, parent_tid);
            }
            _ => {}
        }
        Some(())
    }

    /// The place of an address as a text, and the path of its file.
    fn describe(&mut self, pid: u32, address: u64) -> (String, Vec<u8>) {
        let space = self.processes.space_of(pid);
        let Some(mapping) = space.find(address) else { return ("[unknown mapping]".to_owned(), Vec::new()) };
        let at = mapping.module as usize;
        let span = self.paths.offsets[at] as usize..self.paths.offsets[at + 1] as usize;
        let bytes = &self.paths.blob[span];
        let path = String::from_utf8_lossy(bytes);
        if path.is_empty() || path.starts_with("//anon") || path.starts_with("[anon") {
            return ("[anonymous memory]".to_owned(), Vec::new());
        }
        if path.starts_with('[') {
            return (path.into_owned(), Vec::new());
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        (format!("{name}+{:#x}", mapping.offset_of(address)), bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(pid: u32, start: u64, size: u64, offset: u64, path: &str) -> Vec<u8> {
        let mut payload = [pid.to_le_bytes(), pid.to_le_bytes()].concat();
        for number in [start, size, offset, 0, 0, 0, 0] {
            payload.extend(number.to_le_bytes());
        }
        payload.extend(path.as_bytes());
        payload.push(0);
        payload
    }

    fn record(kind: u32, payload: &[u8]) -> Record<'_> {
        Record { kind, misc: 0, payload, offset: 0 }
    }

    #[test]
    fn an_address_is_in_the_mapping_of_its_process_or_of_its_parent() {
        let mut memory = Memory::default();
        memory.read(&record(kind::MMAP2, &mapping(7, 0x1000, 0x1000, 0x3000, "/lib/a.so")));
        memory.read(&record(kind::MMAP2, &mapping(7, 0x5000, 0x1000, 0, "[heap]")));
        // A part that was made read-only leaves the rest in its place.
        memory.read(&record(kind::MMAP2, &mapping(7, 0x1000, 0x8, 0x3000, "/lib/b.so")));
        memory.read(&record(kind::FORK, &[8_u32, 7, 8, 7].map(u32::to_le_bytes).concat()));
        assert_eq!(memory.describe(7, 0x1010), ("a.so+0x3010".to_owned(), b"/lib/a.so".to_vec()));
        assert_eq!(memory.describe(8, 0x5008).0, "[heap]");
        assert_eq!(memory.describe(8, 0x6000).0, "[unknown mapping]");
        assert_eq!(memory.describe(9, 0x1010).0, "[unknown mapping]");
    }

    #[test]
    fn cut_records_are_left_out() {
        let whole = mapping(7, 0x1000, 0x1000, 0, "/a");
        for size in 0..56 {
            let mut memory = Memory::default();
            assert_eq!(memory.read(&record(kind::MMAP2, &whole[..size])), None);
        }
    }
}
