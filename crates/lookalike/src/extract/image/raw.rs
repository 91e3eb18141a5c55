//! RAW files: a RAW file is represented by the largest JPEG that the camera stored in it.
//!
//! Sensor data are not decoded. Most RAW files are TIFF structures. DNG, NEF, ARW and CR2 keep previews
//! in directories, the first of which may hold a thumbnail. ORF and others keep them in maker notes,
//! where they are found by their first bytes. CR3 is a file of ISO boxes, and RAF has its own header.

use super::{
    ImageFormat,
    metadata::{Metadata, segments},
    tags::{Directory, Tiff},
};

/// The shorter side of a preview has at least this many pixels. A smaller one is a thumbnail, often
/// with bars at its sides.
const MIN_SIDE: u32 = 160;

/// The size of a JPEG is in one of its first segments. With this limit, bytes that look like many nested
/// JPEGs are not read again for each of them.
const SEGMENTS: usize = 64;

const WIDTH: u16 = 0x0100;
const HEIGHT: u16 = 0x0101;
const COMPRESSION: u16 = 0x0103;
const COLOURS: u16 = 0x0106;
const MAKE: u16 = 0x010F;
const DNG_VERSION: u16 = 0xC612;

/// Tags with the offsets and lengths of strips, tiles, or a JPEG.
const STRIPS: [u16; 2] = [0x0111, 0x0117];
const TILES: [u16; 2] = [0x0144, 0x0145];
const JPEG: [u16; 2] = [0x0201, 0x0202];

/// Tags of Panasonic: the size of the sensor, its data, a JPEG.
const PANASONIC_WIDTH: u16 = 0x0002;
const PANASONIC_HEIGHT: u16 = 0x0003;
const PANASONIC_JPEG: u16 = 0x002E;

/// What is known of a RAW file without decoding its sensor data.
pub(super) struct Raw<'a> {
    /// The file of its largest preview.
    pub(super) preview: &'a [u8],
    /// Width and height of the sensor data before they are turned; if they are unknown, those of the
    /// preview.
    pub(super) size: (u32, u32),
    /// The EXIF orientation.
    pub(super) orientation: Option<u16>,
}

/// Why a RAW file has no preview.
pub(super) enum NoPreview {
    /// Some of its contents lie beyond its end.
    CutOff,
    /// It has no JPEG, or only a thumbnail.
    None,
}

impl<'a> Raw<'a> {
    pub(super) fn open(content: &'a [u8], format: ImageFormat) -> Result<Self, NoPreview> {
        let (mut previews, size) = match format {
            ImageFormat::Cr3 => cr3(content)?,
            ImageFormat::Raf => raf(content)?,
            _ => tiff(content, format)?,
        };
        let is_usable = |preview: &Preview<'_>| preview.size.0.min(preview.size.1) >= MIN_SIDE;
        // Cameras that keep previews in maker notes have no others. The tiles of a DNG may be JPEGs.
        if !previews.iter().any(is_usable) && format != ImageFormat::Dng {
            previews.extend(hidden(content));
        }
        let area = |preview: &Preview<'_>| area(preview.size);
        // Of equally large ones, the first is more likely the preview.
        let largest = previews.into_iter().rev().filter(is_usable).max_by_key(area);
        let preview = largest.ok_or(NoPreview::None)?;
        let metadata = Metadata::of(content, format);
        let sizes = [size, metadata.size(), Some(preview.size)];
        let size = sizes.into_iter().flatten().max_by_key(|&size| self::area(size));
        Ok(Self {
            preview: preview.content,
            size: size.unwrap_or(preview.size),
            orientation: metadata.orientation(),
        })
    }
}

/// A JPEG in another file.
struct Preview<'a> {
    content: &'a [u8],
    size: (u32, u32),
}

/// Previews, and width and height of the sensor data.
type Previews<'a> = (Vec<Preview<'a>>, Option<(u32, u32)>);

impl<'a> Preview<'a> {
    /// Adds whatever starts like a JPEG that can be shown. Sensor data may be lossless JPEGs.
    fn new(content: &'a [u8]) -> Option<Self> {
        if !content.starts_with(b"\xFF\xD8\xFF") {
            return None;
        }
        let mut segments = segments(content).take(SEGMENTS);
        let (marker, frame) = segments.find(|&(marker, _)| is_frame(marker))?;
        let [8, h1, h2, w1, w2, ..] = *frame else { return None };
        let size = (u16::from_be_bytes([w1, w2]).into(), u16::from_be_bytes([h1, h2]).into());
        (matches!(marker, 0xC0..=0xC2) && area(size) > 0).then_some(Self { content, size })
    }
}

/// Whether a marker starts a frame header, which has the size: not one of Huffman codes, arithmetic
/// codes, or the reserved one.
const fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC)
}

fn area((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

/// The bytes at an offset; an error if some are missing.
fn part(content: &[u8], start: u64, length: u64) -> Result<&[u8], NoPreview> {
    let range = || {
        let (start, end) = (usize::try_from(start).ok()?, start.checked_add(length)?);
        content.get(start..usize::try_from(end).ok()?)
    };
    range().ok_or(NoPreview::CutOff)
}

/// JPEGs anywhere in a file, by their first bytes. The decoder finds their end.
fn hidden(content: &[u8]) -> impl Iterator<Item = Preview<'_>> {
    let starts = content.windows(3).enumerate().skip(1);
    let starts = starts.filter(|(_, bytes)| *bytes == b"\xFF\xD8\xFF");
    starts.filter_map(|(at, _)| Preview::new(&content[at..]))
}

/// The RAW format of a file that starts like a TIFF, by its content, or failing that by its extension.
/// `None` for a TIFF.
pub(super) fn format_of_tiff(content: &[u8], extension: Option<&str>) -> Option<ImageFormat> {
    let directories = Tiff::new(content)?.directories();
    if directories.iter().any(|directory| directory.has(DNG_VERSION)) {
        return Some(ImageFormat::Dng);
    }
    let named = extension.and_then(ImageFormat::raw_of_extension);
    if named.is_some() || !directories.iter().any(is_of_sensor) {
        return named;
    }
    let make = directories.iter().find_map(|directory| directory.text(MAKE)).unwrap_or_default();
    let makers = [
        ("nikon", ImageFormat::Nef),
        ("sony", ImageFormat::Arw),
        ("canon", ImageFormat::Cr2),
        ("olympus", ImageFormat::Orf),
        ("om digital", ImageFormat::Orf),
    ];
    let make = make.to_lowercase();
    let made = makers.into_iter().find(|(maker, _)| make.starts_with(maker));
    Some(made.map_or(ImageFormat::OtherRaw, |(_, format)| format))
}

/// Whether a directory describes sensor data: one colour per pixel, or three undeveloped ones.
fn is_of_sensor(directory: &Directory<'_>) -> bool {
    matches!(directory.number(COLOURS), Some(32_803 | 34_892))
}

/// A RAW file that is a TIFF structure.
fn tiff(content: &[u8], format: ImageFormat) -> Result<Previews<'_>, NoPreview> {
    let tiff = Tiff::new(content).ok_or(NoPreview::CutOff)?;
    let directories = tiff.directories();
    if directories.is_empty() {
        return Err(NoPreview::CutOff);
    }
    let (mut previews, mut sizes) = (Vec::new(), Vec::new());
    for directory in &directories {
        // Panasonic writes lengths and offsets in its own way.
        if format != ImageFormat::Rw2 {
            check_whole(directory, content)?;
        }
        previews.extend(previews_of(directory, content));
        let pair = |width, height| Some((directory.number(width)?, directory.number(height)?));
        sizes.extend(pair(WIDTH, HEIGHT));
        if format == ImageFormat::Rw2 {
            sizes.extend(pair(PANASONIC_WIDTH, PANASONIC_HEIGHT));
            previews.extend(directory.bytes(PANASONIC_JPEG).and_then(Preview::new));
        }
    }
    Ok((previews, sizes.into_iter().max_by_key(|&size| area(size))))
}

/// An error if the file ends before its strips, tiles or previews do.
fn check_whole(directory: &Directory<'_>, content: &[u8]) -> Result<(), NoPreview> {
    for [offsets, lengths] in [STRIPS, TILES, JPEG] {
        for (start, length) in directory.numbers(offsets).zip(directory.numbers(lengths)) {
            part(content, start.into(), length.into())?;
        }
    }
    Ok(())
}

/// The JPEGs of a directory: one with its own tag, or one stored as the pixels.
fn previews_of<'a>(
    directory: &Directory<'_>,
    content: &'a [u8],
) -> impl Iterator<Item = Preview<'a>> {
    let is_jpeg = matches!(directory.number(COMPRESSION), Some(6 | 7)) && !is_of_sensor(directory);
    let is_whole = directory.numbers(STRIPS[0]).nth(1).is_none();
    let strip = (is_jpeg && is_whole).then_some(STRIPS);
    let places = [Some(JPEG), strip].into_iter().flatten();
    let at = |[start, length]: [u16; 2]| {
        let (start, length) = (directory.number(start)?, directory.number(length)?);
        Preview::new(part(content, start.into(), length.into()).ok()?)
    };
    places.filter_map(at).collect::<Vec<_>>().into_iter()
}

/// The JPEG in a RAF file.
pub(super) fn raf_preview(content: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_be_bytes(*content.get(at..)?.first_chunk()?));
    part(content, number(0x54)?.into(), number(0x58)?.into()).ok()
}

fn raf(content: &[u8]) -> Result<Previews<'_>, NoPreview> {
    let number = |at: usize| {
        let bytes = content.get(at..).and_then(<[u8]>::first_chunk).ok_or(NoPreview::CutOff)?;
        Ok(u64::from(u32::from_be_bytes(*bytes)))
    };
    // Offsets and lengths of the JPEG, of the description of the sensor data, and of these data.
    let mut parts =
        [0x54, 0x5C, 0x64].into_iter().map(|at| part(content, number(at)?, number(at + 4)?));
    let mut next = || parts.next().unwrap_or(Err(NoPreview::CutOff));
    let (preview, described, _) = (next()?, next()?, next()?);
    Ok((Preview::new(preview).into_iter().collect(), raf_size(described)))
}

/// Width and height of the sensor data: record 0x100 of the description.
fn raf_size(described: &[u8]) -> Option<(u32, u32)> {
    let mut rest = described.get(4..)?;
    loop {
        let [n1, n2, l1, l2, after @ ..] = rest else { return None };
        let (number, length) = (u16::from_be_bytes([*n1, *n2]), u16::from_be_bytes([*l1, *l2]));
        let record = after.get(..length.into())?;
        if let (0x0100, [h1, h2, w1, w2]) = (number, record) {
            let (width, height) = (u16::from_be_bytes([*w1, *w2]), u16::from_be_bytes([*h1, *h2]));
            return Some((width.into(), height.into()));
        }
        rest = after.get(length.into()..)?;
    }
}

/// A box of an ISO file: its kind and content.
#[derive(Clone, Copy)]
pub(super) struct IsoBox<'a> {
    pub(super) kind: [u8; 4],
    pub(super) content: &'a [u8],
    /// Whether the file has all of it.
    is_whole: bool,
}

impl<'a> IsoBox<'a> {
    /// Consecutive boxes.
    pub(super) fn all(mut rest: &'a [u8]) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            let (head, after) = rest.split_first_chunk::<8>()?;
            let [a, b, c, d, kind @ ..] = *head;
            let (head, length) = match u32::from_be_bytes([a, b, c, d]) {
                0 => (8, rest.len() as u64),
                1 => (16, u64::from_be_bytes(*after.first_chunk()?)),
                length => (8, length.into()),
            };
            let end = usize::try_from(length).ok().filter(|&end| end >= head)?;
            let is_whole = end <= rest.len();
            let content = rest.get(head..end.min(rest.len()))?;
            rest = &rest[end.min(rest.len())..];
            Some(Self { kind, content, is_whole })
        })
    }

    /// The content of the first box with this path of kinds.
    fn find(content: &'a [u8], path: &[&[u8; 4]]) -> Option<&'a [u8]> {
        path.iter().try_fold(content, |content, kind| {
            Some(Self::all(content).find(|found| found.kind == **kind)?.content)
        })
    }
}

/// The start of the content of Canon's box, which holds EXIF.
const CANON: &[u8; 16] = b"\x85\xC0\xB6\x87\x82\x0F\x11\xE0\x81\x11\xF4\xCE\x46\x2B\x6A\x48";

/// The start of the content of the box with the medium preview.
const PREVIEW: &[u8; 16] = b"\xEA\xF4\x2B\x5E\x1C\x98\x4B\x88\xB9\xFB\xB7\xDC\x40\x6E\x4D\x16";

/// A preview begins within this many bytes of its box.
const PREVIEW_WITHIN: usize = 64;

/// Canon's boxes with EXIF.
pub(super) fn cr3_metadata(content: &[u8]) -> Option<&[u8]> {
    let movie = IsoBox::find(content, &[b"moov"])?;
    IsoBox::all(movie).find_map(|found| found.content.strip_prefix(CANON))
}

fn cr3(content: &[u8]) -> Result<Previews<'_>, NoPreview> {
    if IsoBox::all(content).any(|found| !found.is_whole) {
        return Err(NoPreview::CutOff);
    }
    let mut previews = Vec::new();
    let own = IsoBox::all(content).find_map(|found| found.content.strip_prefix(PREVIEW));
    previews.extend(own.into_iter().flat_map(|own| {
        (0..own.len().min(PREVIEW_WITHIN)).find_map(|start| Preview::new(&own[start..]))
    }));
    let movie = IsoBox::find(content, &[b"moov"]).unwrap_or_default();
    for track in IsoBox::all(movie).filter(|found| found.kind == *b"trak") {
        if let Some((start, length)) = sample(track.content) {
            previews.extend(Preview::new(part(content, start, length)?));
        }
    }
    let canon = cr3_metadata(content).unwrap_or_default();
    let main = IsoBox::find(canon, &[b"CMT1"]).and_then(Tiff::new).and_then(Tiff::first);
    let size = main.and_then(|main| Some((main.number(WIDTH)?, main.number(HEIGHT)?)));
    Ok((previews, size))
}

/// Offset and length of the first sample of a track.
fn sample(track: &[u8]) -> Option<(u64, u64)> {
    let table = IsoBox::find(track, &[b"mdia", b"minf", b"stbl"])?;
    let number = |bytes: &[u8], at: usize| {
        Some(u64::from(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?)))
    };
    // After version and flags: one size for all and their number, or zero, their number and the sizes.
    let sizes = IsoBox::find(table, &[b"stsz"])?;
    let length = match number(sizes, 4)? {
        0 => number(sizes, 12)?,
        length => length,
    };
    let start = match IsoBox::find(table, &[b"co64"]) {
        Some(offsets) => u64::from_be_bytes(*offsets.get(8..)?.first_chunk()?),
        None => number(IsoBox::find(table, &[b"stco"])?, 8)?,
    };
    Some((start, length))
}

#[cfg(test)]
mod tests;
