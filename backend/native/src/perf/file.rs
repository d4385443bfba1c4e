//! A perf.data file or stream: its events, what its header states, and the area of its records.

use std::collections::HashMap;

use super::attributes::Attribute;
use super::records::{Record, Records, kind};
use crate::bytes::{Cursor, u64_at};
use crate::error::{ReadError, Result};

const MAGIC: &[u8; 8] = b"PERFILE2";
const MAGIC_OF_OTHER_ORDER: &[u8; 8] = b"2ELIFREP";
const PIPE_HEADER_SIZE: u64 = 16;
const FILE_HEADER_SIZE: u64 = 104;
const FEATURE_BITS: usize = 256;
/// Events of one capture; perf itself allows more, but a profile has at most 255.
const EVENTS_MAX: usize = 255;
/// Of all events together: an event has one for each CPU, and events may claim the same part of the file.
const IDS_MAX: usize = 1 << 20;
const UPDATE_NAME: u64 = 2;

mod feature {
    pub const TRACING_DATA: u64 = 1;
    pub const BUILD_ID: u64 = 2;
    pub const HOST_NAME: u64 = 3;
    pub const OS_RELEASE: u64 = 4;
    pub const VERSION: u64 = 5;
    pub const ARCH: u64 = 6;
    pub const CPUS: u64 = 7;
    pub const EVENT_DESC: u64 = 12;
}

/// An event with its name and its IDs, by which samples refer to it.
#[derive(Debug, Clone)]
pub struct Event {
    pub attribute: Attribute,
    pub name: String,
    ids: Vec<u64>,
}

/// What is known of a file before its samples are read.
#[derive(Default)]
pub struct Header<'a> {
    pub events: Vec<Event>,
    by_id: HashMap<u64, usize, ahash::RandomState>,
    /// New names of events by ID, in the order of a stream.
    renamed: Vec<(u64, &'a [u8])>,
    /// Build IDs by the path of the program or library.
    pub build_ids: HashMap<Vec<u8>, Vec<u8>>,
    pub tracing_data: Option<&'a [u8]>,
    /// The file ends before its records do.
    pub is_cut: bool,
    pub texts: Vec<(&'static str, String)>,
}

impl<'a> Header<'a> {
    /// Read the header of a file and return it with the area of its records.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8])> {
        if bytes.starts_with(MAGIC_OF_OTHER_ORDER) {
            return Err(ReadError::damaged("it is from a big-endian machine"));
        }
        if !bytes.starts_with(MAGIC) {
            return Err(ReadError::damaged("it does not begin with PERFILE2"));
        }
        let mut header = Self::default();
        let area = match u64_at(bytes, 8) {
            Some(PIPE_HEADER_SIZE) => {
                let area = &bytes[PIPE_HEADER_SIZE as usize..];
                header.read_stream(area)?;
                area
            }
            Some(FILE_HEADER_SIZE..) => header.read_file(bytes)?,
            _ => return Err(ReadError::damaged("its header is cut")),
        };
        header.index_events()?;
        Ok((header, area))
    }

    /// The clock of its times (`clockid_t`); None is that of perf.
    pub fn clock(&self) -> Option<i32> {
        self.events.iter().find_map(|event| event.attribute.clock)
    }

    /// Why a file without the records that are asked for has none.
    pub fn explain_nothing(&self) -> ReadError {
        if self.is_cut { ReadError::damaged("it ends before its records do") } else { ReadError::NoSamples }
    }

    /// The event of a sample, by the ID in it; a file with one event needs none.
    #[inline]
    pub fn event_of_sample(&self, payload: &[u8]) -> Option<usize> {
        if self.events.len() == 1 {
            return Some(0);
        }
        let id = u64_at(payload, self.events[0].attribute.id_in_sample()?)?;
        self.by_id.get(&id).copied()
    }

    fn read_file(&mut self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let cut = || ReadError::damaged("its header is cut");
        let mut cursor = Cursor::new(&bytes[8..]);
        let (size, attr_size) = (cursor.u64().ok_or_else(cut)?, cursor.u64().ok_or_else(cut)?);
        let attributes = section(bytes, &mut cursor).ok_or_else(cut)?;
        let (data_offset, data_size) = (cursor.u64().ok_or_else(cut)?, cursor.u64().ok_or_else(cut)?);
        // A recording that was killed has no size of its data: all that follows are records.
        let start = usize::try_from(data_offset).map_err(|_| cut())?;
        let rest = bytes.get(start..).ok_or_else(cut)?;
        self.is_cut = data_size > rest.len() as u64;
        let is_finished = data_size != 0 && data_size <= rest.len() as u64;
        let data = if is_finished { &rest[..data_size as usize] } else { rest };
        cursor.skip(16).ok_or_else(cut)?;
        let entry = usize::try_from(attr_size).ok().filter(|size| (80..4096).contains(size)).ok_or_else(cut)?;
        for part in attributes.chunks_exact(entry).take(EVENTS_MAX + 1) {
            let attribute = Attribute::parse(&part[..entry - 16]).ok_or_else(cut)?;
            let ids = section(bytes, &mut Cursor::new(&part[entry - 16..])).unwrap_or(&[]);
            self.add_event(attribute, ids)?;
        }
        if is_finished {
            let bits = cursor.take(FEATURE_BITS / 8).unwrap_or(&[]);
            let mut table = Cursor::new(&rest[data.len()..]);
            for bit in (0..FEATURE_BITS as u64).filter(|bit| has_bit(bits, *bit)) {
                match section(bytes, &mut table) {
                    Some(part) => self.read_feature(bit, part)?,
                    None => break,
                }
            }
        }
        if size < FILE_HEADER_SIZE {
            return Err(cut());
        }
        Ok(data)
    }

    /// Read the records of a stream that describe it, wherever they are.
    fn read_stream(&mut self, area: &'a [u8]) -> Result<()> {
        let mut records = Records::new(area);
        while let Some(record) = records.next() {
            match record.kind {
                kind::HEADER_ATTR => self.read_attribute_record(&record)?,
                kind::EVENT_UPDATE => self.rename_event(&record),
                kind::HEADER_FEATURE => {
                    if let Some(bit) = u64_at(record.payload, 0) {
                        self.read_feature(bit, &record.payload[8..])?;
                    }
                }
                kind::BUILD_ID => self.add_build_id(record.payload),
                kind::TRACING_DATA => self.tracing_data = Some(records.pass_payload(&record)),
                kind::AUXTRACE => {
                    records.pass_payload(&record);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_attribute_record(&mut self, record: &Record<'a>) -> Result<()> {
        let size = crate::bytes::u32_at(record.payload, 4).unwrap_or(0) as usize;
        if let Some((attribute, ids)) = record.payload.split_at_checked(size) {
            let attribute = Attribute::parse(attribute).ok_or_else(|| ReadError::damaged("an event is cut"))?;
            self.add_event(attribute, ids)?;
        }
        Ok(())
    }

    fn add_event(&mut self, attribute: Attribute, ids: &[u8]) -> Result<()> {
        if self.events.len() >= EVENTS_MAX {
            return Err(ReadError::Limit("events", EVENTS_MAX as u64));
        }
        let known: usize = self.events.iter().map(|event| event.ids.len()).sum();
        let ids = ids.chunks_exact(8).take(IDS_MAX - known).filter_map(|id| u64_at(id, 0)).collect();
        let name = attribute.default_name();
        self.events.push(Event { attribute, name, ids });
        Ok(())
    }

    fn rename_event(&mut self, record: &Record<'a>) {
        let mut cursor = Cursor::new(record.payload);
        if let (Some(UPDATE_NAME), Some(id)) = (cursor.u64(), cursor.u64()) {
            self.renamed.push((id, cursor.text()));
        }
    }

    fn read_feature(&mut self, bit: u64, part: &'a [u8]) -> Result<()> {
        let name = match bit {
            feature::TRACING_DATA => {
                self.tracing_data = Some(part);
                return Ok(());
            }
            feature::BUILD_ID => {
                for record in Records::new(part) {
                    self.add_build_id(record.payload);
                }
                return Ok(());
            }
            feature::EVENT_DESC => {
                self.read_event_names(part);
                return Ok(());
            }
            feature::CPUS => {
                if let Some(online) = crate::bytes::u32_at(part, 0) {
                    self.texts.push(("cpus", online.to_string()));
                }
                return Ok(());
            }
            feature::HOST_NAME => "host_name",
            feature::OS_RELEASE => "os_release",
            feature::VERSION => "perf_version",
            feature::ARCH => "arch",
            _ => return Ok(()),
        };
        if let Some(text) = Cursor::new(part).sized_text() {
            self.texts.push((name, String::from_utf8_lossy(text).into_owned()));
        }
        Ok(())
    }

    /// `nr, size of an attribute`, then of each event: attribute, number of IDs, name, IDs.
    fn read_event_names(&mut self, part: &[u8]) {
        let mut cursor = Cursor::new(part);
        let (Some(number), Some(size)) = (cursor.u32(), cursor.u32()) else { return };
        for place in 0..(number as usize).min(EVENTS_MAX) {
            let Some(attribute) = cursor.take(size as usize) else { return };
            let Some(ids) = cursor.u32() else { return };
            let Some(name) = cursor.sized_text() else { return };
            let name = String::from_utf8_lossy(name).into_owned();
            let Some(ids) = cursor.take(8 * ids as usize) else { return };
            let first = u64_at(ids, 0);
            let known = self.events.iter().position(|event| first.is_some_and(|id| event.ids.contains(&id)));
            let attribute = Attribute::parse(attribute);
            let at = known.unwrap_or(place);
            if let (Some(event), Some(attribute)) = (self.events.get_mut(at), attribute)
                && event.attribute.kind == attribute.kind
                && event.attribute.config == attribute.config
            {
                event.name = name;
            }
        }
    }

    /// `pid, 20 bytes, size and padding, path`: older files leave the size 0 and have 20 bytes.
    fn add_build_id(&mut self, payload: &[u8]) {
        let mut cursor = Cursor::new(payload);
        let (Some(_pid), Some(id)) = (cursor.u32(), cursor.take(24)) else { return };
        let size = match id[20] {
            0 => 20,
            size => usize::from(size).min(20),
        };
        let path = cursor.text();
        if id[..size].iter().any(|byte| *byte != 0) {
            self.build_ids.insert(path.to_vec(), id[..size].to_vec());
        }
    }

    fn index_events(&mut self) -> Result<()> {
        if self.events.is_empty() {
            return Err(ReadError::damaged("it describes no events"));
        }
        for (place, event) in self.events.iter().enumerate() {
            self.by_id.extend(event.ids.iter().map(|id| (*id, place)));
        }
        for (id, name) in self.renamed.drain(..) {
            if let Some(place) = self.by_id.get(&id) {
                self.events[*place].name = String::from_utf8_lossy(name).into_owned();
            }
        }
        Ok(())
    }
}

fn has_bit(bits: &[u8], bit: u64) -> bool {
    bits.get(bit as usize / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
}

/// The part of a file that the next offset and size of a cursor name.
fn section<'a>(bytes: &'a [u8], cursor: &mut Cursor<'_>) -> Option<&'a [u8]> {
    let start = usize::try_from(cursor.u64()?).ok()?;
    let size = usize::try_from(cursor.u64()?).ok()?;
    bytes.get(start..start.checked_add(size)?)
}
