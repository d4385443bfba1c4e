//! Stacks of samples as nodes of a trie, and the processes that give their addresses a meaning.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use ahash::RandomState;

use crate::bytes::{Cursor, u64_at};
use crate::error::Result;
use crate::inlined_frames::InlinedFrames;
use crate::modules::{FileId, Inlining, Modules, Place};
use crate::perf::records::{Record, kind, misc};
use crate::perf::samples::{Sample, context};
use crate::perf::user_state::UserState;
use crate::processes::{Mapping, ModuleId, Processes};
use crate::trie::{FrameKind, Limits, Strings, TrieBuilder, printable};
use crate::unwind::walk::Unwinder;

/// Mode of addresses of a program that come from a copy of its stack.
const UNWOUND: u16 = misc::USER | 1 << 8;
const NO_PID: u32 = u32::MAX;
const PROT_EXEC: u32 = 4;
const COMM_MAX: usize = 64;

/// The state of one pass over records in order of time.
pub struct Stacks {
    pub trie: TrieBuilder,
    pub comms: Strings,
    pub damaged: u64,
    pub modules: Modules,
    processes: Processes,
    unwinder: Unwinder,
    inlined: InlinedFrames,
    comm_nodes: Vec<u32>,
    hasher: RandomState,
    /// Nodes by what leads to them: the part of a chain in one mode, its address space and the node above it.
    chains: HashMap<u64, u32, RandomState>,
    frames: Vec<u32>,
    lost: u64,
    lost_samples: u64,
}

impl Stacks {
    pub fn new(modules: Modules, limits: Limits) -> Self {
        Self {
            trie: TrieBuilder::new(limits),
            comms: Strings::default(),
            damaged: 0,
            modules,
            processes: Processes::default(),
            unwinder: Unwinder::default(),
            inlined: InlinedFrames::default(),
            comm_nodes: Vec::new(),
            hasher: RandomState::new(),
            chains: HashMap::default(),
            frames: Vec::new(),
            lost: 0,
            lost_samples: 0,
        }
    }

    /// Samples that perf reports as lost: two kinds of records tell of the same loss.
    pub fn lost(&self) -> u64 {
        self.lost.max(self.lost_samples)
    }

    /// Read a record that is no sample.
    pub fn read(&mut self, record: &Record<'_>) {
        let known = match record.kind {
            kind::COMM => self.comm(record),
            kind::FORK => self.fork(record.payload),
            kind::MMAP | kind::MMAP2 => self.mapping(record),
            // id, lost
            kind::LOST => u64_at(record.payload, 8).map(|lost| self.lost = self.lost.saturating_add(lost)),
            kind::LOST_SAMPLES => {
                u64_at(record.payload, 0).map(|lost| self.lost_samples = self.lost_samples.saturating_add(lost))
            }
            _ => Some(()),
        };
        self.damaged += u64::from(known.is_none());
    }

    /// pid, tid, name
    fn comm(&mut self, record: &Record<'_>) -> Option<()> {
        let mut cursor = Cursor::new(record.payload);
        let (_pid, tid) = (cursor.u32()?, cursor.u32()?);
        let name = self.add_comm(cursor.text());
        self.processes.set_name(tid, name);
        Some(())
    }

    /// pid, ppid, tid, ptid
    fn fork(&mut self, payload: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(payload);
        let (pid, parent, tid, parent_tid) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
        self.processes.fork(pid, tid, parent, parent_tid);
        Some(())
    }

    /// pid, tid, address, length, offset; of MMAP2 then device and inode or a build ID, and protection; path
    fn mapping(&mut self, record: &Record<'_>) -> Option<()> {
        let mut cursor = Cursor::new(record.payload);
        let (pid, _tid) = (cursor.u32()?, cursor.u32()?);
        let (start, size, file_offset) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let mut file = FileId::Unknown;
        let mut is_code = record.misc & misc::MMAP_DATA == 0;
        if record.kind == kind::MMAP2 {
            let inode = cursor.take(24)?;
            if record.misc & misc::MMAP_BUILD_ID != 0 {
                let id = inode.get(4..4 + usize::from(inode[0]).min(20)).filter(|id| !id.is_empty());
                file = id.map_or(FileId::Unknown, |id| FileId::BuildId(id.to_vec()));
            } else if inode.iter().any(|byte| *byte != 0) {
                file = FileId::Inode(inode.try_into().ok()?);
            }
            is_code = cursor.u32()? & PROT_EXEC != 0;
            cursor.u32()?;
        }
        let path = cursor.text();
        if pid == NO_PID || record.misc & misc::CPU_MODE == misc::KERNEL || !is_code {
            return Some(());
        }
        let module = self.modules.of_mapping(pid, path, file);
        let end = start.checked_add(size)?;
        self.modules.add_place(module, Place { pid, start, end });
        self.processes.add_mapping(pid, Mapping { start, end, file_offset, module });
        Some(())
    }

    /// The index of the name of a thread.
    pub fn comm_of(&mut self, tid: u32) -> u32 {
        match self.processes.name_of(tid) {
            Some(comm) => comm,
            None if tid == 0 => self.add_comm(b"swapper"),
            None => self.add_comm(format!(":{}", tid as i32).as_bytes()),
        }
    }

    fn add_comm(&mut self, name: &[u8]) -> u32 {
        self.comms.intern(&printable(name, COMM_MAX))
    }

    /// The node of a thread's name, below which its stacks are.
    pub fn comm_node(&mut self, comm: u32) -> Result<u32> {
        let at = comm as usize;
        if self.comm_nodes.len() <= at {
            self.comm_nodes.resize(at + 1, 0);
        }
        if self.comm_nodes[at] == 0 {
            self.comm_nodes[at] = self.comm_below(0, comm)?;
        }
        Ok(self.comm_nodes[at])
    }

    /// The node of a thread's name below another node.
    pub fn comm_below(&mut self, node: u32, comm: u32) -> Result<u32> {
        let at = comm as usize;
        let span = self.comms.offsets[at] as usize..self.comms.offsets[at + 1] as usize;
        let frame = self.trie.add_frame(&self.comms.blob[span], b"", FrameKind::Comm, 0)?;
        self.trie.child(node, frame)
    }

    /// The module that a process maps at an address, and the offset in its file.
    pub fn place_of(&mut self, pid: u32, address: u64) -> Option<(ModuleId, u64)> {
        self.processes.space_of(pid).find(address).map(|found| (found.module, found.offset_of(address)))
    }

    /// The node of a sample: parts of its chain from the outermost one inward, each remembered by its bytes.
    pub fn stack(&mut self, root: u32, sample: &Sample<'_>, mode: u16) -> Result<u32> {
        let single = sample.ip.to_le_bytes();
        let chain = match sample.chain {
            Some(chain) => chain,
            None if sample.ip != 0 => &single[..],
            None => &[],
        };
        let mode = mode & misc::CPU_MODE;
        if self.modules.advance_jit(sample.pid, sample.time) {
            self.processes.renew(sample.pid);
        }
        let mut node = root;
        if let Some(state) = sample.user {
            node = self.unwind(root, &state, sample.pid)?;
        }
        let mut end = chain.len();
        while end > 0 {
            let (start, mode) = find_part(&chain[..end], mode);
            let part = &chain[start..end];
            node = self.part(node, part, mode, sample.pid)?;
            // The mark in front of the part.
            end = start.saturating_sub(8);
        }
        Ok(node)
    }

    /// The node of the part of a chain that only a copy of the stack has.
    fn unwind(&mut self, root: u32, state: &UserState<'_>, pid: u32) -> Result<u32> {
        let space = self.processes.space_of(pid);
        let mut unwinder = std::mem::take(&mut self.unwinder);
        let node = self.part(root, unwinder.unwind(state, &space, &self.modules), UNWOUND, pid);
        self.unwinder = unwinder;
        node
    }

    fn part(&mut self, above: u32, part: &[u8], mode: u16, pid: u32) -> Result<u32> {
        if part.is_empty() {
            return Ok(above);
        }
        let is_user = mode == misc::USER || mode == UNWOUND;
        let version = if is_user { self.processes.space_of(pid).version } else { 0 };
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(u64::from(above) << 32 | u64::from(version));
        hasher.write_u16(mode);
        hasher.write(part);
        let key = hasher.finish();
        if let Some(node) = self.chains.get(&key) {
            return Ok(*node);
        }
        self.frames.clear();
        let space = self.processes.space_of(pid);
        let has_inlined = match self.modules.inlining() {
            Inlining::Never => false,
            Inlining::OfCopies => mode == UNWOUND,
            Inlining::Always => true,
        };
        for (place, address) in part.chunks_exact(8).filter_map(|bytes| u64_at(bytes, 0)).enumerate() {
            let frame = match mode {
                misc::USER | UNWOUND => match space.find(address) {
                    Some(found) => {
                        if has_inlined {
                            // The addresses of callers are behind the call, if the kernel walked the stack.
                            let is_behind = place > 0 && mode == misc::USER && address > found.start;
                            let offset = found.offset_of(address - u64::from(is_behind));
                            let (trie, frames) = (&mut self.trie, &mut self.frames);
                            self.inlined.append(trie, &self.modules, found.module, offset, frames)?;
                        }
                        self.modules.frame(&mut self.trie, found.module, found.offset_of(address), address)?
                    }
                    None => self.modules.unmapped_frame(&mut self.trie)?,
                },
                misc::KERNEL => self.modules.kernel_frame(&mut self.trie, address)?,
                _ => self.trie.add_frame(b"[guest]", b"[guest]", FrameKind::Unknown, 0)?,
            };
            self.frames.push(frame);
        }
        let mut node = above;
        for frame in self.frames.iter().rev() {
            node = self.trie.child(node, *frame)?;
        }
        self.chains.insert(key, node);
        Ok(node)
    }
}

/// Where the outermost part of a chain begins, behind its mark, and in which mode its addresses are.
fn find_part(chain: &[u8], mode: u16) -> (usize, u16) {
    let mut start = chain.len();
    while start >= 8 {
        let value = u64_at(chain, start - 8).unwrap_or(0);
        if value >= context::FIRST {
            let mode = match value {
                context::USER => misc::USER,
                context::KERNEL => misc::KERNEL,
                context::GUEST_KERNEL => misc::GUEST_KERNEL,
                context::GUEST_USER => misc::GUEST_USER,
                _ => 0,
            };
            return (start, mode);
        }
        start -= 8;
    }
    (0, mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_part_is_found_by_its_mark() {
        let chain: Vec<u8> =
            [context::KERNEL, 1, 2, context::USER, 3].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(find_part(&chain, misc::USER), (32, misc::USER));
        assert_eq!(find_part(&chain[..24], misc::USER), (8, misc::KERNEL));
        assert_eq!(find_part(&chain[8..24], misc::USER), (0, misc::USER));
        assert_eq!(find_part(&chain[..8], misc::USER), (8, misc::KERNEL));
    }
}
