//! Recordings that claim what they do not have.

/// `struct perf_event_attr` in version 1: cpu-clock with the fields of a sample.
const ATTRIBUTE_BYTES: usize = 64;
const HEADER_BYTES: u64 = 104;
const SAMPLE_FIELDS: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7; // IP, TID, TIME, CALLCHAIN, CPU
const SAMPLE: u32 = 9;
const HEADER_ATTR: u32 = 64;
const TRACING_DATA: u32 = 66;
const AUXTRACE: u32 = 71;
const EVENT_UPDATE: u32 = 78;
const COMPRESSED: u32 = 81;
/// Blocks of one repeated byte: 128 KiB out of four bytes.
const ZSTD_BLOCK: u32 = 128 << 10;

fn numbers(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn attribute() -> Vec<u8> {
    let mut attribute = [1_u32.to_le_bytes(), (ATTRIBUTE_BYTES as u32).to_le_bytes()].concat();
    attribute.extend(numbers(&[0, 0, SAMPLE_FIELDS, 4, 1 << 18, 0, 0]));
    attribute
}

fn record(kind: u32, payload: &[u8]) -> Vec<u8> {
    let size = (payload.len() + 8) as u16;
    [&kind.to_le_bytes()[..], &[2, 0], &size.to_le_bytes(), payload].concat()
}

/// A sample with a chain that claims `claimed` addresses and has three.
fn sample(time: u64, claimed: u64) -> Vec<u8> {
    record(SAMPLE, &numbers(&[0x1000, 7 | 7 << 32, time, 0, claimed, 0x1000, 0x2000, 0x3000]))
}

/// A file of `events` events whose IDs are all in the same `ids` bytes, then records and sections of features.
fn file(events: u64, ids: u64, records: &[u8], features: &[(u64, u64, u64)]) -> Vec<u8> {
    let entry = ATTRIBUTE_BYTES as u64 + 16;
    let (ids_at, data_at) = (HEADER_BYTES + events * entry, HEADER_BYTES + events * entry + ids);
    let mut bits = [0_u64; 4];
    for (bit, _, _) in features {
        bits[*bit as usize / 64] |= 1 << (bit % 64);
    }
    let mut bytes = b"PERFILE2".to_vec();
    bytes.extend(numbers(&[HEADER_BYTES, entry, HEADER_BYTES, events * entry, data_at, records.len() as u64, 0, 0]));
    bytes.extend(numbers(&bits));
    for _ in 0..events {
        bytes.extend(attribute());
        bytes.extend(numbers(&[ids_at, ids]));
    }
    bytes.extend(std::iter::repeat_n(1, ids as usize));
    bytes.extend(records);
    for (_, offset, size) in features {
        bytes.extend(numbers(&[*offset, *size]));
    }
    bytes
}

fn stream(records: &[Vec<u8>]) -> Vec<u8> {
    let described = record(HEADER_ATTR, &[attribute(), numbers(&[1, 2])].concat());
    [b"PERFILE2".to_vec(), numbers(&[16]), described, records.concat()].concat()
}

/// A zstd frame of `blocks` blocks, each of one repeated byte, then bytes as they are.
fn packed(blocks: u32, byte: u8, last: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x50];
    for _ in 0..blocks {
        frame.extend(&(ZSTD_BLOCK << 3 | 1 << 1).to_le_bytes()[..3]);
        frame.push(byte);
    }
    frame.extend(&((last.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend(last);
    frame
}

fn compressed(packed: &[u8]) -> Vec<Vec<u8>> {
    packed.chunks(60_000).map(|piece| record(COMPRESSED, piece)).collect()
}

/// Names and bytes.
pub fn list() -> Vec<(&'static str, Vec<u8>)> {
    let whole = [sample(1, 3), sample(2, 3)].concat();
    let past = u64::MAX - 4;
    let nested = compressed(&packed(0, 0, &compressed(&packed(0, 0, &sample(3, 3))).concat())).concat();
    // A sample that is the end of a frame and the beginning of the next one, over and over.
    let mut looped = Vec::new();
    for _ in 0..200 {
        looped.extend(compressed(&packed(0, 0, &nested)));
    }
    let mut many = vec![sample(1, 3)];
    many.extend((0..20_000).map(|id| record(EVENT_UPDATE, &[numbers(&[2, id]), b"name\0".to_vec()].concat())));
    vec![
        ("two samples", file(1, 8, &whole, &[])),
        ("a chain of 2^61 addresses", file(1, 8, &[sample(1, 1 << 61), sample(2, u64::MAX)].concat(), &[])),
        ("sections behind the end", file(1, 8, &whole, &[(1, 1 << 40, 16), (2, past, 8), (12, 8, past)])),
        ("sections that overlap", file(1, 8, &whole, &(1..13).map(|bit| (bit, 0, 400)).collect::<Vec<_>>())),
        ("255 events with the same IDs", file(255, 1 << 20, &whole, &[])),
        ("names of events without an end", file(1, 8, &whole, &[(12, HEADER_BYTES, 0xffff_ffff)])),
        ("tracing data of 4 GB", stream(&[sample(1, 3), record(TRACING_DATA, &[0xff; 8]), sample(2, 3)])),
        ("a trace of 2^64 bytes", stream(&[sample(1, 3), record(AUXTRACE, &[0xff; 40]), sample(2, 3)])),
        ("compressed records in compressed records", stream(&[sample(1, 3), nested.clone()])),
        ("frames in a loop", stream(&looped)),
        ("4 GB of zeros", stream(&compressed(&packed(33_000, 0, &[])))),
        ("4 GB of samples' ends", stream(&compressed(&packed(33_000, 9, &sample(1, 3))))),
        ("20,000 new names of events", stream(&many)),
    ]
}
