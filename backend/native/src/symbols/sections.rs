//! Sections of a mapped ELF file, unpacked where they are compressed.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;
use object::read::{CompressionFormat, Object, ObjectSection};

/// A section inside of its file, or what it unpacks to.
pub enum Section {
    InFile(Arc<Mmap>, Range<usize>),
    Unpacked(Vec<u8>),
}

impl Section {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::InFile(file, range) => file.get(range.clone()).unwrap_or(&[]),
            Self::Unpacked(bytes) => bytes,
        }
    }
}

/// Find a section by its name. `budget` is how many bytes compressed sections may unpack to; it is reduced.
pub fn read_section(map: &Arc<Mmap>, file: &object::File<'_>, name: &str, budget: &mut usize) -> Option<Section> {
    let section = file.section_by_name(name)?;
    let place = section.compressed_file_range().ok()?;
    let start = usize::try_from(place.offset).ok()?;
    let range = start..start.checked_add(usize::try_from(place.compressed_size).ok()?)?;
    let packed = map.get(range.clone())?;
    if place.format == CompressionFormat::None {
        return Some(Section::InFile(Arc::clone(map), range));
    }
    let size = usize::try_from(place.uncompressed_size).ok().filter(|size| size <= budget)?;
    let bytes = match place.format {
        CompressionFormat::Zlib => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, size).ok()?,
        CompressionFormat::Zstandard => {
            let mut bytes = Vec::new();
            let stream = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
            stream.take(size as u64).read_to_end(&mut bytes).ok()?;
            bytes
        }
        _ => return None,
    };
    *budget -= size;
    Some(Section::Unpacked(bytes))
}
