//! Functions of Go programs without symbols: written tables of all formats, and programs of the toolchain that is here.

#[path = "support/go_program.rs"]
mod go_program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use culprit_native::symbols::elf::read_elf;
use culprit_native::symbols::table::{Located, SymbolTable};
use go_program::{FUNCTION_BYTES, GO_1_18, GO_1_20, Shape, TEXT_OFFSET, list_shapes, write_program, write_table};
use object::{Object, ObjectSection, ObjectSymbol};
use proptest::prelude::*;

const FUNCTIONS: [&str; 3] = ["main.main", "main.(*Pool).run", "runtime.goexit"];
const PLAIN: Shape = Shape { magic: GO_1_20, width: 8, is_little: true, has_text: true };

fn read_table(bytes: &[u8]) -> SymbolTable {
    read_elf(bytes, |_| None::<Vec<u8>>).map(|symbols| symbols.table).unwrap_or_default()
}

fn name_at(table: &SymbolTable, offset: u64) -> Option<String> {
    match table.locate(offset) {
        Located::Symbol(place) => Some(String::from_utf8_lossy(table.name(place)).into_owned()),
        _ => None,
    }
}

fn assert_names(table: &SymbolTable, shape: Shape) {
    for (at, name) in FUNCTIONS.iter().enumerate() {
        let start = TEXT_OFFSET + at as u64 * FUNCTION_BYTES;
        for offset in [start, start + FUNCTION_BYTES - 1] {
            assert_eq!(name_at(table, offset).as_deref(), Some(*name), "{shape:?}");
        }
    }
    let end = TEXT_OFFSET + FUNCTIONS.len() as u64 * FUNCTION_BYTES;
    assert_eq!(name_at(table, end), None, "{shape:?}");
    assert_eq!(table.len(), FUNCTIONS.len(), "{shape:?}");
}

#[test]
fn all_formats_of_the_table_name_functions() {
    for shape in list_shapes() {
        let program = write_program(shape, ".gopclntab", write_table(shape, &FUNCTIONS));
        assert_names(&read_table(&program), shape);
    }
}

#[test]
fn the_table_of_a_program_of_another_linker_is_found_among_its_data() {
    let mut data = vec![0xff; 400];
    data.extend(write_table(PLAIN, &FUNCTIONS));
    assert_names(&read_table(&write_program(PLAIN, ".data.rel.ro", data)), PLAIN);
}

#[test]
fn addresses_are_not_guessed_where_nothing_states_the_beginning_of_the_code() {
    let hidden = Shape { magic: GO_1_18, has_text: false, ..PLAIN };
    let mut program = write_program(hidden, ".gopclntab", write_table(hidden, &FUNCTIONS));
    assert_names(&read_table(&program), hidden);
    let name = b".go.module";
    let at = program.windows(name.len()).position(|part| part == name).expect("its name");
    program[at + 1] = b'x';
    assert!(read_table(&program).is_empty());
}

#[test]
fn functions_outside_of_the_code_have_no_names() {
    let many = vec!["main.f"; 4096 / FUNCTION_BYTES as usize + 10];
    let table = read_table(&write_program(PLAIN, ".gopclntab", write_table(PLAIN, &many)));
    assert_eq!(table.len(), 4096 / FUNCTION_BYTES as usize);
}

/// Functions whose names overlap would be as many bytes as the square of the table.
#[test]
fn names_that_overlap_are_bounded_by_the_size_of_the_table() {
    let long = "x".repeat(4000);
    let names: Vec<&str> = (0..60).map(|at| if at == 0 { long.as_str() } else { "" }).collect();
    let mut table = write_table(PLAIN, &names);
    let size = table.len();
    // Each structure begins with its address; its name is the first one.
    for at in 0..60 {
        let place = size - 60 * 8 + at * 8 + 4;
        table[place..place + 4].copy_from_slice(&0_u32.to_le_bytes());
    }
    assert!(read_table(&write_program(PLAIN, ".gopclntab", table)).len() <= size / 4000 + 1);
}

/// Build a program of Go in a folder; None where no Go is installed.
fn build_program(folder: &Path, options: &[&str]) -> Option<Vec<u8>> {
    let source = folder.join("busy.go");
    let text = "package main\n//go:noinline\nfunc countBusily(n int) int { s := 0; for i := 0; i < n; i++ { s += i % 7 }; return s }\n\
        func main() { println(countBusily(100)) }\n";
    std::fs::write(&source, text).expect("a file");
    let program = folder.join("busy");
    let mut command = Command::new("go");
    command.env("GOTOOLCHAIN", "local").env("GOCACHE", folder.join("cache")).env("GOFLAGS", "-mod=mod");
    command.env("CGO_ENABLED", "0").arg("build").args(options).arg("-o").arg(&program).arg(&source);
    match command.status() {
        Ok(status) => assert!(status.success(), "go build failed"),
        Err(_) => return None,
    }
    Some(std::fs::read(program).expect("the program"))
}

fn make_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("culprit-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A stripped program names each function where the symbols of the same program have it.
#[test]
fn a_stripped_program_has_the_names_of_its_symbols() {
    let folder = make_folder("go");
    for mode in ["exe", "pie"] {
        let mode = format!("-buildmode={mode}");
        let Some(stripped) = build_program(&folder, &[&mode, "-ldflags=-s -w"]) else {
            eprintln!("go is not installed: only written tables were read");
            return;
        };
        let whole = build_program(&folder, &[&mode, "-ldflags=-w"]).expect("go");
        compare(&stripped, &whole);
    }
    let _ = std::fs::remove_dir_all(folder);
}

fn compare(stripped: &[u8], whole: &[u8]) {
    let table = read_table(stripped);
    let file = object::File::parse(whole).expect("ELF");
    let text = file.section_by_name(".text").expect("code");
    let (offset, _) = text.file_range().expect("in the file");
    // The table has neither types in brackets nor how arguments are passed.
    let is_plain = |name: &&str| !name.contains('[') && !name.starts_with("runtime.text") && !name.starts_with('$');
    let expected: BTreeMap<u64, &str> = file
        .symbols()
        .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.size() > 0)
        .filter_map(|symbol| Some((symbol.address() - text.address() + offset, symbol.name().ok()?)))
        .map(|(offset, name)| (offset, name.trim_end_matches(".abi0")))
        .filter(|(_, name)| is_plain(name))
        .collect();
    assert!(expected.len() > 500, "{}", expected.len());
    let other: Vec<_> =
        expected.iter().filter(|(offset, name)| name_at(&table, **offset).as_deref() != Some(**name)).collect();
    assert!(
        other.len() * 100 < expected.len(),
        "{} of {}: {:?}",
        other.len(),
        expected.len(),
        &other[..other.len().min(20)]
    );
    assert!(expected.values().any(|name| *name == "main.countBusily"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damaged_tables_do_no_harm(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        head in prop::collection::vec((0_usize..72, any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let shapes = list_shapes();
        let shape = *which.get(&shapes);
        let mut table = write_table(shape, &FUNCTIONS);
        let size = table.len();
        for (at, value) in changes {
            table[at.index(size)] = value;
        }
        for (at, value) in head {
            if let Some(byte) = table.get_mut(at) {
                *byte = value;
            }
        }
        for section in [".gopclntab", ".data.rel.ro"] {
            let read = read_table(&write_program(shape, section, table.clone()));
            prop_assert!(read.len() <= size / 8);
            let read = read_table(&write_program(shape, section, table[..cut.index(size)].to_vec()));
            prop_assert!(read.len() <= size / 8);
        }
    }
}
