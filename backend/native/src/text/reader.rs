//! One pass over the text of `perf script`, in pieces of any size, with each distinct stack read once.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use ahash::RandomState;

use super::kinds::frame_kind;
use super::lines::{self, HeaderLine, Task};
use crate::error::{ReadError, Result};
use crate::profile::Columns;
use crate::trie::{FrameKind, Frames, Limits, Strings, Trie, TrieBuilder, printable};

const INLINED: u8 = 1;
const EVENTS_MAX: usize = 255;
/// Lines in front of the first sample that may be something else, before the text is no output of perf script.
const STRAY_LINES_MAX: u64 = 200;
/// Bytes of stacks and lines that the caches stand for, before they are emptied.
const CACHE_BYTES: usize = 48 << 20;
const COMM_MAX: usize = 64;

/// What the text was.
pub struct TextProfile {
    pub columns: Columns,
    pub comms: Strings,
    pub trie: Trie,
    pub frames: Frames,
    pub events: Vec<Vec<u8>>,
    pub has_time: bool,
    pub has_cpu: bool,
    pub lost: u64,
    pub skipped: u64,
    pub first_skipped: u64,
    pub cut_names: u64,
}

struct OpenSample {
    task: u32,
    time: i64,
    event: usize,
}

/// A task as the columns have it, with the node of its name.
struct TaskRow {
    comm: u32,
    pid: i32,
    tid: i32,
    cpu: i32,
    root: u32,
}

/// Reads pieces of text.
pub struct TextReader {
    limits: Limits,
    line_max: usize,
    depth_max: usize,
    trie: TrieBuilder,
    comms: Strings,
    events: Vec<Vec<u8>>,
    event_ids: HashMap<Vec<u8>, usize, RandomState>,
    tasks: Vec<TaskRow>,
    task_ids: HashMap<Vec<u8>, u32, RandomState>,
    frames: HashMap<u64, u32, RandomState>,
    stacks: HashMap<u64, u32, RandomState>,
    cached: usize,
    hasher: RandomState,
    columns: Columns,
    open: Option<OpenSample>,
    stack: Vec<u32>,
    carry: Vec<u8>,
    /// The number of the line at which the text that is not yet read begins.
    line: u64,
    has_times: bool,
    stray: Option<(u64, Vec<u8>)>,
    lost: u64,
    lost_samples: u64,
    skipped: u64,
    first_skipped: u64,
    cut_names: u64,
}

impl TextReader {
    pub fn new(limits: Limits, line_max: usize, depth_max: usize) -> Self {
        Self {
            limits,
            line_max,
            depth_max,
            trie: TrieBuilder::new(limits),
            comms: Strings::default(),
            events: Vec::new(),
            event_ids: HashMap::default(),
            tasks: Vec::new(),
            task_ids: HashMap::default(),
            frames: HashMap::default(),
            stacks: HashMap::default(),
            cached: 0,
            hasher: RandomState::new(),
            columns: Columns::default(),
            open: None,
            stack: Vec::new(),
            carry: Vec::new(),
            line: 1,
            has_times: false,
            stray: None,
            lost: 0,
            lost_samples: 0,
            skipped: 0,
            first_skipped: 0,
            cut_names: 0,
        }
    }

    /// Read a piece; what follows its last empty line is kept for the next one.
    pub fn feed(&mut self, piece: &[u8]) -> Result<()> {
        let mut text = std::mem::take(&mut self.carry);
        text.extend_from_slice(piece);
        let end = match memchr::memmem::rfind(&text, b"\n\n") {
            Some(at) => at + 2,
            // A block without end: read its whole lines.
            None if text.len() > self.line_max => match memchr::memrchr(b'\n', &text) {
                Some(at) => at + 1,
                None => return Err(ReadError::LimitAt("line", self.line_max as u64, self.line)),
            },
            None => 0,
        };
        self.blocks(&text[..end])?;
        text.drain(..end);
        self.carry = text;
        Ok(())
    }

    /// Read what is left.
    pub fn finish(mut self) -> Result<TextProfile> {
        let rest = std::mem::take(&mut self.carry);
        self.blocks(&rest)?;
        self.close()?;
        if self.columns.time.is_empty() {
            return Err(match self.stray.take() {
                Some((line, text)) => ReadError::NotText(line, text),
                None => ReadError::NoSamples,
            });
        }
        let (trie, place) = self.trie.finish();
        for stack in &mut self.columns.stack {
            *stack = place[*stack as usize];
        }
        let has_time = self.columns.time.iter().all(|time| *time >= 0);
        if !has_time {
            self.columns.time.fill(0);
        }
        Ok(TextProfile {
            has_time,
            has_cpu: self.columns.cpu.iter().any(|cpu| *cpu >= 0),
            columns: self.columns,
            comms: self.comms,
            trie,
            frames: self.trie.frames,
            events: self.events,
            lost: self.lost.max(self.lost_samples),
            skipped: self.skipped,
            first_skipped: self.first_skipped,
            cut_names: self.cut_names,
        })
    }

    /// Read whole lines, a sample with known parts at a time where that is possible.
    fn blocks(&mut self, text: &[u8]) -> Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let size = match memchr::memmem::find(rest, b"\n\n") {
                Some(at) => at + 2,
                None => rest.len(),
            };
            let (block, behind) = rest.split_at(size);
            if self.open.is_some() || !self.quick_block(block)? {
                self.lines(block)?;
            }
            rest = behind;
        }
        Ok(())
    }

    /// Add the sample of a block whose header is a usual one and whose stack was read before.
    fn quick_block(&mut self, block: &[u8]) -> Result<bool> {
        let Some(body) = block.strip_suffix(b"\n\n") else { return Ok(false) };
        let (head, stack) = match memchr::memchr(b'\n', body) {
            Some(at) => (&body[..at], &body[at + 1..]),
            None => (body, &b""[..]),
        };
        if head.first().is_none_or(|byte| matches!(byte, b'\t' | b'#')) || body.len() > self.line_max {
            return Ok(false);
        }
        let Some(header) = lines::read_header(head).filter(|header| header.rest.is_empty() && header.time >= 0) else {
            return Ok(false);
        };
        let task = self.task(&header.task)?;
        let root = self.tasks[task as usize].root;
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u32(root);
        hasher.write(stack);
        let key = hasher.finish();
        let node = match self.stacks.get(&key) {
            Some(node) => *node,
            None => {
                let Some(node) = self.new_stack(root, stack)? else { return Ok(false) };
                self.stacks.insert(key, node);
                self.remember(stack.len().min(64) + 64);
                node
            }
        };
        let event = self.event(header.event);
        self.has_times = true;
        self.push(task, header.time, node, event);
        self.line += 2 + memchr::memchr_iter(b'\n', body).count() as u64;
        Ok(true)
    }

    /// The node of the lines of a stack; None where one of them is no frame, or the stack is too deep.
    fn new_stack(&mut self, root: u32, text: &[u8]) -> Result<Option<u32>> {
        self.stack.clear();
        if !text.is_empty() {
            for line in text.split(|byte| *byte == b'\n') {
                match self.frame(line)? {
                    Some(frame) if self.stack.len() < self.depth_max => self.stack.push(frame),
                    _ => {
                        self.stack.clear();
                        return Ok(None);
                    }
                }
            }
        }
        self.take_stack(root).map(Some)
    }

    /// The node of the frames that were collected, the innermost one first.
    fn take_stack(&mut self, root: u32) -> Result<u32> {
        let mut node = root;
        for frame in std::mem::take(&mut self.stack).into_iter().rev() {
            node = self.trie.child(node, frame)?;
        }
        Ok(node)
    }

    fn lines(&mut self, block: &[u8]) -> Result<()> {
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            let line_text = line.strip_suffix(b"\n").unwrap_or(line);
            self.line(line_text.strip_suffix(b"\r").unwrap_or(line_text))?;
            self.line += u64::from(line.ends_with(b"\n"));
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<()> {
        if line.len() > self.line_max {
            return Err(ReadError::LimitAt("line", self.line_max as u64, self.line));
        }
        if line.trim_ascii().is_empty() {
            return self.close();
        }
        if line[0] == b'\t' {
            if !self.add_frame(line)? {
                self.skip(line)?;
            }
            return Ok(());
        }
        if self.begin(line)? || line[0] == b' ' && self.add_frame(line)? {
            return Ok(());
        }
        self.close()?;
        self.skip(line)
    }

    /// Add a frame to the open sample; false where the line is none, or no sample is open.
    fn add_frame(&mut self, line: &[u8]) -> Result<bool> {
        let Some(frame) = self.frame(line)? else { return Ok(false) };
        if self.open.is_none() {
            return Ok(false);
        }
        if self.stack.len() >= self.depth_max {
            return Err(ReadError::LimitAt("depth", self.depth_max as u64, self.line));
        }
        self.stack.push(frame);
        Ok(true)
    }

    fn skip(&mut self, line: &[u8]) -> Result<()> {
        // Comments, and source lines and the like below a frame.
        if line[0] == b'#' || self.open.is_some() && matches!(line[0], b'\t' | b' ') {
            return Ok(());
        }
        if self.stray.is_none() {
            self.stray = Some((self.line, line[..line.len().min(80)].to_vec()));
        }
        self.skipped += 1;
        if self.first_skipped == 0 {
            self.first_skipped = self.line;
        }
        if self.tasks.is_empty() && self.skipped > STRAY_LINES_MAX {
            let (line, text) = self.stray.take().expect("set above");
            return Err(ReadError::NotText(line, text));
        }
        Ok(())
    }

    /// Begin a sample, or read a record that is none; both close the sample in front.
    fn begin(&mut self, line: &[u8]) -> Result<bool> {
        if let Some((is_samples, lost)) = lines::read_lost(line) {
            self.close()?;
            let sum = if is_samples { &mut self.lost_samples } else { &mut self.lost };
            *sum = sum.saturating_add(lost);
            return Ok(true);
        }
        // A capture has either times or none.
        let header = lines::read_header(line).filter(|header| header.time >= 0 || !self.has_times);
        let Some(header) = header else {
            let is_record = lines::is_record(line);
            if is_record {
                self.close()?;
            }
            return Ok(is_record);
        };
        self.close()?;
        self.has_times |= header.time >= 0 && header.rest.is_empty();
        self.open_sample(&header)?;
        Ok(true)
    }

    fn open_sample(&mut self, header: &HeaderLine<'_>) -> Result<()> {
        let task = self.task(&header.task)?;
        let event = self.event(header.event);
        self.open = Some(OpenSample { task, time: header.time, event });
        self.stack.clear();
        if !header.rest.is_empty()
            && !header.event.contains(&b':')
            && let Some(frame) = self.frame(header.rest)?
        {
            self.stack.push(frame);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if let Some(sample) = self.open.take() {
            let node = self.take_stack(self.tasks[sample.task as usize].root)?;
            self.push(sample.task, sample.time, node, sample.event);
        }
        Ok(())
    }

    fn push(&mut self, task: u32, time: i64, node: u32, event: usize) {
        let row = &self.tasks[task as usize];
        self.columns.time.push(time);
        self.columns.cpu.push(row.cpu);
        self.columns.pid.push(row.pid);
        self.columns.tid.push(row.tid);
        self.columns.comm.push(row.comm as i32);
        self.columns.stack.push(node as i32);
        self.columns.event.push(event as u8);
    }

    fn task(&mut self, task: &Task<'_>) -> Result<u32> {
        let mut key = Vec::with_capacity(task.comm.len() + 12);
        for number in [task.pid, task.tid, task.cpu] {
            key.extend_from_slice(&number.to_le_bytes());
        }
        key.extend_from_slice(task.comm);
        if let Some(known) = self.task_ids.get(&key) {
            return Ok(*known);
        }
        let name = printable(task.comm, COMM_MAX.max(self.limits.symbol.min(4096)));
        let comm = self.comms.intern(&name);
        let frame = self.trie.add_frame(&name, b"", FrameKind::Comm, 0)?;
        let root = self.trie.child(0, frame)?;
        let id = self.tasks.len() as u32;
        self.tasks.push(TaskRow { comm, pid: task.pid, tid: task.tid, cpu: task.cpu, root });
        self.task_ids.insert(key, id);
        Ok(id)
    }

    /// The index of an event; all beyond the most are one.
    fn event(&mut self, name: &[u8]) -> usize {
        if let Some(known) = self.event_ids.get(name) {
            return *known;
        }
        let id = self.event_ids.len().min(EVENTS_MAX);
        if id < EVENTS_MAX {
            self.events.push(printable(name, self.limits.symbol));
        } else if self.events.len() == EVENTS_MAX {
            self.events.push(b"(other)".to_vec());
        }
        self.event_ids.insert(name.to_vec(), id);
        id
    }

    /// The frame of a line; None where it is none.
    fn frame(&mut self, line: &[u8]) -> Result<Option<u32>> {
        let key = self.hasher.hash_one(line);
        if let Some(known) = self.frames.get(&key) {
            return Ok(Some(*known));
        }
        let Some(frame) = (line.len() <= self.line_max).then(|| lines::read_frame(line)).flatten() else {
            return Ok(None);
        };
        let is_inlined = frame.module == b"inlined";
        self.cut_names += u64::from(frame.name.len() > self.limits.symbol || frame.module.len() > self.limits.symbol);
        let module = if is_inlined { b"" } else { frame.module };
        let kind = frame_kind(frame.name, module, frame.address);
        let name: &[u8] = if frame.name.is_empty() { b"[unknown]" } else { frame.name };
        let id = self.trie.add_frame(name, module, kind, if is_inlined { INLINED } else { 0 })?;
        self.frames.insert(key, id);
        self.remember(64);
        Ok(Some(id))
    }

    /// Count what the caches hold; what was read stays when they are emptied.
    fn remember(&mut self, size: usize) {
        self.cached += size;
        if self.cached > CACHE_BYTES {
            self.frames.clear();
            self.stacks.clear();
            self.cached = 0;
        }
    }
}
