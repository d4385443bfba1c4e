//! Whatever the bytes are, reading ends with a profile or an error: never with a panic, nor with more than they justify.

use std::sync::Arc;

use culprit_native::annotate::code::{list_parts, read_code};
use culprit_native::annotate::counts::{FunctionName, count_addresses};
use culprit_native::annotate::disassemble::{CODE_MAX, InstructionSet, disassemble};
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
use culprit_native::trie::Limits;
use culprit_native::unwind::rules::CallFrames;
use memmap2::MmapMut;
use object::{Object, ObjectSection};
use proptest::prelude::*;

/// Real recordings, small enough to be read a thousand times.
fn recordings() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the recordings are there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "data"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("readable")).collect()
}

fn data(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A program with debugging information and tables for unwinding.
fn program() -> Vec<u8> {
    let stored = std::fs::read_dir(data("store")).expect("the store is there").next().expect("it has a program");
    std::fs::read(stored.expect("readable").path()).expect("readable")
}

/// Where the sections are that are read of a program.
fn tables_of(program: &[u8]) -> Vec<std::ops::Range<usize>> {
    let file = object::File::parse(program).expect("ELF");
    let is_read = |name: &str| name.starts_with(".debug_") || name.starts_with(".eh_frame");
    let sections = file.sections().filter(|section| section.name().is_ok_and(is_read));
    let range = |(start, size): (u64, u64)| start as usize..(start + size) as usize;
    sections.filter_map(|section| section.file_range().map(range)).collect()
}

/// Resolve and unwind addresses all over a program.
fn read_program(bytes: &[u8]) {
    let mut map = MmapMut::map_anon(bytes.len().max(1)).expect("memory");
    map[..bytes.len()].copy_from_slice(bytes);
    let program = Program { bytes: Arc::new(map.make_read_only().expect("memory")), debug: None };
    let _ = list_parts(bytes);
    for (start, end) in [(0x1000, 0x1400), (0, u64::MAX), (u64::MAX, 0), (bytes.len() as u64, u64::MAX)] {
        let _ = read_code(&program, start, end, true);
    }
    let mut work = Work::new(2_000_000);
    let mut inlines = Inlines::open(&program, &mut work);
    let mut tables = CallFrames::open(&program);
    for offset in (0x1000..0x1400).step_by(3).chain([0, 1, u64::MAX]) {
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

fn read_all(bytes: &[u8]) {
    let limits = Limits { nodes: 100_000, frames: 100_000, ..Limits::default() };
    let _ = read_profile(bytes, SymbolSources::default(), limits);
    let stored = SymbolSources { store: Some(data("store")), inlining: Inlining::Always, ..SymbolSources::default() };
    let _ = read_profile(bytes, stored, limits);
    for read in [read_off_cpu, read_wall_time, read_block_io, read_futex] {
        let _ = read(bytes, SymbolSources::default(), limits, &[]);
    }
    let _ = read_schedule(bytes);
    let stored = SymbolSources { store: Some(data("store")), ..SymbolSources::default() };
    let name = FunctionName { event: b"cycles", function: b"leaf", module: None };
    if let Ok(counts) = count_addresses(bytes, stored, limits, &name) {
        assert!(counts.functions.iter().map(|function| function.samples()).sum::<u64>() <= counts.samples);
    }
}

#[test]
fn every_recording_is_readable() {
    for bytes in recordings() {
        assert!(read_profile(&bytes, SymbolSources::default(), Limits::default()).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damaged_recordings_do_no_harm(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        head in prop::collection::vec((0_usize..400, any::<u8>()), 0..6),
    ) {
        let all = recordings();
        let mut bytes = which.get(&all).clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for (at, value) in head {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        read_all(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        read_all(&bytes);
    }

    #[test]
    fn bytes_that_are_no_recording_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        read_all(&bytes);
        if let Some(head) = bytes.first_chunk_mut() {
            *head = *b"PERFILE2";
        }
        read_all(&bytes);
    }

    #[test]
    fn each_byte_of_code_is_in_one_instruction(
        bytes in prop::collection::vec(any::<u8>(), 0..3000), address in any::<u64>(),
    ) {
        for set in [InstructionSet::X86(64), InstructionSet::X86(32), InstructionSet::Arm64] {
            let mut next = 0;
            for instruction in disassemble(set, &bytes, address) {
                prop_assert_eq!(instruction.offset, next);
                prop_assert!(instruction.length > 0 && instruction.text.len() < 300);
                next += instruction.length;
            }
            prop_assert_eq!(next, bytes.len());
        }
    }

    #[test]
    fn damaged_programs_do_no_harm(
        changes in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, u8)>(), 1..30),
        anywhere in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = program();
        let tables = tables_of(&bytes);
        for (table, at, value) in changes {
            let table = table.get(&tables).clone();
            bytes[table.start + at.index(table.len())] = value;
        }
        read_program(&bytes);
        for (at, value) in anywhere {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_program(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        read_program(&bytes);
    }

    #[test]
    fn dumps_of_generated_code_do_no_harm(
        records in prop::collection::vec((0_u32..6, 0_u32..90, any::<u8>(), any::<[u8; 32]>(), 0_usize..80), 0..40),
        flags in 0_u64..2,
        times in prop::collection::vec(any::<u64>(), 1..5),
    ) {
        let mut bytes: Vec<u8> = [0x4a69_5444_u32, 1, 40, 62, 0, 1].iter().flat_map(|value| value.to_le_bytes()).collect();
        bytes.extend([0_u64, flags].iter().flat_map(|value| value.to_le_bytes()));
        for (kind, size, time, body, repeat) in records {
            bytes.extend(kind.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend(u64::from(time).to_le_bytes());
            bytes.extend(body.into_iter().cycle().take(repeat));
        }
        let mut dump = JitDump::open(bytes, true).expect("its header is whole");
        for time in times {
            dump.advance(time);
            let _ = dump.find(time);
        }
    }

    #[test]
    fn symbol_files_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000), text in "[0-9a-f tTW\\[\\]\n_$x]{0,400}") {
        let _ = read_elf(&bytes, |_| None::<Vec<u8>>);
        let _ = read_kallsyms(text.as_bytes());
        let _ = read_perf_map(text.as_bytes());
        let _ = read_perf_map(&bytes);
        let _ = JitDump::open(&bytes[..], false);
        read_program(&bytes);
    }
}

#[test]
fn only_so_much_code_is_read() {
    let bytes = vec![0x90; CODE_MAX + 1];
    assert_eq!(disassemble(InstructionSet::X86(64), &bytes, 0).len(), CODE_MAX);
}
