//! `/tmp/perf-PID.map`, which JIT compilers write: `START SIZE NAME`, the numbers hexadecimal.

use super::table::{Binding, SymbolTable};

/// Symbols by address. Code that was replaced is overwritten by the line that comes later.
pub fn read_perf_map(text: &[u8]) -> SymbolTable {
    let mut table = SymbolTable::default();
    for (start, size, name) in text.split(|byte| *byte == b'\n').filter_map(split_line) {
        table.add(start, size, name, Binding::Global);
    }
    table.finish_with_last()
}

fn split_line(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (start, size) = (parse(words.next()?)?, parse(words.next()?)?);
    let name = words.next().filter(|name| !name.is_empty())?;
    Some((start, size, name))
}

fn parse(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::super::table::Located;
    use super::*;

    #[test]
    fn later_code_replaces_earlier_code_at_the_same_address() {
        let table = read_perf_map(b"7f00 10 old\n7f00 20 new one\n7f40 8 other\nbroken\n");
        assert_eq!(table.len(), 2);
        let Located::Symbol(place) = table.locate(0x7f1f) else { panic!("no symbol") };
        assert_eq!(table.name(place), b"new one");
        assert_eq!(table.locate(0x7f30), Located::Nothing);
    }
}
