//! Instructions of a function as text. Bytes may be anything: each is part of exactly one instruction.

use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Instruction as X86Instruction, OpKind};
use object::{Architecture, Object};
use yaxpeax_arch::{Arch, Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::{ARMv8, Operand};

/// Bytes of one function. Larger ones are cut.
pub const CODE_MAX: usize = 64 << 10;
/// Instructions of AArch64 have four bytes each.
const ARM_SIZE: usize = 4;

/// Instructions that can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionSet {
    /// With 32 or 64 bits.
    X86(u32),
    Arm64,
}

impl InstructionSet {
    /// The instruction set of a program; None where its instructions cannot be printed.
    pub fn of(file: &object::File<'_>) -> Option<Self> {
        match file.architecture() {
            Architecture::X86_64 => Some(Self::X86(64)),
            Architecture::I386 => Some(Self::X86(32)),
            Architecture::Aarch64 if file.is_little_endian() => Some(Self::Arm64),
            _ => None,
        }
    }
}

/// One instruction. `offset` is from the begin of the function, `target` the address that a branch leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    pub offset: usize,
    pub length: usize,
    pub text: String,
    pub target: Option<u64>,
}

/// The instructions in `bytes`, at most `CODE_MAX` of which are read; the first one is at `address`.
pub fn disassemble(set: InstructionSet, bytes: &[u8], address: u64) -> Vec<Instruction> {
    let bytes = &bytes[..bytes.len().min(CODE_MAX)];
    match set {
        InstructionSet::X86(bits) => disassemble_x86(bits, bytes, address),
        InstructionSet::Arm64 => disassemble_arm64(bytes, address),
    }
}

fn disassemble_x86(bits: u32, bytes: &[u8], address: u64) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE);
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_rip_relative_addresses(true);
    options.set_space_after_operand_separator(true);
    let mut instructions = Vec::new();
    let mut decoded = X86Instruction::default();
    while decoder.can_decode() {
        let offset = decoder.position();
        decoder.decode_out(&mut decoded);
        let mut text = String::new();
        formatter.format(&decoded, &mut text);
        let is_branch = decoded.op_count() > 0
            && matches!(decoded.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64);
        let target = is_branch.then(|| decoded.near_branch_target());
        instructions.push(Instruction { offset, length: decoder.position() - offset, text, target });
    }
    instructions
}

fn disassemble_arm64(bytes: &[u8], address: u64) -> Vec<Instruction> {
    let decoder = <ARMv8 as Arch>::Decoder::default();
    let decode = |(place, word): (usize, &[u8])| {
        let offset = place * ARM_SIZE;
        let decoded = decoder.decode(&mut U8Reader::new(word));
        let (text, target) = match decoded {
            Ok(decoded) => {
                let distance = decoded.operands.iter().find_map(|operand| match operand {
                    Operand::PCOffset(distance) => Some(*distance),
                    _ => None,
                });
                let here = address.wrapping_add(offset as u64);
                (decoded.to_string(), distance.map(|distance| here.wrapping_add_signed(distance)))
            }
            Err(_) => ("(bad)".to_owned(), None),
        };
        Instruction { offset, length: word.len(), text, target }
    };
    bytes.chunks(ARM_SIZE).enumerate().map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(set: InstructionSet, bytes: &[u8]) -> Vec<(usize, usize, String, Option<u64>)> {
        let list = disassemble(set, bytes, 0x1000);
        list.into_iter().map(|item| (item.offset, item.length, item.text, item.target)).collect()
    }

    #[test]
    fn x86_is_printed_as_objdump_does() {
        let bytes = [0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0xeb, 0xf8, 0x06];
        let expected = [
            (0, 1, "push %rbp".to_owned(), None),
            (1, 3, "mov %rsp, %rbp".to_owned(), None),
            (4, 2, "xor %eax, %eax".to_owned(), None),
            (6, 2, "jmp 0x1000".to_owned(), Some(0x1000)),
            (8, 1, "(bad)".to_owned(), None),
        ];
        assert_eq!(texts(InstructionSet::X86(64), &bytes), expected);
    }

    #[test]
    fn arm64_has_four_bytes_each() {
        let bytes = [0xfd, 0x7b, 0xbf, 0xa9, 0xff, 0xff, 0xff, 0x17, 0xc0, 0x03, 0x5f, 0xd6, 1];
        let list = disassemble(InstructionSet::Arm64, &bytes, 0x1000);
        let heads: Vec<_> = list.iter().map(|item| item.text.split(' ').next().unwrap_or("")).collect();
        assert_eq!(heads, ["stp", "b", "ret", "(bad)"]);
        assert_eq!(list[1].target, Some(0x1000));
        assert_eq!(list.iter().map(|item| item.length).collect::<Vec<_>>(), [4, 4, 4, 1]);
    }
}
