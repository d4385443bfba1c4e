//! Symbols and function starts of an ELF file, or of one that has only its symbol sections.

use std::ops::Deref;

use object::elf;
use object::read::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolFlags};

use super::gopclntab::add_go_functions;
use super::table::{Binding, SymbolTable};
use crate::bytes::{u32_at, u64_at};

/// `DW_EH_PE_datarel | DW_EH_PE_sdata4`, the encoding that all linkers write.
const TABLE_ENCODING: u8 = 0x3b;
/// Where `.eh_frame_hdr` has the number of its pairs, and the pairs.
pub const COUNT_AT: usize = 8;
pub const PAIRS_AT: usize = 12;
const PLT_ENTRY: u64 = 16;
/// Executed parts of one file: linkers make one.
const CODE_MAX: usize = 64;

/// The symbols of a file, by offset in it.
#[derive(Default)]
pub struct ElfSymbols {
    pub table: SymbolTable,
    pub build_id: Option<Vec<u8>>,
}

/// Read the symbols of an ELF file; None where it is none.
///
/// `find_debug` returns the bytes of a file with the debugging symbols of a build ID. It is asked if the file has no full
/// table of its own. Source of the choices: `dso__load_sym` of perf.
pub fn read_elf<D: Deref<Target = [u8]>>(
    bytes: &[u8],
    find_debug: impl FnOnce(&[u8]) -> Option<D>,
) -> Option<ElfSymbols> {
    let file = object::File::parse(bytes).ok()?;
    let loads: Vec<Load> = file
        .segments()
        .map(|segment| {
            let (offset, size) = segment.file_range();
            Load { address: segment.address(), offset, size: size.max(segment.size()) }
        })
        .collect();
    let build_id = file.build_id().ok().flatten().map(<[u8]>::to_vec);
    let mut table = SymbolTable::default();
    file.symbols().for_each(|symbol| add_symbol(&mut table, &loads, &symbol));
    if table.is_empty() {
        let debug = build_id.as_deref().and_then(find_debug);
        let debug = debug.as_deref().and_then(|bytes| object::File::parse(bytes).ok());
        // Its segments are not where those of the program are: addresses are the same.
        if let Some(debug) = debug.filter(|debug| debug.build_id().ok().flatten() == build_id.as_deref()) {
            debug.symbols().for_each(|symbol| add_symbol(&mut table, &loads, &symbol));
        }
    }
    if table.is_empty() {
        file.dynamic_symbols().for_each(|symbol| add_symbol(&mut table, &loads, &symbol));
        let code = list_code(&file);
        add_go_functions(&mut table, &file, |address| code.iter().find_map(|range| range.offset_of(address)));
    }
    add_plt(&mut table, &file, &loads);
    table.add_starts(read_function_starts(&file).filter_map(|address| to_offset(&loads, address)));
    Some(ElfSymbols { table: table.finish(), build_id })
}

/// A part of the file that is loaded at an address.
struct Load {
    address: u64,
    offset: u64,
    size: u64,
}

fn to_offset(loads: &[Load], address: u64) -> Option<u64> {
    let load = loads.iter().find(|load| address >= load.address && address - load.address < load.size)?;
    Some(address - load.address + load.offset)
}

/// A part of the file that is executed, and where it is loaded.
pub struct CodeRange {
    address: u64,
    offset: u64,
    size: u64,
}

impl CodeRange {
    /// The address in the file's own numbering of an offset in it.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let inside = offset.checked_sub(self.offset).filter(|inside| *inside < self.size)?;
        self.address.checked_add(inside)
    }

    /// The offset in the file of an address in its own numbering.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let inside = address.checked_sub(self.address).filter(|inside| *inside < self.size)?;
        self.offset.checked_add(inside)
    }
}

/// The executed parts of a file.
pub fn list_code(file: &object::File<'_>) -> Vec<CodeRange> {
    let is_code = |segment: &object::Segment<'_, '_>| match segment.flags() {
        object::SegmentFlags::Elf { p_flags, .. } => p_flags.contains(elf::PF_X),
        _ => false,
    };
    let code = file.segments().filter(is_code).map(|segment| {
        let (offset, size) = segment.file_range();
        CodeRange { address: segment.address(), offset, size }
    });
    code.take(CODE_MAX).collect()
}

fn add_symbol<'data, S: ObjectSymbol<'data>>(table: &mut SymbolTable, loads: &[Load], symbol: &S) {
    let SymbolFlags::Elf { st_info, st_other } = symbol.flags() else { return };
    let kind = st_info.st_type();
    let is_function = kind == elf::STT_FUNC || kind == elf::STT_GNU_IFUNC;
    let is_label = kind == elf::STT_NOTYPE && !matches!(st_other.visibility(), elf::STV_HIDDEN | elf::STV_INTERNAL);
    if symbol.is_undefined() || !(is_function || is_label && symbol.section_index().is_some()) {
        return;
    }
    let Ok(name) = symbol.name_bytes() else { return };
    // `$x` and the like mark code and data on ARM.
    if name.is_empty() || name.starts_with(b"$") {
        return;
    }
    let binding = match st_info.st_bind() {
        elf::STB_WEAK => Binding::Weak,
        elf::STB_GLOBAL => Binding::Global,
        _ => Binding::Local,
    };
    if let Some(offset) = to_offset(loads, symbol.address()) {
        table.add(offset, symbol.size(), name, binding);
    }
}

/// Name the stubs through which functions of other libraries are called: `write@plt`.
fn add_plt(table: &mut SymbolTable, file: &object::File<'_>, loads: &[Load]) {
    let stubs = file.section_by_name(".plt.sec").map(|section| (section.address(), section.size())).or_else(|| {
        // The first entry of .plt is the one that resolves.
        let section = file.section_by_name(".plt")?;
        Some((section.address() + PLT_ENTRY, section.size().saturating_sub(PLT_ENTRY)))
    });
    let (Some((address, size)), Some(calls)) = (stubs, file.section_by_name(".rela.plt")) else { return };
    let Ok(calls) = calls.data() else { return };
    if !file.is_64() {
        return;
    }
    for (at, call) in calls.chunks_exact(24).enumerate().take((size / PLT_ENTRY) as usize) {
        let symbol = u64_at(call, 8).unwrap_or(0) >> 32;
        let Ok(symbol) = file.dynamic_symbol_table().ok_or(()).and_then(|dynamic| {
            use object::read::ObjectSymbolTable;
            dynamic.symbol_by_index(object::read::SymbolIndex(symbol as usize)).map_err(|_| ())
        }) else {
            continue;
        };
        let Ok(name) = symbol.name_bytes() else { continue };
        if let Some(offset) = to_offset(loads, address + at as u64 * PLT_ENTRY).filter(|_| !name.is_empty()) {
            table.add(offset, PLT_ENTRY, &[name, b"@plt"].concat(), Binding::Global);
        }
    }
}

/// Addresses where functions begin, from `.eh_frame_hdr`, which programs without symbols still have.
fn read_function_starts<'a>(file: &object::File<'a>) -> impl Iterator<Item = u64> + use<'a> {
    let found = file.section_by_name(".eh_frame_hdr").and_then(|section| {
        let data = section.data().ok()?;
        has_usual_encodings(data).then_some((section.address(), data))
    });
    let (base, data) = found.unwrap_or((0, &[]));
    let count = u32_at(data, COUNT_AT).unwrap_or(0) as usize;
    let entries = data.get(PAIRS_AT..).unwrap_or(&[]).chunks_exact(8).take(count);
    entries.filter_map(move |entry| Some(base.wrapping_add_signed(i64::from(u32_at(entry, 0)? as i32))))
}

/// Whether `.eh_frame_hdr` has the encodings that all linkers write: version, then the encodings of a pointer (four bytes
/// here), of the count, and of the table.
pub fn has_usual_encodings(header: &[u8]) -> bool {
    let Some([version, pointer, count, table]) = header.first_chunk::<4>() else { return false };
    *version == 1 && pointer & 0xf == 0xb && count & 0xf == 3 && *table == TABLE_ENCODING
}

#[cfg(test)]
mod tests {
    use super::super::table::Located;
    use super::*;

    #[test]
    fn this_program_has_its_own_symbols() {
        let path = std::env::current_exe().expect("a test is a program");
        let bytes = std::fs::read(path).expect("it can be read");
        let symbols = read_elf(&bytes, |_| None::<Vec<u8>>).expect("it is ELF");
        assert!(symbols.table.len() > 100);
        assert_ne!(symbols.table.locate(0), Located::Symbol(usize::MAX));
    }

    #[test]
    fn what_is_no_elf_file_has_none() {
        assert!(read_elf(b"", |_| None::<Vec<u8>>).is_none());
        assert!(read_elf(b"\x7fELF but nothing else", |_| None::<Vec<u8>>).is_none());
    }
}
