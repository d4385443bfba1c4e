//! Scheduler tracepoints as slices on CPUs and waits of threads, in the words of `collectors.profiles.scheduling`.

use std::collections::HashMap;

use ahash::RandomState;

use crate::bytes::u64_at;
use crate::error::{ReadError, Result};
use crate::order::{Areas, Order, Ordered};
use crate::perf::file::Header;
use crate::perf::records::kind;
use crate::perf::samples::Sample;
use crate::perf::tracing::{Field, read_tracepoints};
use crate::trie::{Strings, printable};

/// The code of a state is its place in `RSDTtXZPI?`.
const UNKNOWN_STATE: u8 = 9;
const RUNNABLE: u8 = 0;
const EVENTS_MAX: usize = 100_000_000;
const TASKS_MAX: usize = 1_000_000;

const CUT_START: u8 = 1;
const CUT_END: u8 = 2;
const OTHER: u8 = 0;
const WOKEN: u8 = 1;
const PREEMPTED: u8 = 2;

/// Where a thread was woken: in a thread, in a soft or in a hard interrupt.
const IN_THREAD: u8 = 1;
const IN_SOFT_INTERRUPT: u8 = 2;
const IN_HARD_INTERRUPT: u8 = 3;

/// What the scheduler did, as columns of slices and of tasks.
#[derive(Default)]
pub struct Schedule {
    pub time: Vec<i64>,
    pub length: Vec<i64>,
    pub cpu: Vec<i32>,
    pub task: Vec<i32>,
    pub state: Vec<u8>,
    pub delay: Vec<i64>,
    pub origin: Vec<u8>,
    pub cut: Vec<u8>,
    /// The thread that ran where this one was woken; -1 where that CPU was idle, or it is not known.
    pub waker: Vec<i32>,
    /// The CPU on which it was woken; -1 where it was not.
    pub wake_cpu: Vec<i32>,
    pub wake_context: Vec<u8>,
    pub tid: Vec<i32>,
    pub pid: Vec<i32>,
    pub priority: Vec<i32>,
    pub open_wait: Vec<i64>,
    pub comms: Vec<Vec<u8>>,
    pub cpus: Vec<i32>,
    pub start: i64,
    pub end: i64,
    pub events: u64,
    pub lost: u64,
    pub inconsistent: u64,
    pub unreadable: u64,
    pub clock: Option<i32>,
}

/// What a sample of an event means.
enum Reading {
    Switch { previous: [Field; 4], next: [Field; 3] },
    Waking { comm: Field, tid: Field, priority: Field, flags: Option<Field> },
}

/// Read a recording of `perf sched record`, or any with `sched_switch`.
pub fn read_schedule(bytes: &[u8]) -> Result<Schedule> {
    let (header, area) = Header::parse(bytes)?;
    let readings = list_readings(&header);
    if !readings.iter().any(|item| matches!(item, Some(Reading::Switch { .. }))) {
        return Err(header.explain_nothing());
    }
    let areas = Areas::unpack(area)?;
    let mut builder = Builder::default();
    for Ordered { time, event, record } in Order::of(&header, &areas).records(&areas) {
        match record.kind {
            kind::LOST => add_lost(&mut builder.lost_events, u64_at(record.payload, 8)),
            kind::LOST_SAMPLES => add_lost(&mut builder.lost_samples, u64_at(record.payload, 0)),
            kind::SAMPLE => {
                let Some(event) = event else {
                    builder.schedule.unreadable += 1;
                    continue;
                };
                let Some(reading) = &readings[event] else { continue };
                let sample = Sample::parse(&header.events[event].attribute, record.payload);
                if sample.and_then(|sample| builder.add(reading, &sample, time as i64)).is_none() {
                    builder.schedule.unreadable += 1;
                }
                if builder.schedule.events as usize > EVENTS_MAX {
                    return Err(ReadError::Limit("events", EVENTS_MAX as u64));
                }
                if builder.tasks.len() > TASKS_MAX {
                    return Err(ReadError::Limit("tasks", TASKS_MAX as u64));
                }
            }
            _ => {}
        }
    }
    // Two kinds of records are of the same loss.
    builder.schedule.lost = builder.lost_events.max(builder.lost_samples);
    builder.finish(&header)
}

fn add_lost(sum: &mut u64, lost: Option<u64>) {
    *sum = sum.saturating_add(lost.unwrap_or(0));
}

fn list_readings(header: &Header<'_>) -> Vec<Option<Reading>> {
    let tracepoints = header.tracing_data.map(read_tracepoints).unwrap_or_default();
    let read = |event: &crate::perf::file::Event| {
        let point = tracepoints.get(&event.attribute.config).filter(|_| event.attribute.is_tracepoint())?;
        if point.system != "sched" {
            return None;
        }
        match point.name.as_str() {
            "sched_switch" => Some(Reading::Switch {
                previous: [
                    point.field("prev_comm")?,
                    point.field("prev_pid")?,
                    point.field("prev_prio")?,
                    point.field("prev_state")?,
                ],
                next: [point.field("next_comm")?, point.field("next_pid")?, point.field("next_prio")?],
            }),
            "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => Some(Reading::Waking {
                comm: point.field("comm")?,
                tid: point.field("pid")?,
                priority: point.field("prio")?,
                flags: point.field("common_flags"),
            }),
            _ => None,
        }
    };
    header.events.iter().map(read).collect()
}

/// A thread: what is known of it, and since when it waits.
struct Task {
    pid: i32,
    priority: i32,
    comm: [u8; 16],
    /// When it could run, and why; None while it runs or sleeps.
    ready: Option<Ready>,
    has_run: bool,
    /// When it was last switched in or out, or began to wait for a CPU.
    last_seen: i64,
}

impl Default for Task {
    fn default() -> Self {
        Self { pid: -1, priority: 0, comm: [0; 16], ready: None, has_run: false, last_seen: i64::MIN }
    }
}

/// The begin of a wait.
#[derive(Clone, Copy)]
struct Ready {
    since: i64,
    origin: u8,
    wake: Wake,
}

/// Who woke a thread, where.
#[derive(Clone, Copy)]
struct Wake {
    tid: i32,
    cpu: i32,
    context: u8,
}

const NO_WAKE: Wake = Wake { tid: -1, cpu: -1, context: 0 };

/// What runs on a CPU.
struct Running {
    tid: i32,
    since: i64,
    delay: i64,
    origin: u8,
    wake: Wake,
}

#[derive(Default)]
struct Builder {
    schedule: Schedule,
    tasks: HashMap<i32, Task, RandomState>,
    running: HashMap<u32, Running, RandomState>,
    has_events: bool,
    lost_events: u64,
    lost_samples: u64,
}

impl Builder {
    fn add(&mut self, reading: &Reading, sample: &Sample<'_>, time: i64) -> Option<()> {
        let raw = sample.raw?;
        if !self.has_events {
            self.schedule.start = time;
            self.has_events = true;
        }
        self.schedule.end = time;
        self.schedule.events += 1;
        match reading {
            Reading::Switch { previous, next } => {
                let tid = previous[1].number(raw)? as i32;
                let next_tid = next[1].number(raw)? as i32;
                let state = state_of(previous[3].number(raw)?);
                self.name(tid, previous[0].text(raw)?, previous[2].number(raw)? as i32);
                self.name(next_tid, next[0].text(raw)?, next[2].number(raw)? as i32);
                self.name_process(sample);
                self.switch(sample.cpu?, time, tid, state, next_tid);
            }
            Reading::Waking { comm, tid, priority, flags } => {
                let context = flags.and_then(|field| field.number(raw)).map_or(0, context_of);
                let tid = tid.number(raw)? as i32;
                self.name(tid, comm.text(raw)?, priority.number(raw)? as i32);
                self.name_process(sample);
                let task = self.tasks.get_mut(&tid)?;
                if !task.has_run && task.ready.is_none() {
                    let cpu = sample.cpu.map_or(-1, |cpu| cpu as i32);
                    let wake = Wake { tid: sample.tid as i32, cpu, context };
                    task.ready = Some(Ready { since: time, origin: WOKEN, wake });
                    task.last_seen = time;
                }
            }
        }
        Some(())
    }

    /// Remember the last name and priority of a thread.
    fn name(&mut self, tid: i32, name: &[u8], priority: i32) {
        let task = self.tasks.entry(tid).or_default();
        task.priority = priority;
        let size = name.len().min(16);
        task.comm = [0; 16];
        task.comm[..size].copy_from_slice(&name[..size]);
    }

    /// Remember the process of the thread that a sample is of. One that dies has none any more, so the first samples of
    /// a thread count even if no event has named it yet.
    fn name_process(&mut self, sample: &Sample<'_>) {
        let (pid, tid) = (sample.pid as i32, sample.tid as i32);
        if pid >= 0 && tid >= 0 {
            self.tasks.entry(tid).or_default().pid = pid;
        }
    }

    fn switch(&mut self, cpu: u32, time: i64, tid: i32, state: u8, next: i32) {
        // Where the event that switched it in is missing, it did not run here before it was last seen elsewhere.
        let mut last_seen = i64::MIN;
        if let Some(task) = self.tasks.get_mut(&tid) {
            last_seen = std::mem::replace(&mut task.last_seen, time);
            task.has_run = false;
            task.ready = (state == RUNNABLE).then_some(Ready { since: time, origin: PREEMPTED, wake: NO_WAKE });
        }
        match self.running.remove(&cpu) {
            Some(slice) if slice.tid == tid => self.push(cpu, &slice, time, state, 0),
            Some(slice) => {
                self.schedule.inconsistent += 1;
                let since = slice.since.max(last_seen);
                let known = Running { tid, since, delay: -1, origin: OTHER, wake: NO_WAKE };
                self.push(cpu, &known, time, state, 0);
            }
            None => {
                let since = self.schedule.start.max(last_seen);
                let slice = Running { tid, since, delay: -1, origin: OTHER, wake: NO_WAKE };
                self.push(cpu, &slice, time, state, CUT_START);
                self.schedule.cpus.push(cpu as i32);
            }
        }
        let mut slice = Running { tid: next, since: time, delay: -1, origin: OTHER, wake: NO_WAKE };
        if let Some(task) = self.tasks.get_mut(&next) {
            if let Some(ready) = task.ready.take().filter(|_| next != 0) {
                (slice.delay, slice.origin, slice.wake) = (time - ready.since, ready.origin, ready.wake);
            }
            task.has_run = true;
            task.last_seen = time;
        }
        self.running.insert(cpu, slice);
    }

    fn push(&mut self, cpu: u32, slice: &Running, end: i64, state: u8, cut: u8) {
        if slice.tid == 0 {
            return;
        }
        let columns = &mut self.schedule;
        columns.time.push(slice.since);
        columns.length.push(end - slice.since);
        columns.cpu.push(cpu as i32);
        columns.task.push(slice.tid);
        columns.state.push(state);
        columns.delay.push(slice.delay);
        columns.origin.push(slice.origin);
        columns.cut.push(cut);
        columns.waker.push(slice.wake.tid);
        columns.wake_cpu.push(slice.wake.cpu);
        columns.wake_context.push(slice.wake.context);
    }

    fn finish(mut self, header: &Header<'_>) -> Result<Schedule> {
        if self.schedule.cpus.is_empty() {
            return Err(header.explain_nothing());
        }
        let end = self.schedule.end;
        let mut running: Vec<_> = std::mem::take(&mut self.running).into_iter().collect();
        running.sort_by_key(|(cpu, _)| *cpu);
        for (cpu, slice) in running {
            self.push(cpu, &slice, end, UNKNOWN_STATE, CUT_END);
        }
        let mut ran: Vec<i32> = self.schedule.task.clone();
        ran.sort_unstable();
        ran.dedup();
        let places: HashMap<i32, i32, RandomState> =
            ran.iter().enumerate().map(|(place, tid)| (*tid, place as i32)).collect();
        for task in &mut self.schedule.task {
            *task = places[task];
        }
        for waker in &mut self.schedule.waker {
            *waker = places.get(waker).copied().unwrap_or(-1);
        }
        for tid in ran {
            let task = self.tasks.get(&tid);
            self.schedule.tid.push(tid);
            self.schedule.pid.push(task.map_or(-1, |task| task.pid));
            self.schedule.priority.push(task.map_or(-1, |task| task.priority));
            let ready = task.and_then(|task| task.ready);
            self.schedule.open_wait.push(ready.map_or(0, |ready| end - ready.since));
            let name = task.map_or(&[][..], |task| crate::bytes::Cursor::new(&task.comm).text());
            self.schedule.comms.push(printable(name, 64));
        }
        self.schedule.unreadable += u64::from(header.is_cut);
        self.schedule.cpus.sort_unstable();
        self.sort();
        self.schedule.clock = header.events.iter().find_map(|event| event.attribute.clock);
        Ok(self.schedule)
    }

    /// Put the slices in order of their begin, as drawing needs them.
    fn sort(&mut self) {
        let columns = &mut self.schedule;
        let mut order: Vec<u32> = (0..columns.time.len() as u32).collect();
        order.sort_by_key(|at| columns.time[*at as usize]);
        fn pick<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
            *column = order.iter().map(|at| column[*at as usize]).collect();
        }
        pick(&mut columns.time, &order);
        pick(&mut columns.length, &order);
        pick(&mut columns.cpu, &order);
        pick(&mut columns.task, &order);
        pick(&mut columns.state, &order);
        pick(&mut columns.delay, &order);
        pick(&mut columns.origin, &order);
        pick(&mut columns.cut, &order);
        pick(&mut columns.waker, &order);
        pick(&mut columns.wake_cpu, &order);
        pick(&mut columns.wake_context, &order);
    }
}

/// The code of `prev_state`, whose lowest bit that is set is the state; 256 (before 4.14: 1024) marks preemption.
fn state_of(bits: i64) -> u8 {
    match bits & 0xff {
        0 => RUNNABLE,
        low => match low.trailing_zeros() {
            0 => 1, // S
            1 => 2, // D
            2 => 3, // T
            3 => 4, // t
            4 => 5, // X
            5 => 6, // Z
            6 => 7, // P
            7 => 8, // I
            _ => UNKNOWN_STATE,
        },
    }
}

/// In what a thread was woken, of the flags of a tracepoint (`enum trace_flag_type` of Linux).
fn context_of(flags: i64) -> u8 {
    const HARD: i64 = 0x08;
    const SOFT: i64 = 0x10;
    match flags {
        flags if flags & HARD != 0 => IN_HARD_INTERRUPT,
        flags if flags & SOFT != 0 => IN_SOFT_INTERRUPT,
        _ => IN_THREAD,
    }
}

/// The names as one blob.
pub fn pack(comms: &[Vec<u8>]) -> Strings {
    let mut strings = Strings::default();
    strings.offsets.push(0);
    for comm in comms {
        strings.blob.extend_from_slice(comm);
        strings.offsets.push(strings.blob.len() as i64);
    }
    strings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_letters_of_perf() {
        const STATES: &[u8] = b"RSDTtXZPI?";
        let letters: Vec<u8> =
            [0, 1, 2, 4, 8, 16, 32, 64, 128, 256].map(|bits| STATES[usize::from(state_of(bits))]).to_vec();
        assert_eq!(letters, b"RSDTtXZPIR");
    }

    #[test]
    fn a_wait_ends_when_the_thread_is_switched_in() {
        let mut builder = Builder::default();
        for tid in [0, 7, 8] {
            builder.name(tid, b"x", 120);
        }
        builder.schedule.start = 100;
        builder.switch(0, 100, 0, RUNNABLE, 7);
        builder.switch(0, 200, 7, RUNNABLE, 8);
        builder.switch(0, 250, 8, 1, 7);
        builder.switch(0, 300, 7, 1, 0);
        assert_eq!(builder.schedule.task, [7, 8, 7]);
        assert_eq!(builder.schedule.delay, [-1, -1, 50]);
        assert_eq!(builder.schedule.origin, [OTHER, OTHER, PREEMPTED]);
    }

    #[test]
    fn a_slice_whose_begin_is_missing_begins_after_the_thread_was_seen_elsewhere() {
        let mut builder = Builder::default();
        for tid in [0, 7, 8] {
            builder.name(tid, b"x", 120);
        }
        builder.schedule.start = 100;
        builder.switch(0, 100, 8, 1, 7);
        builder.switch(1, 150, 8, 1, 0);
        builder.switch(0, 200, 7, 1, 0);
        builder.switch(1, 900, 7, 1, 0);
        builder.switch(2, 950, 7, 1, 0);
        let slices: Vec<_> = builder.schedule.time.iter().zip(&builder.schedule.length).collect();
        assert_eq!(slices, [(&100, &0), (&100, &50), (&100, &100), (&200, &700), (&900, &50)]);
        assert_eq!(builder.schedule.inconsistent, 1);
    }

    #[test]
    fn flags_tell_interrupts_from_threads() {
        let contexts = [0x00, 0x01, 0x10, 0x08, 0x19, -128].map(context_of);
        assert_eq!(
            contexts,
            [IN_THREAD, IN_THREAD, IN_SOFT_INTERRUPT, IN_HARD_INTERRUPT, IN_HARD_INTERRUPT, IN_THREAD]
        );
    }
}
