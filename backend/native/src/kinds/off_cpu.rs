//! Time off the CPU by stack, from `sched_switch` with call chains; with `sched_waking`, who ended each wait.
//!
//! With samples of CPUs in the same recording, the whole time of threads: see `wall_time`.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;

use super::list_readings;
use super::wall_time::{CpuTime, Leaving};
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

/// Bits of `prev_state` that mean that a thread can still run: none, or only that it was preempted.
const STATE_BITS: i64 = 0xff;
/// Bits of `prev_state` of a thread that has ended: EXIT_DEAD and EXIT_ZOMBIE.
const ENDED: i64 = 0x30;

enum Reading {
    Switch {
        previous: Field,
        state: Field,
        next: Field,
    },
    Waking {
        tid: Field,
    },
    /// A sample of what runs on a CPU.
    Running,
}

/// A thread that left its CPU.
struct Wait {
    since: u64,
    pid: u32,
    comm: u32,
    cpu: Option<u32>,
    node: u32,
    waker: Option<u32>,
    /// When it was woken; 0 where it was not.
    woken: u64,
}

/// Read the waits of a whole file: weights are nanoseconds, times those at which the waits began.
///
/// A wait that has not ended counts up to the last event, because it is off the CPU that long at least. `pids` are the
/// processes whose waits are read; without any, those of all.
pub fn read_off_cpu(bytes: &[u8], sources: SymbolSources, limits: Limits, pids: &[u32]) -> Result<Profile> {
    read_waits(bytes, sources, limits, pids, None)
}

/// Read the waits of a whole file, and the time on the CPU too where there is a `cpu_time` to collect it.
pub(super) fn read_waits(
    bytes: &[u8],
    sources: SymbolSources,
    limits: Limits,
    pids: &[u32],
    cpu_time: Option<CpuTime>,
) -> Result<Profile> {
    let (header, area) = Header::parse(bytes)?;
    let readings = list_readings(&header, |attribute, point| match point {
        Some(point) => read_tracepoint(point),
        None => (cpu_time.is_some() && !attribute.is_tracepoint()).then_some(Reading::Running),
    });
    if !readings.iter().any(|item| matches!(item, Some(Reading::Switch { .. }))) {
        return Err(header.explain_nothing());
    }
    let areas = Areas::unpack(area)?;
    let mut reader = Reader {
        stacks: Stacks::new(Modules::new(sources, header.build_ids.clone()).with_clock(header.clock()), limits),
        columns: Columns::default(),
        waits: HashMap::default(),
        pids: pids.iter().copied().collect(),
        marks: [0; 3],
        end: 0,
        cpu_time,
    };
    for (at, text) in [b"blocked".as_slice(), b"runnable", b"woken by"].into_iter().enumerate() {
        reader.marks[at] = reader.stacks.trie.add_frame(text, b"", FrameKind::Comm, 0)?;
    }
    for item in Order::of(&header, &areas).records(&areas) {
        if item.record.kind == kind::SAMPLE {
            reader.sample(&header, &readings, &item)?;
        } else {
            if let Some(cpu_time) = &mut reader.cpu_time {
                cpu_time.read_task(&item.record, item.time);
            }
            reader.stacks.read(&item.record);
        }
    }
    reader.finish(&header)
}

fn read_tracepoint(point: &Tracepoint) -> Option<Reading> {
    match (point.system.as_str(), point.name.as_str()) {
        ("sched", "sched_switch") => {
            let (previous, state) = (point.field("prev_pid")?, point.field("prev_state")?);
            Some(Reading::Switch { previous, state, next: point.field("next_pid")? })
        }
        ("sched", "sched_waking") => Some(Reading::Waking { tid: point.field("pid")? }),
        _ => None,
    }
}

struct Reader {
    stacks: Stacks,
    columns: Columns,
    waits: HashMap<u32, Wait, RandomState>,
    pids: HashSet<u32>,
    /// The frames `blocked`, `runnable` and `woken by`.
    marks: [u32; 3],
    end: u64,
    cpu_time: Option<CpuTime>,
}

impl Reader {
    fn sample(&mut self, header: &Header<'_>, readings: &[Option<Reading>], item: &Ordered<'_>) -> Result<()> {
        let (time, record) = (item.time, &item.record);
        let parsed = item.event.and_then(|event| {
            let sample = Sample::parse(&header.events[event].attribute, record.payload)?;
            Some((readings[event].as_ref()?, sample))
        });
        let Some((reading, sample)) = parsed else { return Ok(()) };
        self.end = time;
        if let Some(cpu_time) = &mut self.cpu_time {
            cpu_time.begin(time);
        }
        match reading {
            Reading::Switch { previous, state, next } => {
                let raw = sample.raw.unwrap_or(&[]);
                let numbers = (previous.number(raw), state.number(raw), next.number(raw));
                let (Some(previous), Some(state), Some(next)) = numbers else {
                    self.stacks.damaged += 1;
                    return Ok(());
                };
                // A thread that leaves while it waits: the switch by which it came back was lost.
                let open = self.waits.remove(&(previous as u32)).filter(|_| previous != 0);
                if let Some(cpu_time) = &mut self.cpu_time {
                    let leaving = Leaving {
                        tid: previous as u32,
                        sampled_tid: sample.tid,
                        pid: sample.pid,
                        has_ended: state & ENDED != 0,
                        waited_since: open.as_ref().map_or(0, |wait| wait.since.max(wait.woken)),
                    };
                    let since = cpu_time.switch(time, sample.cpu, &leaving, next as u32);
                    if let Some(wait) = open {
                        self.end_wait(previous as u32, &wait, since)?;
                    }
                }
                if let Some(wait) = self.waits.remove(&(next as u32)) {
                    self.end_wait(next as u32, &wait, time)?;
                }
                if previous != 0 && state & ENDED == 0 && (self.pids.is_empty() || self.pids.contains(&sample.pid)) {
                    // The kernel shows no thread ID of one that exits.
                    let waiter = Sample { tid: previous as u32, ..sample };
                    self.begin_wait(&waiter, record.misc, time, state & STATE_BITS == 0)?;
                }
            }
            Reading::Waking { tid } => {
                let Some(tid) = sample.raw.and_then(|raw| tid.number(raw)) else { return Ok(()) };
                if self.waits.get(&(tid as u32)).is_some_and(|wait| wait.waker.is_none()) {
                    let comm = self.stacks.comm_of(sample.tid);
                    let root = self.stacks.comm_node(comm)?;
                    let waker = self.stacks.stack(root, &sample, record.misc)?;
                    if let Some(wait) = self.waits.get_mut(&(tid as u32)) {
                        wait.waker = Some(waker);
                        wait.woken = time;
                    }
                }
            }
            Reading::Running => {
                if let Some(cpu_time) = &mut self.cpu_time {
                    let is_read = self.pids.is_empty() || self.pids.contains(&sample.pid);
                    cpu_time.sample(time, &sample, record.misc, is_read, &mut self.stacks, &mut self.columns)?;
                }
            }
        }
        Ok(())
    }

    fn begin_wait(&mut self, sample: &Sample<'_>, flags: u16, time: u64, is_runnable: bool) -> Result<()> {
        let comm = self.stacks.comm_of(sample.tid);
        let root = self.stacks.comm_node(comm)?;
        let below = self.stacks.trie.child(root, self.marks[usize::from(is_runnable)])?;
        let node = self.stacks.stack(below, sample, flags)?;
        let wait = Wait { since: time, pid: sample.pid, comm, cpu: sample.cpu, node, waker: None, woken: 0 };
        self.waits.insert(sample.tid, wait);
        Ok(())
    }

    fn end_wait(&mut self, tid: u32, wait: &Wait, time: u64) -> Result<()> {
        let node = match wait.waker {
            Some(waker) => self.stacks.trie.append_reversed(wait.node, self.marks[2], waker)?,
            None => wait.node,
        };
        let waiter = Sample { pid: wait.pid, tid, cpu: wait.cpu, ..Sample::default() };
        self.columns.push(wait.since, &waiter, wait.comm, node, 0);
        self.columns.weight.push(time.saturating_sub(wait.since) as i64);
        Ok(())
    }

    fn finish(mut self, header: &Header<'_>) -> Result<Profile> {
        let mut open: Vec<_> = std::mem::take(&mut self.waits).into_iter().collect();
        open.sort_by_key(|(tid, wait)| (wait.since, *tid));
        for (tid, wait) in open {
            self.end_wait(tid, &wait, self.end)?;
        }
        let mut event = "off_cpu";
        if let Some(cpu_time) = self.cpu_time.take() {
            event = "wall_time";
            let is_read = |pid: u32| self.pids.is_empty() || self.pids.contains(&pid);
            cpu_time.finish(self.end, is_read, &mut self.stacks, &mut self.columns)?;
        }
        Profile::build(header, self.columns, self.stacks, vec![event.to_owned()])
    }
}
