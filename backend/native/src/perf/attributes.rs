//! `struct perf_event_attr`: what an event counts, and which fields its records have.

use crate::bytes::{u32_at, u64_at};

/// Bits of `sample_type`.
pub mod field {
    pub const IP: u64 = 1 << 0;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const IDENTIFIER: u64 = 1 << 16;
}

const SAMPLE_ID_ALL: u64 = 1 << 18;
const TYPE_TRACEPOINT: u32 = 2;
const LEAST_SIZE: usize = 64;

/// What is needed of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    pub kind: u32,
    pub config: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub branch_type: u64,
    pub user_registers: u64,
    pub user_stack: u32,
    pub clock: Option<i32>,
    pub has_ids_everywhere: bool,
}

impl Attribute {
    /// Read an attribute of any version of the structure; fields that an old one lacks are zero.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < LEAST_SIZE {
            return None;
        }
        let flags = u64_at(bytes, 40)?;
        let uses_clock = flags & (1 << 25) != 0;
        Some(Self {
            kind: u32_at(bytes, 0)?,
            config: u64_at(bytes, 8)?,
            sample_type: u64_at(bytes, 24)?,
            read_format: u64_at(bytes, 32)?,
            branch_type: u64_at(bytes, 72).unwrap_or(0),
            user_registers: u64_at(bytes, 80).unwrap_or(0),
            user_stack: u32_at(bytes, 88).unwrap_or(0),
            clock: u32_at(bytes, 92).filter(|_| uses_clock).map(|clock| clock as i32),
            has_ids_everywhere: flags & SAMPLE_ID_ALL != 0,
        })
    }

    pub fn is_tracepoint(&self) -> bool {
        self.kind == TYPE_TRACEPOINT
    }

    pub fn has(&self, bits: u64) -> bool {
        self.sample_type & bits != 0
    }

    /// How far before the end of a record that is no sample a field of `fields` begins; the fields behind it are given.
    fn size_of_trailing(&self, fields: &[u64]) -> usize {
        8 * fields.iter().filter(|bit| self.has(**bit)).count()
    }

    /// The distance of the time from the end of a record that is no sample.
    pub fn trailing_time(&self) -> Option<usize> {
        let behind = [field::TIME, field::ID, field::STREAM_ID, field::CPU, field::IDENTIFIER];
        (self.has_ids_everywhere && self.has(field::TIME)).then(|| self.size_of_trailing(&behind))
    }

    /// The offset of the time in a sample, behind the record's header.
    pub fn time_in_sample(&self) -> Option<usize> {
        let before = [field::IDENTIFIER, field::IP, field::TID];
        self.has(field::TIME).then(|| self.size_of_trailing(&before))
    }

    /// The offset of the event's ID in a sample, behind the record's header.
    pub fn id_in_sample(&self) -> Option<usize> {
        if self.has(field::IDENTIFIER) {
            return Some(0);
        }
        let before = [field::IP, field::TID, field::TIME, field::ADDR];
        self.has(field::ID).then(|| self.size_of_trailing(&before))
    }

    /// The name that perf gives to an event of this kind where the file names none.
    pub fn default_name(&self) -> String {
        const HARDWARE: [&str; 10] = [
            "cycles",
            "instructions",
            "cache-references",
            "cache-misses",
            "branches",
            "branch-misses",
            "bus-cycles",
            "stalled-cycles-frontend",
            "stalled-cycles-backend",
            "ref-cycles",
        ];
        const SOFTWARE: [&str; 12] = [
            "cpu-clock",
            "task-clock",
            "page-faults",
            "context-switches",
            "cpu-migrations",
            "minor-faults",
            "major-faults",
            "alignment-faults",
            "emulation-faults",
            "dummy",
            "bpf-output",
            "cgroup-switches",
        ];
        let names: &[&str] = match self.kind {
            0 => &HARDWARE,
            1 => &SOFTWARE,
            _ => &[],
        };
        usize::try_from(self.config)
            .ok()
            .and_then(|at| names.get(at))
            .map_or_else(|| format!("event {}:{}", self.kind, self.config), |name| (*name).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(sample_type: u64) -> Attribute {
        let mut bytes = [0u8; 112];
        bytes[24..32].copy_from_slice(&sample_type.to_le_bytes());
        bytes[40..48].copy_from_slice(&SAMPLE_ID_ALL.to_le_bytes());
        Attribute::parse(&bytes).expect("long enough")
    }

    #[test]
    fn offsets_follow_the_fields_in_front() {
        let all = attribute(field::IDENTIFIER | field::IP | field::TID | field::TIME | field::CPU);
        assert_eq!(all.id_in_sample(), Some(0));
        assert_eq!(all.time_in_sample(), Some(24));
        assert_eq!(all.trailing_time(), Some(24));
        let plain = attribute(field::IP | field::TID | field::TIME | field::ID);
        assert_eq!(plain.id_in_sample(), Some(24));
        assert_eq!(plain.trailing_time(), Some(16));
        assert_eq!(attribute(field::IP).time_in_sample(), None);
    }

    #[test]
    fn a_short_attribute_is_refused() {
        assert_eq!(Attribute::parse(&[0; 63]), None);
        assert!(Attribute::parse(&[0; 64]).is_some());
    }

    #[test]
    fn unnamed_events_are_named_as_perf_names_them() {
        assert_eq!(attribute(0).default_name(), "cycles");
    }
}
