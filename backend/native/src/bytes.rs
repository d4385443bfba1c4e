//! Little-endian numbers out of bytes that may be anything. Every read is checked and none allocates.

/// A place in a slice. A read past the end returns None and leaves the place.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(taken)
    }

    pub fn skip(&mut self, size: usize) -> Option<()> {
        self.take(size).map(|_| ())
    }

    pub fn u16(&mut self) -> Option<u16> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u16::from_le_bytes(*number))
    }

    pub fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*number))
    }

    pub fn u64(&mut self) -> Option<u64> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*number))
    }

    /// Bytes up to a zero byte, which is consumed; all that is left where there is none.
    pub fn text(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let text = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = &self.rest[end.map_or(self.rest.len(), |at| at + 1)..];
        text
    }

    /// A text of perf's header: its size as u32, then the text, padded with zeros.
    pub fn sized_text(&mut self) -> Option<&'a [u8]> {
        let size = self.u32()? as usize;
        Some(Cursor::new(self.take(size)?).text())
    }
}

/// The 64-bit number at an offset.
pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// The 32-bit number at an offset.
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// The bytes of a text of pairs of hexadecimal digits; None for any other text.
pub fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_come_in_pairs() {
        assert_eq!(from_hexadecimal("0aF0"), Some(vec![0x0a, 0xf0]));
        assert_eq!(["", "0", "0g", "inode-1"].map(from_hexadecimal), [None, None, None, None]);
    }

    #[test]
    fn reads_stop_at_the_end() {
        let mut cursor = Cursor::new(&[1, 0, 2, 0, 0, 0, 9]);
        assert_eq!(cursor.u16(), Some(1));
        assert_eq!(cursor.u32(), Some(2));
        assert_eq!(cursor.u64(), None);
        assert_eq!(cursor.u16(), None);
        assert_eq!(cursor.rest(), &[9]);
    }

    #[test]
    fn a_text_without_end_is_the_rest() {
        let mut cursor = Cursor::new(b"ab\0cd");
        assert_eq!(cursor.text(), b"ab");
        assert_eq!(cursor.text(), b"cd");
        assert_eq!(cursor.text(), b"");
    }

    #[test]
    fn a_claimed_size_is_never_believed() {
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 1]).sized_text(), None);
    }
}
