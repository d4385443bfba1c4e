//! The registers of a thread in its program, and a copy of the top of its stack (`perf record --call-graph dwarf`).

use super::attributes::{Attribute, field};
use crate::bytes::{Cursor, u64_at};

/// Registers of 64 bits each.
const ABI_64: u64 = 2;

/// What a sample has copied of a thread. Registers are those of the mask, in order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserState<'a> {
    mask: u64,
    registers: &'a [u8],
    pub stack: &'a [u8],
}

impl<'a> UserState<'a> {
    pub fn new(mask: u64, registers: &'a [u8], stack: &'a [u8]) -> Self {
        Self { mask, registers, stack }
    }

    /// Read the fields of a sample. None where it is cut; no state where the thread is of the kernel, or of 32 bits.
    pub fn parse(attribute: &Attribute, cursor: &mut Cursor<'a>) -> Option<Option<Self>> {
        let (mut abi, mut registers): (u64, &[u8]) = (0, &[]);
        let mask = attribute.user_registers;
        if attribute.has(field::REGS_USER) {
            abi = cursor.u64()?;
            if abi != 0 {
                registers = cursor.take(8 * mask.count_ones() as usize)?;
            }
        }
        let size = usize::try_from(cursor.u64()?).ok()?;
        let mut stack: &[u8] = &[];
        if size > 0 {
            stack = cursor.take(size)?;
            // How much of it is a copy: the stack may end before.
            let copied = usize::try_from(cursor.u64()?).unwrap_or(usize::MAX);
            stack = &stack[..copied.min(size)];
        }
        let is_usable = abi == ABI_64 && !stack.is_empty();
        Some(is_usable.then_some(Self { mask, registers, stack }))
    }

    /// The value of a register by its number in the kernel's list (`asm/perf_regs.h`).
    pub fn register(&self, number: u32) -> Option<u64> {
        let bit = 1_u64.checked_shl(number)?;
        let place = (self.mask & (bit - 1)).count_ones() as usize;
        if self.mask & bit == 0 { None } else { u64_at(self.registers, 8 * place) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(mask: u64) -> Attribute {
        let mut bytes = [0_u8; 112];
        bytes[24..32].copy_from_slice(&(field::REGS_USER | field::STACK_USER).to_le_bytes());
        bytes[80..88].copy_from_slice(&mask.to_le_bytes());
        Attribute::parse(&bytes).expect("long enough")
    }

    fn numbers(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn registers_are_found_by_their_place_in_the_mask() {
        let bytes = numbers(&[ABI_64, 10, 20, 30, 16, 7, 8, 8]);
        let state = UserState::parse(&attribute(0b1_0000_1010), &mut Cursor::new(&bytes)).flatten().expect("a state");
        assert_eq!([1, 3, 8, 0, 63].map(|number| state.register(number)), [Some(10), Some(20), Some(30), None, None]);
        // Eight of the sixteen bytes are a copy.
        assert_eq!(state.stack, 7_u64.to_le_bytes());
    }

    #[test]
    fn threads_without_usable_registers_have_no_state() {
        let parse = |values: &[u64]| {
            UserState::parse(&attribute(1), &mut Cursor::new(&numbers(values))).is_some_and(|state| state.is_some())
        };
        assert!(parse(&[ABI_64, 1, 8, 5, 8]));
        assert!(!parse(&[0, 8, 5, 8]));
        assert!(!parse(&[1, 1, 8, 5, 8]));
        assert!(!parse(&[ABI_64, 1, 0]));
        assert!(!parse(&[ABI_64, 1, 16, 5, 8]));
        // More is said to be copied than there is.
        assert!(parse(&[ABI_64, 1, 8, 5, u64::MAX]));
    }
}
