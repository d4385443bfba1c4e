//! The fields of a sample, in the order in which the kernel writes them (`perf_output_sample`).

use super::attributes::{Attribute, field};
use super::user_state::UserState;
use crate::bytes::Cursor;

/// Values in a call chain that state in which part the addresses behind them are; all are negative.
pub mod context {
    pub const HYPERVISOR: u64 = -32_i64 as u64;
    pub const KERNEL: u64 = -128_i64 as u64;
    pub const USER: u64 = -512_i64 as u64;
    pub const GUEST: u64 = -2048_i64 as u64;
    pub const GUEST_KERNEL: u64 = -2176_i64 as u64;
    pub const GUEST_USER: u64 = -2560_i64 as u64;
    /// All values from here on are such marks.
    pub const FIRST: u64 = -4095_i64 as u64;
}

const READ_TIME_ENABLED: u64 = 1 << 0;
const READ_TIME_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;
const BRANCH_INDEX: u64 = 1 << 17;
const BRANCH_COUNTERS: u64 = 1 << 19;

/// What a profile uses of one sample. `chain` is of numbers of eight bytes, the innermost address first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample<'a> {
    pub ip: u64,
    pub pid: u32,
    pub tid: u32,
    pub time: u64,
    pub cpu: Option<u32>,
    pub period: u64,
    pub chain: Option<&'a [u8]>,
    pub raw: Option<&'a [u8]>,
    pub user: Option<UserState<'a>>,
}

impl<'a> Sample<'a> {
    /// Read a sample; None where it is cut.
    #[inline]
    pub fn parse(attribute: &Attribute, payload: &'a [u8]) -> Option<Self> {
        let has = |bit| attribute.has(bit);
        let mut cursor = Cursor::new(payload);
        let mut sample = Self { period: 1, ..Self::default() };
        if has(field::IDENTIFIER) {
            cursor.u64()?;
        }
        if has(field::IP) {
            sample.ip = cursor.u64()?;
        }
        if has(field::TID) {
            sample.pid = cursor.u32()?;
            sample.tid = cursor.u32()?;
        }
        if has(field::TIME) {
            sample.time = cursor.u64()?;
        }
        for bit in [field::ADDR, field::ID, field::STREAM_ID] {
            if has(bit) {
                cursor.u64()?;
            }
        }
        if has(field::CPU) {
            sample.cpu = Some(cursor.u32()?);
            cursor.u32()?;
        }
        if has(field::PERIOD) {
            sample.period = cursor.u64()?;
        }
        if has(field::READ) {
            skip_counts(attribute.read_format, &mut cursor)?;
        }
        if has(field::CALLCHAIN) {
            let size = usize::try_from(cursor.u64()?).ok()?.checked_mul(8)?;
            sample.chain = Some(cursor.take(size)?);
        }
        if has(field::RAW) {
            let size = cursor.u32()? as usize;
            sample.raw = Some(cursor.take(size)?);
        }
        if has(field::STACK_USER) {
            if has(field::BRANCH_STACK) {
                skip_branches(attribute.branch_type, &mut cursor)?;
            }
            sample.user = UserState::parse(attribute, &mut cursor)?;
        }
        Some(sample)
    }
}

fn skip_counts(format: u64, cursor: &mut Cursor<'_>) -> Option<()> {
    let times = u64::from((format & READ_TIME_ENABLED != 0) as u8) + u64::from((format & READ_TIME_RUNNING != 0) as u8);
    let each = 1 + u64::from((format & READ_ID != 0) as u8) + u64::from((format & READ_LOST != 0) as u8);
    let numbers = if format & READ_GROUP != 0 { times + cursor.u64()?.checked_mul(each)? } else { times + each };
    cursor.skip(usize::try_from(numbers.checked_mul(8)?).ok()?)
}

/// Number of branches, an index of the hardware, the branches.
fn skip_branches(kind: u64, cursor: &mut Cursor<'_>) -> Option<()> {
    let count = cursor.u64()?;
    if kind & BRANCH_INDEX != 0 {
        cursor.u64()?;
    }
    let each = 24 + if kind & BRANCH_COUNTERS != 0 { 8 } else { 0 };
    cursor.skip(usize::try_from(count.checked_mul(each)?).ok()?)
}
