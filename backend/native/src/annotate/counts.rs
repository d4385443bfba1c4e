//! Samples of one function by address. The trie of a profile has names only, so the recording is read again.

use std::collections::{BTreeMap, HashMap};

use ahash::RandomState;

use crate::error::Result;
use crate::modules::{Modules, SymbolSources};
use crate::order::{Areas, Order};
use crate::perf::file::Header;
use crate::perf::records::{kind, misc};
use crate::perf::samples::Sample;
use crate::processes::ModuleId;
use crate::stacks::Stacks;
use crate::trie::Limits;

/// A function as the profile names it. `event` is ignored where the recording has none of this name.
#[derive(Debug, Clone, Copy)]
pub struct FunctionName<'a> {
    pub event: &'a [u8],
    pub function: &'a [u8],
    /// The path of its module, or None for any.
    pub module: Option<&'a [u8]>,
}

/// Samples in one function of one file. Addresses are offsets in the file; in the kernel and in memory without a file,
/// they are addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCounts {
    pub module: String,
    /// The name of the file in the store, as `FileId::key`.
    pub key: Option<String>,
    pub is_kernel: bool,
    pub is_anonymous: bool,
    /// Where the function begins and ends; equal where that is unknown.
    pub start: u64,
    pub end: u64,
    /// Pairs of address and samples, in order of address.
    pub counts: Vec<(u64, u64)>,
}

impl FunctionCounts {
    pub fn samples(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }
}

/// All functions of that name, those with most samples first, and the samples of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    pub samples: u64,
    pub functions: Vec<FunctionCounts>,
}

/// Where an instruction is: its module or None for the kernel, and its offset or address there.
type Place = (Option<ModuleId>, u64);

/// Count the samples whose instruction is in a function, by address.
///
/// The instruction of a sample is the one that the processor interrupted (`PERF_SAMPLE_IP`), as in `perf annotate`.
/// Functions that were inlined into it count as part of it.
pub fn count_addresses(bytes: &[u8], sources: SymbolSources, limits: Limits, name: &FunctionName) -> Result<Counts> {
    let (header, area) = Header::parse(bytes)?;
    let areas = Areas::unpack(area)?;
    let order = Order::of(&header, &areas);
    let mut stacks = Stacks::new(Modules::new(sources, header.build_ids.clone()), limits);
    let is_known = header.events.iter().any(|event| event.name.as_bytes() == name.event);
    let mut samples = 0;
    let mut places: HashMap<Place, (u64, u64), RandomState> = HashMap::default();
    for item in order.records(&areas) {
        if item.record.kind != kind::SAMPLE {
            stacks.read(&item.record);
            continue;
        }
        let Some(event) = item.event.and_then(|event| header.events.get(event)) else { continue };
        if is_known && event.name.as_bytes() != name.event {
            continue;
        }
        let Some(sample) = Sample::parse(&event.attribute, item.record.payload) else { continue };
        samples += 1;
        let place = match item.record.misc & misc::CPU_MODE {
            misc::USER => stacks.place_of(sample.pid, sample.ip).map(|(module, offset)| {
                let is_anonymous = stacks.modules.file_of(module).1;
                (Some(module), if is_anonymous { sample.ip } else { offset })
            }),
            misc::KERNEL => Some((None, sample.ip)),
            _ => None,
        };
        if let Some(place) = place {
            places.entry(place).or_insert((0, sample.ip)).0 += 1;
        }
    }
    Ok(Counts { samples, functions: select_function(&mut stacks, places, name)? })
}

fn select_function(
    stacks: &mut Stacks,
    places: HashMap<Place, (u64, u64), RandomState>,
    name: &FunctionName,
) -> Result<Vec<FunctionCounts>> {
    let mut functions: BTreeMap<Place, FunctionCounts> = BTreeMap::new();
    for ((module, at), (count, address)) in places {
        let frame = match module {
            Some(module) => stacks.modules.frame(&mut stacks.trie, module, at, address)?,
            None => stacks.modules.kernel_frame(&mut stacks.trie, address)?,
        } as usize;
        let frames = &stacks.trie.frames;
        let path = frames.strings.get(frames.module[frame] as usize);
        let is_same = frames.strings.get(frames.name[frame] as usize) == name.function;
        if !is_same || name.module.is_some_and(|module| module != path) {
            continue;
        }
        let path = String::from_utf8_lossy(path).into_owned();
        let range = match module {
            Some(module) => stacks.modules.range_of(module, at),
            None => stacks.modules.range_in_kernel(address),
        };
        let (start, end) = range.unwrap_or((at, at));
        let (key, is_anonymous) = module.map_or((None, false), |module| stacks.modules.file_of(module));
        let function = functions.entry((module, start)).or_insert_with(|| FunctionCounts {
            module: path,
            key,
            is_kernel: module.is_none(),
            is_anonymous,
            start,
            end,
            counts: Vec::new(),
        });
        function.counts.push((at, count));
    }
    let mut functions: Vec<_> = functions.into_values().collect();
    functions.iter_mut().for_each(|function| function.counts.sort_unstable());
    functions.sort_by_key(|function| std::cmp::Reverse(function.samples()));
    Ok(functions)
}
