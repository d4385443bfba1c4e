//! What reads the bytes of hosts and uploads.

use std::sync::Arc;

use culprit_native::annotate::code::{list_parts, read_code};
use culprit_native::annotate::counts::{FunctionName, count_addresses};
use culprit_native::error::ReadError;
use culprit_native::kinds::block_io::read_block_io;
use culprit_native::kinds::futex::read_futex;
use culprit_native::kinds::off_cpu::read_off_cpu;
use culprit_native::kinds::wall_time::read_wall_time;
use culprit_native::modules::{Inlining, SymbolSources};
use culprit_native::profile::read_profile;
use culprit_native::sched::read_schedule;
use culprit_native::symbols::dwarf_units::Work;
use culprit_native::symbols::elf::read_elf;
use culprit_native::symbols::inlines::Inlines;
use culprit_native::symbols::jitdump::JitDump;
use culprit_native::symbols::kernel::read_kallsyms;
use culprit_native::symbols::perf_map::read_perf_map;
use culprit_native::symbols::programs::Program;
use culprit_native::text::reader::TextReader;
use culprit_native::trie::Limits;
use culprit_native::unwind::rules::CallFrames;
use memmap2::MmapMut;

const WORK: usize = 2_000_000;
const LIMITS: Limits = Limits { symbol: 4096, frames: 100_000, nodes: 100_000, names: 16 << 20 };

/// A reader, by the end of the names of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Recording,
    Program,
    Kallsyms,
    PerfMap,
    JitDump,
    PerfScript,
}

const TARGETS: [(Target, &str); 6] = [
    (Target::Recording, "data"),
    (Target::Program, "program"),
    (Target::Kallsyms, "kallsyms"),
    (Target::PerfMap, "map"),
    (Target::JitDump, "dump"),
    (Target::PerfScript, "txt"),
];

impl Target {
    pub fn of(suffix: &str) -> Option<Self> {
        TARGETS.iter().find(|(_, known)| *known == suffix).map(|(target, _)| *target)
    }

    pub fn suffix(self) -> &'static str {
        TARGETS.iter().find(|(target, _)| *target == self).map_or("", |(_, suffix)| suffix)
    }

    pub fn read(self, bytes: &[u8]) {
        match self {
            Self::Recording => read_recording(bytes),
            Self::Program => read_program(bytes),
            Self::Kallsyms => drop(read_kallsyms(bytes)),
            Self::PerfMap => drop(read_perf_map(bytes)),
            Self::JitDump => read_dump(bytes),
            Self::PerfScript => read_text(bytes),
        }
    }
}

/// How many samples a recording has, or why it is refused.
pub fn count_samples(bytes: &[u8]) -> Result<usize, &'static str> {
    match read_profile(bytes, SymbolSources::default(), LIMITS) {
        Ok(profile) => Ok(profile.columns.time.len()),
        Err(ReadError::NoSamples) => Err("no samples"),
        Err(ReadError::Limit(..)) => Err("limit"),
        Err(_) => Err("damaged"),
    }
}

fn store() -> std::path::PathBuf {
    super::folder("data/store")
}

fn read_recording(bytes: &[u8]) {
    let stored = SymbolSources { store: Some(store()), inlining: Inlining::Always, ..SymbolSources::default() };
    let _ = read_profile(bytes, stored, LIMITS);
    for read in [read_off_cpu, read_wall_time, read_block_io, read_futex] {
        let _ = read(bytes, SymbolSources::default(), LIMITS, &[]);
    }
    let _ = read_schedule(bytes);
    let stored = SymbolSources { store: Some(store()), ..SymbolSources::default() };
    let _ = count_addresses(bytes, stored, LIMITS, &FunctionName { event: b"", function: b"leaf", module: None });
}

fn read_program(bytes: &[u8]) {
    let _ = read_elf(bytes, |_| None::<Vec<u8>>);
    let mut map = MmapMut::map_anon(bytes.len().max(1)).expect("memory");
    map[..bytes.len()].copy_from_slice(bytes);
    let program = Program { bytes: Arc::new(map.make_read_only().expect("memory")), debug: None };
    let _ = list_parts(bytes);
    for (start, end) in [(0x1000, 0x1400), (0, u64::MAX)] {
        let _ = read_code(&program, start, end, true);
    }
    let mut work = Work::new(WORK);
    let mut inlines = Inlines::open(&program, &mut work);
    let mut tables = CallFrames::open(&program);
    for offset in (0x1000..0x1400).step_by(7).chain([0, 1, u64::MAX]) {
        if let Some(inlines) = &mut inlines {
            for origin in inlines.find(offset, &mut work).unwrap_or_default() {
                let _ = inlines.name(origin, &mut work);
            }
        }
        if let Some(tables) = &mut tables {
            let _ = tables.find(offset);
        }
    }
}

fn read_dump(bytes: &[u8]) {
    for is_order_of_time in [false, true] {
        if let Some(mut dump) = JitDump::open(bytes, is_order_of_time) {
            for time in [0, 1, 1 << 40, u64::MAX] {
                dump.advance(time);
                let _ = dump.find(time);
                let _ = dump.find(0x7f00_0000_1000);
            }
        }
    }
}

fn read_text(bytes: &[u8]) {
    let mut reader = TextReader::new(LIMITS, 1 << 16, 1024);
    for piece in bytes.chunks(1777) {
        if reader.feed(piece).is_err() {
            return;
        }
    }
    let _ = reader.finish();
}

/// One file of each kind that is no recording.
pub fn texts() -> Vec<(Target, Vec<u8>)> {
    let mut jitted = Vec::new();
    for number in [0x4a69_5444_u32, 1, 40, 62, 0, 1] {
        jitted.extend(number.to_le_bytes());
    }
    jitted.extend([0; 16]);
    for (kind, size, time) in [(0_u32, 16 + 40 + 6, 5_u64), (1, 16 + 48, 9), (3, 16, 10)] {
        jitted.extend(kind.to_le_bytes());
        jitted.extend((size as u32).to_le_bytes());
        jitted.extend(time.to_le_bytes());
        jitted.extend(std::iter::repeat_n(0, size - 16));
    }
    let program = std::fs::read_dir(store()).into_iter().flatten().filter_map(Result::ok).next();
    let script = "ls  77/77  [001]  12.345678901:  10101 cpu-clock:pppH: \n\
        \tffffffff81000010 do_syscall_64+0x10 ([kernel.kallsyms])\n\
        \t    7f0000001000 main+0x1c (/usr/bin/ls)\n\n";
    vec![
        (Target::Program, program.and_then(|entry| std::fs::read(entry.path()).ok()).unwrap_or_default()),
        (
            Target::Kallsyms,
            b"ffffffff81000000 T _text\nffffffffc0000000 t init [nf]\nffffffff82000000 T _etext\n".to_vec(),
        ),
        (Target::PerfMap, b"7f0000001000 40 Lfoo;::bar\n7f0000001040 20 [stub] x\n".to_vec()),
        (Target::JitDump, jitted),
        (Target::PerfScript, script.repeat(3).into_bytes()),
    ]
}
