//! Decompresses gzip, zstd, bzip2 and xz, which are detected by the first bytes, not by the name.
//! Files with several members are read to the end.

use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The size of one read.
const BUFFER: usize = 1 << 18;

/// The memory limit for xz in KiB without `--memory`, and with the smallest. `xz -9` needs 64 MiB.
const XZ_MAX_KIB: u64 = 1 << 20;
const XZ_MIN_KIB: u64 = 12 << 10;

/// The logarithm of the window limit for zstd without `--memory`, and with the smallest: 2 GiB as in
/// `zstd --long=31`, and 8 MiB as in `zstd -19`.
const ZSTD_MAX_WINDOW: u32 = 31;
const ZSTD_MIN_WINDOW: u32 = 23;

/// How many bytes are needed to detect the compression.
pub const MAGIC: usize = 6;

const EXTENSIONS: [&str; 5] = ["gz", "zst", "zstd", "bz2", "xz"];

/// Compressed formats that are recognised but not supported, with the tool that reads them.
const FOREIGN: [(&[u8], &str, &str); 2] =
    [(b"\x28\xb5\x2f\xfe", "an old zstd", "zstd -dc"), (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc")];

/// Decompresses a stream that starts with `magic`. Windows may take half of `memory`.
pub fn decompress(
    magic: &[u8],
    compressed: impl Read + Send + 'static,
    memory: Option<u64>,
) -> Result<Box<dyn Read + Send>, String> {
    if let Some((_, what, tool)) = FOREIGN.iter().find(|(start, ..)| magic.starts_with(start)) {
        return Err(format!(
            "is compressed as {what}, which is not supported; decompress it first: \
             {tool} FILE | lookalike ... -"
        ));
    }
    let compressed = BufReader::with_capacity(BUFFER, compressed);
    if magic.starts_with(b"\x1f\x8b") {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(compressed)));
    }
    if magic.starts_with(b"BZh") {
        return Ok(Box::new(Members::new(compressed).map_err(|error| read_error(&error))?));
    }
    if magic.starts_with(b"\xfd7zXZ\0") {
        let limit = memory.map_or(XZ_MAX_KIB, |memory| memory >> 11);
        let limit = limit.clamp(XZ_MIN_KIB, XZ_MAX_KIB) as u32;
        return Ok(Box::new(lzma_rust2::XzReader::new_mem_limit(compressed, true, limit)));
    }
    if is_zstd(magic) {
        return decompress_zstd(compressed, memory).map_err(|error| read_error(&error));
    }
    Ok(Box::new(compressed))
}

/// Whether a zstd frame starts here. A skippable frame may come first.
fn is_zstd(magic: &[u8]) -> bool {
    let is_skippable = matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    is_skippable || magic.starts_with(b"\x28\xb5\x2f\xfd")
}

fn decompress_zstd(
    compressed: BufReader<impl Read + Send + 'static>,
    memory: Option<u64>,
) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = zstd::Decoder::with_buffer(compressed)?;
    let limit = memory.map_or(ZSTD_MAX_WINDOW, |memory| (memory / 2).max(1).ilog2());
    decoder.window_log_max(limit.clamp(ZSTD_MIN_WINDOW, ZSTD_MAX_WINDOW))?;
    Ok(Box::new(decoder))
}

/// The errors of decoders for a window above the limit.
const TOO_LARGE: [&str; 2] =
    ["Frame requires too much memory for decoding", "needed memory too big for mem_limit_kb"];

/// The message for a failed read.
pub fn read_error(error: &io::Error) -> String {
    if TOO_LARGE.contains(&error.to_string().as_str()) {
        return "cannot be decompressed within --memory: its window is too large; use --memory 4G, \
                or decompress it first (zstd --long=31 -d, xz -d)"
            .to_owned();
    }
    format!("cannot be read: {error}; the file may be damaged or incomplete")
}

/// The concatenated members of a bzip2 file. Empty members are skipped without decoding, because each
/// would cost as much as a full one.
struct Members<R>(Option<bzip2::bufread::BzDecoder<Ahead<R>>>);

/// The bytes read to recognise an empty member, and the rest.
type Ahead<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The length of an empty member, and its bytes after the magic and the level.
const EMPTY: usize = 14;
const EMPTY_END: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];

impl<R: BufRead> Members<R> {
    fn new(compressed: R) -> io::Result<Self> {
        Self::next(Cursor::new(Vec::new()).chain(compressed))
    }

    /// The next member that is not empty, if any.
    fn next(compressed: Ahead<R>) -> io::Result<Self> {
        let (ahead, mut compressed) = compressed.into_inner();
        let mut start = ahead.get_ref()[ahead.position() as usize..].to_vec();
        loop {
            (&mut compressed).take((EMPTY - start.len()) as u64).read_to_end(&mut start)?;
            let is_empty = start.starts_with(b"BZh") && start.get(4..) == Some(&EMPTY_END);
            if !is_empty {
                break;
            }
            start.clear();
        }
        let member =
            || bzip2::bufread::BzDecoder::new(Cursor::new(start.clone()).chain(compressed));
        Ok(Self((!start.is_empty()).then(member)))
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if let Some(member) = self.0.take() {
                *self = Self::next(member.into_inner())?;
            }
        }
        Ok(0)
    }
}

/// A name without its compression extension.
pub fn uncompressed_name(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension))
            if EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()) =>
        {
            stem
        }
        _ => name,
    }
}
