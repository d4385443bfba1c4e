//! `.eh_frame` and `.debug_frame` of a program: by address, where a function keeps what its caller needs.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EhFrameOffset, Encoding, EndianSlice, FrameDescriptionEntry,
    LittleEndian, RegisterRule, UnwindContext, UnwindExpression, UnwindOffset, UnwindSection,
};
use object::read::{Object, ObjectSection};

use super::frames::COUNT;
use crate::bytes::u32_at;
use crate::symbols::elf::{COUNT_AT, CodeRange, PAIRS_AT, has_usual_encodings, list_code};
use crate::symbols::programs::Program;
use crate::symbols::sections::{Section, read_section};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Functions that are indexed where a file has no index of its own.
const INDEXED_MAX: usize = 2_000_000;
/// Addresses whose rules are remembered, of one file.
const REMEMBERED_MAX: usize = 200_000;
/// Bytes of tables that are evaluated for one file, over all addresses; real ones take a few hundred each.
const WORK_MAX: usize = 256 << 20;
const ENTRY_MAX: usize = 1 << 20;
const EXPRESSION_MAX: usize = 4096;

/// How to find the address at which the caller's frame ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cfa {
    Register(u16, i64),
    Expression(Box<[u8]>),
}

/// Where a register of the caller is. Offsets are from the address of `Cfa`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    Undefined,
    At(i64),
    Value(i64),
    Register(u16),
    AtExpression(Box<[u8]>),
    ValueExpression(Box<[u8]>),
}

/// What a function keeps where, at one address. Registers without a rule are unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pub cfa: Cfa,
    pub registers: Vec<(u16, Rule)>,
    pub return_address: u16,
    /// A signal interrupted the caller, which therefore is not behind a call.
    pub is_signal: bool,
    pub encoding: Encoding,
}

/// The tables of one file.
pub struct CallFrames {
    code: Vec<CodeRange>,
    bases: BaseAddresses,
    eh_frame: Option<Section>,
    eh_frame_hdr: Option<Section>,
    debug_frame: Option<Section>,
    /// Starts of functions and the offsets of their entries, read when they are needed first.
    eh_index: Option<Vec<(u64, usize)>>,
    debug_index: Option<Vec<(u64, usize)>>,
    remembered: HashMap<u64, Option<Rc<Rules>>, ahash::RandomState>,
    context: UnwindContext<usize>,
    work: usize,
}

impl CallFrames {
    /// Read the places of the tables. None where the file is no ELF file of 64 bits.
    pub fn open(program: &Program) -> Option<Self> {
        let file = object::File::parse(&program.bytes[..]).ok().filter(|file| file.is_64())?;
        let mut budget = WORK_MAX;
        let mut read = |name| read_section(&program.bytes, &file, name, &mut budget);
        let (eh_frame, eh_frame_hdr, mut debug_frame) =
            (read(".eh_frame"), read(".eh_frame_hdr"), read(".debug_frame"));
        if let (None, Some(debug)) = (&debug_frame, &program.debug) {
            let of_debug = object::File::parse(&debug[..]).ok();
            debug_frame = of_debug.and_then(|file| read_section(debug, &file, ".debug_frame", &mut budget));
        }
        let address = |name| file.section_by_name(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default()
            .set_eh_frame(address(".eh_frame"))
            .set_eh_frame_hdr(address(".eh_frame_hdr"))
            .set_text(address(".text"))
            .set_got(address(".got"));
        Some(Self {
            code: list_code(&file),
            bases,
            eh_frame,
            eh_frame_hdr,
            debug_frame,
            eh_index: None,
            debug_index: None,
            remembered: HashMap::default(),
            context: UnwindContext::new(),
            work: WORK_MAX,
        })
    }

    /// The rules at an offset in the file; None where no table describes it.
    pub fn find(&mut self, offset: u64) -> Option<Rc<Rules>> {
        let address = self.code.iter().find_map(|range| range.address_of(offset))?;
        if let Some(known) = self.remembered.get(&address) {
            return known.clone();
        }
        let rules = self.read(address).map(Rc::new);
        if self.remembered.len() < REMEMBERED_MAX {
            self.remembered.insert(address, rules.clone());
        }
        rules
    }

    fn read(&mut self, address: u64) -> Option<Rules> {
        if let Some(section) = &self.eh_frame {
            let mut table = EhFrame::new(section.bytes(), LittleEndian);
            table.set_address_size(8);
            let header = self.eh_frame_hdr.as_ref().map_or(&[][..], Section::bytes);
            let index = &mut self.eh_index;
            let offset = find_in_header(header, &self.bases, address)
                .or_else(|| find_in_index(index.get_or_insert_with(|| list_functions(&table, &self.bases)), address));
            let read = |offset| {
                read_rules(&table, EhFrameOffset(offset), &self.bases, &mut self.context, &mut self.work, address)
            };
            if let Some(rules) = offset.and_then(read) {
                return Some(rules);
            }
        }
        let mut table = DebugFrame::new(self.debug_frame.as_ref()?.bytes(), LittleEndian);
        table.set_address_size(8);
        let index = self.debug_index.get_or_insert_with(|| list_functions(&table, &self.bases));
        let offset = gimli::DebugFrameOffset(find_in_index(index, address)?);
        read_rules(&table, offset, &self.bases, &mut self.context, &mut self.work, address)
    }
}

/// The offset of the entry of a function in `.eh_frame`, by the sorted table of the linker: pairs of a function's start
/// and the address of its entry, both from the beginning of the header on.
fn find_in_header(header: &[u8], bases: &BaseAddresses, address: u64) -> Option<usize> {
    let (base, table) = (bases.eh_frame_hdr.section?, bases.eh_frame.section?);
    if !has_usual_encodings(header) {
        return None;
    }
    let count = u32_at(header, COUNT_AT)? as usize;
    let (pairs, _) = header.get(PAIRS_AT..)?.as_chunks::<8>();
    let pairs = &pairs[..count.min(pairs.len())];
    let place = |pair: &[u8; 8], at| base.wrapping_add_signed(i64::from(u32_at(pair, at).unwrap_or(0) as i32));
    let past = pairs.partition_point(|pair| place(pair, 0) <= address);
    usize::try_from(place(pairs.get(past.checked_sub(1)?)?, 4).checked_sub(table)?).ok()
}

fn find_in_index(index: &[(u64, usize)], address: u64) -> Option<usize> {
    let past = index.partition_point(|(start, _)| *start <= address);
    past.checked_sub(1).map(|at| index[at].1)
}

/// The starts of all functions of a table, up to the first entry that is damaged.
fn list_functions<'a, S: UnwindSection<Slice<'a>>>(table: &S, bases: &BaseAddresses) -> Vec<(u64, usize)> {
    let mut functions = Vec::new();
    let (mut last, mut read) = (None, 0_usize);
    let mut entries = table.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        // Most entries refer to the one description that is before them.
        let parsed = partial.parse(|table, bases, offset| {
            let known = last.as_ref().filter(|(at, _)| *at == UnwindOffset::into(offset));
            if let Some((_, common)) = known {
                return Ok(gimli::CommonInformationEntry::clone(common));
            }
            let common = table.cie_from_offset(bases, offset)?;
            read += common.entry_len();
            last = Some((UnwindOffset::into(offset), common.clone()));
            Ok(common)
        });
        if let Ok(function) = parsed {
            functions.push((function.initial_address(), function.offset()));
        }
        if functions.len() >= INDEXED_MAX || read > WORK_MAX {
            break;
        }
    }
    functions.sort_unstable();
    functions
}

fn read_rules<'a, S: UnwindSection<Slice<'a>>>(
    table: &S,
    offset: S::Offset,
    bases: &BaseAddresses,
    context: &mut UnwindContext<usize>,
    work: &mut usize,
    address: u64,
) -> Option<Rules> {
    let function: FrameDescriptionEntry<Slice<'a>> = table.fde_from_offset(bases, offset, S::cie_from_offset).ok()?;
    let size = function.entry_len().checked_add(function.cie().entry_len())?;
    *work = work.checked_sub(size)?;
    if size > ENTRY_MAX || !function.contains(address) {
        return None;
    }
    let row = function.unwind_info_for_address(table, bases, context, address).ok()?;
    let read = |expression: &UnwindExpression<usize>| -> Option<Box<[u8]>> {
        let code = expression.get(table).ok()?.0;
        (code.len() <= EXPRESSION_MAX).then(|| code.slice().into())
    };
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(register.0, *offset),
        CfaRule::Expression(expression) => Cfa::Expression(read(expression)?),
    };
    let mut registers = Vec::new();
    for (register, rule) in row.registers().filter(|(register, _)| usize::from(register.0) < COUNT) {
        let rule = match rule {
            RegisterRule::SameValue => continue,
            RegisterRule::Offset(offset) => Rule::At(*offset),
            RegisterRule::ValOffset(offset) => Rule::Value(*offset),
            RegisterRule::Register(other) => Rule::Register(other.0),
            RegisterRule::Expression(expression) => Rule::AtExpression(read(expression)?),
            RegisterRule::ValExpression(expression) => Rule::ValueExpression(read(expression)?),
            _ => Rule::Undefined,
        };
        registers.push((register.0, rule));
    }
    let common = function.cie();
    let is_signal = common.is_signal_trampoline();
    Some(Rules {
        cfa,
        registers,
        return_address: common.return_address_register().0,
        is_signal,
        encoding: common.encoding(),
    })
}
