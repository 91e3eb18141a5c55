//! Whether a file is complete, and how many frames it has.
//!
//! Decoders stop when they have their pixels. This module walks through the rest: the chunks of PNG and
//! WebP, the blocks of GIF, the pages of TIFF. Bytes after the end of an image are ignored.

use std::io::Cursor;

use super::{DecodeError, ImageFormat, tiff};

/// The frames or pages of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    /// The number of frames other than the one that represents the file.
    pub more: u32,
    /// Whether the frame that represents the file is the first of the animation.
    pub starts_animation: bool,
    /// The pages of a TIFF, including the first one.
    pub pages: Vec<tiff::Directory>,
}

impl Contents {
    fn animation(more: usize) -> Self {
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        Self { more, starts_animation: true, pages: Vec::new() }
    }
}

/// Walks through a file.
pub(super) fn contents(format: ImageFormat, bytes: &[u8]) -> Result<Contents, DecodeError> {
    let walked = match format {
        ImageFormat::Png => png(bytes),
        ImageFormat::Gif => gif(bytes),
        ImageFormat::WebP => webp(bytes),
        ImageFormat::Tiff => {
            let pages = tiff::pages(&mut Cursor::new(bytes))?;
            return Ok(Contents { pages: pages.clone(), ..Contents::animation(pages.len() - 1) });
        }
        _ => Ok(Contents::animation(0)),
    };
    walked.map_err(|fault| match fault {
        Fault::CutOff => DecodeError::CutOff { format },
        Fault::Broken(what) => DecodeError::Broken { format, what: what.to_owned() },
    })
}

enum Fault {
    CutOff,
    Broken(&'static str),
}

/// A PNG ends with an end chunk, and every chunk with a checksum.
fn png(bytes: &[u8]) -> Result<Contents, Fault> {
    let (mut at, mut frames, mut has_image, mut starts_animation) = (8, 0_u32, false, false);
    let mut announced = None;
    loop {
        let (size, kind) = word(bytes, at).zip(bytes.get(at + 4..at + 8)).ok_or(Fault::CutOff)?;
        let end = at + 8 + u32::from_be_bytes(size) as usize;
        let content = bytes.get(at + 8..end).ok_or(Fault::CutOff)?;
        let sum = word(bytes, end).map(u32::from_be_bytes).ok_or(Fault::CutOff)?;
        // Chunks that viewers need; the others may be damaged.
        let counts = matches!(kind, b"IHDR" | b"PLTE" | b"IDAT" | b"IEND" | b"fdAT" | b"fcTL");
        if counts && crc32fast::hash(&bytes[at + 4..end]) != sum {
            return Err(Fault::Broken("a checksum is wrong"));
        }
        match kind {
            b"acTL" if !has_image => announced = word(content, 0).map(u32::from_be_bytes),
            b"fcTL" => {
                frames += 1;
                starts_animation |= !has_image;
            }
            b"PLTE" if content.is_empty() || !content.len().is_multiple_of(3) => {
                return Err(Fault::Broken("its palette ends within a colour"));
            }
            b"IDAT" => has_image = true,
            b"IEND" => break,
            _ => {}
        }
        at = end + 4;
    }
    match announced {
        // Viewers do not show frames that are not announced.
        None => Ok(Contents::animation(0)),
        Some(announced) if announced != frames => Err(Fault::Broken("frames are missing")),
        Some(_) => {
            let more = frames - u32::from(starts_animation);
            Ok(Contents { more, starts_animation, pages: Vec::new() })
        }
    }
}

/// A GIF without its last byte may lack frames.
fn gif(bytes: &[u8]) -> Result<Contents, Fault> {
    let colours = |flags: u8| if flags & 0x80 == 0 { 0 } else { 6 << (flags & 7) };
    let flags = *bytes.get(10).ok_or(Fault::CutOff)?;
    let (mut at, mut frames) = (13 + colours(flags), 0_usize);
    loop {
        match bytes.get(at) {
            Some(0x3B) => break,
            None => return Err(Fault::CutOff),
            Some(0x21) => at = after_blocks(bytes, at + 2)?,
            Some(0x2C) => {
                let flags = *bytes.get(at + 9).ok_or(Fault::CutOff)?;
                at = after_blocks(bytes, at + 11 + colours(flags))?;
                frames += 1;
            }
            Some(_) => return Err(Fault::Broken("a block of an unknown kind")),
        }
    }
    frames.checked_sub(1).map(Contents::animation).ok_or(Fault::Broken("it has no image"))
}

/// The end of a chain of blocks that start with their length.
fn after_blocks(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    loop {
        match bytes.get(at).ok_or(Fault::CutOff)? {
            0 => return Ok(at + 1),
            &length => at += 1 + usize::from(length),
        }
    }
}

fn webp(bytes: &[u8]) -> Result<Contents, Fault> {
    let size = word(bytes, 4).map(u32::from_le_bytes).ok_or(Fault::CutOff)? as usize;
    let bytes = bytes.get(..size.saturating_add(8)).ok_or(Fault::CutOff)?;
    let (mut at, mut frames) = (12, 0_usize);
    // The padding of the last chunk may be missing.
    while at + 1 < bytes.len() {
        let kind = bytes.get(at..at + 4).ok_or(Fault::CutOff)?;
        let size = word(bytes, at + 4).map(u32::from_le_bytes).ok_or(Fault::CutOff)? as usize;
        frames += usize::from(kind == b"ANMF");
        at += 8;
        bytes.get(at..at + size).ok_or(Fault::CutOff)?;
        at += size + size % 2;
    }
    Ok(Contents::animation(frames.saturating_sub(1)))
}

fn word(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..)?.first_chunk().copied()
}
