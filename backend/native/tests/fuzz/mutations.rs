//! Changes of bytes that a reader may believe.

/// A sequence of numbers that depends on its start alone (SplitMix64).
pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(start: u64) -> Self {
        Self { state: start }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit; 0 where the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % (limit.max(1) as u64)) as usize
    }
}

const CHANGES_MAX: usize = 8;
const BYTES_MAX: usize = 1 << 20;
/// Of records; a size of 0 or below that of the header must end a walk.
const SIZES: [u16; 8] = [0, 1, 7, 8, 9, 16, 0x7fff, 0xffff];

/// Change some bytes, records or parts of a file; `other` is a file that parts are taken from.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(CHANGES_MAX) {
        match random.below(10) {
            0 => set_byte(bytes, random),
            1..=3 => set_number(bytes, random),
            4 => overwrite(bytes, other, random),
            5 => repeat_part(bytes, random),
            6 => remove_part(bytes, random),
            7 | 8 => change_record(bytes, random),
            _ => bytes.truncate(random.below(bytes.len() + 1)),
        }
    }
}

fn set_byte(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte = random.number() as u8;
    }
}

/// Numbers at which sums overflow, areas end, or signs change.
fn boundary(length: usize, random: &mut Random) -> u64 {
    let length = length as u64;
    let near = random.below(17) as u64;
    match random.below(10) {
        0 => near,
        1 => length.wrapping_add(near).wrapping_sub(8),
        2 => u64::MAX - near,
        3 => (1 << 63) + near - 8,
        4 => u64::from(u32::MAX) - near,
        5 => (1 << 31) + near - 8,
        6 => (1 << 16) + near - 8,
        7 => random.number() >> random.below(64),
        8 => random.below(length as usize) as u64,
        _ => u64::MAX / 8 - near,
    }
}

/// Half of the changes are where headers are, which is in front and, of perf, behind the records.
fn place(length: usize, random: &mut Random) -> usize {
    match random.below(4) {
        0 => random.below(length.min(512)),
        1 => length.saturating_sub(1 + random.below(4096)),
        _ => random.below(length),
    }
}

fn set_number(bytes: &mut [u8], random: &mut Random) {
    let size = [2, 4, 8, 8][random.below(4)];
    let at = place(bytes.len(), random) / size * size;
    let number = boundary(bytes.len(), random).to_le_bytes();
    if let Some(place) = bytes.get_mut(at..at + size) {
        place.copy_from_slice(&number[..size]);
    }
}

fn part(length: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = place(length, random);
    start..length.min(start + 1 + random.below(256))
}

fn overwrite(bytes: &mut [u8], other: &[u8], random: &mut Random) {
    let from = part(other.len(), random);
    let at = place(bytes.len(), random);
    let size = from.len().min(bytes.len() - at);
    bytes[at..at + size].copy_from_slice(&other[from.start..from.start + size]);
}

fn repeat_part(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = part(bytes.len(), random);
    let times = 1 + random.below(32);
    if bytes.len() + times * from.len() > BYTES_MAX {
        return;
    }
    let at = random.below(bytes.len() + 1);
    let repeated = bytes[from].repeat(times);
    bytes.splice(at..at, repeated);
}

fn remove_part(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = part(bytes.len(), random);
    bytes.drain(from);
}

/// Where the records of a recording are: behind the header of a stream, or where the header of a file has them.
fn record_places(bytes: &[u8]) -> Vec<usize> {
    let number = |at: usize| bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes) as usize);
    let mut at = match number(8) {
        Some(16) => 16,
        _ => number(40).unwrap_or(0),
    };
    let mut places = Vec::new();
    while let Some(size) = bytes.get(at..).and_then(|rest| rest.get(6..8)) {
        let size = usize::from(u16::from_le_bytes([size[0], size[1]]));
        if size < 8 || places.len() > 20_000 {
            break;
        }
        places.push(at);
        at += size;
    }
    places
}

/// Another kind, other flags, another size, another field, or another record in its place.
fn change_record(bytes: &mut [u8], random: &mut Random) {
    let places = record_places(bytes);
    let Some(at) = places.get(random.below(places.len())).copied() else { return };
    match random.below(5) {
        0 => bytes[at..at + 4].copy_from_slice(&(random.below(90) as u32).to_le_bytes()),
        1 => bytes[at + 4..at + 6].copy_from_slice(&(random.number() as u16).to_le_bytes()),
        2 => bytes[at + 6..at + 8].copy_from_slice(&SIZES[random.below(SIZES.len())].to_le_bytes()),
        3 => {
            let field = at + 8 + 8 * random.below(12);
            let number = boundary(bytes.len(), random).to_le_bytes();
            if let Some(place) = bytes.get_mut(field..field + 8) {
                place.copy_from_slice(&number);
            }
        }
        _ => {
            let from = places[random.below(places.len())];
            let size = 64.min(bytes.len() - at.max(from));
            bytes.copy_within(from..from + size, at);
        }
    }
}
