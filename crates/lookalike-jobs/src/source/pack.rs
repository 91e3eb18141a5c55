//! How is an input packed, and how does it come out? gzip, zstd, bzip2 and xz, told by the first
//! bytes, not by the name. Files of several members, one after another, are read to their end.

use std::io::{self, BufRead, BufReader, Cursor, Read};

/// How much is read at once.
const BUFFER: usize = 1 << 18;

/// The most memory an xz file may ask for, and what it may ask for under any limit. `xz -9` asks for
/// 64 MiB.
const XZ_KIBIBYTES: u64 = 1 << 20;
const XZ_LEAST: u64 = 12 << 10;

/// The largest window of a zstd file, by its logarithm, and the largest under any limit: 2 GiB, as
/// `zstd --long=31` makes it, and 8 MiB, as `zstd -19` does.
const ZSTD_LARGEST: u32 = 31;
const ZSTD_LEAST: u32 = 23;

/// How many first bytes tell the packing.
pub const MAGIC: usize = 6;

/// The endings of packed files.
pub const ENDINGS: [&str; 5] = ["gz", "zst", "zstd", "bz2", "xz"];

/// Packings we can name but not open; the remedy is the tool that opens them.
const FOREIGN: [(&[u8], &str, &str); 2] =
    [(b"\x28\xb5\x2f\xfe", "an old zstd", "zstd -dc"), (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc")];

/// What comes out of `packed`, which starts with `magic`. Windows may take half of `memory`.
pub fn unpack(
    magic: &[u8],
    packed: impl Read + Send + 'static,
    memory: Option<u64>,
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
        return Ok(Box::new(Members::new(packed).map_err(|error| unreadable(&error))?));
    }
    if magic.starts_with(b"\xfd7zXZ\0") {
        let most = memory.map_or(XZ_KIBIBYTES, |memory| memory >> 11);
        let most = most.clamp(XZ_LEAST, XZ_KIBIBYTES) as u32;
        return Ok(Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, most)));
    }
    if is_zstd(magic) {
        return unpack_zstd(packed, memory).map_err(|error| unreadable(&error));
    }
    Ok(Box::new(packed))
}

/// A frame, or one to be skipped, which may come first.
fn is_zstd(magic: &[u8]) -> bool {
    let is_skippable = matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    is_skippable || magic.starts_with(b"\x28\xb5\x2f\xfd")
}

fn unpack_zstd(
    packed: BufReader<impl Read + Send + 'static>,
    memory: Option<u64>,
) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = zstd::Decoder::with_buffer(packed)?;
    let most = memory.map_or(ZSTD_LARGEST, |memory| (memory / 2).max(1).ilog2());
    decoder.window_log_max(most.clamp(ZSTD_LEAST, ZSTD_LARGEST))?;
    Ok(Box::new(decoder))
}

/// What decoders say if a window is larger than they may take.
const TOO_LARGE: [&str; 2] =
    ["Frame requires too much memory for decoding", "needed memory too big for mem_limit_kb"];

/// What to say about a failed read.
pub fn unreadable(error: &io::Error) -> String {
    if TOO_LARGE.contains(&error.to_string().as_str()) {
        return "cannot be unpacked within --memory: its window is too large; use --memory 4G, or \
                unpack it first (zstd --long=31 -d, xz -d)"
            .to_owned();
    }
    format!("cannot be read: {error}; the file may be damaged or cut short")
}

/// The members of a bzip2 file, one after the other. Empty ones are passed over: each would cost as
/// much as a full one.
struct Members<R>(Option<bzip2::bufread::BzDecoder<Ahead<R>>>);

/// What was read to tell an empty member, and the rest.
type Ahead<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// How long an empty member is, and how it ends behind its name and level.
const EMPTY: usize = 14;
const EMPTY_END: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];

impl<R: BufRead> Members<R> {
    fn new(packed: R) -> io::Result<Self> {
        Self::next(Cursor::new(Vec::new()).chain(packed))
    }

    /// The next member that is not empty, if there is one.
    fn next(packed: Ahead<R>) -> io::Result<Self> {
        let (ahead, mut packed) = packed.into_inner();
        let mut start = ahead.get_ref()[ahead.position() as usize..].to_vec();
        loop {
            (&mut packed).take((EMPTY - start.len()) as u64).read_to_end(&mut start)?;
            let is_empty = start.starts_with(b"BZh") && start.get(4..) == Some(&EMPTY_END);
            if !is_empty {
                break;
            }
            start.clear();
        }
        let member = || bzip2::bufread::BzDecoder::new(Cursor::new(start.clone()).chain(packed));
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

/// A name without the ending of its packing, if it has one.
pub fn unpacked_name(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((front, ending)) if ENDINGS.contains(&ending.to_ascii_lowercase().as_str()) => front,
        _ => name,
    }
}
