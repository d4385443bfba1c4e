//! The functions of a Go program: `.gopclntab`, which the runtime needs, so `strip` and `-ldflags=-s` leave it.
//!
//! Source of the formats: `runtime/symtab.go` and `debug/gosym/pclntab.go` of Go. They are those of Go 1.2, 1.16, 1.18
//! and 1.20. Since Go 1.26 the header does not state where the code begins; the module data does.

use object::read::{Object, ObjectSection};

use super::table::{Binding, SymbolTable};

/// The table, in programs and in those that are loaded anywhere (`-buildmode=pie`).
const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];
/// Where other linkers than that of Go put the table of a program that is loaded anywhere, among other data.
const SHARED_SECTION: &str = ".data.rel.ro";
/// What programs of Go have, and no others.
const GO_SECTION: &str = ".go.buildinfo";
const MODULE_SECTION: &str = ".go.module";
/// Pointers in front of `text` in `runtime.moduledata` of Go 1.26.
const TEXT_POINTER: usize = 22;
const HEADER_BYTES: usize = 8;
/// A longer name is not read.
const NAME_MAX: usize = 4096;
/// Places in a section of other data at which the table may begin.
const CANDIDATES_MAX: usize = 64;

/// How a format places its numbers: the index of the pointer-sized number that has the offset of a part.
struct Format {
    names: Option<usize>,
    functions: Option<usize>,
    /// Addresses are four bytes, relative to the beginning of the code, which this number states.
    text: Option<usize>,
}

/// Add the functions that the table of a Go program names.
///
/// `to_offset` returns the place in the file of an address of its code.
pub fn add_go_functions(table: &mut SymbolTable, file: &object::File<'_>, to_offset: impl Fn(u64) -> Option<u64>) {
    let numbers = Numbers { is_little: file.is_little_endian() };
    let text = find_text(file, numbers);
    let own = SECTIONS.iter().find_map(|name| file.section_by_name(name)?.data().ok());
    if let Some(lines) = own {
        read_table(table, lines, numbers, text, &to_offset);
    } else if file.section_by_name(GO_SECTION).is_some() {
        let data = file.section_by_name(SHARED_SECTION).and_then(|section| section.data().ok()).unwrap_or(&[]);
        let steps = (0..data.len()).step_by(HEADER_BYTES).filter_map(|at| data.get(at..));
        let candidates = steps.filter(|rest| read_header(rest, numbers).is_some()).take(CANDIDATES_MAX);
        for lines in candidates {
            if read_table(table, lines, numbers, text, &to_offset) > 0 {
                return;
            }
        }
    }
}

/// Numbers in the order of bytes of the file.
#[derive(Clone, Copy)]
struct Numbers {
    is_little: bool,
}

impl Numbers {
    /// The unsigned number of four or eight bytes at a place.
    fn read(self, bytes: &[u8], at: usize, width: usize) -> Option<u64> {
        let digits = bytes.get(at..at.checked_add(width)?)?;
        let join = |number: u64, digit: &u8| number << 8 | u64::from(*digit);
        Some(if self.is_little { digits.iter().rev().fold(0, join) } else { digits.iter().fold(0, join) })
    }
}

/// Where the code begins by the module data of Go 1.26 or newer.
fn find_text(file: &object::File<'_>, numbers: Numbers) -> Option<u64> {
    let width = if file.is_64() { 8 } else { 4 };
    let data = file.section_by_name(MODULE_SECTION)?.data().ok()?;
    numbers.read(data, TEXT_POINTER * width, width).filter(|text| *text != 0)
}

/// The format of a table and the size of its pointers; None where no table begins.
fn read_header(bytes: &[u8], numbers: Numbers) -> Option<(Format, usize)> {
    let format = match numbers.read(bytes, 0, 4)? {
        0xffff_fffb => Format { names: None, functions: None, text: None },
        0xffff_fffa => Format { names: Some(2), functions: Some(6), text: None },
        0xffff_fff0 | 0xffff_fff1 => Format { names: Some(3), functions: Some(7), text: Some(2) },
        _ => return None,
    };
    match bytes.get(4..HEADER_BYTES)? {
        [0, 0, 1 | 2 | 4, width @ (4 | 8)] => Some((format, usize::from(*width))),
        _ => None,
    }
}

/// Read a table that `bytes` begin with, and return the number of functions that were added.
fn read_table(
    table: &mut SymbolTable,
    bytes: &[u8],
    numbers: Numbers,
    text: Option<u64>,
    to_offset: &impl Fn(u64) -> Option<u64>,
) -> usize {
    let before = table.len();
    let _ = read_functions(table, bytes, numbers, text, to_offset);
    table.len() - before
}

fn read_functions(
    table: &mut SymbolTable,
    bytes: &[u8],
    numbers: Numbers,
    module_text: Option<u64>,
    to_offset: &impl Fn(u64) -> Option<u64>,
) -> Option<()> {
    let (format, width) = read_header(bytes, numbers)?;
    let header = |place: usize| numbers.read(bytes, HEADER_BYTES + place * width, width);
    let part = |place: Option<usize>| match place {
        None => Some(bytes),
        Some(place) => bytes.get(usize::try_from(header(place)?).ok()?..),
    };
    let (names, functions) = (part(format.names)?, part(format.functions)?);
    let (entry, base) = match format.text {
        Some(place) => (4, header(place).filter(|text| *text != 0).or(module_text)?),
        None => (width, 0),
    };
    // The first format has the pairs behind the header; their offsets are from its beginning.
    let pairs = if format.functions.is_some() { functions } else { bytes.get(HEADER_BYTES + width..)? };
    let count = usize::try_from(header(0)?).ok()?;
    // Names may overlap in a damaged table. In a whole table, most of them are there once.
    let mut room = bytes.len();
    for pair in (0..count).map_while(|at| pairs.get(at.checked_mul(2 * entry)?..)) {
        let Some(next) = numbers.read(pair, 2 * entry, entry) else { break };
        let (Some(start), Some(place)) = (numbers.read(pair, 0, entry), numbers.read(pair, entry, entry)) else {
            break;
        };
        let name = usize::try_from(place).ok().and_then(|place| {
            let at = numbers.read(functions, place.checked_add(entry)?, 4)?;
            read_name(names.get(usize::try_from(at).ok()?..)?)
        });
        let (Some(name), Some(offset)) = (name, base.checked_add(start).and_then(to_offset)) else { continue };
        room = room.checked_sub(name.len())?;
        if next > start {
            table.add(offset, next - start, name, Binding::Global);
        }
    }
    Some(())
}

/// The name that bytes begin with, up to its zero.
fn read_name(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().take(NAME_MAX).position(|byte| *byte == 0)?;
    bytes.get(..end).filter(|name| !name.is_empty())
}
