//! How is a JPEG decoded at no larger a size than is needed, and without colours that nobody asked for?
//!
//! A JPEG is made of blocks of 8 x 8 frequencies. Its lowest N x N of them are the block at N/8 of its
//! size (ITU-T T.81 has the format). For N = 1 that is one number a block: all others are skipped,
//! not decoded, and of a progressive file only the scans that hold it are read. What is left is the
//! walk through the Huffman codes, several at a step.
//!
//! Plain files are decoded: 8 bits, Huffman codes, gray or YCbCr. Of anything else, and of small
//! pictures in colour, [`decode`] says [`Scaled::Other`], and a complete decoder must have a look.

use std::sync::LazyLock;

use super::{DecodeError, Orientation, PictureFormat, Pixels};

/// The shorter side of what is decoded is not made shorter than this.
const SHORTEST: usize = 256;

/// What came of it.
pub(super) enum Scaled {
    /// Pixels, before they are turned; and width and height of the file's picture.
    Decoded { pixels: Pixels, width: u32, height: u32, orientation: Orientation },
    /// Not for this decoder.
    Other,
}

/// Decodes a file at the smallest scale at which its shorter side keeps [`SHORTEST`] pixels, or as it
/// is.
pub(super) fn decode(bytes: &[u8], pixels: u64, colour: bool) -> Result<Scaled, DecodeError> {
    let mut decoder = Decoder::new(bytes, colour);
    match decoder.run(pixels) {
        Ok(()) => Ok(decoder.finish()),
        Err(Stop::Other) => Ok(Scaled::Other),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Why decoding ends before its time.
enum Stop {
    Other,
    Failed(DecodeError),
}

fn broken(what: &str) -> Stop {
    Stop::Failed(DecodeError::Broken { format: PictureFormat::Jpeg, what: what.to_owned() })
}

fn cut_off() -> Stop {
    Stop::Failed(DecodeError::CutOff { format: PictureFormat::Jpeg })
}

/// What is wrong with a block. Blocks are many: it fits a register.
#[derive(Clone, Copy)]
enum Fault {
    UnknownCode,
    RunsOver,
    Difference,
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
    colour: bool,
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
}

/// The picture, as its header describes it.
struct Frame {
    width: usize,
    height: usize,
    progressive: bool,
    /// Pixels of a side of a block, after scaling: 1, 2, 4 or 8.
    side: usize,
    /// Blocks of the first component in a unit, from left to right and top to bottom.
    across: usize,
    down: usize,
    components: Vec<Component>,
    /// Scans of the constant that were read, by component.
    seen: Vec<bool>,
}

struct Component {
    id: u8,
    across: usize,
    down: usize,
    quantiser: usize,
    /// Blocks, whole units of them.
    columns: usize,
    rows: usize,
    /// Blocks that hold something of the picture.
    used_columns: usize,
    used_rows: usize,
    /// Whether its pixels are wanted.
    wanted: bool,
    /// The lowest `side * side` coefficients of each block.
    coefficients: Vec<i16>,
}

/// A scan's share of a component.
#[derive(Clone, Copy)]
struct Part {
    component: usize,
    constant: usize,
    others: usize,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8], colour: bool) -> Self {
        Self {
            bytes,
            at: 2,
            colour,
            quantisers: [[0; 64]; 4],
            codes: Default::default(),
            frame: None,
            restart: 0,
            orientation: Orientation::UPRIGHT,
            transform: None,
        }
    }

    /// Reads all that is needed.
    fn run(&mut self, pixels: u64) -> Result<(), Stop> {
        loop {
            match self.marker() {
                // All of a sequential picture is there; of a progressive one, something is missing.
                None if self.is_complete() && !self.is_progressive() => return Ok(()),
                None => return Err(cut_off()),
                Some(0xD9) if self.is_complete() => return Ok(()),
                Some(0xD9) => return Err(broken("it ends without a picture")),
                Some(0xC0..=0xC2) => {
                    let progressive = self.bytes[self.at - 1] == 0xC2;
                    let segment = self.segment()?;
                    self.read_frame(segment, progressive, pixels)?;
                }
                Some(0xC4) => self.read_codes()?,
                Some(0xC3 | 0xC5..=0xC7 | 0xC9..=0xCF) => return Err(Stop::Other),
                Some(0xDB) => self.read_quantisers()?,
                Some(0xDD) => {
                    let segment = self.segment()?;
                    self.restart = segment.get(..2).map_or(0, number);
                }
                Some(0xDA) => self.read_scan()?,
                Some(0xE1) => self.read_exif()?,
                Some(0xEE) => self.read_adobe()?,
                Some(0x01 | 0xD0..=0xD8) => {}
                Some(_) => {
                    self.segment()?;
                }
            }
        }
    }

    /// Whether every component was decoded.
    fn is_complete(&self) -> bool {
        self.frame.as_ref().is_some_and(|frame| frame.seen.iter().all(|seen| *seen))
    }

    fn is_progressive(&self) -> bool {
        self.frame.as_ref().is_some_and(|frame| frame.progressive)
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
        if self.frame.is_some() || *precision != 8 || !matches!(count, 1 | 3) || width * height == 0
        {
            return Err(Stop::Other);
        }
        let (w, h) = (width as u32, height as u32);
        if u64::from(w) * u64::from(h) > limit {
            return Err(Stop::Failed(DecodeError::TooManyPixels { width: w, height: h, limit }));
        }
        let scaled = |side: usize| (width.min(height) * side).div_ceil(8);
        let side = [1, 2, 4].into_iter().find(|&side| scaled(side) >= SHORTEST).unwrap_or(8);
        // Beyond the constant, a progressive file says everything bit by bit. In full size, colours
        // that were stored at half of it must be spread smoothly.
        if progressive && side > 1 || self.colour && side == 8 {
            return Err(Stop::Other);
        }
        if rest.len() < 3 * usize::from(*count) {
            return Err(Stop::Other);
        }
        let parts = rest.as_chunks::<3>().0.iter().take(usize::from(*count));
        let factors = |sampling: u8| (usize::from(sampling >> 4), usize::from(sampling & 15));
        let (across, down) = parts.clone().map(|part| factors(part[1])).next().unwrap_or((1, 1));
        let (units_across, units_down) =
            (width.div_ceil(8 * across.max(1)), height.div_ceil(8 * down.max(1)));
        let mut components = Vec::new();
        for (position, &[id, sampling, quantiser]) in parts.enumerate() {
            let (own_across, own_down) = factors(sampling);
            let fits = (1..=across).contains(&own_across) && (1..=down).contains(&own_down);
            if !fits || across > 4 || down > 4 || quantiser > 3 {
                return Err(Stop::Other);
            }
            let (columns, rows) = (units_across * own_across, units_down * own_down);
            let wanted = position == 0 || self.colour;
            let size = if wanted { columns * rows * side * side } else { 0 };
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
                coefficients: vec![0; size],
            });
        }
        // Red, green and blue as they are: brightness would need all of them.
        if *count == 3 && components[0].id == b'R' && self.transform.is_none() {
            return Err(Stop::Other);
        }
        let seen = vec![false; components.len()];
        self.frame =
            Some(Frame { width, height, progressive, side, across, down, components, seen });
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
        match self.transform {
            Some(0) => Err(Stop::Other),
            _ => Ok(()),
        }
    }

    fn read_scan(&mut self) -> Result<(), Stop> {
        let header = self.segment()?;
        let Some(frame) = &mut self.frame else { return Err(broken("a scan before its frame")) };
        let count = usize::from(*header.first().ok_or_else(cut_off)?);
        let [first, _, bits] =
            *header.get(1 + 2 * count..).and_then(|rest| rest.first_chunk()).ok_or_else(cut_off)?;
        if count > 4 {
            return Err(broken("a scan of too many components"));
        }
        if frame.progressive && first > 0 {
            // The next marker is looked for by whoever called.
            return Ok(());
        }
        let mut parts = Vec::new();
        for &[id, tables] in header[1..1 + 2 * count].as_chunks::<2>().0 {
            let component = frame.components.iter().position(|component| component.id == id);
            let component = component.ok_or_else(|| broken("a scan of an unknown component"))?;
            let (constant, others) = (usize::from(tables >> 4) & 3, usize::from(tables) & 3);
            parts.push(Part { component, constant, others });
        }
        let mut reader = Bits::new(&self.bytes[self.at..]);
        let scan = Scan { codes: &self.codes, parts: &parts, restart: self.restart };
        match (frame.progressive, bits >> 4) {
            (false, _) => scan.run(frame, &mut reader, &Sequential),
            (true, 0) => scan.run(frame, &mut reader, &FirstBits(bits & 15)),
            (true, _) => scan.run(frame, &mut reader, &NextBit(bits & 15)),
        }?;
        parts.iter().for_each(|part| frame.seen[part.component] = true);
        self.at += reader.at;
        Ok(())
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
        let pixels = match planes.as_slice() {
            [luma, blue, red] => {
                let mut bytes = Vec::with_capacity(width * height * 3);
                let [y_part, blue_part, red_part] = [0, 1, 2].map(|part| &frame.components[part]);
                for y in 0..height {
                    for x in 0..width {
                        let at = |plane: &[u8], part: &Component| {
                            let column = x * part.across / frame.across;
                            let row = y * part.down / frame.down;
                            i32::from(plane[row * stride(part) + column])
                        };
                        bytes.extend(rgb(at(luma, y_part), at(blue, blue_part), at(red, red_part)));
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

/// Two bytes as a number.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// In 16 bits after the point, as JFIF defines it.
fn rgb(luma: i32, blue: i32, red: i32) -> [u8; 3] {
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

/// How a block is read from the bits of a scan.
trait ReadBlock {
    /// Reads a block of a component; `kept` are its coefficients, none if they are not wanted.
    fn read(
        &self,
        bits: &mut Bits<'_>,
        part: &PartCodes<'_>,
        before: &mut i32,
        kept: &mut [i16],
    ) -> Result<(), Fault>;

    /// Whether codes of the other coefficients are needed.
    fn needs_others(&self) -> bool {
        false
    }
}

/// All coefficients of a block after each other.
struct Sequential;

/// The upper bits of the constant; so many follow.
struct FirstBits(u8);

/// One more bit of the constant.
struct NextBit(u8);

impl ReadBlock for Sequential {
    fn needs_others(&self) -> bool {
        true
    }

    #[inline]
    fn read(
        &self,
        bits: &mut Bits<'_>,
        part: &PartCodes<'_>,
        before: &mut i32,
        kept: &mut [i16],
    ) -> Result<(), Fault> {
        *before = before.wrapping_add(bits.difference(part.constants)?);
        if let Some(constant) = kept.first_mut() {
            *constant = *before as i16;
        }
        match (kept.len(), &part.skips) {
            (0 | 1, Some(skips)) => skips.pass(bits, part.others),
            (0 | 1, None) => pass_from(1, bits, part.others),
            (4, _) => read_others::<2>(bits, part.others, kept),
            (16, _) => read_others::<4>(bits, part.others, kept),
            _ => read_others::<8>(bits, part.others, kept),
        }
    }
}

/// Reads all coefficients but the constant, and keeps those of the lowest frequencies.
fn read_others<const SIDE: usize>(
    bits: &mut Bits<'_>,
    others: &Codes,
    kept: &mut [i16],
) -> Result<(), Fault> {
    let mut at = 1;
    while at < 64 {
        bits.fill();
        let symbol = others.symbol(bits)?;
        let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
        if size == 0 {
            if run < 15 {
                break;
            }
            at += 16;
            continue;
        }
        at += run;
        let value = bits.signed(size);
        let place = usize::from(*ZIGZAG.get(at).ok_or(Fault::RunsOver)?);
        if place / 8 < SIDE && place % 8 < SIDE {
            kept[place / 8 * SIDE + place % 8] = value as i16;
        }
        at += 1;
    }
    Ok(())
}

/// Passes over all coefficients from this one on.
fn pass_from(mut at: u32, bits: &mut Bits<'_>, others: &Codes) -> Result<(), Fault> {
    while at < 64 {
        bits.fill();
        let symbol = others.symbol(bits)?;
        let (run, size) = (symbol >> 4, symbol & 15);
        if size == 0 && run < 15 {
            break;
        }
        bits.drop(size.into());
        at += u32::from(run) + 1;
    }
    if at > 64 { Err(Fault::RunsOver) } else { Ok(()) }
}

/// What the next bits of a scan say of coefficients that nobody wants: several codes at one look.
struct Skips(Box<[Skip; 1 << Self::LOOKED_UP]>);

/// As many codes as start in some bits, with the values behind them.
#[derive(Clone, Copy, Default)]
struct Skip {
    /// All bits of them; 0 if not even one code fits.
    bits: u8,
    /// Coefficients they stand for; with [`Skip::END`] if they end a block.
    coefficients: u8,
}

impl Skip {
    const END: u8 = 128;

    fn of(codes: &Codes, window: u64) -> Self {
        let mut skip = Self::default();
        while u32::from(skip.bits) < Skips::LOOKED_UP {
            // Bits beyond the window are not known; a code must end within it.
            let entry = codes.short[((window << skip.bits) >> (64 - LOOKED_UP)) as usize];
            let end = u32::from(skip.bits) + u32::from(entry >> 8);
            let (run, size) = (entry as u8 >> 4, entry as u8 & 15);
            if entry == 0 || end > Skips::LOOKED_UP || skip.coefficients + run + 1 > 64 {
                break;
            }
            skip.bits = end as u8 + size;
            if size == 0 && run < 15 {
                skip.coefficients |= Self::END;
                break;
            }
            skip.coefficients += run + 1;
        }
        skip
    }
}

impl Skips {
    const LOOKED_UP: u32 = 12;

    /// Worth its making if there are that many blocks.
    const BLOCKS: usize = 1 << 13;

    fn of(codes: &Codes) -> Self {
        let mut skips = Box::new([Skip::default(); 1 << Self::LOOKED_UP]);
        for (window, skip) in (0_u64..).zip(skips.iter_mut()) {
            *skip = Skip::of(codes, window << (64 - Self::LOOKED_UP));
        }
        Self(skips)
    }

    /// Passes over all coefficients but the constant.
    #[inline]
    fn pass(&self, bits: &mut Bits<'_>, others: &Codes) -> Result<(), Fault> {
        let mut at = 1;
        while at < 64 {
            bits.fill();
            let Skip { bits: length, coefficients } = self.0[bits.peek(Self::LOOKED_UP) as usize];
            let after = at + u32::from(coefficients & !Skip::END);
            let ends = coefficients & Skip::END != 0;
            // The last coefficient ends a block, too: what comes then is not of it.
            if length == 0 || after > 64 - u32::from(ends) {
                return pass_from(at, bits, others);
            }
            bits.drop(length.into());
            if ends {
                break;
            }
            at = after;
        }
        Ok(())
    }
}

impl ReadBlock for FirstBits {
    fn read(
        &self,
        bits: &mut Bits<'_>,
        part: &PartCodes<'_>,
        before: &mut i32,
        kept: &mut [i16],
    ) -> Result<(), Fault> {
        *before = before.wrapping_add(bits.difference(part.constants)?);
        kept.iter_mut().for_each(|constant| *constant = (*before << self.0.min(13)) as i16);
        Ok(())
    }
}

impl ReadBlock for NextBit {
    fn read(
        &self,
        bits: &mut Bits<'_>,
        _: &PartCodes<'_>,
        _: &mut i32,
        kept: &mut [i16],
    ) -> Result<(), Fault> {
        bits.fill();
        let bit = bits.take(1) as i16;
        kept.iter_mut().for_each(|constant| *constant |= bit << self.0.min(13));
        Ok(())
    }
}

/// A scan, ready to be read.
struct Scan<'a> {
    codes: &'a [[Option<Box<Codes>>; 4]; 2],
    parts: &'a [Part],
    restart: usize,
}

/// The codes of a scan's share of a component.
struct PartCodes<'a> {
    component: usize,
    /// Its blocks in a unit, from left to right and top to bottom.
    across: usize,
    down: usize,
    constants: &'a Codes,
    others: &'a Codes,
    /// Made where most coefficients are passed over.
    skips: Option<Skips>,
}

impl Scan<'_> {
    fn run(
        &self,
        frame: &mut Frame,
        bits: &mut Bits<'_>,
        how: &impl ReadBlock,
    ) -> Result<(), Stop> {
        let none = Codes::none();
        let parts = self.part_codes(frame, &none, how.needs_others())?;
        let (columns, rows) = match self.parts {
            [part] => {
                let component = &frame.components[part.component];
                (component.used_columns, component.used_rows)
            }
            _ => (frame.width.div_ceil(8 * frame.across), frame.height.div_ceil(8 * frame.down)),
        };
        let size = frame.side * frame.side;
        let mut before = [0_i32; 4];
        let mut until_restart = self.restart;
        for top in 0..rows {
            for left in 0..columns {
                if self.restart > 0 {
                    if until_restart == 0 {
                        bits.restart()?;
                        before = [0; 4];
                        until_restart = self.restart;
                    }
                    until_restart -= 1;
                }
                for (part, before) in parts.iter().zip(&mut before) {
                    let component = &mut frame.components[part.component];
                    for row in top * part.down..(top + 1) * part.down {
                        for column in left * part.across..(left + 1) * part.across {
                            let kept = if component.wanted {
                                let from = (row * component.columns + column) * size;
                                &mut component.coefficients[from..from + size]
                            } else {
                                &mut []
                            };
                            how.read(bits, part, before, kept)?;
                        }
                    }
                }
                if bits.is_over() {
                    return Err(if bits.at + 1 >= bits.bytes.len() {
                        cut_off()
                    } else {
                        broken("a scan ends too early")
                    });
                }
            }
        }
        Ok(())
    }

    fn part_codes<'a>(
        &'a self,
        frame: &Frame,
        none: &'a Codes,
        needs_others: bool,
    ) -> Result<Vec<PartCodes<'a>>, Stop> {
        let alone = self.parts.len() == 1;
        let codes = |part: &Part| {
            let component = &frame.components[part.component];
            let (across, down) = if alone { (1, 1) } else { (component.across, component.down) };
            let others = match self.codes[1][part.others].as_deref() {
                Some(others) => others,
                None if needs_others => return Err(broken("a scan without codes")),
                None => none,
            };
            let passes = needs_others && (frame.side == 1 || !component.wanted);
            let worth = passes && component.columns * component.rows >= Skips::BLOCKS;
            Ok(PartCodes {
                component: part.component,
                across,
                down,
                constants: self.codes[0][part.constant].as_deref().unwrap_or(none),
                others,
                skips: worth.then(|| Skips::of(others)),
            })
        };
        self.parts.iter().map(codes).collect()
    }
}

/// How many bits of a code are looked up at once.
const LOOKED_UP: u32 = 11;

/// A table of Huffman codes.
struct Codes {
    /// By the next bits: the length of the code that starts so, and its symbol; 0 for longer ones.
    short: [u16; 1 << LOOKED_UP],
    /// By length: one more than the largest code, left-aligned in 16 bits.
    ends: [u32; 17],
    /// By length: what is added to a code to get its place among the symbols.
    offsets: [i32; 17],
    symbols: Vec<u8>,
}

impl Codes {
    fn none() -> Self {
        Self { short: [0; 1 << LOOKED_UP], ends: [0; 17], offsets: [0; 17], symbols: Vec::new() }
    }

    /// `None` if there are more codes of a length than it has room for.
    fn new(counts: &[u8; 16], symbols: &[u8]) -> Option<Self> {
        let mut codes = Self::none();
        codes.symbols = symbols.to_vec();
        let (mut code, mut place) = (0_u32, 0_usize);
        for (length, &count) in (1_u32..).zip(counts) {
            codes.offsets[length as usize] = place as i32 - code as i32;
            for _ in 0..count {
                if code >> length != 0 {
                    return None;
                }
                if length <= LOOKED_UP {
                    let first = (code << (LOOKED_UP - length)) as usize;
                    let entry = (length as u16) << 8 | u16::from(symbols[place]);
                    codes.short[first..first + (1 << (LOOKED_UP - length))].fill(entry);
                }
                code += 1;
                place += 1;
            }
            codes.ends[length as usize] = code << (16 - length);
            code <<= 1;
        }
        Some(codes)
    }

    /// The next symbol. There must be 16 bits.
    #[inline]
    fn symbol(&self, bits: &mut Bits<'_>) -> Result<u8, Fault> {
        let entry = self.short[bits.peek(LOOKED_UP) as usize];
        if entry != 0 {
            bits.drop(u32::from(entry >> 8));
            return Ok(entry as u8);
        }
        self.long_symbol(bits)
    }

    #[cold]
    fn long_symbol(&self, bits: &mut Bits<'_>) -> Result<u8, Fault> {
        let next = bits.peek(16) as u32;
        let length = (1..=16_u32).find(|&length| next < self.ends[length as usize]);
        let length = length.ok_or(Fault::UnknownCode)?;
        let place = (next >> (16 - length)) as i32 + self.offsets[length as usize];
        bits.drop(length);
        let symbol = usize::try_from(place).ok().and_then(|place| self.symbols.get(place));
        symbol.copied().ok_or(Fault::UnknownCode)
    }
}

/// The bits of a scan, up to the next marker; zeros from there on.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The next bits, from the most significant one on.
    bits: u64,
    /// How many of them there are.
    count: u32,
    /// How many of them are not in the scan.
    added: u32,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, bits: 0, count: 0, added: 0 }
    }

    /// Makes sure that there are 32 bits or more: a code and a value have 31 at most.
    #[inline]
    fn fill(&mut self) {
        if self.count >= 32 {
            return;
        }
        if let Some(&next) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            let next = u64::from_be_bytes(next);
            // A byte of all ones is a marker, or stands for itself with a zero behind it.
            let inverted = !next;
            let zeros =
                inverted.wrapping_sub(0x0101_0101_0101_0101) & !inverted & 0x8080_8080_8080_8080;
            if zeros == 0 {
                // Bits beyond the whole bytes are those that will be added next: no harm in them.
                self.bits |= next >> self.count;
                let whole = (64 - self.count) / 8;
                self.at += whole as usize;
                self.count += 8 * whole;
                return;
            }
        }
        self.fill_slowly();
    }

    fn fill_slowly(&mut self) {
        // What was added beyond the whole bytes must not be added twice in another place.
        self.bits &= !(u64::MAX.checked_shr(self.count).unwrap_or(0));
        while self.count <= 56 {
            let byte = match self.bytes.get(self.at) {
                Some(0xFF) if self.bytes.get(self.at + 1) == Some(&0) => {
                    self.at += 2;
                    0xFF
                }
                Some(&byte) if byte != 0xFF => {
                    self.at += 1;
                    byte
                }
                _ => {
                    self.added += 8;
                    0
                }
            };
            self.bits |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    #[inline]
    fn peek(&self, count: u32) -> u64 {
        self.bits >> (64 - count)
    }

    #[inline]
    fn drop(&mut self, count: u32) {
        self.bits <<= count;
        self.count -= count;
    }

    #[inline]
    fn take(&mut self, count: u32) -> u64 {
        let bits = self.peek(count);
        self.drop(count);
        bits
    }

    /// A number of so many bits, 1 to 15, whose upper half stands for positive ones.
    #[inline]
    fn signed(&mut self, size: u32) -> i32 {
        let value = self.take(size) as i32;
        if value < 1 << (size - 1) { value - (1 << size) + 1 } else { value }
    }

    /// By how much a constant differs from the one before.
    #[inline]
    fn difference(&mut self, codes: &Codes) -> Result<i32, Fault> {
        self.fill();
        match u32::from(codes.symbol(self)?) {
            0 => Ok(0),
            size @ 1..=15 => Ok(self.signed(size)),
            _ => Err(Fault::Difference),
        }
    }

    /// Whether bits were used that are not there.
    fn is_over(&self) -> bool {
        self.added > self.count
    }

    /// Goes on behind the marker that says so.
    fn restart(&mut self) -> Result<(), Stop> {
        if self.is_over() {
            return Err(cut_off());
        }
        (self.bits, self.count, self.added) = (0, 0, 0);
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let marker = rest
            .windows(2)
            .take(16)
            .position(|two| two[0] == 0xFF && matches!(two[1], 0xD0..=0xD7));
        match marker {
            Some(offset) => self.at += offset + 2,
            None if rest.len() < 2 => return Err(cut_off()),
            None => return Err(broken("a restart is missing")),
        }
        Ok(())
    }
}
