//! How is an input packed, and how does it come out? gzip, zstd, bzip2 and xz, told by the first
//! bytes, not by the name. Files of several members, one after another, are read to their end.

use std::io::{self, BufReader, Read};

/// How much is read at once.
const BUFFER: usize = 1 << 18;

/// The most memory an xz file may ask for. `xz -9` asks for 64 MiB.
const XZ_KIBIBYTES: u32 = 1 << 20;

/// How many first bytes tell the packing.
pub const MAGIC: usize = 6;

/// The endings of packed files.
pub const ENDINGS: [&str; 5] = ["gz", "zst", "zstd", "bz2", "xz"];

/// Packings we can name but not open; the remedy is the tool that opens them.
const FOREIGN: [(&[u8], &str, &str); 2] =
    [(b"\x28\xb5\x2f\xfe", "an old zstd", "zstd -dc"), (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc")];

/// What comes out of `packed`, which starts with `magic`.
pub fn unpack(
    magic: &[u8],
    packed: impl Read + Send + 'static,
) -> Result<Box<dyn Read + Send>, String> {
    if let Some((_, what, tool)) = FOREIGN.iter().find(|(start, ..)| magic.starts_with(start)) {
        return Err(format!(
            "is packed as {what}, which is not read; unpack it first: {tool} FILE | lookalike ... -"
        ));
    }
    let packed = BufReader::with_capacity(BUFFER, packed);
    if magic.starts_with(b"\x1f\x8b") {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(packed)));
    }
    if magic.starts_with(b"BZh") {
        return Ok(Box::new(bzip2::bufread::MultiBzDecoder::new(packed)));
    }
    if magic.starts_with(b"\xfd7zXZ\0") {
        return Ok(Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, XZ_KIBIBYTES)));
    }
    if magic.starts_with(b"\x28\xb5\x2f\xfd") {
        return unpack_zstd(packed).map_err(|error| unreadable(&error));
    }
    Ok(Box::new(packed))
}

fn unpack_zstd(packed: BufReader<impl Read + Send + 'static>) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = zstd::Decoder::with_buffer(packed)?;
    // Files made with `zstd --long=31` need the largest window.
    decoder.window_log_max(31)?;
    Ok(Box::new(decoder))
}

/// What to say about a failed read.
pub fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}; the file may be damaged or cut short")
}

/// A name without the ending of its packing, if it has one.
pub fn unpacked_name(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((front, ending)) if ENDINGS.contains(&ending.to_ascii_lowercase().as_str()) => front,
        _ => name,
    }
}
