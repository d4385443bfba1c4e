//! Formats of tracepoints, from the tracing data of a file (`tools/perf/util/trace-event-info.c`).

use std::collections::HashMap;

use crate::bytes::Cursor;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// A field of a tracepoint: where it is in the raw data of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub offset: usize,
    pub size: usize,
}

impl Field {
    pub fn bytes<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        raw.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// A number of up to eight bytes, as if it had a sign.
    pub fn number(&self, raw: &[u8]) -> Option<i64> {
        let bytes = self.bytes(raw)?;
        match *bytes {
            [a] => Some(i64::from(a as i8)),
            [a, b] => Some(i64::from(i16::from_le_bytes([a, b]))),
            [a, b, c, d] => Some(i64::from(i32::from_le_bytes([a, b, c, d]))),
            _ => Some(i64::from_le_bytes(*bytes.first_chunk()?)),
        }
    }

    /// The text up to its first zero byte.
    pub fn text<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        self.bytes(raw).map(|bytes| Cursor::new(bytes).text())
    }
}

/// A tracepoint with its fields by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracepoint {
    pub system: String,
    pub name: String,
    fields: HashMap<String, Field>,
}

impl Tracepoint {
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }
}

/// The tracepoints of tracing data by ID, which is the configuration of their events. Damaged ones are left out.
pub fn read_tracepoints(data: &[u8]) -> HashMap<u64, Tracepoint> {
    let mut found = HashMap::new();
    read_systems(data, &mut found);
    found
}

fn read_systems(data: &[u8], found: &mut HashMap<u64, Tracepoint>) -> Option<()> {
    let mut cursor = Cursor::new(data.strip_prefix(MAGIC)?);
    cursor.text(); // version
    let is_big_endian = *cursor.take(1)?.first()? != 0;
    cursor.skip(1 + 4)?; // size of a long, size of a page
    if is_big_endian {
        return None;
    }
    for _ in ["header_page", "header_event"] {
        cursor.text();
        sized(&mut cursor)?;
    }
    for _ in 0..cursor.u32()? {
        sized(&mut cursor)?;
    }
    for _ in 0..cursor.u32()? {
        let system = String::from_utf8_lossy(cursor.text()).into_owned();
        for _ in 0..cursor.u32()? {
            if let Some((id, tracepoint)) = parse_format(&system, sized(&mut cursor)?) {
                found.insert(id, tracepoint);
            }
        }
    }
    Some(())
}

fn sized<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let size = usize::try_from(cursor.u64()?).ok()?;
    cursor.take(size)
}

/// `name: N`, `ID: N`, then lines such as `field:char prev_comm[16]; offset:8; size:16; signed:0;`.
fn parse_format(system: &str, text: &[u8]) -> Option<(u64, Tracepoint)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut tracepoint = Tracepoint { system: system.to_owned(), ..Tracepoint::default() };
    let mut id = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("name:") {
            name.trim().clone_into(&mut tracepoint.name);
        } else if let Some(number) = line.strip_prefix("ID:") {
            id = number.trim().parse().ok();
        } else if line.starts_with("field:")
            && let Some((name, field)) = parse_field(line)
        {
            tracepoint.fields.insert(name, field);
        }
    }
    Some((id?, tracepoint))
}

fn parse_field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let name = declared.split('[').next()?.split_whitespace().last()?.trim_start_matches('*');
    let offset = parts.next()?.strip_prefix("offset:")?.trim().parse().ok()?;
    let size = parts.next()?.strip_prefix("size:")?.trim().parse().ok()?;
    Some((name.to_owned(), Field { offset, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 316\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n";

    fn data(format: &str) -> Vec<u8> {
        let mut data = [MAGIC, b"0.6\0\0\x08\0\x10\0\0"].concat();
        for name in ["header_page", "header_event"] {
            data.extend([name.as_bytes(), &[0; 9]].concat());
        }
        data.extend(0_u32.to_le_bytes());
        data.extend(1_u32.to_le_bytes());
        data.extend(b"sched\0");
        data.extend(1_u32.to_le_bytes());
        data.extend((format.len() as u64).to_le_bytes());
        data.extend(format.as_bytes());
        data
    }

    #[test]
    fn fields_are_found_by_name() {
        let found = read_tracepoints(&data(SWITCH));
        let switch = found.get(&316).expect("it is there");
        assert_eq!((switch.system.as_str(), switch.name.as_str()), ("sched", "sched_switch"));
        let raw: Vec<u8> = [&[0; 8][..], b"nginx\0\0\0\0\0\0\0\0\0\0\0", &(-1_i32).to_le_bytes()].concat();
        assert_eq!(switch.field("prev_comm").and_then(|field| field.text(&raw)), Some(&b"nginx"[..]));
        assert_eq!(switch.field("prev_pid").and_then(|field| field.number(&raw)), Some(-1));
        assert_eq!(switch.field("prev_pid").and_then(|field| field.number(&raw[..20])), None);
    }

    #[test]
    fn damaged_data_has_no_tracepoints() {
        let whole = data(SWITCH);
        for cut in 0..whole.len() {
            assert!(read_tracepoints(&whole[..cut]).is_empty());
        }
    }
}
