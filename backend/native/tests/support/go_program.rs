//! An ELF file with the table of a Go program, of any format, width of pointers and order of bytes.

/// The formats: the first four bytes of the table.
pub const GO_1_2: u32 = 0xffff_fffb;
pub const GO_1_16: u32 = 0xffff_fffa;
pub const GO_1_18: u32 = 0xffff_fff0;
pub const GO_1_20: u32 = 0xffff_fff1;

/// Where the code is, in memory and in the file.
pub const TEXT: u64 = 0x1000;
pub const TEXT_OFFSET: u64 = 0x1000;
/// The bytes of each function.
pub const FUNCTION_BYTES: u64 = 64;
const HEADER_BYTES: usize = 8;
const TEXT_POINTER: usize = 22;

/// How the file is written.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub magic: u32,
    pub width: usize,
    pub is_little: bool,
    /// Whether the header states where the code begins; otherwise the module data does, as of Go 1.26.
    pub has_text: bool,
}

impl Shape {
    fn number(self, value: u64, width: usize) -> Vec<u8> {
        let bytes = value.to_le_bytes()[..width].to_vec();
        if self.is_little { bytes } else { bytes.into_iter().rev().collect() }
    }

    fn words(self, values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| self.number(*value, self.width)).collect()
    }
}

/// All shapes that Go has written.
pub fn list_shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for magic in [GO_1_2, GO_1_16, GO_1_18, GO_1_20] {
        for width in [4, 8] {
            for is_little in [true, false] {
                shapes.push(Shape { magic, width, is_little, has_text: true });
            }
        }
    }
    shapes.push(Shape { magic: GO_1_20, width: 8, is_little: true, has_text: false });
    shapes
}

/// The table of functions, each of `FUNCTION_BYTES`.
pub fn write_table(shape: Shape, functions: &[&str]) -> Vec<u8> {
    let count = functions.len();
    let header_words = match shape.magic {
        GO_1_2 => 1,
        GO_1_16 => 7,
        _ => 8,
    };
    let header = HEADER_BYTES + header_words * shape.width;
    let is_relative = matches!(shape.magic, GO_1_18 | GO_1_20);
    let entry = if is_relative { 4 } else { shape.width };
    let base = if is_relative { 0 } else { TEXT };
    let mut names = Vec::new();
    let mut name_places = Vec::new();
    for name in functions {
        name_places.push(names.len() as u64);
        names.extend(name.bytes());
        names.push(0);
    }
    let pairs = (2 * count + 1) * entry;
    let structure = entry + 4;
    // The first format: pairs, functions and names, all with offsets from the beginning. Others: names in front.
    let is_first = shape.magic == GO_1_2;
    let names_at = if is_first { header + pairs + count * structure } else { header };
    let pairs_at = if is_first { header } else { header + names.len() };
    let functions_base = if is_first { 0 } else { pairs_at };
    let mut table = shape.number(u64::from(shape.magic), 4);
    table.extend([0, 0, 1, shape.width as u8]);
    let text = if shape.has_text { TEXT } else { 0 };
    table.extend(match shape.magic {
        GO_1_2 => shape.words(&[count as u64]),
        GO_1_16 => shape.words(&[count as u64, 0, names_at as u64, 0, 0, 0, pairs_at as u64]),
        _ => shape.words(&[count as u64, 0, text, names_at as u64, 0, 0, 0, pairs_at as u64]),
    });
    if !is_first {
        table.extend(&names);
    }
    for at in 0..count {
        table.extend(shape.number(base + at as u64 * FUNCTION_BYTES, entry));
        table.extend(shape.number((pairs_at + pairs + at * structure - functions_base) as u64, entry));
    }
    table.extend(shape.number(base + count as u64 * FUNCTION_BYTES, entry));
    for (at, place) in name_places.iter().enumerate() {
        table.extend(shape.number(base + at as u64 * FUNCTION_BYTES, entry));
        table.extend(shape.number(place + if is_first { names_at as u64 } else { 0 }, 4));
    }
    if is_first {
        table.extend(&names);
    }
    table
}

/// A section: name, address, bytes.
type Section = (&'static str, u64, Vec<u8>);

/// An ELF file with one executed part, the table in a section of this name, and module data.
pub fn write_program(shape: Shape, section: &'static str, table: Vec<u8>) -> Vec<u8> {
    let mut module = vec![0; (TEXT_POINTER + 1) * shape.width];
    if !shape.has_text {
        module[TEXT_POINTER * shape.width..].copy_from_slice(&shape.number(TEXT, shape.width));
    }
    let code = vec![0x90; 4096];
    let mut sections: Vec<Section> = vec![("", 0, Vec::new()), (".text", TEXT, code), (section, 0x10000, table)];
    sections.push((".go.buildinfo", 0x8000, vec![0; 32]));
    sections.push((".go.module", 0x9000, module));
    let names: Vec<u8> = sections.iter().flat_map(|(name, ..)| [name.as_bytes(), b"\0"].concat()).collect();
    sections.push((".shstrtab", 0, [names, b".shstrtab\0".to_vec()].concat()));
    write_elf(shape, &sections)
}

fn write_elf(shape: Shape, sections: &[Section]) -> Vec<u8> {
    let number = |value: u64, width: usize| shape.number(value, width);
    let word = shape.width;
    let is_wide = word == 8;
    let (head, segment, entry) = if is_wide { (64, 56, 64) } else { (52, 32, 40) };
    let mut body = vec![0; TEXT_OFFSET as usize];
    let mut headers = Vec::new();
    let mut name_at = 0;
    for (at, (name, address, bytes)) in sections.iter().enumerate() {
        let offset = if at == 0 { 0 } else { body.len() as u64 };
        let kind = match at {
            0 => 0,
            _ if *name == ".shstrtab" => 3,
            _ => 1,
        };
        let sizes = [number(*address, word), number(offset, word), number(bytes.len() as u64, word)].concat();
        let flags = number(if *name == ".text" { 6 } else { 2 }, word);
        headers.extend([number(name_at, 4), number(kind, 4), flags, sizes, number(0, 8)].concat());
        headers.extend([number(1, word), number(0, word)].concat());
        name_at += name.len() as u64 + 1;
        body.extend(bytes);
    }
    let mut file = b"\x7fELF".to_vec();
    file.extend([if is_wide { 2 } else { 1 }, if shape.is_little { 1 } else { 2 }, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend([number(2, 2), number(if is_wide { 62 } else { 3 }, 2), number(1, 4), number(TEXT, word)].concat());
    file.extend([number(head, word), number(body.len() as u64, word), number(0, 4), number(head, 2)].concat());
    file.extend([number(segment, 2), number(1, 2), number(entry, 2), number(sections.len() as u64, 2)].concat());
    file.extend(number(sections.len() as u64 - 1, 2));
    let place = [number(TEXT_OFFSET, word), number(TEXT, word), number(TEXT, word), number(4096, word)].concat();
    file.extend(if is_wide {
        [number(1, 4), number(5, 4), place, number(4096, 8), number(4096, 8)].concat()
    } else {
        [number(1, 4), place, number(4096, 4), number(5, 4), number(4096, 4)].concat()
    });
    body[..file.len()].copy_from_slice(&file);
    [body, headers].concat()
}
