//! Names of functions by address: from ELF files, `/proc/kallsyms`, and maps of JIT compilers.

pub mod dwarf_units;
pub mod elf;
pub mod gopclntab;
pub mod inlines;
pub mod jitdump;
pub mod kernel;
pub mod names;
pub mod perf_map;
pub mod programs;
pub mod sections;
pub mod table;
