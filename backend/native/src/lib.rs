//! The native reader of Culprit: perf.data as columns and a trie, without text in between.
#![deny(unsafe_code)]

pub mod annotate;
pub mod bytes;
pub mod error;
pub mod inlined_frames;
pub mod kinds;
pub mod mapped;
pub mod modules;
pub mod order;
pub mod perf;
pub mod processes;
pub mod profile;
#[cfg(feature = "python")]
pub mod python;
pub mod sched;
pub mod stacks;
pub mod symbols;
pub mod text;
pub mod trie;
pub mod unwind;
