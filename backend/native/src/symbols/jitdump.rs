//! `jit-PID.dump`, which JIT compilers write: which code was at an address, and from when on.
//!
//! Source of the format: `tools/perf/Documentation/jitdump-specification.txt` of Linux.

use std::collections::BTreeMap;
use std::ops::{Deref, Range};

use crate::bytes::Cursor;

const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
/// Times are those of a counter of the CPU, which no other record has.
const ARCHITECTURE_TIME: u64 = 1;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const PREFIX_SIZE: usize = 16;

/// Code that is at an address now; the name is a range of the file.
struct Code {
    end: u64,
    name: Range<usize>,
}

/// What a record changes.
enum Change {
    Load(u64, Code),
    Move { old: u64, new: u64, end: u64 },
}

/// The code of one process at one time, which only goes forward.
pub struct JitDump<D> {
    file: D,
    /// Where the next record is.
    at: usize,
    has_time: bool,
    code: BTreeMap<u64, Code>,
}

impl<D: Deref<Target = [u8]>> JitDump<D> {
    /// Begin a file; None where it is no dump of this byte order. Without `has_time`, the last code of an address counts.
    pub fn open(file: D, has_time: bool) -> Option<Self> {
        let mut cursor = Cursor::new(&file);
        let (magic, version, size) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        // Machine, padding and process, then when it was begun.
        cursor.skip(20)?;
        let flags = cursor.u64()?;
        if magic != MAGIC || version != VERSION {
            return None;
        }
        let has_time = has_time && flags & ARCHITECTURE_TIME == 0;
        Some(Self { file, at: size as usize, has_time, code: BTreeMap::new() })
    }

    /// Read what was loaded and moved up to a time. Return whether there was any.
    pub fn advance(&mut self, time: u64) -> bool {
        let before = self.at;
        while self.read_next(time).is_some() {}
        self.at > before
    }

    /// How many functions are named at the time that was reached.
    pub fn count_functions(&self) -> usize {
        self.code.len()
    }

    /// The name of the code at an address.
    pub fn find(&self, address: u64) -> Option<&[u8]> {
        let (_, code) = self.code.range(..=address).next_back().filter(|(_, code)| address < code.end)?;
        self.file.get(code.name.clone())
    }

    fn read_next(&mut self, time: u64) -> Option<()> {
        let mut cursor = Cursor::new(self.file.get(self.at..)?);
        let (kind, size, written) = (cursor.u32()?, cursor.u32()? as usize, cursor.u64()?);
        if self.has_time && written > time {
            return None;
        }
        let body_size = size.checked_sub(PREFIX_SIZE)?;
        let body = cursor.take(body_size)?;
        let body_at = self.at + PREFIX_SIZE;
        self.at = body_at + body_size;
        // A record that is too short is passed over.
        let change = match kind {
            LOAD => read_load(body, body_at),
            MOVE => read_move(body),
            _ => None,
        };
        match change {
            Some(Change::Load(start, code)) => self.insert(start, code),
            Some(Change::Move { old, new, end }) => {
                if let Some(code) = self.code.remove(&old) {
                    self.insert(new, Code { end, name: code.name });
                }
            }
            None => {}
        }
        Some(())
    }

    /// Code ends where other code takes a part of its place.
    fn insert(&mut self, start: u64, code: Code) {
        if start >= code.end {
            return;
        }
        while let Some((other, _)) = self.code.range(..code.end).next_back().filter(|(_, other)| other.end > start) {
            let other = *other;
            self.code.remove(&other);
        }
        self.code.insert(start, code);
    }
}

/// Process, thread, virtual address, address, size, index; name.
fn read_load(body: &[u8], body_at: usize) -> Option<Change> {
    let mut cursor = Cursor::new(body);
    cursor.skip(16)?;
    let (start, size, _index) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
    let name_at = body_at + body.len() - cursor.rest().len();
    let name = name_at..name_at + cursor.text().len();
    Some(Change::Load(start, Code { end: start.checked_add(size)?, name }))
}

/// Process, thread, virtual address, old and new address, size, index.
fn read_move(body: &[u8]) -> Option<Change> {
    let mut cursor = Cursor::new(body);
    cursor.skip(16)?;
    let (old, new, size) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
    Some(Change::Move { old, new, end: new.checked_add(size)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn header(flags: u64) -> Vec<u8> {
        let head = [MAGIC, VERSION, 40, 62, 0, 1].iter().flat_map(|value| value.to_le_bytes());
        head.chain(numbers(&[0, flags])).collect()
    }

    fn record(kind: u32, time: u64, body: &[u8]) -> Vec<u8> {
        let size = (PREFIX_SIZE + body.len()) as u32;
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), &time.to_le_bytes(), body].concat()
    }

    fn load(time: u64, start: u64, size: u64, name: &[u8]) -> Vec<u8> {
        record(LOAD, time, &[&numbers(&[1, start, start, size, 0])[..], name, b"\0\x90\x90"].concat())
    }

    fn relocate(time: u64, old: u64, new: u64, size: u64) -> Vec<u8> {
        record(MOVE, time, &numbers(&[1, new, old, new, size, 0]))
    }

    #[test]
    fn names_are_those_of_a_time() {
        let file = [
            header(0),
            load(10, 0x100, 0x20, b"first"),
            record(2, 15, b"lines"),
            load(20, 0x110, 0x20, b"second"),
            relocate(30, 0x110, 0x400, 0x20),
        ]
        .concat();
        let mut dump = JitDump::open(file, true).expect("a dump");
        let find = |dump: &JitDump<Vec<u8>>, address| {
            dump.find(address).map(|name| String::from_utf8_lossy(name).into_owned())
        };
        assert!(!dump.advance(9));
        assert_eq!(dump.find(0x100), None);
        assert!(dump.advance(10));
        assert_eq!(find(&dump, 0x11f).as_deref(), Some("first"));
        assert!(dump.advance(20) && !dump.advance(25));
        // The first function lost its place.
        assert_eq!((find(&dump, 0x100), find(&dump, 0x11f).as_deref()), (None, Some("second")));
        assert!(dump.advance(u64::MAX));
        assert_eq!((find(&dump, 0x110), find(&dump, 0x41f).as_deref()), (None, Some("second")));
    }

    #[test]
    fn without_times_the_last_code_counts() {
        let file =
            [header(ARCHITECTURE_TIME), load(900, 0x100, 0x20, b"first"), load(950, 0x100, 0x20, b"last")].concat();
        let mut dump = JitDump::open(file, true).expect("a dump");
        assert!(dump.advance(1));
        assert_eq!(dump.find(0x100), Some(&b"last"[..]));
    }

    #[test]
    fn damaged_dumps_end() {
        assert!(JitDump::open(&b""[..], true).is_none());
        assert!(JitDump::open([0_u8; 64].to_vec(), true).is_none());
        for size in [0_u32, 7, 15, u32::MAX] {
            let file = [&header(0)[..], &LOAD.to_le_bytes(), &size.to_le_bytes(), &[0; 40]].concat();
            let mut dump = JitDump::open(file, true).expect("a dump");
            assert!(!dump.advance(u64::MAX));
        }
        let mut dump = JitDump::open([header(0), load(1, u64::MAX, 5, b"wraps")].concat(), true).expect("a dump");
        assert!(dump.advance(1));
        assert_eq!(dump.find(u64::MAX), None);
    }
}
