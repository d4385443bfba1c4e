//! Symbols of one module in order of address, chosen as perf chooses them.

use std::cmp::Ordering;

/// Where a name may be referred to from, by which of several names of an address is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    Local,
    Global,
    Weak,
}

/// A symbol; `end` equals `start` where its size is unknown. `name` is a range of the table's names.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    start: u64,
    end: u64,
    name: (u32, u32),
    binding: Binding,
}

/// A sorted table. Addresses are those of the builder: offsets in an ELF file, or addresses of the kernel.
#[derive(Default)]
pub struct SymbolTable {
    symbols: Vec<Symbol>,
    names: Vec<u8>,
    /// Where functions begin whose names are unknown.
    starts: Vec<u64>,
}

/// What is known of an address: the place of its symbol in the table, or where its unnamed function begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Located {
    Symbol(usize),
    Function(u64),
    Nothing,
}

const LAST_SIZE: u64 = 4096;

impl SymbolTable {
    /// Add a symbol; tables are limited to names of 4 GiB in all.
    pub fn add(&mut self, start: u64, size: u64, name: &[u8], binding: Binding) {
        let from = self.names.len();
        if let (Ok(begin), Ok(end)) = (u32::try_from(from), u32::try_from(from + name.len())) {
            self.names.extend_from_slice(name);
            self.symbols.push(Symbol { start, end: start.saturating_add(size), name: (begin, end), binding });
        }
    }

    /// Add the starts of functions, whatever their names.
    pub fn add_starts(&mut self, starts: impl IntoIterator<Item = u64>) {
        self.starts.extend(starts);
    }

    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Sort, keep one symbol of each address, and end symbols of unknown size where the next one begins.
    pub fn finish(self) -> Self {
        self.sort(|table, first, second| table.prefer(first, second) == Ordering::Less)
    }

    /// As `finish`, but the last symbol that was added for an address is kept, as perf does for the kernel.
    pub fn finish_with_last(self) -> Self {
        self.sort(|_, _, _| true)
    }

    fn sort(mut self, is_second_kept: impl Fn(&Self, &Symbol, &Symbol) -> bool) -> Self {
        let mut symbols = std::mem::take(&mut self.symbols);
        symbols.sort_by_key(|symbol| symbol.start);
        let mut kept: Vec<Symbol> = Vec::with_capacity(symbols.len());
        for symbol in symbols {
            match kept.last_mut() {
                Some(last) if last.start == symbol.start => {
                    if is_second_kept(&self, last, &symbol) {
                        *last = symbol;
                    }
                }
                _ => kept.push(symbol),
            }
        }
        for at in 0..kept.len() {
            if kept[at].end == kept[at].start {
                kept[at].end = match kept.get(at + 1) {
                    Some(next) => next.start,
                    None => kept[at].start.saturating_add(LAST_SIZE),
                };
            }
        }
        self.symbols = kept;
        self.starts.sort_unstable();
        self.starts.dedup();
        self
    }

    /// Find what contains an address.
    #[inline]
    pub fn locate(&self, address: u64) -> Located {
        let past = self.symbols.partition_point(|symbol| symbol.start <= address);
        // A symbol may reach over others: perf takes the last one that begins before the address and contains it.
        if let Some(symbol) = past.checked_sub(1).and_then(|at| self.symbols.get(at))
            && address < symbol.end
        {
            return Located::Symbol(past - 1);
        }
        let past = self.starts.partition_point(|start| *start <= address);
        past.checked_sub(1).map_or(Located::Nothing, |at| Located::Function(self.starts[at]))
    }

    /// Where the function that contains an address begins and ends. One without a name ends where the next one begins.
    pub fn range_at(&self, address: u64) -> Option<(u64, u64)> {
        match self.locate(address) {
            Located::Symbol(place) => self.symbols.get(place).map(|symbol| (symbol.start, symbol.end)),
            Located::Function(start) => {
                let next_start = self.starts.get(self.starts.partition_point(|known| *known <= start)).copied();
                let next_symbol = self.symbols.get(self.symbols.partition_point(|symbol| symbol.start <= start));
                let ends = next_start.into_iter().chain(next_symbol.map(|symbol| symbol.start));
                Some((start, ends.min().unwrap_or(start.saturating_add(LAST_SIZE))))
            }
            Located::Nothing => None,
        }
    }

    /// The name of a symbol, as the file has it.
    pub fn name(&self, place: usize) -> &[u8] {
        self.symbols.get(place).map_or(&[], |symbol| self.text(symbol))
    }

    fn text(&self, symbol: &Symbol) -> &[u8] {
        self.names.get(symbol.name.0 as usize..symbol.name.1 as usize).unwrap_or(&[])
    }

    /// Which of two names of one address perf prints (`choose_best_symbol`); Less where the second one is.
    fn prefer(&self, first: &Symbol, second: &Symbol) -> Ordering {
        let (one, two) = (self.text(first), self.text(second));
        let rank = |symbol: &Symbol, name: &[u8]| {
            let underscores = name.iter().take_while(|byte| **byte == b'_').count();
            (
                symbol.end > symbol.start,
                symbol.binding != Binding::Weak,
                symbol.binding == Binding::Global,
                std::cmp::Reverse(underscores),
                name.len(),
                !name.starts_with(b"SyS") && !name.starts_with(b"compat_SyS"),
            )
        };
        rank(first, one).cmp(&rank(second, two)).then(Ordering::Greater)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_at(table: &SymbolTable, address: u64) -> Option<&[u8]> {
        match table.locate(address) {
            Located::Symbol(place) => Some(table.name(place)),
            _ => None,
        }
    }

    #[test]
    fn one_name_of_an_address_is_chosen() {
        let mut table = SymbolTable::default();
        table.add(16, 8, b"__GI___write", Binding::Local);
        table.add(16, 8, b"write", Binding::Weak);
        table.add(16, 8, b"__write", Binding::Global);
        let table = table.finish();
        assert_eq!(table.len(), 1);
        assert_eq!(name_at(&table, 20), Some(&b"__write"[..]));
        assert_eq!(name_at(&table, 24), None);
    }

    #[test]
    fn a_symbol_without_size_ends_at_the_next_one() {
        let mut table = SymbolTable::default();
        table.add(10, 0, b"a", Binding::Global);
        table.add(20, 0, b"b", Binding::Global);
        let table = table.finish();
        assert_eq!(name_at(&table, 19), Some(&b"a"[..]));
        assert_eq!(name_at(&table, 20 + LAST_SIZE - 1), Some(&b"b"[..]));
        assert_eq!(name_at(&table, 9), None);
    }

    #[test]
    fn functions_without_names_have_a_start() {
        let mut table = SymbolTable::default();
        table.add(100, 10, b"known", Binding::Global);
        table.add_starts([200, 100, 300]);
        let table = table.finish();
        assert_eq!(table.locate(105), Located::Symbol(0));
        assert_eq!(table.locate(250), Located::Function(200));
        assert_eq!(table.locate(50), Located::Nothing);
        let ranges = [105, 150, 250, 301, 50].map(|address| table.range_at(address));
        let last = Some((300, 300 + LAST_SIZE));
        assert_eq!(ranges, [Some((100, 110)), Some((100, 200)), Some((200, 300)), last, None]);
    }
}
