//! Reads the segments of a JPEG file: tables, the frame, and scans.

use super::{
    Purpose, Stop,
    bits::{Bits, Codes},
    broken, cut_off,
    frame::{Component, Frame, UNKNOWN},
    number, scale,
    scan::{Content, Part, Scan},
    unsupported,
};
use crate::extract::image::{DecodeError, Orientation};

/// More bytes than this between a scan and the next marker are damage, unless they are all the same.
/// Some cameras leave a few.
const MAX_PADDING: usize = 16;

/// Encoders write about a dozen; a small file can claim a hundred thousand.
const MAX_SCANS: usize = 200;

/// A file, read up to some byte.
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    purpose: Purpose,
    /// By number; in zigzag order.
    pub quantisers: [[u16; 64]; 4],
    /// First for constants, then for other coefficients; by number.
    codes: [[Option<Box<Codes>>; 4]; 2],
    pub frame: Option<Frame>,
    /// Blocks between two restarts; 0 for none.
    restart: usize,
    pub orientation: Orientation,
    /// The colour transform that an Adobe marker names.
    pub transform: Option<u8>,
    scans: usize,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8], purpose: Purpose) -> Self {
        Self {
            bytes,
            at: 2,
            purpose,
            quantisers: [[0; 64]; 4],
            codes: Default::default(),
            frame: None,
            restart: 0,
            orientation: Orientation::UPRIGHT,
            transform: None,
            scans: 0,
        }
    }

    /// Reads the whole file.
    pub fn run(&mut self, pixels: u64) -> Result<(), Stop> {
        loop {
            let Some(marker) = self.marker() else {
                // Without its last marker, a file is intact if nothing else is missing.
                return if self.is_finished() { Ok(()) } else { Err(cut_off()) };
            };
            match marker {
                // An encoder may leave out fine details of a progressive file.
                0xD9 if self.has_every_component() => return Ok(()),
                0xD9 => return Err(broken("it ends without an image")),
                0xC0..=0xC2 => {
                    let segment = self.segment()?;
                    self.read_frame(segment, marker == 0xC2, pixels)?;
                }
                0xC4 => self.read_codes()?,
                0xDB => self.read_quantisers()?,
                0xDD => {
                    let segment = self.segment()?;
                    self.restart = segment.get(..2).map_or(0, number);
                }
                0xDA => self.read_scan()?,
                0xE1 => self.read_exif()?,
                0xEE => self.read_adobe()?,
                0x01 | 0xD0..=0xD8 => {}
                _ => {
                    if let Some(process) = other_process(marker) {
                        return Err(unsupported(process));
                    }
                    self.segment()?;
                }
            }
        }
    }

    fn components(&self) -> &[Component] {
        self.frame.as_ref().map_or(&[], |frame| &frame.components)
    }

    /// Whether every component has some coefficients.
    fn has_every_component(&self) -> bool {
        let components = self.components();
        !components.is_empty() && components.iter().all(|part| part.levels[0] != UNKNOWN)
    }

    /// Whether every bit of every coefficient was read.
    fn is_finished(&self) -> bool {
        let components = self.components();
        !components.is_empty() && components.iter().all(|part| part.levels == [0; 64])
    }

    pub fn has_separate_scans(&self) -> bool {
        self.scans > 1 && self.frame.as_ref().is_some_and(|frame| !frame.progressive)
    }

    /// The next marker; bytes before it are skipped.
    fn marker(&mut self) -> Option<u8> {
        loop {
            self.at += self.bytes.get(self.at..)?.iter().position(|&byte| byte == 0xFF)? + 1;
            match *self.bytes.get(self.at)? {
                0x00 => {}
                // Any number of fill bytes may come before a marker.
                0xFF => continue,
                marker => {
                    self.at += 1;
                    return Some(marker);
                }
            }
        }
    }

    /// The content of the segment that follows a marker.
    fn segment(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.bytes.get(self.at..self.at + 2).map(number).ok_or_else(cut_off)?;
        if length < 2 {
            return Err(broken("a segment has no length"));
        }
        let content = self.bytes.get(self.at + 2..self.at + length).ok_or_else(cut_off)?;
        self.at += length;
        Ok(content)
    }

    fn read_frame(&mut self, segment: &[u8], progressive: bool, limit: u64) -> Result<(), Stop> {
        let [precision, h1, h2, w1, w2, count, rest @ ..] = segment else { return Err(cut_off()) };
        let (height, width) = (number(&[*h1, *h2]), number(&[*w1, *w2]));
        match (precision, height, count) {
            _ if self.frame.is_some() => return Err(broken("a second frame")),
            (12, ..) => return Err(unsupported("values of 12 bits")),
            (8, 0, _) => return Err(unsupported("a height that comes after the image")),
            (8, _, 1 | 3 | 4) if width > 0 => {}
            (8, _, 2) => return Err(unsupported("two components")),
            _ => return Err(broken("an impossible frame")),
        }
        let (w, h) = (width as u32, height as u32);
        if u64::from(w) * u64::from(h) > limit {
            return Err(Stop::Failed(DecodeError::TooManyPixels { width: w, height: h, limit }));
        }
        let parts = rest.as_chunks::<3>().0;
        let parts = parts.get(..usize::from(*count)).ok_or_else(|| broken("a short frame"))?;
        let side = scale(width, height);
        // A progressive file has all but the constants bit by bit. In full size, colours that are stored
        // at half the size need smooth interpolation.
        let is_other = |colour| progressive && side > 1 || colour && side == 8 || parts.len() == 4;
        // Red, green and blue components: brightness needs all of them.
        let is_rgb = parts[0][0] == b'R' && self.transform.is_none();
        match self.purpose {
            Purpose::Pixels { colour } if is_other(colour) || is_rgb => return Err(Stop::Other),
            Purpose::Separate if parts.len() == 4 => {
                return Err(unsupported("four components in separate scans"));
            }
            _ => {}
        }
        self.frame = Some(Frame::new(self.purpose, (width, height), progressive, side, parts)?);
        Ok(())
    }

    fn read_quantisers(&mut self) -> Result<(), Stop> {
        let mut rest = self.segment()?;
        while let [kind, values @ ..] = rest {
            let (wide, table) = (kind >> 4 == 1, usize::from(kind & 15));
            let length = if wide { 128 } else { 64 };
            if table > 3 || values.len() < length {
                return Err(broken("a table of quantisers is too short"));
            }
            for (at, quantiser) in self.quantisers[table].iter_mut().enumerate() {
                *quantiser = if wide {
                    number(&values[2 * at..2 * at + 2]) as u16
                } else {
                    values[at].into()
                };
            }
            rest = &values[length..];
        }
        Ok(())
    }

    fn read_codes(&mut self) -> Result<(), Stop> {
        let mut rest = self.segment()?;
        while let [kind, values @ ..] = rest {
            let (class, table) = (usize::from(kind >> 4), usize::from(kind & 15));
            let counts = values.first_chunk::<16>().ok_or_else(cut_off)?;
            let total: usize = counts.iter().map(|&count| usize::from(count)).sum();
            if class > 1 || table > 3 || total > 256 || values.len() < 16 + total {
                return Err(broken("a table of codes is too long"));
            }
            let codes = Codes::new(counts, &values[16..16 + total]);
            self.codes[class][table] =
                Some(Box::new(codes.ok_or_else(|| broken("a table of codes is full"))?));
            rest = &values[16 + total..];
        }
        Ok(())
    }

    /// Reads the orientation. A broken EXIF block is ignored.
    fn read_exif(&mut self) -> Result<(), Stop> {
        let segment = self.segment()?;
        if let Some(exif) = segment.strip_prefix(b"Exif\0\0")
            && let Some(orientation) = image::metadata::Orientation::from_exif_chunk(exif)
        {
            self.orientation =
                Orientation::of_exif(orientation.to_exif().into()).unwrap_or(Orientation::UPRIGHT);
        }
        Ok(())
    }

    fn read_adobe(&mut self) -> Result<(), Stop> {
        let segment = self.segment()?;
        if segment.starts_with(b"Adobe") {
            self.transform = segment.get(11).copied();
        }
        match (self.transform, self.purpose) {
            (Some(0), Purpose::Pixels { .. }) => Err(Stop::Other),
            _ => Ok(()),
        }
    }

    fn read_scan(&mut self) -> Result<(), Stop> {
        let header = self.segment()?;
        let Some(frame) = &mut self.frame else { return Err(broken("a scan before its frame")) };
        let count = usize::from(*header.first().ok_or_else(cut_off)?);
        let [first, last, bits] =
            *header.get(1 + 2 * count..).and_then(|rest| rest.first_chunk()).ok_or_else(cut_off)?;
        if !(1..=4).contains(&count) {
            return Err(broken("a scan of an impossible number of components"));
        }
        self.scans += 1;
        if self.scans > MAX_SCANS {
            return Err(broken("too many scans"));
        }
        let mut parts = Vec::new();
        for &[id, tables] in header[1..1 + 2 * count].as_chunks::<2>().0 {
            let component = frame.components.iter().position(|component| component.id == id);
            let component = component.ok_or_else(|| broken("a scan of an unknown component"))?;
            let (constant, others) = (usize::from(tables >> 4) & 3, usize::from(tables) & 3);
            parts.push(Part { component, constant, others });
        }
        let content = if frame.progressive {
            content(first, last, bits, count)?
        } else {
            Content::Sequential
        };
        for part in &parts {
            let component = &mut frame.components[part.component];
            match content {
                Content::Sequential => component.levels = [0; 64],
                _ => component.advance(first, last, bits)?,
            }
        }
        let mut reader = Bits::new(&self.bytes[self.at..]);
        let scan = Scan { codes: &self.codes, parts: &parts, restart: self.restart };
        scan.run(frame, &mut reader, content)?;
        self.at += reader.at;
        self.check_end_of_scan()
    }

    /// Damage in the middle of a scan makes codes longer or shorter, which leaves bytes over.
    fn check_end_of_scan(&self) -> Result<(), Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let is_marker = |two: &[u8]| two[0] == 0xFF && !matches!(two[1], 0x00 | 0xD0..=0xD7 | 0xFF);
        let left = &rest[..rest.windows(2).position(is_marker).unwrap_or(rest.len())];
        let is_uniform = left.windows(2).all(|two| two[0] == two[1]);
        if left.len() <= MAX_PADDING || is_uniform {
            Ok(())
        } else {
            Err(broken("a scan is too long"))
        }
    }
}

/// The process that a marker starts, if it is not decoded here.
fn other_process(marker: u8) -> Option<&'static str> {
    match marker {
        0xC3 => Some("lossless JPEG"),
        0xC5..=0xC7 | 0xCD..=0xCF | 0xDE => Some("hierarchical JPEG"),
        0xC9 | 0xCA | 0xCC => Some("arithmetic coding"),
        0xCB => Some("lossless JPEG with arithmetic coding"),
        0xF7 => Some("JPEG-LS"),
        _ => None,
    }
}

/// The content that the header of a progressive scan announces.
fn content(first: u8, last: u8, bits: u8, components: usize) -> Result<Content, Stop> {
    let (high, low) = (bits >> 4, bits & 15);
    match (first, last, high) {
        _ if low > 13 || high > 13 => Err(broken("a scan of impossible bits")),
        (0, 0, 0) => Ok(Content::ConstantFirst(low)),
        (0, 0, _) => Ok(Content::ConstantNext(low)),
        (1..=63, 1..=63, _) if first <= last && components == 1 => {
            let (first, last) = (first.into(), last.into());
            let is_first = high == 0;
            let next = Content::OthersNext(first, last);
            Ok(if is_first { Content::OthersFirst(first, last) } else { next })
        }
        _ => Err(broken("a scan of impossible coefficients")),
    }
}
