//! The call chain of a sample, from its innermost frame outward.

use std::collections::HashMap;

use super::frames::{Registers, Stack};
use super::rules::CallFrames;
use crate::modules::Modules;
use crate::perf::user_state::UserState;
use crate::processes::{AddressSpace, ModuleId};

/// Frames of one chain. A copy of a stack has at most 64 KiB, which is 4,096 frames of the smallest size.
const FRAMES_MAX: usize = 4096;

/// Remembers the tables of the files that chains went through.
#[derive(Default)]
pub struct Unwinder {
    files: HashMap<ModuleId, Option<CallFrames>>,
    chain: Vec<u8>,
}

impl Unwinder {
    /// The addresses of a chain as numbers of eight bytes, the innermost one first.
    ///
    /// All but the innermost one are inside of the instruction that calls, not behind it, as those of perf are.
    pub fn unwind(&mut self, state: &UserState<'_>, space: &AddressSpace, modules: &Modules) -> &[u8] {
        self.chain.clear();
        let Some(mut registers) = Registers::of_sample(state) else { return &self.chain };
        let (Some(mut ip @ 1..), Some(mut sp)) = (registers.ip(), registers.sp()) else { return &self.chain };
        let stack = Stack::new(sp, state.stack);
        // Whether the instruction at `ip` itself is next, not the one behind a call.
        let mut is_exact = true;
        // Each caller has a return address in the copy.
        for _ in 0..=FRAMES_MAX.min(state.stack.len() / 8) {
            let inside = if is_exact { ip } else { ip - 1 };
            let Some(mapping) = space.find(inside) else { break };
            let module = mapping.module;
            let open = || modules.open_program(module).and_then(|program| CallFrames::open(&program));
            let tables = self.files.entry(module).or_insert_with(open);
            let rules = tables.as_mut().and_then(|tables| tables.find(mapping.offset_of(inside)));
            let is_signal = rules.as_ref().is_some_and(|rules| rules.is_signal);
            self.chain.extend_from_slice(&(if is_signal { ip } else { inside }).to_le_bytes());
            let caller = match &rules {
                Some(rules) => registers.step(rules, &stack),
                None => registers.step_by_frame_pointer(&stack),
            };
            let Some(caller) = caller else { break };
            let (Some(next_ip @ 1..), Some(next_sp)) = (caller.ip(), caller.sp()) else { break };
            // Callers are above; a signal may have a stack of its own.
            if next_sp <= sp && !is_signal {
                break;
            }
            (registers, ip, sp, is_exact) = (caller, next_ip, next_sp, is_signal);
        }
        if self.chain.is_empty() {
            self.chain.extend_from_slice(&ip.to_le_bytes());
        }
        &self.chain
    }
}
