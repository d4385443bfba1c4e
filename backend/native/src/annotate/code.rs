//! The code of one function out of a file of its program, with what branches lead to and the lines of its source.

use object::{Object, ObjectSection};

use crate::annotate::disassemble::{CODE_MAX, Instruction, InstructionSet, disassemble};
use crate::annotate::lines::{SECTIONS, read_lines};
use crate::modules::to_hexadecimal;
use crate::symbols::elf::{list_code, read_elf};
use crate::symbols::names::demangle;
use crate::symbols::programs::Program;
use crate::symbols::table::{Located, SymbolTable};

/// Instructions of a function. `address` is the one of its first byte in the numbering of the file, as objdump has it.
pub struct FunctionCode {
    pub address: u64,
    pub instructions: Vec<AnnotatedInstruction>,
    pub files: Vec<String>,
    /// Whether the function has more bytes than are read.
    pub is_cut: bool,
}

/// An instruction, the name of the function that a branch leads to, and its file and line in the source.
pub struct AnnotatedInstruction {
    pub instruction: Instruction,
    pub callee: Option<String>,
    pub line: Option<(usize, u64)>,
}

/// Why a function has no instructions here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCode {
    /// The file is no ELF file, or does not have these bytes.
    NotThere,
    /// The instructions of this processor are not known.
    Architecture,
}

/// Read the instructions at the offsets from `start` to `end` of a file. `has_lines` states that its sections with
/// lines are at hand.
pub fn read_code(program: &Program, start: u64, end: u64, has_lines: bool) -> Result<FunctionCode, NoCode> {
    let file = object::File::parse(&**program.bytes).map_err(|_| NoCode::NotThere)?;
    let set = InstructionSet::of(&file).ok_or(NoCode::Architecture)?;
    let ranges = list_code(&file);
    let to_address = |offset: u64| ranges.iter().find_map(|range| range.address_of(offset));
    let to_offset = |address: u64| ranges.iter().find_map(|range| range.offset_of(address));
    let address = to_address(start).ok_or(NoCode::NotThere)?;
    let size = end.saturating_sub(start).min(CODE_MAX as u64);
    let bytes = (|| {
        let start = usize::try_from(start).ok()?;
        program.bytes.get(start..start.checked_add(size as usize)?)
    })();
    let bytes = bytes.filter(|bytes| !bytes.is_empty()).ok_or(NoCode::NotThere)?;
    let past = address.saturating_add(size);
    let lines = if has_lines { read_lines(program, address..past) } else { None }.unwrap_or_default();
    let table = read_elf(&program.bytes, |_| program.debug.as_deref().map(|map| &map[..]))
        .map(|symbols| symbols.table)
        .unwrap_or_default();
    let annotate = |instruction: Instruction| {
        let outside = instruction.target.filter(|target| !(address..past).contains(target));
        let here = address.saturating_add(instruction.offset as u64);
        AnnotatedInstruction {
            callee: outside.and_then(to_offset).and_then(|offset| name_at(&table, offset)),
            line: lines.find(here),
            instruction,
        }
    };
    let instructions = disassemble(set, bytes, address).into_iter().map(annotate).collect();
    Ok(FunctionCode { address, instructions, files: lines.files, is_cut: end.saturating_sub(start) > size })
}

fn name_at(table: &SymbolTable, offset: u64) -> Option<String> {
    let Located::Symbol(place) = table.locate(offset) else { return None };
    let name = demangle(table.name(place)).into_owned();
    Some(String::from_utf8_lossy(&name[..name.len().min(500)]).into_owned())
}

/// Where parts of an ELF file are that only its headers need to be at hand for.
pub struct FileParts {
    pub build_id: Option<String>,
    /// Whether its instructions can be printed.
    pub is_known: bool,
    /// Name, offset and size of each section that lines are read from.
    pub sections: Vec<(&'static str, u64, u64)>,
}

/// List the sections of lines in a file; None where it is no ELF file.
pub fn list_parts(bytes: &[u8]) -> Option<FileParts> {
    let file = object::File::parse(bytes).ok()?;
    let place = |name: &'static str| {
        let (offset, size) = file.section_by_name(name)?.file_range().filter(|(_, size)| *size > 0)?;
        Some((name, offset, size))
    };
    Some(FileParts {
        build_id: file.build_id().ok().flatten().map(to_hexadecimal),
        is_known: InstructionSet::of(&file).is_some(),
        sections: SECTIONS.into_iter().filter_map(place).collect(),
    })
}
