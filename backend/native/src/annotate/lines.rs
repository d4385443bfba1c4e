//! Source lines of addresses, from `.debug_line` alone: the programs of all units are read, as no other table is at hand.
//!
//! The file may be hostile: headers, rows and what is remembered have limits.

use std::collections::HashMap;
use std::ops::Range;

use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, DebugLineStr, DebugStr, EndianSlice, LineProgramHeader, LittleEndian,
};
use object::Object;

use crate::bytes::{u32_at, u64_at};
use crate::symbols::programs::Program;
use crate::symbols::sections::read_section;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Bytes that compressed sections may unpack to, and rows of line programs that are read.
const UNPACKED_MAX: usize = 64 << 20;
const ROWS_MAX: usize = 20_000_000;
/// Bytes of the lists of folders and files of one unit: gimli reserves memory by the number that they claim.
const HEADER_MAX: u64 = 256 << 10;
/// Parts of one function with a line, and files of these.
const LINES_MAX: usize = 100_000;
const FILES_MAX: usize = 1000;
const PATH_MAX: usize = 1000;
const ADDRESS_SIZE: u8 = 8;

/// The sections that lines are read from; without the first one there are none.
pub const SECTIONS: [&str; 3] = [".debug_line", ".debug_line_str", ".debug_str"];

/// Addresses from `start` up to `end` are of one line; `file` is an index in the list of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    pub start: u64,
    pub end: u64,
    pub file: usize,
    pub line: u64,
}

/// Lines of a function in order of address.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SourceLines {
    pub files: Vec<String>,
    pub lines: Vec<SourceLine>,
}

impl SourceLines {
    /// File and line of an address.
    pub fn find(&self, address: u64) -> Option<(usize, u64)> {
        let past = self.lines.partition_point(|line| line.start <= address);
        let line = self.lines[..past].last().filter(|line| address < line.end)?;
        Some((line.file, line.line))
    }
}

/// Read the lines of a range of addresses; None where the files of a program have no lines of it.
pub fn read_lines(program: &Program, range: Range<u64>) -> Option<SourceLines> {
    let maps = [Some(&program.bytes), program.debug.as_ref()];
    maps.into_iter().flatten().find_map(|map| {
        let file = object::File::parse(&***map).ok().filter(|file| file.is_little_endian())?;
        let mut budget = UNPACKED_MAX;
        let sections = SECTIONS.map(|name| read_section(map, &file, name, &mut budget));
        let [line, line_strings, strings] =
            sections.each_ref().map(|section| section.as_ref().map_or(&[][..], |section| section.bytes()));
        let strings = Texts {
            of_lines: DebugLineStr::from(EndianSlice::new(line_strings, LittleEndian)),
            of_all: DebugStr::from(EndianSlice::new(strings, LittleEndian)),
        };
        let mut reader = Reader {
            range: range.clone(),
            strings,
            rows: ROWS_MAX,
            ids: HashMap::new(),
            lines: SourceLines::default(),
        };
        reader.read_units(line);
        reader.lines.lines.sort_unstable();
        Some(reader.lines).filter(|lines| !lines.lines.is_empty())
    })
}

struct Texts<'a> {
    of_lines: DebugLineStr<Slice<'a>>,
    of_all: DebugStr<Slice<'a>>,
}

struct Reader<'a> {
    range: Range<u64>,
    strings: Texts<'a>,
    /// Rows that may still be read.
    rows: usize,
    /// Indices of files, by the begin of their unit and their number in it.
    ids: HashMap<(usize, u64), usize>,
    lines: SourceLines,
}

/// The size of the first unit in `bytes`, and whether its lists are small enough to be read.
fn measure_unit(bytes: &[u8]) -> Option<(usize, bool)> {
    let short = u32_at(bytes, 0)?;
    let (head, width, length) = if short == u32::MAX { (12, 8, u64_at(bytes, 4)?) } else { (4, 4, u64::from(short)) };
    let version = u32_at(bytes, head)? as u16;
    let at = head + if version >= 5 { 4 } else { 2 };
    let header = if width == 8 { u64_at(bytes, at)? } else { u64::from(u32_at(bytes, at)?) };
    let size = usize::try_from(length).ok()?.checked_add(head).filter(|size| *size <= bytes.len())?;
    Some((size, header <= HEADER_MAX))
}

impl<'a> Reader<'a> {
    fn read_units(&mut self, mut bytes: &'a [u8]) {
        let mut unit = 0;
        while let Some((size, is_small)) = measure_unit(bytes) {
            let (own, rest) = bytes.split_at(size);
            bytes = rest;
            if is_small && self.read_unit(unit, own).is_none() {
                return;
            }
            unit += 1;
        }
    }

    /// Run the program of a unit; None where a limit is met. What cannot be read of it is left out.
    fn read_unit(&mut self, unit: usize, bytes: &'a [u8]) -> Option<()> {
        let section = DebugLine::from(EndianSlice::new(bytes, LittleEndian));
        let Ok(program) = section.program(DebugLineOffset(0), ADDRESS_SIZE, None, None) else { return Some(()) };
        let mut rows = program.rows();
        // Where the part of the last row begins, and its file and line.
        let mut last: Option<(u64, u64, u64)> = None;
        let mut is_removed = true;
        while let Ok(Some((header, row))) = rows.next_row() {
            self.rows = self.rows.checked_sub(1)?;
            let address = row.address();
            match last {
                // Functions that the linker removed begin at zero.
                None => is_removed = address == 0,
                Some((start, file, line)) if !is_removed => self.add(unit, header, (start, address), file, line)?,
                Some(_) => {}
            }
            let line = row.line().map_or(0, |line| line.get());
            last = (!row.end_sequence()).then_some((address, row.file_index(), line));
        }
        Some(())
    }

    fn add(
        &mut self,
        unit: usize,
        header: &LineProgramHeader<Slice<'a>>,
        (start, end): (u64, u64),
        file: u64,
        line: u64,
    ) -> Option<()> {
        if line == 0 || start >= end || end <= self.range.start || start >= self.range.end {
            return Some(());
        }
        let file = match self.ids.get(&(unit, file)) {
            Some(known) => *known,
            None => {
                let path = self.name_file(header, file).unwrap_or_default();
                let known = self.lines.files.iter().position(|known| *known == path);
                let id = known.unwrap_or(self.lines.files.len());
                if id == self.lines.files.len() {
                    (id < FILES_MAX).then_some(())?;
                    self.lines.files.push(path);
                }
                self.ids.insert((unit, file), id);
                id
            }
        };
        (self.lines.lines.len() < LINES_MAX).then_some(())?;
        self.lines.lines.push(SourceLine { start, end, file, line });
        Some(())
    }

    /// The path of a file: of a relative name, with the folder that the header states.
    fn name_file(&self, header: &LineProgramHeader<Slice<'a>>, file: u64) -> Option<String> {
        let entry = header.file(file)?;
        let name = self.text(entry.path_name())?;
        let folder = || {
            let of_unit = header.directory(0).and_then(|value| self.text(value)).filter(|_| header.version() >= 5);
            let own = self.text(entry.directory(header)?)?;
            let is_within = !own.starts_with(b"/") && entry.directory_index() != 0;
            let parts = [of_unit.filter(|_| is_within), Some(own)];
            Some(parts.into_iter().flatten().collect::<Vec<_>>().join(&b"/"[..]))
        };
        let path = match folder().filter(|folder| !name.starts_with(b"/") && !folder.is_empty()) {
            Some(folder) => [&folder[..], b"/", name].concat(),
            None => name.to_vec(),
        };
        Some(String::from_utf8_lossy(&path[..path.len().min(PATH_MAX)]).into_owned())
    }

    fn text(&self, value: AttributeValue<Slice<'a>>) -> Option<&'a [u8]> {
        let text = match value {
            AttributeValue::String(text) => text,
            AttributeValue::DebugLineStrRef(at) => self.strings.of_lines.get_str(at).ok()?,
            AttributeValue::DebugStrRef(at) => self.strings.of_all.get_str(at).ok()?,
            _ => return None,
        };
        Some(text.slice())
    }
}
