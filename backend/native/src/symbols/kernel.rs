//! `/proc/kallsyms`: `ADDRESS TYPE NAME [MODULE]`.

use super::table::{Binding, SymbolTable};

/// Symbols of the kernel and its modules. None where all addresses are hidden (`kernel.kptr_restrict`).
pub fn read_kallsyms(text: &[u8]) -> Option<SymbolTable> {
    let mut table = SymbolTable::default();
    let mut is_hidden = true;
    for line in text.split(|byte| *byte == b'\n') {
        let Some((address, kind, name)) = split_line(line) else { continue };
        is_hidden &= address == 0;
        // Data has addresses too, and ends the function in front of it.
        if matches!(kind.to_ascii_uppercase(), b'T' | b'W' | b'D' | b'B') && !name.starts_with(b"$") {
            let binding = match kind {
                b'W' => Binding::Weak,
                kind if kind.is_ascii_uppercase() => Binding::Global,
                _ => Binding::Local,
            };
            table.add(address, 0, name, binding);
        }
    }
    (!is_hidden && !table.is_empty()).then(|| table.finish_with_last())
}

/// Address, type and name with its module (`name\t[module]`).
fn split_line(line: &[u8]) -> Option<(u64, u8, &[u8])> {
    let gap = line.iter().position(|byte| *byte == b' ')?;
    let (digits, rest) = line.split_at(gap);
    let [b' ', kind, b' ', name @ ..] = rest else { return None };
    if digits.is_empty() || digits.len() > 16 || name.is_empty() {
        return None;
    }
    let address =
        digits.iter().try_fold(0_u64, |number, digit| Some(number << 4 | u64::from((*digit as char).to_digit(16)?)))?;
    Some((address, *kind, name))
}

/// A name of kallsyms without its module, and the module with brackets; the kernel itself has an empty one.
pub fn split_module(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().position(|byte| *byte == b'\t') {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (name, b""),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Located;
    use super::*;

    #[test]
    fn functions_are_found_by_address() {
        let text = b"ffffffff81000000 T _stext\nffffffff81000100 t helper\nffffffffc0000000 t nf_one\t[nf_tables]\n";
        let table = read_kallsyms(text).expect("addresses are shown");
        let Located::Symbol(place) = table.locate(0xffff_ffff_8100_0150) else { panic!("no symbol") };
        assert_eq!(table.name(place), b"helper");
        let Located::Symbol(place) = table.locate(0xffff_ffff_c000_0010) else { panic!("no symbol") };
        assert_eq!(split_module(table.name(place)), (&b"nf_one"[..], &b"[nf_tables]"[..]));
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(read_kallsyms(b"0000000000000000 T _stext\n0000000000000000 t other\n").is_none());
        assert!(read_kallsyms(b"").is_none());
        assert!(read_kallsyms(b"zz T a\nffff\nffffffffffffffffff T b\n").is_none());
    }
}
