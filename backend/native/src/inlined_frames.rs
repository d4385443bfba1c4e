//! Frames of functions that a compiler inlined, each address of a program resolved once.

use std::collections::HashMap;

use ahash::RandomState;

use crate::error::Result;
use crate::modules::Modules;
use crate::processes::ModuleId;
use crate::symbols::dwarf_units::Work;
use crate::symbols::inlines::Inlines;
use crate::symbols::names::demangle;
use crate::trie::{FrameKind, TrieBuilder};

/// Flag of a frame, as in `collectors.profiles.trie`.
pub const INLINED: u8 = 1;
const FILE_WORK: usize = 100_000_000;
const ALL_WORK: usize = 400_000_000;
/// Addresses of one module that are remembered.
const REMEMBERED_MAX: usize = 1_000_000;

struct Module {
    inlines: Inlines,
    /// Work that is left for it.
    work: usize,
    by_address: HashMap<u64, Box<[u32]>, RandomState>,
    by_origin: HashMap<usize, Option<u32>, RandomState>,
}

enum State {
    New,
    Without,
    With(Box<Module>),
}

/// The inlined functions of all modules.
pub struct InlinedFrames {
    modules: Vec<State>,
    work: Work,
}

impl Default for InlinedFrames {
    fn default() -> Self {
        Self { modules: Vec::new(), work: Work::new(ALL_WORK) }
    }
}

impl InlinedFrames {
    /// Append the frames of what is inlined at an offset in a module, the innermost one first.
    pub fn append(
        &mut self,
        trie: &mut TrieBuilder,
        modules: &Modules,
        id: ModuleId,
        offset: u64,
        into: &mut Vec<u32>,
    ) -> Result<()> {
        let at = id as usize;
        if at >= self.modules.len() {
            self.modules.resize_with(at + 1, || State::New);
        }
        if matches!(self.modules[at], State::New) {
            self.modules[at] = open(modules, id, &mut self.work);
        }
        let State::With(module) = &mut self.modules[at] else { return Ok(()) };
        if let Some(known) = module.by_address.get(&offset) {
            into.extend_from_slice(known);
            return Ok(());
        }
        self.work.begin_file(module.work);
        let mut frames = Vec::new();
        for origin in module.inlines.find(offset, &mut self.work).unwrap_or_default() {
            let known = module.by_origin.get(&origin).copied();
            let frame = match known {
                Some(frame) => frame,
                None => {
                    let name = module.inlines.name(origin, &mut self.work);
                    let add =
                        |name: Vec<u8>| trie.add_frame(&demangle(&name), modules.name_of(id), FrameKind::User, INLINED);
                    let frame = name.map(add).transpose()?;
                    module.by_origin.insert(origin, frame);
                    frame
                }
            };
            frames.extend(frame);
        }
        module.work = self.work.left_of_file();
        into.extend_from_slice(&frames);
        if module.by_address.len() < REMEMBERED_MAX {
            module.by_address.insert(offset, frames.into());
        }
        Ok(())
    }
}

fn open(modules: &Modules, id: ModuleId, work: &mut Work) -> State {
    work.begin_file(FILE_WORK);
    let Some(program) = modules.open_program(id) else { return State::Without };
    match Inlines::open(&program, work) {
        Some(inlines) => State::With(Box::new(Module {
            inlines,
            work: work.left_of_file(),
            by_address: HashMap::default(),
            by_origin: HashMap::default(),
        })),
        None => State::Without,
    }
}
