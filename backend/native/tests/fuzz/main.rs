//! Changed recordings and programs, for as long as is asked for, in a process that has little memory.
//!
//! A run of `cargo test` takes a few seconds. For longer: `CULPRIT_FUZZ_SECONDS=3600 cargo test --release
//! --no-default-features --test fuzz -- --nocapture`. Each case is made of a number, so `CULPRIT_FUZZ_CASE=NUMBER` repeats
//! it. Inputs that failed are written to `tests/fuzz/kept`, where they are seeds of every later run.

mod crafted;
#[path = "../support/go_program.rs"]
mod go_program;
mod mutations;
mod targets;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mutations::{Random, mutate};
use targets::Target;

/// Of the process that reads. A claimed length that is believed needs more.
const ADDRESS_SPACE_KIB: u32 = 256 << 10;
/// Nothing that is read takes a tenth of it; without limits, some inputs would take minutes.
const CASE_MAX: Duration = Duration::from_secs(20);
const SECONDS: u64 = 6;
const CHILD: &str = "CULPRIT_FUZZ_CHILD";

/// An input and what reads it.
struct Seed {
    name: String,
    target: Target,
    bytes: Vec<u8>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn read_seeds(folder: &Path) -> Vec<Seed> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| {
            let target = Target::of(path.extension()?.to_str()?)?;
            let name = path.file_name()?.to_string_lossy().into_owned();
            Some(Seed { name, target, bytes: fs::read(path).ok()? })
        })
        .collect()
}

/// Recordings of this machine, crafted files, and all that ever failed.
fn list_seeds() -> Vec<Seed> {
    let mut seeds = read_seeds(&folder("data"));
    seeds.extend(read_seeds(&folder("fuzz/kept")));
    seeds.extend(crafted::list().into_iter().map(|(name, bytes)| Seed {
        name: name.to_owned(),
        target: Target::Recording,
        bytes,
    }));
    seeds.extend(go_program::list_shapes().into_iter().map(|shape| {
        let table = go_program::write_table(shape, &["main.main", "main.(*Pool).run", "runtime.goexit"]);
        let bytes = go_program::write_program(shape, ".gopclntab", table);
        Seed { name: format!("{shape:?}"), target: Target::Program, bytes }
    }));
    seeds.extend(targets::texts().into_iter().map(|(target, bytes)| Seed {
        name: format!("{target:?}"),
        target,
        bytes,
    }));
    seeds
}

/// Read an input; what failed, if anything did.
fn find_failure(target: Target, bytes: &[u8]) -> Option<String> {
    let began = Instant::now();
    if catch_unwind(|| target.read(bytes)).is_err() {
        return Some("it panicked".to_owned());
    }
    (began.elapsed() > CASE_MAX).then(|| format!("it took {:?}", began.elapsed()))
}

fn number_of(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The input of a case: the same number makes the same input, as long as the seeds are the same.
fn make_case(seeds: &[Seed], number: u64) -> (Target, Vec<u8>) {
    let mut random = Random::new(number);
    let seed = &seeds[random.below(seeds.len())];
    let other = &seeds[random.below(seeds.len())];
    let mut bytes = seed.bytes.clone();
    mutate(&mut bytes, &other.bytes, &mut random);
    (seed.target, bytes)
}

/// The process of little memory: it writes the number of each case to a file before it reads it.
fn run_cases(state: &Path) {
    let seeds = list_seeds();
    for seed in &seeds {
        let _ = fs::write(state, &seed.name);
        if let Some(failure) = find_failure(seed.target, &seed.bytes) {
            panic!("{}: {failure}", seed.name);
        }
    }
    if let Some(number) = number_of("CULPRIT_FUZZ_CASE") {
        let (target, bytes) = make_case(&seeds, number);
        assert_eq!(find_failure(target, &bytes), None, "case {number}");
        return;
    }
    let end = Instant::now() + Duration::from_secs(number_of("CULPRIT_FUZZ_SECONDS").unwrap_or(SECONDS));
    let first = number_of("CULPRIT_FUZZ_FIRST").unwrap_or(0);
    let mut number = first;
    while Instant::now() < end {
        let _ = fs::write(state, number.to_string());
        let (target, bytes) = make_case(&seeds, number);
        if let Some(failure) = find_failure(target, &bytes) {
            keep(number, target, &bytes);
            panic!("case {number} of {target:?}: {failure}");
        }
        number += 1;
    }
    println!("{} cases of {} seeds did no harm", number - first, seeds.len());
}

fn keep(number: u64, target: Target, bytes: &[u8]) {
    let kept = folder("fuzz/kept");
    let _ = fs::create_dir_all(&kept);
    let _ = fs::write(kept.join(format!("case-{number}.{}", target.suffix())), bytes);
}

#[test]
fn changed_files_do_no_harm() {
    if let Some(state) = std::env::var_os(CHILD) {
        run_cases(Path::new(&state));
        return;
    }
    let state = std::env::temp_dir().join(format!("culprit-fuzz-{}", std::process::id()));
    let own = std::env::current_exe().expect("this program");
    let status = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE_KIB} && exec \"$0\" \"$@\"")])
        .arg(own)
        .args(["--exact", "changed_files_do_no_harm", "--nocapture"])
        .env(CHILD, &state)
        // Each thread would reserve 64 MB of addresses.
        .env("MALLOC_ARENA_MAX", "1")
        .status()
        .expect("a shell");
    let last = fs::read_to_string(&state).unwrap_or_default();
    let _ = fs::remove_file(&state);
    if !status.success()
        && let Ok(number) = last.parse()
    {
        // A process that was ended, not a panic, has kept nothing.
        let (target, bytes) = make_case(&list_seeds(), number);
        keep(number, target, &bytes);
    }
    assert!(status.success(), "{status} at {last}");
}

/// Crafted files are more than refused headers: what is whole in them is read.
#[test]
fn crafted_files_are_read_as_far_as_they_are_whole() {
    let none = Err("no samples");
    let too_much = Err("limit");
    let expected = [
        ("two samples", Ok(2)),
        ("a chain of 2^61 addresses", none),
        ("sections behind the end", Ok(2)),
        ("sections that overlap", Ok(2)),
        ("255 events with the same IDs", none),
        ("names of events without an end", Ok(2)),
        ("tracing data of 4 GB", Ok(1)),
        ("a trace of 2^64 bytes", Ok(1)),
        ("compressed records in compressed records", Ok(1)),
        ("frames in a loop", none),
        ("4 GB of zeros", too_much),
        ("4 GB of samples' ends", too_much),
        ("20,000 new names of events", Ok(1)),
    ];
    let crafted = crafted::list();
    let counted: Vec<_> = crafted.iter().map(|(name, bytes)| (*name, targets::count_samples(bytes))).collect();
    assert_eq!(counted, expected);
}
