//! The records of a file in order of time.

use std::io::Read;

use crate::bytes::{Cursor, u64_at};
use crate::error::{ReadError, Result};
use crate::perf::file::Header;
use crate::perf::records::{Record, Records, kind, record_at};

/// Bytes that compressed records may unpack to, and how many of them each byte of a file may become: records of perf
/// become a tenth to a fiftieth, a repeated byte less than a thousandth.
const UNPACKED_MAX: u64 = 4 << 30;
const UNPACKED_SHARE_MAX: u64 = 300;
/// The header of an empty block that ends a zstd frame (RFC 8878, 3.1.1.2).
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// The bytes in which records are: those of the file, and those that its compressed records unpack to.
pub struct Areas<'a> {
    file: &'a [u8],
    unpacked: Vec<u8>,
}

impl<'a> Areas<'a> {
    /// Unpack the compressed records of a file: together they are one stream of records.
    pub fn unpack(file: &'a [u8]) -> Result<Self> {
        let mut packed: Vec<&[u8]> = Records::new(file)
            .filter_map(|record| match record.kind {
                kind::COMPRESSED => Some(record.payload),
                kind::COMPRESSED2 => {
                    let mut cursor = Cursor::new(record.payload);
                    let size = usize::try_from(cursor.u64()?).ok()?;
                    cursor.take(size)
                }
                _ => None,
            })
            .collect();
        let mut unpacked = Vec::new();
        if !packed.is_empty() {
            // perf flushes its stream and never ends it.
            packed.push(&LAST_BLOCK);
            let stream = ruzstd::decoding::StreamingDecoder::new(Pieces { pieces: packed, at: 0 })
                .map_err(|error| ReadError::damaged(format!("its compressed records: {error}")))?;
            // What was unpacked in front of a damaged place counts.
            let limit = UNPACKED_MAX.min(UNPACKED_SHARE_MAX * file.len() as u64);
            let _ = stream.take(limit).read_to_end(&mut unpacked);
            if unpacked.len() as u64 >= limit {
                return Err(ReadError::Limit("unpacked", limit));
            }
        }
        Ok(Self { file, unpacked })
    }
}

struct Pieces<'a> {
    pieces: Vec<&'a [u8]>,
    at: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while let Some(piece) = self.pieces.get_mut(self.at) {
            if !piece.is_empty() {
                return piece.read(out);
            }
            self.at += 1;
        }
        Ok(0)
    }
}

/// Where each record with a time is: its time, then its offset, its area in the lowest bit, and its event in the highest
/// byte.
///
/// Each CPU writes in order, so that a file is made of runs that are sorted; the sort merges them.
pub struct Order {
    entries: Vec<(u64, u64)>,
}

const EVENT_SHIFT: u32 = 56;
const NO_EVENT: u64 = 0xff;

/// A record with its time, and the event of a sample; None where the file does not describe it.
pub struct Ordered<'a> {
    pub time: u64,
    pub event: Option<usize>,
    pub record: Record<'a>,
}

impl Order {
    pub fn of(header: &Header<'_>, areas: &Areas<'_>) -> Self {
        let mut order = Self { entries: Vec::new() };
        order.add(header, areas.file, 0);
        order.add(header, &areas.unpacked, 1);
        order.entries.sort_by_key(|entry| entry.0);
        order
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The records one after another.
    pub fn records<'a>(self, areas: &'a Areas<'a>) -> impl Iterator<Item = Ordered<'a>> {
        self.entries.into_iter().filter_map(|(time, place)| {
            let area = if place & 1 == 0 { areas.file } else { &areas.unpacked };
            let event = place >> EVENT_SHIFT;
            let offset = (place & ((1 << EVENT_SHIFT) - 1)) >> 1;
            let record = record_at(area, offset as usize)?;
            Some(Ordered { time, event: (event != NO_EVENT).then_some(event as usize), record })
        })
    }

    fn add(&mut self, header: &Header<'_>, area: &[u8], number: u64) {
        let trailing = header.events[0].attribute.trailing_time();
        let times: Vec<_> = header.events.iter().map(|event| event.attribute.time_in_sample()).collect();
        let mut records = Records::new(area);
        let mut last = 0;
        while let Some(record) = records.next() {
            let mut event = None;
            let at = match record.kind {
                kind::SAMPLE => {
                    event = header.event_of_sample(record.payload);
                    event.and_then(|event| times[event])
                }
                kind::MMAP | kind::MMAP2 | kind::COMM | kind::FORK | kind::LOST | kind::LOST_SAMPLES => {
                    trailing.and_then(|size| record.payload.len().checked_sub(size))
                }
                _ => {
                    records.pass_payload(&record);
                    continue;
                }
            };
            // A record without a time has that of the one in front. Python's times have a sign.
            last = at.and_then(|at| u64_at(record.payload, at)).map_or(last, |time| time.min(i64::MAX as u64));
            let event = event.map_or(NO_EVENT, |event| event as u64);
            self.entries.push((last, event << EVENT_SHIFT | (record.offset as u64) << 1 | number));
        }
    }
}
