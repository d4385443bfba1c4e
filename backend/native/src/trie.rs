//! Distinct frames and the trie of stacks, in the numbering of `collectors.profiles.trie`.

use std::collections::HashMap;

use ahash::RandomState;

use crate::error::{ReadError, Result};

/// What a frame is; the numbers are those of `FrameKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    Root = 0,
    Comm = 1,
    User = 2,
    Kernel = 3,
    Jit = 4,
    Unknown = 5,
    Idle = 6,
}

/// What one import may be, as `collectors.profiles.limits.ReaderLimits`.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub symbol: usize,
    pub frames: usize,
    pub nodes: usize,
    pub names: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { symbol: 4096, frames: 1_000_000, nodes: 4_000_000, names: 256 << 20 }
    }
}

/// Many strings as one UTF-8 blob with offsets.
#[derive(Default)]
pub struct Strings {
    pub blob: Vec<u8>,
    pub offsets: Vec<i64>,
    ids: HashMap<Vec<u8>, u32, RandomState>,
}

impl Strings {
    /// The index of a string; the same bytes have the same index.
    pub fn intern(&mut self, text: &[u8]) -> u32 {
        if let Some(known) = self.ids.get(text) {
            return *known;
        }
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.blob.extend_from_slice(text);
        self.offsets.push(self.blob.len() as i64);
        let id = self.ids.len() as u32;
        self.ids.insert(text.to_vec(), id);
        id
    }

    /// The bytes of a string; empty for an index that none has.
    pub fn get(&self, id: usize) -> &[u8] {
        let span = self.offsets.get(id).zip(self.offsets.get(id + 1));
        span.and_then(|(from, to)| self.blob.get(*from as usize..*to as usize)).unwrap_or(&[])
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Frames as columns. Frame 0 is the root.
#[derive(Default)]
pub struct Frames {
    pub name: Vec<i32>,
    pub module: Vec<i32>,
    pub kind: Vec<u8>,
    pub flags: Vec<u8>,
    pub strings: Strings,
    ids: HashMap<(u32, u32, u8, u8), u32, RandomState>,
}

/// Nodes as columns in pre-order: `end` is one past the subtree.
pub struct Trie {
    pub parent: Vec<i32>,
    pub frame: Vec<i32>,
    pub end: Vec<i32>,
    pub depth: Vec<i32>,
}

/// Collects frames and nodes in order of appearance.
pub struct TrieBuilder {
    pub frames: Frames,
    limits: Limits,
    parent: Vec<u32>,
    frame: Vec<u32>,
    children: HashMap<u64, u32, RandomState>,
}

impl TrieBuilder {
    pub fn new(limits: Limits) -> Self {
        let mut builder = Self {
            frames: Frames::default(),
            limits,
            parent: vec![u32::MAX],
            frame: vec![0],
            children: HashMap::default(),
        };
        builder.add_frame(b"all", b"", FrameKind::Root, 0).expect("the first frame is within limits");
        builder
    }

    /// The index of a frame; the same words have the same index.
    pub fn add_frame(&mut self, name: &[u8], module: &[u8], kind: FrameKind, flags: u8) -> Result<u32> {
        let name = self.frames.strings.intern(&printable(name, self.limits.symbol));
        let module = self.frames.strings.intern(&printable(module, self.limits.symbol));
        let key = (name, module, kind as u8, flags);
        if let Some(known) = self.frames.ids.get(&key) {
            return Ok(*known);
        }
        let id = self.frames.name.len();
        if id >= self.limits.frames {
            return Err(ReadError::Limit("frames", self.limits.frames as u64));
        }
        if self.frames.strings.blob.len() > self.limits.names {
            return Err(ReadError::Limit("names", self.limits.names as u64));
        }
        self.frames.name.push(name as i32);
        self.frames.module.push(module as i32);
        self.frames.kind.push(kind as u8);
        self.frames.flags.push(flags);
        self.frames.ids.insert(key, id as u32);
        Ok(id as u32)
    }

    /// The child of a node with a frame; added where it is missing.
    pub fn child(&mut self, node: u32, frame: u32) -> Result<u32> {
        let next = self.parent.len();
        let child = *self.children.entry(u64::from(node) << 32 | u64::from(frame)).or_insert(next as u32);
        if child as usize == next {
            if next >= self.limits.nodes {
                return Err(ReadError::Limit("nodes", self.limits.nodes as u64));
            }
            self.parent.push(node);
            self.frame.push(frame);
        }
        Ok(child)
    }

    /// Add a frame below a node, and below it the frames of another stack from its innermost one outward.
    pub fn append_reversed(&mut self, node: u32, mark: u32, other: u32) -> Result<u32> {
        let mut node = self.child(node, mark)?;
        let mut other = other as usize;
        while other != 0 {
            node = self.child(node, self.frame[other])?;
            other = self.parent[other] as usize;
        }
        Ok(node)
    }

    /// The trie in pre-order, siblings in order of appearance, and for each node its place there.
    pub fn finish(&mut self) -> (Trie, Vec<i32>) {
        let count = self.parent.len();
        let mut size = vec![1_i32; count];
        for node in (1..count).rev() {
            size[self.parent[node] as usize] += size[node];
        }
        // The place of a node is behind its parent and the siblings that appeared before it.
        let mut place = vec![0_i32; count];
        let mut next = vec![1_i32; count];
        let mut trie =
            Trie { parent: vec![-1; count], frame: vec![0; count], end: vec![0; count], depth: vec![0; count] };
        trie.end[0] = count as i32;
        for node in 1..count {
            let parent = self.parent[node] as usize;
            let at = next[parent];
            next[parent] += size[node];
            next[node] = at + 1;
            place[node] = at;
            let at = at as usize;
            trie.parent[at] = place[parent];
            trie.frame[at] = self.frame[node] as i32;
            trie.end[at] = at as i32 + size[node];
            trie.depth[at] = trie.depth[place[parent] as usize] + 1;
        }
        (trie, place)
    }
}

/// A text without control characters and other characters that reorder or break the text around it. One that is too
/// long is cut and ends in a digest of the whole, so that two long ones that begin alike stay two.
pub fn printable(text: &[u8], limit: usize) -> Vec<u8> {
    if text.len() <= limit && text.iter().all(|byte| (0x20..0x7f).contains(byte)) {
        return text.to_vec();
    }
    let mut cut = String::from_utf8_lossy(&text[..text.len().min(limit.saturating_sub(16))]).into_owned();
    if text.len() <= limit {
        cut = String::from_utf8_lossy(text).into_owned();
    } else {
        cut.push_str(&format!("...{:012x}", digest(text) & 0xffff_ffff_ffff));
    }
    cut.chars().map(|letter| if is_printable(letter) { letter } else { '\u{fffd}' }).collect::<String>().into_bytes()
}

/// FNV-1a, 64 bits.
fn digest(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn is_printable(letter: char) -> bool {
    let code = letter as u32;
    let is_control = code < 0x20 || (0x7f..=0x9f).contains(&code);
    let reorders = (0x202a..=0x202e).contains(&code) || (0x2066..=0x2069).contains(&code);
    let is_no_character = code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code);
    !(is_control || reorders || is_no_character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbered_in_pre_order() {
        let mut builder = TrieBuilder::new(Limits::default());
        let names: Vec<u32> = ["a", "b", "c"]
            .iter()
            .map(|name| builder.add_frame(name.as_bytes(), b"", FrameKind::User, 0).expect("few frames"))
            .collect();
        let a = builder.child(0, names[0]).expect("few nodes");
        let b = builder.child(0, names[1]).expect("few nodes");
        let under_a = builder.child(a, names[2]).expect("few nodes");
        assert_eq!(builder.child(a, names[2]), Ok(under_a));
        let (trie, place) = builder.finish();
        assert_eq!(trie.parent, [-1, 0, 1, 0]);
        assert_eq!(trie.end, [4, 3, 3, 4]);
        assert_eq!(trie.depth, [0, 1, 2, 1]);
        assert_eq!([place[a as usize], place[b as usize], place[under_a as usize]], [1, 3, 2]);
    }

    #[test]
    fn limits_are_errors() {
        let mut builder = TrieBuilder::new(Limits { nodes: 2, frames: 2, ..Limits::default() });
        let frame = builder.add_frame(b"a", b"", FrameKind::User, 0).expect("within the limit");
        assert_eq!(builder.add_frame(b"b", b"", FrameKind::User, 0), Err(ReadError::Limit("frames", 2)));
        let node = builder.child(0, frame).expect("within the limit");
        assert_eq!(builder.child(node, frame), Err(ReadError::Limit("nodes", 2)));
    }

    #[test]
    fn names_are_harmless_and_bounded() {
        assert_eq!(printable(b"a\x1b[31m\n", 100), "a\u{fffd}[31m\u{fffd}".as_bytes());
        assert_eq!(printable("x\u{202e}y".as_bytes(), 100), "x\u{fffd}y".as_bytes());
        let (one, two) = (printable(&[b'a'; 5000], 4096), printable(&[b'a'; 5001], 4096));
        assert!(one.len() <= 4096 && one != two);
    }
}
