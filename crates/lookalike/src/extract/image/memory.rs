//! How much memory decoding a file takes, from its header alone.
//!
//! The bytes per pixel include all that exists at one time: the state of the decoder, its pixels in
//! another form, and the turned ones. They are upper bounds; tests of the command line measure them.

use std::io::{self, Read, Seek, SeekFrom};

use super::{ImageFormat, jpeg, tiff};

/// Memory that a decoder takes whatever the size of the image.
const FIXED: u64 = 1 << 20;

/// Memory for the largest preview of a RAW file.
const PREVIEW: u64 = 32 << 20;

/// Bytes per pixel of an animation: the canvas, the frame, both combined, and the first image.
const ANIMATION: u64 = 22;

/// An upper bound on the bytes that decoding takes besides the file itself; `None` if no decoder would
/// accept the header.
pub(super) fn needed(file: &mut (impl Read + Seek), colour: bool) -> Option<u64> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.by_ref().take(64).read_to_end(&mut start).ok()?;
    let pixels = match ImageFormat::of_content(&start)? {
        ImageFormat::Jpeg => jpeg(file, colour)?,
        ImageFormat::Png => png(file, &start)?,
        ImageFormat::Gif => {
            let side = |at| Some(u64::from(u16::from_le_bytes(*start.get(at..)?.first_chunk()?)));
            side(6)? * side(8)? * ANIMATION
        }
        ImageFormat::WebP => webp(&start)?,
        ImageFormat::Bmp => {
            let side = |at| Some(i32::from_le_bytes(*start.get(at..)?.first_chunk()?));
            let short = |at| Some(u16::from_le_bytes(*start.get(at..)?.first_chunk()?).into());
            let (width, height) = match start.get(14)? {
                12 => (short(18)?, short(20)?),
                _ => (side(18)?.unsigned_abs(), side(22)?.unsigned_abs()),
            };
            u64::from(width).saturating_mul(height.into()).saturating_mul(8)
        }
        ImageFormat::Tiff => {
            let pages = tiff::pages(file).ok()?;
            // Decoded and copied, then as bytes and turned, in addition to the pixels of the first page.
            let page = |page: &tiff::Directory| {
                let area = u64::from(page.width).saturating_mul(page.height.into());
                area.saturating_mul(2 * page.bytes + 7)
            };
            pages.iter().map(page).max()?
        }
        ImageFormat::Raw => return None,
        // A RAW file is represented by its preview, decoded at a fraction of its size.
        _ => PREVIEW,
    };
    Some(pixels.saturating_add(FIXED))
}

/// Finds the header of the frame; reads only headers of segments.
fn jpeg(file: &mut (impl Read + Seek), colour: bool) -> Option<u64> {
    let size = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(2)).ok()?;
    let mut is_rgb = false;
    loop {
        let mut head = [0; 2];
        file.read_exact(&mut head).ok()?;
        while head[1] == 0xFF {
            file.read_exact(&mut head[1..]).ok()?;
        }
        if head[0] != 0xFF || matches!(head[1], 0xD9 | 0xDA) {
            return None;
        }
        let mut length = [0; 2];
        file.read_exact(&mut length).ok()?;
        let length = u64::from(u16::from_be_bytes(length)).checked_sub(2)?;
        let mut content = Vec::new();
        file.by_ref().take(length.min(32)).read_to_end(&mut content).ok()?;
        match head[1] {
            0xC0..=0xC2 => return jpeg::memory(&content, head[1] == 0xC2, colour, is_rgb, size),
            0xEE => is_rgb = content.starts_with(b"Adobe") && content.get(11) == Some(&0),
            _ => {}
        }
        file.seek(SeekFrom::Current((length - content.len() as u64) as i64)).ok()?;
    }
}

fn png(file: &mut (impl Read + Seek), start: &[u8]) -> Option<u64> {
    let side = |at| Some(u64::from(u32::from_be_bytes(*start.get(at..)?.first_chunk()?)));
    let (width, height) = (side(16)?, side(20)?);
    let [depth, colours, ..] = *start.get(24..)?.first_chunk::<3>()?;
    // The decoded pixels, the same as bytes, and without transparency or turned.
    let each = match (colours, depth) {
        (0, 16) => 4,
        (0, _) => 6,
        (2 | 3, 16) => 11,
        (2 | 3, _) => 8,
        (_, 16) => 16,
        _ => 8,
    };
    let each = if is_animation(file).unwrap_or(true) { each.max(ANIMATION) } else { each };
    Some(width.saturating_mul(height).saturating_mul(each))
}

/// Whether a PNG announces an animation before its image data.
fn is_animation(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    file.seek(SeekFrom::Start(8))?;
    loop {
        let mut head = [0; 8];
        file.read_exact(&mut head)?;
        let [s0, s1, s2, s3, kind @ ..] = head;
        match &kind {
            b"acTL" => return Ok(true),
            b"IDAT" | b"IEND" => return Ok(false),
            _ => {}
        }
        let size = u32::from_be_bytes([s0, s1, s2, s3]);
        file.seek(SeekFrom::Current(i64::from(size) + 4))?;
    }
}

fn webp(start: &[u8]) -> Option<u64> {
    let three = |at: usize| {
        let bytes = start.get(at..at + 3)?;
        Some(u64::from(bytes[0]) | u64::from(bytes[1]) << 8 | u64::from(bytes[2]) << 16)
    };
    match start.get(12..16)? {
        b"VP8 " => {
            let side = |at| Some(three(at)? & 0x3FFF);
            Some(side(26)? * side(28)? * 8)
        }
        b"VP8L" => {
            let bits = u32::from_le_bytes(*start.get(21..)?.first_chunk()?);
            let side = |bits: u32| u64::from(bits & 0x3FFF) + 1;
            Some(side(bits) * side(bits >> 14) * 12)
        }
        b"VP8X" => {
            let is_animation = start.get(20)? & 2 != 0;
            let each = if is_animation { ANIMATION + 8 } else { 12 };
            Some((three(24)? + 1) * (three(27)? + 1) * each)
        }
        _ => None,
    }
}
