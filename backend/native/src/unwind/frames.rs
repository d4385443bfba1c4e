//! The registers of one frame, and how those of its caller are computed from them (x86-64).

use gimli::{Encoding, EndianSlice, Evaluation, EvaluationResult, LittleEndian, Location, Value};

use super::rules::{Cfa, Rule, Rules};
use crate::bytes::u64_at;
use crate::perf::user_state::UserState;

/// Numbers of DWARF: 0 to 15 are those of the general registers, 16 is the return address.
pub const COUNT: usize = 17;
const FRAME_POINTER: u16 = 6;
const STACK_POINTER: u16 = 7;
pub const RETURN_ADDRESS: u16 = 16;
/// The numbers that the kernel gives to the registers of DWARF, in order.
const OF_KERNEL: [u32; COUNT] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8];
/// The first number that no general register has; arm64 has 33 registers.
const OF_ARCHITECTURE: u32 = 24;
/// Operations of one expression: those of real programs have ten.
const OPERATIONS_MAX: u32 = 200;

/// Registers of a frame; None where the value is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    values: [Option<u64>; COUNT],
}

impl Registers {
    /// None where the registers are those of another architecture, which has more of them.
    pub fn of_sample(state: &UserState<'_>) -> Option<Self> {
        let is_ours = (OF_ARCHITECTURE..64).all(|number| state.register(number).is_none());
        is_ours.then(|| Self { values: OF_KERNEL.map(|number| state.register(number)) })
    }

    pub fn get(&self, number: u16) -> Option<u64> {
        self.values.get(usize::from(number)).copied().flatten()
    }

    fn set(&mut self, number: u16, value: Option<u64>) {
        if let Some(place) = self.values.get_mut(usize::from(number)) {
            *place = value;
        }
    }

    pub fn ip(&self) -> Option<u64> {
        self.get(RETURN_ADDRESS)
    }

    pub fn sp(&self) -> Option<u64> {
        self.get(STACK_POINTER)
    }

    /// The registers of the caller. None at the outermost frame, and where the rules ask for what the copy lacks.
    pub fn step(&self, rules: &Rules, stack: &Stack<'_>) -> Option<Self> {
        let cfa = match &rules.cfa {
            Cfa::Register(register, offset) => self.get(*register)?.checked_add_signed(*offset)?,
            Cfa::Expression(code) => self.evaluate(code, rules.encoding, None, stack)?,
        };
        let mut caller = *self;
        // Callers have their stack pointer back when a function returns.
        caller.set(STACK_POINTER, Some(cfa));
        caller.set(RETURN_ADDRESS, None);
        for (register, rule) in &rules.registers {
            let value = match rule {
                Rule::Undefined => None,
                Rule::At(offset) => cfa.checked_add_signed(*offset).and_then(|address| stack.read(address)),
                Rule::Value(offset) => cfa.checked_add_signed(*offset),
                Rule::Register(other) => self.get(*other),
                Rule::AtExpression(code) => {
                    let address = self.evaluate(code, rules.encoding, Some(cfa), stack);
                    address.and_then(|address| stack.read(address))
                }
                Rule::ValueExpression(code) => self.evaluate(code, rules.encoding, Some(cfa), stack),
            };
            caller.set(*register, value);
        }
        let address = caller.get(rules.return_address)?;
        caller.set(RETURN_ADDRESS, Some(address));
        Some(caller)
    }

    /// The registers of the caller by frame pointers, which generated code has: it is in no table.
    pub fn step_by_frame_pointer(&self, stack: &Stack<'_>) -> Option<Self> {
        let frame = self.get(FRAME_POINTER)?;
        let mut caller = *self;
        caller.set(FRAME_POINTER, Some(stack.read(frame)?));
        caller.set(RETURN_ADDRESS, Some(stack.read(frame.checked_add(8)?)?));
        caller.set(STACK_POINTER, Some(frame.checked_add(16)?));
        Some(caller)
    }

    fn evaluate(&self, code: &[u8], encoding: Encoding, first: Option<u64>, stack: &Stack<'_>) -> Option<u64> {
        let mut evaluation = Evaluation::new(EndianSlice::new(code, LittleEndian), encoding);
        evaluation.set_max_iterations(OPERATIONS_MAX);
        if let Some(value) = first {
            evaluation.set_initial_value(value);
        }
        let mut result = evaluation.evaluate().ok()?;
        // Each request is an operation, of which there is a limit.
        while result != EvaluationResult::Complete {
            result = match result {
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.get(register.0)?))
                }
                EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                    evaluation.resume_with_memory(Value::Generic(stack.read(address)?))
                }
                _ => return None,
            }
            .ok()?;
        }
        match evaluation.as_result().last()?.location {
            Location::Address { address } => Some(address),
            Location::Value { value: Value::Generic(value) } => Some(value),
            _ => None,
        }
    }
}

/// The copy of the top of a stack.
#[derive(Clone, Copy)]
pub struct Stack<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl<'a> Stack<'a> {
    pub fn new(start: u64, bytes: &'a [u8]) -> Self {
        Self { start, bytes }
    }

    /// The number at an address; None outside of the copy.
    pub fn read(&self, address: u64) -> Option<u64> {
        u64_at(self.bytes, usize::try_from(address.checked_sub(self.start)?).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODING: Encoding = Encoding { format: gimli::Format::Dwarf32, version: 1, address_size: 8 };

    fn registers(ip: u64, sp: u64, bp: u64) -> Registers {
        let mut registers = Registers { values: [None; COUNT] };
        registers.set(RETURN_ADDRESS, Some(ip));
        registers.set(STACK_POINTER, Some(sp));
        registers.set(FRAME_POINTER, Some(bp));
        registers
    }

    fn rules(cfa: Cfa, registers: Vec<(u16, Rule)>) -> Rules {
        Rules { cfa, registers, return_address: RETURN_ADDRESS, is_signal: false, encoding: ENCODING }
    }

    #[test]
    fn a_caller_has_what_its_function_saved() {
        let bytes: Vec<u8> = [7_u64, 8, 0x4000].iter().flat_map(|value| value.to_le_bytes()).collect();
        let stack = Stack::new(0x1000, &bytes);
        let saved = vec![(FRAME_POINTER, Rule::At(-24)), (3, Rule::At(-16)), (RETURN_ADDRESS, Rule::At(-8))];
        let caller =
            registers(1, 0x1000, 2).step(&rules(Cfa::Register(STACK_POINTER, 24), saved), &stack).expect("a caller");
        assert_eq!([6, 3, 16, 7].map(|number| caller.get(number)), [Some(7), Some(8), Some(0x4000), Some(0x1018)]);
        // The same with the rule of the stubs that call other libraries: sp + 8 + ((ip & 15) >= 11) * 8.
        let code = vec![0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        let stub = rules(Cfa::Expression(code.into()), vec![(RETURN_ADDRESS, Rule::At(-8))]);
        let [early, late] =
            [0x20, 0x2b].map(|ip| registers(ip, 0x1000, 0).step(&stub, &stack).and_then(|caller| caller.ip()));
        assert_eq!((early, late), (Some(7), Some(8)));
    }

    #[test]
    fn registers_are_those_of_the_architecture() {
        let values: Vec<u8> = (0..33_u64).flat_map(u64::to_le_bytes).collect();
        // AX to IP and R8 to R15, as perf asks for.
        let own = Registers::of_sample(&UserState::new(0xff_01ff, &values, &[0; 8])).expect("registers");
        assert_eq!([0, 3, 6, 7, 16, 8, 15].map(|number| own.get(number)), [0, 1, 6, 7, 8, 9, 16].map(Some));
        assert_eq!(Registers::of_sample(&UserState::new((1 << 33) - 1, &values, &[0; 8])), None);
    }

    #[test]
    fn nothing_outside_of_the_copy_is_read() {
        let bytes = [1_u8; 16];
        for address in [0, 0xfff, 0x1009, 0x1010, u64::MAX] {
            assert_eq!(Stack::new(0x1000, &bytes).read(address), None);
        }
        assert!(Stack::new(0x1000, &bytes).read(0x1008).is_some());
        let outside = rules(Cfa::Register(STACK_POINTER, i64::MAX), vec![(RETURN_ADDRESS, Rule::At(-8))]);
        assert_eq!(registers(1, u64::MAX, 0).step(&outside, &Stack::new(0, &bytes)), None);
        assert_eq!(registers(1, 0, u64::MAX).step_by_frame_pointer(&Stack::new(0, &bytes)), None);
    }

    #[test]
    fn an_expression_that_loops_ends() {
        // Jump back to the beginning.
        let code: Box<[u8]> = vec![0x2f, 0xfd, 0xff].into();
        let looping = rules(Cfa::Expression(code), vec![(RETURN_ADDRESS, Rule::At(-8))]);
        assert_eq!(registers(1, 2, 3).step(&looping, &Stack::new(0, &[0; 64])), None);
    }
}
