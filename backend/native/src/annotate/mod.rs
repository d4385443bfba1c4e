//! One function in detail: samples by address, its instructions, and the source lines of these.

#[cfg(feature = "python")]
pub mod bindings;
pub mod code;
pub mod counts;
pub mod disassemble;
pub mod lines;
