//! How does a file become memory?
//!
//! The only place that maps files. What is mapped is plain numbers, read with every offset checked,
//! so no content can do harm. Cutting a mapped file short does: it must stay as long as it is.
#![expect(unsafe_code, reason = "mapping a file: its bytes can change under our feet")]

use std::{fs::File, path::Path};

use memmap2::{Mmap, MmapMut};

use super::IndexError;

/// Maps a whole file for reading.
pub(crate) fn map_file(path: &Path) -> Result<Mmap, IndexError> {
    let failed = |action| move |source| IndexError::Io { path: path.into(), action, source };
    let file = File::open(path).map_err(failed("opening the index"))?;
    // SAFETY: the map is read as integers for which every bit pattern is valid, and every offset
    // and id found in it is checked against the map's length before use. Nothing here writes to a
    // file that is mapped, or cuts it short: files are replaced by renaming (`file::write`) or
    // removed, which leaves the map as it is. If another program overwrites the file, answers
    // change; if it cuts the file short, the system ends this process (SIGBUS) when it reads
    // beyond the new end, which no check here can prevent.
    unsafe { Mmap::map(&file) }.map_err(failed("mapping the index"))
}

/// Zeroed memory in huge pages, where the system has them: tables are read at random places, and
/// with small pages each read would miss in the TLB too.
pub(super) fn map_memory(bytes: usize) -> Result<MmapMut, IndexError> {
    let map =
        MmapMut::map_anon(bytes.max(1)).map_err(|source| IndexError::Memory { bytes, source })?;
    #[cfg(target_os = "linux")]
    // Advice only: without huge pages the answer is the same, only later.
    let _ = map.advise(memmap2::Advice::HugePage);
    Ok(map)
}
