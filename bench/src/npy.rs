//! NumPy arrays of little-endian 64-bit words, for Rust and Python.

use std::{
    fs::File,
    io::{BufWriter, Read, Write},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use lookalike::Fingerprint;
use tempfile::TempPath;

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// Writes fingerprints to a temporary file, which is removed when the path is dropped.
pub fn temporary<const WORDS: usize>(prints: &[Fingerprint<WORDS>]) -> Result<TempPath> {
    let path = tempfile::Builder::new().suffix(".npy").tempfile()?.into_temp_path();
    write(&path, prints)?;
    Ok(path)
}

/// Writes fingerprints as an array of shape `(n, WORDS)`.
pub fn write<const WORDS: usize>(path: &Path, prints: &[Fingerprint<WORDS>]) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let shape = format!("({}, {WORDS})", prints.len());
    let mut header = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': {shape}, }}");
    // The data must start at a multiple of 64; the header ends with a line break.
    let unpadded = MAGIC.len() + 2 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    file.write_all(MAGIC)?;
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    file.write_all(bytemuck::cast_slice(prints))?;
    file.flush().with_context(|| format!("writing {}", path.display()))
}

/// Reads a file of [`write`](fn@write) or `text_windows.py` with the same `WORDS`.
pub fn read<const WORDS: usize>(path: &Path) -> Result<Vec<Fingerprint<WORDS>>> {
    let mut file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let mut start = [0; 10];
    file.read_exact(&mut start)?;
    ensure!(start.starts_with(MAGIC), "{}: not a version 1 .npy file", path.display());
    let mut header = vec![0; usize::from(u16::from_le_bytes([start[8], start[9]]))];
    file.read_exact(&mut header)?;
    let bytes = file.metadata()?.len() as usize - start.len() - header.len();
    let mut prints = vec![Fingerprint::ZERO; bytes / (8 * WORDS)];
    file.read_exact(bytemuck::cast_slice_mut(&mut prints))?;
    Ok(prints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_gives_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prints.npy");
        let prints = [Fingerprint([1, 2]), Fingerprint([3, u64::MAX])];
        write(&path, &prints).unwrap();
        assert_eq!(read::<2>(&path).unwrap(), prints);
    }
}
