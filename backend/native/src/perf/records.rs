//! Records: a header of eight bytes with kind, flags and size, then the fields of its kind.

use crate::bytes::Cursor;

/// Kinds of records, of the kernel and of perf itself.
pub mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const KSYMBOL: u32 = 17;
    /// Kinds from here on are perf's own and have no time.
    pub const USER_START: u32 = 64;
    pub const HEADER_ATTR: u32 = 64;
    pub const TRACING_DATA: u32 = 66;
    pub const BUILD_ID: u32 = 67;
    pub const AUXTRACE: u32 = 71;
    pub const EVENT_UPDATE: u32 = 78;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

/// Bits of a record's flags.
pub mod misc {
    pub const CPU_MODE: u16 = 7;
    pub const KERNEL: u16 = 1;
    pub const USER: u16 = 2;
    pub const GUEST_KERNEL: u16 = 4;
    pub const GUEST_USER: u16 = 5;
    /// Of MMAP: the memory is not executed.
    pub const MMAP_DATA: u16 = 1 << 13;
    /// Of MMAP2: it has a build ID instead of device and inode.
    pub const MMAP_BUILD_ID: u16 = 1 << 14;
}

const HEADER_SIZE: usize = 8;

/// One record with its flags; `offset` is that of its header in the area.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    pub kind: u32,
    pub misc: u16,
    pub payload: &'a [u8],
    pub offset: usize,
}

/// The records of an area, up to the first one that is damaged or cut.
pub struct Records<'a> {
    area: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    pub fn new(area: &'a [u8]) -> Self {
        Self { area, at: 0 }
    }

    /// Where the next record would begin.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Pass over the bytes that follow a record outside of its size, and return them: tracing data and traces of the
    /// hardware do so, in streams.
    pub fn pass_payload(&mut self, record: &Record<'_>) -> &'a [u8] {
        let size = match record.kind {
            kind::TRACING_DATA => Cursor::new(record.payload).u32().unwrap_or(0) as usize,
            kind::AUXTRACE => {
                let size = Cursor::new(record.payload).u64().unwrap_or(0);
                usize::try_from(size).unwrap_or(usize::MAX)
            }
            _ => 0,
        };
        let start = self.at.min(self.area.len());
        self.at = start.saturating_add(size).min(self.area.len());
        &self.area[start..self.at]
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let record = record_at(self.area, self.at)?;
        self.at += HEADER_SIZE + record.payload.len();
        Some(record)
    }
}

/// The record whose header is at an offset; None where there is no whole one.
#[inline]
pub fn record_at(area: &[u8], offset: usize) -> Option<Record<'_>> {
    let mut cursor = Cursor::new(area.get(offset..)?);
    let kind = cursor.u32()?;
    let misc = cursor.u16()?;
    let size = usize::from(cursor.u16()?);
    let payload = cursor.take(size.checked_sub(HEADER_SIZE)?)?;
    Some(Record { kind, misc, payload, offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_cut_ends_the_area() {
        let mut area = vec![3, 0, 0, 0, 0, 0, 12, 0, b'a', 0, 0, 0];
        area.extend([9, 0, 0, 0, 0, 0, 40, 0, 1]);
        let mut records = Records::new(&area);
        let first = records.next().expect("a whole record");
        assert_eq!((first.kind, first.payload), (kind::COMM, &b"a\0\0\0"[..]));
        assert!(records.next().is_none());
        assert_eq!(records.position(), 12);
    }

    #[test]
    fn a_record_smaller_than_its_header_ends_the_area() {
        assert!(record_at(&[3, 0, 0, 0, 0, 0, 7, 0], 0).is_none());
    }
}
