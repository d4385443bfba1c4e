//! Which functions a compiler inlined at an address, from `.debug_info`.
//!
//! The file may be hostile: all that is read costs work, of which there is a limit.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::{DebugInfoOffset, Dwarf, EndianSlice, LittleEndian, SectionId, UnitOffset, UnitType};

use super::dwarf_units::{Abbreviated, Work, read_name, read_ranges, read_unit};
use super::elf::{CodeRange, list_code};
use super::programs::Program;
use super::sections::{Section, read_section};

pub type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Inlined calls within each other at one address.
const NESTED_MAX: usize = 200;
const SECTIONS: [SectionId; 8] = [
    SectionId::DebugInfo,
    SectionId::DebugAbbrev,
    SectionId::DebugStr,
    SectionId::DebugLineStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugAddr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
];

/// A range of addresses; `place` is the offset of what it belongs to.
#[derive(Clone, Copy)]
struct Range {
    start: u64,
    end: u64,
    place: usize,
}

/// An inlined call: where its code is, how many others it is within, and where the function is described.
#[derive(Clone, Copy)]
struct Call {
    start: u64,
    end: u64,
    level: u32,
    origin: usize,
}

/// The debugging information of one file.
pub struct Inlines {
    code: Vec<CodeRange>,
    sections: Vec<(SectionId, Section)>,
    index: Index,
}

/// What was read of it so far.
struct Index {
    units: Vec<usize>,
    unit_ranges: Vec<Range>,
    abbreviated: Abbreviated,
    functions: HashMap<usize, Rc<Vec<Range>>>,
    calls: HashMap<usize, Rc<Vec<Call>>>,
}

impl Inlines {
    /// Read which units a file has. None where it has no debugging information, or more than there is work for.
    pub fn open(program: &Program, work: &mut Work) -> Option<Self> {
        let code = list_code(&object::File::parse(&program.bytes[..]).ok()?);
        let bytes = program.debug.as_ref().unwrap_or(&program.bytes);
        let file = object::File::parse(&bytes[..]).ok()?;
        let read = |id: SectionId| Some((id, read_section(bytes, &file, id.name(), &mut work.unpacked)?));
        let sections: Vec<_> = SECTIONS.into_iter().filter_map(read).collect();
        if sections.first()?.0 != SectionId::DebugInfo {
            return None;
        }
        let index = Index::read(&load(&sections), work)?;
        Some(Self { code, sections, index })
    }

    /// The descriptions of the functions that were inlined at an offset in the program, the innermost one first.
    pub fn find(&mut self, offset: u64, work: &mut Work) -> Option<Vec<usize>> {
        let address = self.code.iter().find_map(|range| range.address_of(offset))?;
        let unit = find_range(&self.index.unit_ranges, address)?;
        let dwarf = load(&self.sections);
        let functions = self.index.functions_of(&dwarf, unit.place, work)?;
        let function = find_range(&functions, address)?;
        let calls = self.index.calls_of(&dwarf, unit.place, function.place, work)?;
        work.take(calls.len())?;
        let mut nested: Vec<_> = calls.iter().filter(|call| (call.start..call.end).contains(&address)).collect();
        nested.sort_by_key(|call| std::cmp::Reverse(call.level));
        nested.dedup_by_key(|call| call.level);
        nested.truncate(NESTED_MAX);
        Some(nested.into_iter().map(|call| call.origin).collect())
    }

    /// The name of a function as its linker has it, or else as its source has it.
    pub fn name(&mut self, origin: usize, work: &mut Work) -> Option<Vec<u8>> {
        read_name(&load(&self.sections), &self.index.units, &mut self.index.abbreviated, origin, work)
    }
}

fn load(sections: &[(SectionId, Section)]) -> Dwarf<Slice<'_>> {
    let bytes = |id| sections.iter().find(|(other, _)| *other == id).map_or(&[][..], |(_, section)| section.bytes());
    let load = |id| Ok::<_, gimli::Error>(EndianSlice::new(bytes(id), LittleEndian));
    Dwarf::load(load).unwrap_or_else(|_| unreachable!("no section is refused"))
}

/// The innermost range that contains an address: ranges of one list are rarely over each other.
fn find_range(ranges: &[Range], address: u64) -> Option<Range> {
    const OVERLAPS: usize = 8;
    let past = ranges.partition_point(|range| range.start <= address);
    ranges[past.saturating_sub(OVERLAPS)..past].iter().rev().find(|range| address < range.end).copied()
}

impl Index {
    fn read(dwarf: &Dwarf<Slice<'_>>, work: &mut Work) -> Option<Self> {
        let mut index = Self {
            units: Vec::new(),
            unit_ranges: Vec::new(),
            abbreviated: Abbreviated::default(),
            functions: HashMap::new(),
            calls: HashMap::new(),
        };
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            work.take(1)?;
            let place = header.debug_info_offset()?.0;
            index.units.push(place);
            if header.type_() != UnitType::Compilation {
                continue;
            }
            let Some((unit, root)) = read_unit(dwarf, header, &mut index.abbreviated, work) else { continue };
            let ranges = &mut index.unit_ranges;
            let add = |start, end| ranges.push(Range { start, end, place });
            read_ranges(dwarf, &unit, &root, work, add)?;
        }
        index.unit_ranges.sort_by_key(|range| range.start);
        Some(index)
    }

    /// The ranges of the functions of a unit.
    fn functions_of(&mut self, dwarf: &Dwarf<Slice<'_>>, place: usize, work: &mut Work) -> Option<Rc<Vec<Range>>> {
        if let Some(known) = self.functions.get(&place) {
            return Some(Rc::clone(known));
        }
        let header = dwarf.debug_info.header_from_offset(DebugInfoOffset(place)).ok()?;
        let (unit, _) = read_unit(dwarf, header, &mut self.abbreviated, work)?;
        let mut functions = Vec::new();
        let mut attributes = Vec::new();
        let mut entries = unit.header.entries_raw(&unit.abbreviations, None).ok()?;
        while !entries.is_empty() {
            let offset = entries.next_offset().0;
            let Some(shape) = entries.read_abbreviation().ok()? else { continue };
            work.take(1 + shape.attributes().len())?;
            if shape.tag() != gimli::DW_TAG_subprogram {
                entries.skip_attributes(shape.attributes()).ok()?;
                continue;
            }
            entries.read_attributes(shape.attributes(), &mut attributes).ok()?;
            let before = functions.len();
            let add = |start, end| functions.push(Range { start, end, place: offset });
            read_ranges(dwarf, &unit, &attributes, work, add)?;
            let next = attributes.iter().find(|item| item.name() == gimli::DW_AT_sibling).map(gimli::Attribute::value);
            // What is within a function is read when an address is in it.
            if let Some(gimli::AttributeValue::UnitRef(UnitOffset(next))) = next
                && functions.len() > before
                && next > entries.next_offset().0
            {
                entries = unit.header.entries_raw(&unit.abbreviations, Some(UnitOffset(next))).ok()?;
            }
        }
        functions.sort_by_key(|range| range.start);
        let functions = Rc::new(functions);
        self.functions.insert(place, Rc::clone(&functions));
        Some(functions)
    }

    /// The inlined calls of a function.
    fn calls_of(
        &mut self,
        dwarf: &Dwarf<Slice<'_>>,
        place: usize,
        function: usize,
        work: &mut Work,
    ) -> Option<Rc<Vec<Call>>> {
        let key = place + function;
        if let Some(known) = self.calls.get(&key) {
            return Some(Rc::clone(known));
        }
        let header = dwarf.debug_info.header_from_offset(DebugInfoOffset(place)).ok()?;
        let (unit, _) = read_unit(dwarf, header, &mut self.abbreviated, work)?;
        let mut calls = Vec::new();
        let mut attributes = Vec::new();
        // Depths of the inlined calls around an entry.
        let mut around: Vec<isize> = Vec::new();
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(UnitOffset(function))).ok()?;
        let mut is_first = true;
        while !entries.is_empty() && (is_first || entries.next_depth() > 0) {
            is_first = false;
            let depth = entries.next_depth();
            let Some(shape) = entries.read_abbreviation().ok()? else { continue };
            work.take(1 + shape.attributes().len())?;
            if shape.tag() != gimli::DW_TAG_inlined_subroutine {
                entries.skip_attributes(shape.attributes()).ok()?;
                continue;
            }
            entries.read_attributes(shape.attributes(), &mut attributes).ok()?;
            around.truncate(around.partition_point(|outer| *outer < depth));
            let level = around.len() as u32;
            around.push(depth);
            let origin = attributes.iter().find(|item| item.name() == gimli::DW_AT_abstract_origin);
            let origin = match origin.map(gimli::Attribute::value) {
                Some(gimli::AttributeValue::UnitRef(offset)) => place.checked_add(offset.0)?,
                Some(gimli::AttributeValue::DebugInfoRef(offset)) => offset.0,
                _ => continue,
            };
            let add = |start, end| calls.push(Call { start, end, level, origin });
            read_ranges(dwarf, &unit, &attributes, work, add)?;
        }
        let calls = Rc::new(calls);
        self.calls.insert(key, Rc::clone(&calls));
        Some(calls)
    }
}
