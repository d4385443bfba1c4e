//! perf.data as a table of samples and a trie of stacks.

use crate::error::Result;
use crate::modules::{Modules, SymbolSources, UsedModule};
use crate::order::{Areas, Order, Ordered};
use crate::perf::file::Header;
use crate::perf::records::kind;
use crate::perf::samples::Sample;
use crate::stacks::Stacks;
use crate::trie::{Frames, Limits, Strings, Trie};

/// Samples as columns, in order of time. `weight` is empty where each weighs one.
#[derive(Default)]
pub struct Columns {
    pub time: Vec<i64>,
    pub cpu: Vec<i32>,
    pub pid: Vec<i32>,
    pub tid: Vec<i32>,
    pub comm: Vec<i32>,
    pub stack: Vec<i32>,
    pub weight: Vec<i64>,
    pub event: Vec<u8>,
}

impl Columns {
    /// Add a sample; `time` is that of its record.
    pub fn push(&mut self, time: u64, sample: &Sample<'_>, comm: u32, stack: u32, event: usize) {
        self.time.push(time as i64);
        self.cpu.push(sample.cpu.map_or(-1, |cpu| cpu as i32));
        self.pid.push(sample.pid as i32);
        self.tid.push(sample.tid as i32);
        self.comm.push(comm as i32);
        self.stack.push(stack as i32);
        self.event.push(event as u8);
    }
}

/// A profile as Python stores it.
pub struct Profile {
    pub columns: Columns,
    pub comms: Strings,
    pub trie: Trie,
    pub frames: Frames,
    pub events: Vec<String>,
    pub clock: Option<i32>,
    pub has_time: bool,
    pub has_cpu: bool,
    pub lost: u64,
    pub damaged: u64,
    pub texts: Vec<(&'static str, String)>,
    pub modules: Vec<UsedModule>,
    /// Samples in the kernel, and how many symbols of it are known.
    pub kernel: (u64, usize),
}

impl Profile {
    /// Put columns and stacks together. The stacks of the columns are nodes in order of appearance.
    pub fn build(header: &Header<'_>, mut columns: Columns, mut stacks: Stacks, events: Vec<String>) -> Result<Self> {
        if columns.time.is_empty() {
            return Err(header.explain_nothing());
        }
        let (trie, place) = stacks.trie.finish();
        for stack in &mut columns.stack {
            *stack = place[*stack as usize];
        }
        let mut samples = vec![0; stacks.trie.frames.name.len()];
        for stack in &columns.stack {
            samples[trie.frame[*stack as usize] as usize] += 1;
        }
        let (modules, of_kernel) = stacks.modules.list_used(&samples);
        let attributes = || header.events.iter().map(|event| &event.attribute);
        Ok(Self {
            has_time: attributes().all(|item| item.time_in_sample().is_some()),
            has_cpu: columns.cpu.iter().any(|cpu| *cpu >= 0),
            clock: header.clock(),
            lost: stacks.lost(),
            damaged: stacks.damaged + u64::from(header.is_cut),
            modules,
            kernel: (of_kernel, stacks.modules.count_kernel_symbols()),
            columns,
            comms: stacks.comms,
            trie,
            frames: stacks.trie.frames,
            events,
            texts: header.texts.clone(),
        })
    }
}

/// Read the samples of a whole file.
pub fn read_profile(bytes: &[u8], sources: SymbolSources, limits: Limits) -> Result<Profile> {
    let (header, area) = Header::parse(bytes)?;
    let areas = Areas::unpack(area)?;
    let order = Order::of(&header, &areas);
    let mut stacks = Stacks::new(Modules::new(sources, header.build_ids.clone()).with_clock(header.clock()), limits);
    let mut columns = Columns::default();
    columns.time.reserve(order.len());
    for item in order.records(&areas) {
        if item.record.kind == kind::SAMPLE {
            add_sample(&header, &mut stacks, &mut columns, &item)?;
        } else {
            stacks.read(&item.record);
        }
    }
    let events = header.events.iter().map(|event| event.name.clone()).collect();
    Profile::build(&header, columns, stacks, events)
}

fn add_sample(header: &Header<'_>, stacks: &mut Stacks, columns: &mut Columns, item: &Ordered<'_>) -> Result<()> {
    let parsed = item.event.and_then(|event| {
        let sample = Sample::parse(&header.events[event].attribute, item.record.payload)?;
        Some((event, sample))
    });
    let Some((event, sample)) = parsed else {
        stacks.damaged += 1;
        return Ok(());
    };
    let comm = stacks.comm_of(sample.tid);
    let root = stacks.comm_node(comm)?;
    let stack = stacks.stack(root, &sample, item.record.misc)?;
    columns.push(item.time, &sample, comm, stack, event);
    Ok(())
}
