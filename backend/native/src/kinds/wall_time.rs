//! The whole time of threads in one graph: on the CPU by samples, off it by the waits between context switches.
//!
//! Context switches state exactly how long a thread was on a CPU. That time is divided evenly among the samples of the
//! thread, so the sum over a thread is the time for which it existed in the recording, and only its division among
//! stacks is estimated. Threads without an event are not in the recording.

use std::collections::HashMap;

use ahash::RandomState;

use super::off_cpu::read_waits;
use crate::bytes::Cursor;
use crate::error::{ReadError, Result};
use crate::modules::SymbolSources;
use crate::perf::records::{Record, kind};
use crate::perf::samples::Sample;
use crate::profile::{Columns, Profile};
use crate::stacks::Stacks;
use crate::trie::{FrameKind, Limits};

/// Least share of the time of one kind of events, in tenths, in which there are events of the other kind too.
const OVERLAP_MIN: u64 = 8;

/// Read the time of threads of a recording with samples of CPUs and `sched_switch`: weights are nanoseconds.
///
/// Raises `no_overlap` if samples and switches are not of the same time.
pub fn read_wall_time(bytes: &[u8], sources: SymbolSources, limits: Limits, pids: &[u32]) -> Result<Profile> {
    read_waits(bytes, sources, limits, pids, Some(CpuTime::default()))
}

/// First and last time of events of one kind.
#[derive(Default, Clone, Copy)]
struct Span(Option<(u64, u64)>);

impl Span {
    fn add(&mut self, time: u64) {
        self.0 = Some(self.0.map_or((time, time), |(first, _)| (first, time)));
    }
}

/// A thread that leaves its CPU: its ID as the switch states it, and as the sample does. `waited_since`: when it left a
/// CPU or was woken; 0 where it did not wait.
pub(super) struct Leaving {
    pub tid: u32,
    pub sampled_tid: u32,
    pub pid: u32,
    pub has_ended: bool,
    pub waited_since: u64,
}

#[derive(Default)]
struct Thread {
    pid: Option<u32>,
    /// When it began in the recording; None where it existed before.
    born: Option<u64>,
    has_switched: bool,
    /// Since when it is on a CPU.
    since: Option<u64>,
    on_cpu: u64,
    first_on_cpu: u64,
    /// When it was first switched in, if that was its first switch.
    waited_until: Option<u64>,
    rows: Vec<u32>,
}

/// Time on the CPU by thread, and which rows of the columns it is divided among.
#[derive(Default)]
pub(super) struct CpuTime {
    threads: HashMap<u32, Thread, RandomState>,
    last_switches: HashMap<u32, u64, RandomState>,
    start: Option<u64>,
    samples: Span,
    switches: Span,
    /// Switches whose thread has the same ID as the sample of it, and those with another one.
    same: u64,
    other: u64,
}

impl CpuTime {
    /// Note the time of an event: the first one is where the recording begins.
    pub(super) fn begin(&mut self, time: u64) {
        self.start.get_or_insert(time);
    }

    /// Learn which process a thread belongs to, and when it began. FORK: pid, ppid, tid, ptid. COMM: pid, tid.
    pub(super) fn read_task(&mut self, record: &Record<'_>, time: u64) {
        let mut cursor = Cursor::new(record.payload);
        let is_fork = record.kind == kind::FORK;
        if !is_fork && record.kind != kind::COMM {
            return;
        }
        let Some(pid) = cursor.u32() else { return };
        if is_fork && cursor.u32().is_none() {
            return;
        }
        let Some(tid) = cursor.u32() else { return };
        let thread = self.threads.entry(tid).or_default();
        thread.pid = Some(pid);
        if is_fork && self.start.is_some_and(|start| time > start) {
            thread.born = Some(time);
        }
    }

    /// Count the time of the thread that leaves; return since when it was on the CPU.
    pub(super) fn switch(&mut self, time: u64, cpu: Option<u32>, leaving: &Leaving, next: u32) -> u64 {
        self.switches.add(time);
        let start = self.start.unwrap_or(time);
        let before = cpu.and_then(|cpu| self.last_switches.insert(cpu, time)).unwrap_or(start);
        let mut since = time;
        if leaving.tid != 0 {
            let thread = self.threads.entry(leaving.tid).or_default();
            // The kernel has no process ID of a thread that exits.
            if !leaving.has_ended {
                thread.pid = Some(leaving.pid);
                let is_same = leaving.tid == leaving.sampled_tid;
                self.same += u64::from(is_same);
                self.other += u64::from(!is_same);
            }
            // Where switches were lost, the thread has run since the last one that is known.
            let known = before.max(thread.born.unwrap_or(0)).max(leaving.waited_since);
            since = thread.since.take().unwrap_or(known);
            // Idle CPUs can lose the switch to a thread. Until then another one had this CPU, so it waited.
            if !thread.has_switched && thread.waited_until.is_none() {
                thread.waited_until = Some(since);
            }
            if thread.on_cpu == 0 {
                thread.first_on_cpu = since;
            }
            thread.on_cpu += time.saturating_sub(since);
            thread.has_switched = true;
        }
        if next != 0 {
            let thread = self.threads.entry(next).or_default();
            if !thread.has_switched && thread.waited_until.is_none() {
                thread.waited_until = Some(time);
            }
            thread.has_switched = true;
            thread.since = Some(time);
        }
        since
    }

    /// Add a sample; its weight is known at the end.
    pub(super) fn sample(
        &mut self,
        time: u64,
        sample: &Sample<'_>,
        flags: u16,
        is_read: bool,
        stacks: &mut Stacks,
        columns: &mut Columns,
    ) -> Result<()> {
        self.samples.add(time);
        if sample.tid == 0 || !is_read {
            return Ok(());
        }
        let comm = stacks.comm_of(sample.tid);
        let below = on_cpu_node(stacks, comm)?;
        let node = stacks.stack(below, sample, flags)?;
        let thread = self.threads.entry(sample.tid).or_default();
        thread.pid.get_or_insert(sample.pid);
        thread.rows.push(columns.time.len() as u32);
        columns.push(time, sample, comm, node, 0);
        columns.weight.push(0);
        Ok(())
    }

    /// Divide the time on the CPU among the samples, and add what a thread waited before its first switch.
    pub(super) fn finish(
        self,
        end: u64,
        is_read: impl Fn(u32) -> bool,
        stacks: &mut Stacks,
        columns: &mut Columns,
    ) -> Result<()> {
        self.check_overlap()?;
        // Switches have the IDs of the host, samples those of the namespace in which perf ran.
        if self.other > self.same {
            return Err(ReadError::damaged("perf ran in a PID namespace: its samples and switches have different IDs"));
        }
        let start = self.start.unwrap_or(end);
        let mut threads: Vec<_> = self.threads.into_iter().collect();
        threads.sort_by_key(|(tid, _)| *tid);
        for (tid, thread) in threads {
            let Some(pid) = thread.pid.filter(|pid| is_read(*pid)) else { continue };
            let waiter = Sample { pid, tid, ..Sample::default() };
            if let Some(until) = thread.waited_until {
                let since = thread.born.unwrap_or(start);
                let texts = if thread.born.is_some() {
                    [b"runnable".as_slice(), b"[until it first ran]"]
                } else {
                    [b"blocked".as_slice(), b"[since before the recording]"]
                };
                add_row(stacks, columns, since, &waiter, &texts, until.saturating_sub(since))?;
            }
            let first = if thread.has_switched { thread.first_on_cpu } else { thread.born.unwrap_or(start) };
            // A thread with samples and no switch ran all the time.
            let is_on_cpu = thread.since.or((!thread.has_switched && !thread.rows.is_empty()).then_some(first));
            let on_cpu = thread.on_cpu + is_on_cpu.map_or(0, |since| end.saturating_sub(since));
            if thread.rows.is_empty() {
                let since = if thread.on_cpu == 0 { is_on_cpu.unwrap_or(first) } else { first };
                add_row(stacks, columns, since, &waiter, &[b"on CPU", b"[no sample]"], on_cpu)?;
            }
            let count = thread.rows.len() as u64;
            for (place, row) in thread.rows.iter().enumerate() {
                let remainder = u64::from((place as u64) < on_cpu % count);
                columns.weight[*row as usize] = (on_cpu / count + remainder) as i64;
            }
        }
        Ok(())
    }

    fn check_overlap(&self) -> Result<()> {
        let (Some(samples), Some(switches)) = (self.samples.0, self.switches.0) else {
            return Err(ReadError::NoOverlap);
        };
        let both = samples.1.min(switches.1).saturating_sub(samples.0.max(switches.0));
        let longer = (samples.1 - samples.0).max(switches.1 - switches.0);
        if both / OVERLAP_MIN < longer / 10 { Err(ReadError::NoOverlap) } else { Ok(()) }
    }
}

fn on_cpu_node(stacks: &mut Stacks, comm: u32) -> Result<u32> {
    let root = stacks.comm_node(comm)?;
    let mark = stacks.trie.add_frame(b"on CPU", b"", FrameKind::Comm, 0)?;
    stacks.trie.child(root, mark)
}

fn add_row(
    stacks: &mut Stacks,
    columns: &mut Columns,
    time: u64,
    thread: &Sample<'_>,
    texts: &[&[u8]; 2],
    weight: u64,
) -> Result<()> {
    if weight == 0 {
        return Ok(());
    }
    let comm = stacks.comm_of(thread.tid);
    let mut node = stacks.comm_node(comm)?;
    for text in texts {
        let frame = stacks.trie.add_frame(text, b"", FrameKind::Comm, 0)?;
        node = stacks.trie.child(node, frame)?;
    }
    columns.push(time, thread, comm, node, 0);
    columns.weight.push(weight as i64);
    Ok(())
}
