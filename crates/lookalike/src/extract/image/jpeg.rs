//! How is a JPEG decoded at no larger a size than is needed, and without colours that nobody asked for?
//!
//! A JPEG is made of blocks of 8 x 8 frequencies. Its lowest N x N of them are the block at N/8 of its
//! size (ITU-T T.81 has the format). For N = 1 that is one number a block: all others are read, but
//! not kept. What is left is the walk through the Huffman codes, several at a step.
//!
//! Files of 8 bits with Huffman codes, gray or YCbCr, are decoded. Of small images in colour and of
//! progressive ones in full size, [`decode`] says [`Scaled::Other`]: a complete decoder must have a
//! look. That decoder shows gray where something is missing, so every scan is walked through here
//! first: an image is intact if the bits of all its blocks are there and make sense.
//!
//! | file | question |
//! |---|---|
//! | `scan.rs` | How are the blocks of a scan read? |
//! | `bits.rs` | How do bits become numbers? |

mod bits;
mod scan;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use self::{
    bits::{Bits, Codes, Fault},
    scan::{Content, Part, Scan},
};
use super::{DecodeError, ImageFormat, Orientation, Pixels};

/// The shorter side of what is decoded is not made shorter than this.
const SHORTEST: usize = 256;

/// More bytes than this between a scan and the next marker are damage, unless they are all the same.
/// Some cameras leave a few.
const PADDING: usize = 16;

/// Encoders write a dozen of them; a hundred thousand can be claimed in a small file.
const MOST_SCANS: usize = 200;

/// The level of a coefficient that no scan has said anything of.
const UNKNOWN: u8 = u8::MAX;

/// What came of it.
pub(super) enum Scaled {
    /// Pixels, before they are turned; and width and height of the file's image.
    Decoded { pixels: Pixels, width: u32, height: u32, orientation: Orientation },
    /// Intact, but not for this decoder.
    Other,
}

/// Decodes a file at the smallest scale at which its shorter side keeps [`SHORTEST`] pixels, or as it
/// is.
pub(super) fn decode(bytes: &[u8], pixels: u64, colour: bool) -> Result<Scaled, DecodeError> {
    let read = |purpose| {
        let mut decoder = Decoder::new(bytes, purpose);
        decoder.run(pixels).map(|()| decoder)
    };
    let decoded = match read(Purpose::Pixels { colour }) {
        Err(Stop::Other) => match read(Purpose::Check) {
            Ok(checked) if checked.has_separate_scans() => read(Purpose::Separate),
            Ok(_) => return Ok(Scaled::Other),
            Err(stop) => Err(stop),
        },
        read => read,
    };
    match decoded {
        Ok(decoder) => Ok(decoder.finish()),
        Err(Stop::Other) => Ok(Scaled::Other),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// How many bytes decoding takes at most, by the header of the frame.
pub(super) fn memory(
    header: &[u8],
    progressive: bool,
    colour: bool,
    is_rgb: bool,
    file: u64,
) -> Option<u64> {
    let [_, h1, h2, w1, w2, count, rest @ ..] = header else { return None };
    let (width, height) = (number(&[*w1, *w2]), number(&[*h1, *h2]));
    let parts = rest.as_chunks::<3>().0;
    let is_finest = |part: &[u8; 3]| {
        parts.iter().all(|other| part[1] >> 4 >= other[1] >> 4 && part[1] & 15 >= other[1] & 15)
    };
    let side = scale(width, height);
    let is_other = is_rgb
        || parts.first().is_none_or(|part| part[0] == b'R' || !is_finest(part))
        || *count == 4
        || progressive && side > 1
        || colour && side == 8;
    let pixels = (width.next_multiple_of(32) * height.next_multiple_of(32)) as u64;
    let count = u64::from(*count);
    // Of each block of a progressive file, which coefficients are set.
    let set = if progressive { pixels / 64 * 8 * count } else { 0 };
    let decoded = if is_other {
        // Coefficients and planes, or those of the complete decoder and its copy of the file; red,
        // green and blue, and the same turned.
        pixels * (3 * count + 6) + file
    } else {
        let kept = if colour { count } else { 1 };
        pixels / 64 * (side * side) as u64 * (3 + 2) * kept
    };
    Some(set + decoded)
}

/// The side of a block after scaling.
fn scale(width: usize, height: usize) -> usize {
    let scaled = |side: usize| (width.min(height) * side).div_ceil(8);
    [1, 2, 4].into_iter().find(|&side| scaled(side) >= SHORTEST).unwrap_or(8)
}

/// What a file is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Pixels, in colour if it is wanted; [`Stop::Other`] where another decoder makes better ones.
    Pixels { colour: bool },
    /// Pixels of a sequential file with a scan for each component, in full colour: the complete
    /// decoder mixes them up.
    Separate,
    /// To see that all of it is there.
    Check,
}

/// Why decoding ends before its time.
enum Stop {
    Other,
    Failed(DecodeError),
}

fn broken(what: &str) -> Stop {
    Stop::Failed(DecodeError::Broken { format: ImageFormat::Jpeg, what: what.to_owned() })
}

fn unsupported(what: &str) -> Stop {
    Stop::Failed(DecodeError::Unsupported { format: ImageFormat::Jpeg, what: what.to_owned() })
}

fn cut_off() -> Stop {
    Stop::Failed(DecodeError::CutOff { format: ImageFormat::Jpeg })
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        broken(match fault {
            Fault::UnknownCode => "an unknown code",
            Fault::RunsOver => "a block runs over",
            Fault::Difference => "an impossible difference",
        })
    }
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    purpose: Purpose,
    /// By number; zigzag order.
    quantisers: [[u16; 64]; 4],
    /// For the constant, for the others; by number.
    codes: [[Option<Box<Codes>>; 4]; 2],
    frame: Option<Frame>,
    /// Blocks between two restarts; 0 for none.
    restart: usize,
    orientation: Orientation,
    /// What an Adobe marker says of the colours.
    transform: Option<u8>,
    scans: usize,
}

/// The image, as its header describes it.
struct Frame {
    width: usize,
    height: usize,
    progressive: bool,
    /// Pixels of a side of a block, after scaling: 1, 2, 4 or 8.
    side: usize,
    /// Blocks of the finest component in a unit, from left to right and top to bottom.
    across: usize,
    down: usize,
    components: Vec<Component>,
}

struct Component {
    id: u8,
    across: usize,
    down: usize,
    quantiser: usize,
    /// Blocks, whole units of them.
    columns: usize,
    rows: usize,
    /// Blocks that hold something of the image.
    used_columns: usize,
    used_rows: usize,
    /// Whether its pixels are wanted.
    wanted: bool,
    /// Coefficients of a block that are kept.
    size: usize,
    /// The lowest of each block.
    coefficients: Vec<i16>,
    /// Of a progressive file: which coefficients of each block are not zero. Zigzag order.
    set: Vec<u64>,
    /// How many bits of each coefficient are still to come; [`UNKNOWN`] if none has come yet.
    levels: [u8; 64],
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8], purpose: Purpose) -> Self {
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

    /// Reads all of it.
    fn run(&mut self, pixels: u64) -> Result<(), Stop> {
        loop {
            let Some(marker) = self.marker() else {
                // Without its last marker, a file is intact if nothing else is missing.
                return if self.is_finished() { Ok(()) } else { Err(cut_off()) };
            };
            match marker {
                // An encoder may leave out fine detail of a progressive file.
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

    /// Whether there is something of every component.
    fn has_every_component(&self) -> bool {
        let components = self.components();
        !components.is_empty() && components.iter().all(|part| part.levels[0] != UNKNOWN)
    }

    /// Whether every bit of every coefficient was there.
    fn is_finished(&self) -> bool {
        let components = self.components();
        !components.is_empty() && components.iter().all(|part| part.levels == [0; 64])
    }

    fn has_separate_scans(&self) -> bool {
        self.scans > 1 && self.frame.as_ref().is_some_and(|frame| !frame.progressive)
    }

    /// The next marker; what lies before it is passed over.
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
        // Beyond the constant, a progressive file says everything bit by bit. In full size, colours
        // that were stored at half of it must be spread smoothly.
        let is_other = |colour| progressive && side > 1 || colour && side == 8 || parts.len() == 4;
        // Red, green and blue as they are: brightness would need all of them.
        let is_rgb = parts[0][0] == b'R' && self.transform.is_none();
        match self.purpose {
            Purpose::Pixels { colour } if is_other(colour) || is_rgb => return Err(Stop::Other),
            Purpose::Separate if parts.len() == 4 => {
                return Err(unsupported("four components in separate scans"));
            }
            _ => {}
        }
        let frame = self.frame(width, height, progressive, side, parts)?;
        self.frame = Some(frame);
        Ok(())
    }

    fn frame(
        &self,
        width: usize,
        height: usize,
        progressive: bool,
        side: usize,
        parts: &[[u8; 3]],
    ) -> Result<Frame, Stop> {
        let factors = |sampling: u8| (usize::from(sampling >> 4), usize::from(sampling & 15));
        let sizes = parts.iter().map(|part| factors(part[1]));
        if !sizes.clone().all(|(across, down)| (1..=4).contains(&across) && (1..=4).contains(&down))
        {
            return Err(broken("impossible sampling"));
        }
        let across = sizes.clone().map(|(across, _)| across).max().unwrap_or(1);
        let down = sizes.map(|(_, down)| down).max().unwrap_or(1);
        if matches!(self.purpose, Purpose::Pixels { .. }) && factors(parts[0][1]) != (across, down)
        {
            return Err(Stop::Other);
        }
        let mut components = Vec::new();
        for (position, &[id, sampling, quantiser]) in parts.iter().enumerate() {
            if quantiser > 3 {
                return Err(broken("an unknown table of quantisers"));
            }
            let (own_across, own_down) = factors(sampling);
            let columns = width.div_ceil(8 * across) * own_across;
            let rows = height.div_ceil(8 * down) * own_down;
            let wanted = match self.purpose {
                Purpose::Pixels { colour } => position == 0 || colour,
                Purpose::Separate => true,
                Purpose::Check => false,
            };
            let size = if wanted { side * side } else { 0 };
            components.push(Component {
                id,
                across: own_across,
                down: own_down,
                quantiser: quantiser.into(),
                columns,
                rows,
                used_columns: (width * own_across).div_ceil(8 * across),
                used_rows: (height * own_down).div_ceil(8 * down),
                wanted,
                size,
                coefficients: vec![0; columns * rows * size],
                set: vec![0; if progressive { columns * rows } else { 0 }],
                levels: [UNKNOWN; 64],
            });
        }
        Ok(Frame { width, height, progressive, side, across, down, components })
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

    /// A broken block of EXIF says nothing.
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
        if self.scans > MOST_SCANS {
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

    /// Damage in the middle of a scan makes codes longer or shorter, so some bytes are left over.
    fn check_end_of_scan(&self) -> Result<(), Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let is_marker = |two: &[u8]| two[0] == 0xFF && !matches!(two[1], 0x00 | 0xD0..=0xD7 | 0xFF);
        let left = &rest[..rest.windows(2).position(is_marker).unwrap_or(rest.len())];
        let is_uniform = left.windows(2).all(|two| two[0] == two[1]);
        if left.len() <= PADDING || is_uniform { Ok(()) } else { Err(broken("a scan is too long")) }
    }

    /// Turns coefficients into pixels.
    fn finish(self) -> Scaled {
        let Some(frame) = self.frame else { return Scaled::Other };
        let scaled = |length: usize| (length * frame.side).div_ceil(8);
        let (width, height) = (scaled(frame.width), scaled(frame.height));
        let planes: Vec<Vec<u8>> = frame
            .components
            .iter()
            .filter(|component| component.wanted)
            .map(|component| component.plane(frame.side, &self.quantisers[component.quantiser]))
            .collect();
        let stride = |component: &Component| component.columns * frame.side;
        let is_rgb = match self.transform {
            None => frame.components[0].id == b'R',
            Some(transform) => transform == 0,
        };
        let pixels = match planes.as_slice() {
            [luma, blue, red] => {
                let mut bytes = Vec::with_capacity(width * height * 3);
                let [y_part, blue_part, red_part] = [0, 1, 2].map(|part| &frame.components[part]);
                for y in 0..height {
                    for x in 0..width {
                        let at = |plane: &[u8], part: &Component| {
                            let column = x * part.across / frame.across;
                            let row = y * part.down / frame.down;
                            plane[row * stride(part) + column]
                        };
                        let values = [at(luma, y_part), at(blue, blue_part), at(red, red_part)];
                        bytes.extend(if is_rgb { values } else { rgb(values) });
                    }
                }
                Pixels::rgb(width, height, bytes)
            }
            [luma, ..] => {
                let mut bytes = Vec::with_capacity(width * height);
                for row in luma.chunks(stride(&frame.components[0])).take(height) {
                    bytes.extend_from_slice(&row[..width]);
                }
                Pixels::gray(width, height, bytes)
            }
            [] => None,
        };
        let (width, height) = (frame.width as u32, frame.height as u32);
        let orientation = self.orientation;
        pixels.map_or(Scaled::Other, |pixels| Scaled::Decoded {
            pixels,
            width,
            height,
            orientation,
        })
    }
}

/// What a marker says if it starts a frame that nobody here decodes.
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

/// What the header of a progressive scan announces.
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

impl Component {
    /// The coefficients of a block that are kept; none if its pixels are not wanted.
    #[inline]
    fn kept(&mut self, block: usize) -> &mut [i16] {
        &mut self.coefficients[block * self.size..(block + 1) * self.size]
    }

    /// Notes which bits of which coefficients a progressive scan holds. Each bit comes once, the upper
    /// ones first: if not, a scan is missing.
    fn advance(&mut self, first: u8, last: u8, bits: u8) -> Result<(), Stop> {
        let (high, low) = (bits >> 4, bits & 15);
        for level in &mut self.levels[usize::from(first)..=usize::from(last)] {
            let follows = match *level {
                UNKNOWN => high == 0,
                level => high == level && low + 1 == level,
            };
            if !follows {
                return Err(broken("a scan is missing"));
            }
            *level = low;
        }
        Ok(())
    }
}

/// Two bytes as a number.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// In 16 bits after the point, as JFIF defines it.
fn rgb(values: [u8; 3]) -> [u8; 3] {
    let [luma, blue, red] = values.map(i32::from);
    let (blue, red) = (blue - 128, red - 128);
    let byte = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
    let luma = luma << 16;
    [
        byte(luma + 91_881 * red),
        byte(luma - 22_554 * blue - 46_802 * red),
        byte(luma + 116_130 * blue),
    ]
}

/// Places of zigzag order in a block of 8 x 8.
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// By side of a scaled block, the waves at its pixels: row `i` is the wave of `i` half periods.
static WAVES: LazyLock<[[[f32; 4]; 4]; 2]> = LazyLock::new(|| {
    [2, 4].map(|side: usize| {
        std::array::from_fn(|wave| {
            std::array::from_fn(|at| {
                let size = side as f64;
                let phase = std::f64::consts::PI * (wave * (2 * at + 1)) as f64 / (2.0 * size);
                let scale = if wave == 0 { 1.0 / size } else { 2.0 / size };
                // A block of 8 has 8 / side times the amplitude in each direction.
                ((scale * size / 8.0).sqrt() * libm::cos(phase)) as f32
            })
        })
    })
});

impl Component {
    /// The pixels of all blocks.
    fn plane(&self, side: usize, quantisers: &[u16; 64]) -> Vec<u8> {
        let stride = self.columns * side;
        let mut plane = vec![0; stride * self.rows * side];
        let mut factors = [0_i32; 64];
        for (at, &place) in ZIGZAG.iter().enumerate() {
            let (row, column) = (usize::from(place / 8), usize::from(place % 8));
            if row < side && column < side {
                factors[row * side + column] = quantisers[at].into();
            }
        }
        let weights = weighted(&factors);
        for (block, coefficients) in self.coefficients.chunks(side * side).enumerate() {
            let from = block / self.columns * side * stride + block % self.columns * side;
            let target = &mut plane[from..];
            if side == 1 || coefficients[1..].iter().all(|&value| value == 0) {
                let constant = i32::from(coefficients[0]) * factors[0];
                let value = (((constant + 4) >> 3) + 128).clamp(0, 255) as u8;
                (0..side).for_each(|row| target[row * stride..][..side].fill(value));
            } else if let Some(coefficients) = coefficients.first_chunk::<64>() {
                whole_block(coefficients, &weights, target, stride);
            } else {
                part_of_block(coefficients, &factors, side, target, stride);
            }
        }
        plane
    }
}

/// Turns the lowest `side * side` frequencies of a block into as many pixels.
fn part_of_block(
    coefficients: &[i16],
    factors: &[i32; 64],
    side: usize,
    target: &mut [u8],
    stride: usize,
) {
    let waves = &WAVES[side / 4];
    let mut columns = [[0.0_f32; 4]; 4];
    for (i, down) in waves.iter().enumerate().take(side) {
        let row = coefficients[i * side..].iter().zip(&factors[i * side..]).take(side);
        for (j, (&coefficient, factor)) in row.enumerate() {
            let value = (i32::from(coefficient) * factor) as f32;
            columns.iter_mut().zip(down).for_each(|(sums, wave)| sums[j] += wave * value);
        }
    }
    for (y, sums) in columns.iter().enumerate().take(side) {
        for x in 0..side {
            let value: f32 = (0..side).map(|j| waves[j][x] * sums[j]).sum();
            target[y * stride + x] = (value + 128.5).clamp(0.0, 255.0) as u8;
        }
    }
}

/// Eight numbers that are worked on together.
type Lanes = [f32; 8];

/// Quantisers, each with the weight its wave has in both directions.
fn weighted(factors: &[i32; 64]) -> [Lanes; 8] {
    let weight = |wave: usize| if wave == 0 { 0.125_f64.sqrt() } else { 0.5 };
    std::array::from_fn(|i| {
        std::array::from_fn(|j| (f64::from(factors[8 * i + j]) * weight(i) * weight(j)) as f32)
    })
}

/// Turns all frequencies of a block into pixels.
fn whole_block(coefficients: &[i16; 64], weights: &[Lanes; 8], target: &mut [u8], stride: usize) {
    let (rows, _) = coefficients.as_chunks::<8>();
    let waves: [Lanes; 8] =
        std::array::from_fn(|i| std::array::from_fn(|j| f32::from(rows[i][j]) * weights[i][j]));
    let down = waves_to_values(&waves);
    let across = waves_to_values(&transposed(&down));
    for (y, row) in transposed(&across).iter().enumerate() {
        target[y * stride..][..8].copy_from_slice(&row.map(pixel));
    }
}

/// The nearest whole number, 0 to 255, of a value around zero: above 2^23, floats are whole numbers,
/// whose last bits are the number's. Unlike a conversion, this is done to many at once.
fn pixel(value: f32) -> u8 {
    ((value + 128.0).clamp(0.0, 255.0) + 8_388_608.0).to_bits() as u8
}

#[inline]
fn transposed(rows: &[Lanes; 8]) -> [Lanes; 8] {
    std::array::from_fn(|i| std::array::from_fn(|j| rows[j][i]))
}

/// In every lane, the sum of eight waves at eight places. Even waves are the same in both halves, odd
/// ones the opposite.
#[inline]
fn waves_to_values(waves: &[Lanes; 8]) -> [Lanes; 8] {
    // Cosines of k / 16 of half a turn.
    const C: [f32; 8] = [
        1.0,
        0.980_785_25,
        0.923_879_5,
        0.831_469_6,
        0.707_106_77,
        0.555_570_24,
        0.382_683_43,
        0.195_090_32,
    ];
    let mut values = [[0.0; 8]; 8];
    for lane in 0..8 {
        let [w0, w1, w2, w3, w4, w5, w6, w7] = std::array::from_fn(|wave| waves[wave][lane]);
        let (sum, difference) = (w0 + C[4] * w4, w0 - C[4] * w4);
        let (slow, fast) = (C[2] * w2 + C[6] * w6, C[6] * w2 - C[2] * w6);
        let even = [sum + slow, difference + fast, difference - fast, sum - slow];
        let odd = [
            C[1] * w1 + C[3] * w3 + C[5] * w5 + C[7] * w7,
            C[3] * w1 - C[7] * w3 - C[1] * w5 - C[5] * w7,
            C[5] * w1 - C[1] * w3 + C[7] * w5 + C[3] * w7,
            C[7] * w1 - C[5] * w3 + C[3] * w5 - C[1] * w7,
        ];
        for at in 0..4 {
            values[at][lane] = even[at] + odd[at];
            values[7 - at][lane] = even[at] - odd[at];
        }
    }
    values
}
