//! The files of a program: its own, and one with what debuggers need.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use object::read::{Object, ObjectSection};

use crate::mapped::map_file;
use crate::modules::{FileId, SymbolSources, to_hexadecimal};

/// Bytes of a separate file whose checksum is computed.
const LINKED_MAX: usize = 512 << 20;

/// A program or library, and a separate file with its debugging information.
#[derive(Clone)]
pub struct Program {
    pub bytes: Arc<Mmap>,
    pub debug: Option<Arc<Mmap>>,
}

/// Open the files of a program: a stored one, or one that is installed and has the same build ID.
pub fn open_program(sources: &SymbolSources, path: &[u8], file: &FileId) -> Option<Program> {
    let stored = || map_file(&sources.store.as_ref()?.join(file.key()?)).ok();
    let installed = || {
        let FileId::BuildId(expected) = file else { return None };
        let inside = std::str::from_utf8(path).ok()?.strip_prefix('/')?;
        map_file(&sources.root.as_ref()?.join(inside)).ok().filter(|bytes| has_build_id(bytes, expected))
    };
    // A stored file may have nothing but symbols.
    let bytes = [stored(), installed()].into_iter().flatten().find(|bytes| is_program(bytes))?;
    let debug = find_debug_file(sources, path, &bytes);
    Some(Program { bytes: Arc::new(bytes), debug: debug.map(Arc::new) })
}

fn has_build_id(bytes: &[u8], expected: &[u8]) -> bool {
    let file = object::File::parse(bytes);
    let own = file.as_ref().ok().and_then(|file| file.build_id().ok().flatten());
    own.is_some_and(|own| expected.starts_with(own) || own.starts_with(expected))
}

/// Whether a file has more than symbols.
fn is_program(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return false };
    [".eh_frame", ".debug_frame", ".debug_info"].iter().any(|name| has_section(&file, name))
}

/// Whether a section is in a file with its bytes. Each begins with a size, where a file without them has zeros.
fn has_section(file: &object::File<'_>, name: &str) -> bool {
    let section = file.section_by_name(name);
    let first = section.as_ref().and_then(|section| section.data().ok()?.first_chunk::<4>());
    first.is_some_and(|first| *first != [0; 4])
}

/// Find the file with the debugging information of a program by its build ID, then by the name that it states.
fn find_debug_file(sources: &SymbolSources, path: &[u8], bytes: &[u8]) -> Option<Mmap> {
    let file = object::File::parse(bytes).ok()?;
    if has_section(&file, ".debug_info") {
        return None;
    }
    let id = file.build_id().ok().flatten();
    let by_id = id.into_iter().flat_map(|id| list_places(sources, id));
    let is_same = |map: &Mmap| id.is_some_and(|id| has_build_id(map, id));
    if let Some(map) = by_id.filter_map(|place| map_file(&place).ok()).find(is_same) {
        return Some(map);
    }
    let (name, checksum) = file.gnu_debuglink().ok().flatten()?;
    let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('/') && *name != "..")?;
    let root = sources.root.as_ref()?;
    let folder = Path::new(std::str::from_utf8(path).ok()?.strip_prefix('/')?).parent()?;
    let places = [folder.to_owned(), folder.join(".debug"), Path::new("usr/lib/debug").join(folder)];
    let maps = places.iter().filter_map(|place| map_file(&root.join(place).join(name)).ok());
    maps.filter(|map| map.len() <= LINKED_MAX).find(|map| compute_checksum(map) == checksum)
}

/// Where a file with the debugging information of a build ID is.
fn list_places(sources: &SymbolSources, id: &[u8]) -> Vec<PathBuf> {
    let name = to_hexadecimal(id);
    let (folder, rest) = name.split_at(name.len().min(2));
    let stored = sources.store.as_ref().map(|store| store.join(format!("{name}.debug")));
    let installed = format!("usr/lib/debug/.build-id/{folder}/{rest}.debug");
    stored.into_iter().chain(sources.root.as_ref().map(|root| root.join(installed))).collect()
}

/// The checksum by which a program names its separate file: CRC-32 of all bytes.
fn compute_checksum(bytes: &[u8]) -> u32 {
    let table: [u32; 256] = std::array::from_fn(|place| {
        (0..8).fold(place as u32, |value, _| if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 })
    });
    !bytes.iter().fold(!0, |value, byte| value >> 8 ^ table[usize::from(value as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_gzip() {
        assert_eq!(compute_checksum(b"123456789"), 0xcbf4_3926);
        assert_eq!(compute_checksum(b""), 0);
    }
}
