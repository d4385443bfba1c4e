//! Files as bytes, without reading them first: the only unsafe code of this crate.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

/// The bytes of a regular file.
///
/// The file must be the caller's own copy, or one of the symbol store or of this host that no process shortens while it
/// is read. A file that becomes shorter ends the process with SIGBUS.
pub fn map_file(path: &Path) -> std::io::Result<Mmap> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: see above; nothing writes through this map.
    unsafe { Mmap::map(&file) }
}
