//! Units of `.debug_info`, their ranges and the names in them, each read for a bounded cost.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{
    Abbreviations, Attribute, AttributeValue, DebugInfoOffset, Dwarf, EndianSlice, Unit, UnitHeader, UnitOffset,
};

use super::inlines::Slice;

/// Bytes of the tables of abbreviations that are remembered.
const REMEMBERED_MAX: usize = 4 << 20;
/// Descriptions that refer to each other before one has a name.
const REFERENCES_MAX: usize = 8;
const NAME_MAX: usize = 64 << 10;
/// Ranges of units, functions and inlined calls that are remembered, of all files.
const RANGES_MAX: usize = 4_000_000;
const UNPACKED_MAX: usize = 256 << 20;

/// How much may still be read: one for each entry, attribute and range, of one file and of all.
pub struct Work {
    of_file: usize,
    of_all: usize,
    /// Ranges of all files that may still be remembered.
    ranges: usize,
    /// Bytes that compressed sections of all files may still unpack to.
    pub unpacked: usize,
}

impl Work {
    pub fn new(of_all: usize) -> Self {
        Self { of_file: of_all, of_all, ranges: RANGES_MAX, unpacked: UNPACKED_MAX }
    }

    /// Begin with a file that `left` is left for.
    pub fn begin_file(&mut self, left: usize) {
        self.of_file = left;
    }

    pub fn left_of_file(&self) -> usize {
        self.of_file
    }

    /// Count what is about to be read; None where it is too much.
    pub fn take(&mut self, count: usize) -> Option<()> {
        self.of_file = self.of_file.checked_sub(count)?;
        self.of_all = self.of_all.checked_sub(count)?;
        Some(())
    }

    /// Count a range that is about to be remembered; None where there are too many.
    pub fn take_range(&mut self) -> Option<()> {
        self.take(1)?;
        self.ranges = self.ranges.checked_sub(1)?;
        Some(())
    }
}

/// Tables of abbreviations by their offset.
#[derive(Default)]
pub struct Abbreviated {
    tables: HashMap<usize, Arc<Abbreviations>>,
    bytes: usize,
}

impl Abbreviated {
    fn read(
        &mut self,
        dwarf: &Dwarf<Slice<'_>>,
        header: &UnitHeader<Slice<'_>>,
        work: &mut Work,
    ) -> Option<Arc<Abbreviations>> {
        let offset = header.debug_abbrev_offset();
        if let Some(known) = self.tables.get(&offset.0) {
            return Some(Arc::clone(known));
        }
        use gimli::Section;
        let size = measure_table(dwarf.debug_abbrev.reader().slice().get(offset.0..)?);
        work.take(size)?;
        let table = Arc::new(dwarf.debug_abbrev.abbreviations(offset).ok()?);
        self.bytes += size;
        if self.bytes > REMEMBERED_MAX {
            self.tables.clear();
            self.bytes = size;
        }
        self.tables.insert(offset.0, Arc::clone(&table));
        Some(table)
    }
}

/// The size of a table of abbreviations: code, tag, whether it has children, then pairs of attribute and form.
fn measure_table(bytes: &[u8]) -> usize {
    const IMPLICIT_CONST: u64 = 0x21;
    let mut rest = bytes;
    let mut read = || {
        let mut value = 0_u64;
        for place in 0.. {
            let (byte, behind) = rest.split_first()?;
            rest = behind;
            value |= u64::from(byte & 0x7f).checked_shl(7 * place).unwrap_or(0);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(value)
    };
    let mut pass = || -> Option<()> {
        while read()? != 0 {
            read()?;
            read()?;
            loop {
                match (read()?, read()?) {
                    (0, 0) => break,
                    (_, IMPLICIT_CONST) => drop(read()?),
                    _ => {}
                }
            }
        }
        Some(())
    };
    let _ = pass();
    bytes.len() - rest.len()
}

/// Read a unit and the attributes of its root. Line tables are left out: nothing here needs them.
pub fn read_unit<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    header: UnitHeader<Slice<'a>>,
    abbreviated: &mut Abbreviated,
    work: &mut Work,
) -> Option<(Unit<Slice<'a>>, Vec<Attribute<Slice<'a>>>)> {
    let abbreviations = abbreviated.read(dwarf, &header, work)?;
    let (encoding, kind) = (header.encoding(), dwarf.file_type);
    let mut unit = Unit {
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(encoding, kind),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, kind),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(encoding, kind),
        line_program: None,
        dwo_id: None,
        header,
    };
    let mut entries = unit.header.entries_raw(&unit.abbreviations, None).ok()?;
    let shape = entries.read_abbreviation().ok()??;
    work.take(1 + shape.attributes().len())?;
    let mut root = Vec::new();
    entries.read_attributes(shape.attributes(), &mut root).ok()?;
    let mut low_pc = None;
    for attribute in &root {
        match attribute.value() {
            AttributeValue::DebugStrOffsetsBase(base) => unit.str_offsets_base = base,
            AttributeValue::DebugAddrBase(base) => unit.addr_base = base,
            AttributeValue::DebugRngListsBase(base) => unit.rnglists_base = base,
            value if attribute.name() == gimli::DW_AT_low_pc => low_pc = Some(value),
            _ => {}
        }
    }
    if let Some(value) = low_pc {
        unit.low_pc = dwarf.attr_address(&unit, value).ok().flatten().unwrap_or(0);
    }
    Some((unit, root))
}

/// Call `add` with each range of addresses of an entry. Code that the linker left out is at address 0.
pub fn read_ranges<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    attributes: &[Attribute<Slice<'a>>],
    work: &mut Work,
    mut add: impl FnMut(u64, u64),
) -> Option<()> {
    let (mut low, mut high, mut size) = (None, None, None);
    for attribute in attributes {
        match attribute.name() {
            gimli::DW_AT_low_pc => low = dwarf.attr_address(unit, attribute.value()).ok().flatten(),
            gimli::DW_AT_high_pc => match attribute.value() {
                value @ (AttributeValue::Addr(_) | AttributeValue::DebugAddrIndex(_)) => {
                    high = dwarf.attr_address(unit, value).ok().flatten();
                }
                _ => size = attribute.udata_value(),
            },
            gimli::DW_AT_ranges => {
                let Ok(Some(mut ranges)) = dwarf.attr_ranges(unit, attribute.value()) else { continue };
                while let Ok(Some(range)) = ranges.next() {
                    work.take_range()?;
                    if range.begin != 0 && range.begin < range.end {
                        add(range.begin, range.end);
                    }
                }
                return Some(());
            }
            _ => {}
        }
    }
    let end = high.or_else(|| low?.checked_add(size?));
    if let (Some(low @ 1..), Some(end)) = (low, end)
        && low < end
    {
        work.take_range()?;
        add(low, end);
    }
    Some(())
}

/// Read the name of what is described at an offset, or of what that description refers to.
pub fn read_name(
    dwarf: &Dwarf<Slice<'_>>,
    units: &[usize],
    abbreviated: &mut Abbreviated,
    origin: usize,
    work: &mut Work,
) -> Option<Vec<u8>> {
    let mut name = None;
    let mut next = Some(origin);
    for _ in 0..REFERENCES_MAX {
        let Some(offset) = next.take() else { break };
        let place = *units.get(units.partition_point(|unit| *unit <= offset).checked_sub(1)?)?;
        let header = dwarf.debug_info.header_from_offset(DebugInfoOffset(place)).ok()?;
        let (unit, _) = read_unit(dwarf, header, abbreviated, work)?;
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(UnitOffset(offset - place))).ok()?;
        let shape = entries.read_abbreviation().ok()??;
        work.take(1 + shape.attributes().len())?;
        for specification in shape.attributes() {
            let attribute = entries.read_attribute(*specification).ok()?;
            let text = || -> Option<EndianSlice<'_, _>> { dwarf.attr_string(&unit, attribute.value()).ok() };
            match (attribute.name(), attribute.value()) {
                (gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name, _) => {
                    if let Some(text) = text() {
                        return Some(cut(&text));
                    }
                }
                (gimli::DW_AT_name, _) if name.is_none() => name = text().map(|text| cut(&text)),
                (gimli::DW_AT_abstract_origin | gimli::DW_AT_specification, AttributeValue::UnitRef(offset)) => {
                    next = place.checked_add(offset.0);
                }
                (gimli::DW_AT_abstract_origin | gimli::DW_AT_specification, AttributeValue::DebugInfoRef(offset)) => {
                    next = Some(offset.0);
                }
                _ => {}
            }
        }
    }
    name
}

fn cut(text: &[u8]) -> Vec<u8> {
    text[..text.len().min(NAME_MAX)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_ends_at_its_zero() {
        // One abbreviation with an attribute, one with an implicit constant of two bytes, then more of another table.
        let table = [1, 0x11, 1, 3, 8, 0, 0, 2, 0x2e, 0, 0x3a, 0x21, 0x80, 1, 0, 0, 0, 9, 9, 9];
        assert_eq!(measure_table(&table), 17);
        assert_eq!(measure_table(&table[..10]), 10);
        assert_eq!(measure_table(&[]), 0);
    }

    #[test]
    fn work_ends() {
        let mut work = Work::new(10);
        assert_eq!(work.take(6), Some(()));
        assert_eq!(work.take(6), None);
        let mut work = Work::new(usize::MAX);
        work.begin_file(3);
        assert_eq!((work.take(2), work.take(2)), (Some(()), None));
    }
}
