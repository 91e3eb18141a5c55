//! JPEG seeds: sequential and progressive, interleaved or not.
//!
//! Blocks hold a constant and a few arbitrary frequencies. All codes of a table have one length, so
//! that flipping a bit usually changes a value and does not end the scan.

use image::ImageFormat;

use super::images;

pub fn seeds() -> Vec<Vec<u8>> {
    let small = Jpeg { width: 40, height: 32, factors: &[0x11], ..Jpeg::default() };
    let colour = Jpeg { factors: &[0x22, 0x11, 0x11], ..small };
    let exif = [b"Exif\0\0".to_vec(), super::tiff::orientation(6)].concat();
    vec![
        images::encoded(images::rgb(48, 40), ImageFormat::Jpeg),
        small.sequential(),
        Jpeg { marker: Some((0xe1, &exif)), ..colour }.sequential(),
        Jpeg { restart: 2, ..colour }.sequential(),
        Jpeg { factors: &[0x21, 0x11, 0x11], interleaved: false, ..small }.sequential(),
        Jpeg { marker: Some((0xee, b"Adobe\0\x64\0\0\0\0\x01")), ..colour }.sequential(),
        Jpeg { factors: &[0x11; 4], ..small }.sequential(),
        small.progressive(),
        Jpeg { restart: 3, ..colour }.progressive(),
    ]
}

/// Images so large that, without colours, they are decoded at 1/2, 1/4 and 1/8 of their size.
pub fn large() -> Vec<Vec<u8>> {
    let of_side = |side| Jpeg { width: side, height: side, flat: true, ..Jpeg::default() };
    let plain =
        vec![of_side(512).sequential(), of_side(1024).sequential(), of_side(2048).progressive()];
    let colour = Jpeg { factors: &[0x22, 0x11, 0x11], restart: 7, ..of_side(512) };
    [plain, vec![colour.sequential()]].concat()
}

/// A small preview.
pub fn preview() -> Vec<u8> {
    Jpeg { width: 176, height: 168, flat: true, ..Jpeg::default() }.sequential()
}

#[derive(Clone, Copy)]
struct Jpeg<'a> {
    width: u16,
    height: u16,
    /// For each component, the number of blocks per unit, horizontally and vertically.
    factors: &'a [u8],
    restart: u16,
    interleaved: bool,
    /// All blocks are equal.
    flat: bool,
    /// A segment before all others.
    marker: Option<(u8, &'a [u8])>,
}

impl Default for Jpeg<'_> {
    fn default() -> Self {
        let (restart, interleaved, flat, marker) = (0, true, false, None);
        Self { width: 8, height: 8, factors: &[0x11], restart, interleaved, flat, marker }
    }
}

impl Jpeg<'_> {
    fn sequential(&self) -> Vec<u8> {
        let all: Vec<_> = (0..self.factors.len()).collect();
        let scans: Vec<&[usize]> =
            if self.interleaved { vec![&all] } else { all.chunks(1).collect() };
        let scans = scans.iter().map(|parts| self.scan(parts, (0, 63, 0), Self::block));
        self.file(0xc0, scans.collect())
    }

    fn progressive(&self) -> Vec<u8> {
        let all: Vec<_> = (0..self.factors.len()).collect();
        // The constants without their last bits, which have a separate scan.
        let mut scans = vec![self.scan(&all, (0, 0, 0x01), Self::constant)];
        scans.push(self.scan(&all, (0, 0, 0x10), |_, bits, at| bits.push(at as u32 & 1, 1)));
        if !self.flat {
            for (first, last) in [(1, 5), (6, 63)] {
                let scan = |part| self.scan(part, (first, last, 0), Self::frequencies);
                scans.extend(all.chunks(1).map(scan));
            }
        }
        self.file(0xc2, scans)
    }

    fn file(&self, frame: u8, scans: Vec<Vec<u8>>) -> Vec<u8> {
        let quantisers = [vec![0], (1..=64).collect()].concat();
        let sides = [self.height, self.width].map(u16::to_be_bytes).concat();
        let parts = self.factors.iter().zip(1..).flat_map(|(&factors, id)| [id, factors, 0]);
        let parts: Vec<u8> = parts.collect();
        let count = [self.factors.len() as u8];
        let marker = self.marker.map_or_else(Vec::new, |(kind, content)| segment(kind, content));
        [
            vec![0xff, 0xd8],
            marker,
            segment(0xdb, &quantisers),
            segment(0xdd, &self.restart.to_be_bytes()),
            segment(frame, &[&[8], sides.as_slice(), &count, &parts].concat()),
            // Twelve sizes of constants with 4-bit codes; all runs and sizes with 8-bit codes.
            segment(0xc4, &codes(0x00, 4, (0..12).collect())),
            segment(0xc4, &codes(0x10, 8, (0..0xfb).collect())),
            scans.concat(),
            vec![0xff, 0xd9],
        ]
        .concat()
    }

    /// A scan of these components, with a range of frequencies and a range of bits.
    fn scan(
        &self,
        parts: &[usize],
        (first, last, bits): (u8, u8, u8),
        block: impl Fn(&Self, &mut Bits, usize),
    ) -> Vec<u8> {
        let count = parts.len() as u8;
        let components: Vec<u8> = parts.iter().flat_map(|&part| [part as u8 + 1, 0]).collect();
        let header = [&[count], components.as_slice(), &[first, last, bits]].concat();
        let (units, blocks) = self.units(parts);
        let (mut bits, mut scan) = (Bits::default(), Vec::new());
        for unit in 0..units {
            if self.restart > 0 && unit > 0 && unit % usize::from(self.restart) == 0 {
                let number = (unit / usize::from(self.restart) - 1) as u8 & 7;
                scan.extend(std::mem::take(&mut bits).finish());
                scan.extend([0xff, 0xd0 + number]);
            }
            (0..blocks).for_each(|at| block(self, &mut bits, unit * blocks + at));
        }
        scan.extend(bits.finish());
        [segment(0xda, &header), scan].concat()
    }

    /// The number of units of a scan, and of blocks per unit. A single component has one block per
    /// unit, over its own size.
    fn units(&self, parts: &[usize]) -> (usize, usize) {
        let factors = |part: usize| {
            (usize::from(self.factors[part] >> 4), usize::from(self.factors[part] & 15))
        };
        let (across, down) = factors(0);
        let (width, height) = (usize::from(self.width), usize::from(self.height));
        if let &[part] = parts {
            let (own_across, own_down) = factors(part);
            let columns = (width * own_across).div_ceil(8 * across);
            return (columns * (height * own_down).div_ceil(8 * down), 1);
        }
        let blocks = parts.iter().map(|&part| factors(part)).map(|(across, down)| across * down);
        (width.div_ceil(8 * across) * height.div_ceil(8 * down), blocks.sum())
    }

    fn block(&self, bits: &mut Bits, at: usize) {
        self.constant(bits, at);
        self.frequencies(bits, at);
    }

    /// The size and the bits of the difference to the previous block.
    fn constant(&self, bits: &mut Bits, at: usize) {
        let size = if self.flat { 0 } else { (at % 5) as u32 };
        bits.push(size, 4);
        bits.push(at as u32 & ((1 << size) - 1), size);
    }

    /// One frequency, another one after three zeros, and the end of the block.
    fn frequencies(&self, bits: &mut Bits, at: usize) {
        if !self.flat {
            bits.push(0x02, 8);
            bits.push(at as u32 & 3, 2);
            bits.push(0x31, 8);
            bits.push(1, 1);
        }
        bits.push(0x00, 8);
    }
}

fn segment(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[0xff, kind], &(content.len() as u16 + 2).to_be_bytes()[..], content].concat()
}

/// A table of codes of equal length: the code of a symbol is its index.
fn codes(kind: u8, length: usize, symbols: Vec<u8>) -> Vec<u8> {
    let mut counts = [0; 16];
    counts[length - 1] = symbols.len() as u8;
    [&[kind], counts.as_slice(), &symbols].concat()
}

/// A writer of bits, most significant first, with a zero byte after each 0xff.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    bits: u32,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u32, count: u32) {
        self.bits = self.bits << count | value;
        self.count += count;
        while self.count >= 8 {
            let byte = (self.bits >> (self.count - 8)) as u8;
            self.bytes.push(byte);
            if byte == 0xff {
                self.bytes.push(0);
            }
            self.count -= 8;
        }
        self.bits &= (1 << self.count) - 1;
    }

    fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            let missing = 8 - self.count;
            self.push((1 << missing) - 1, missing);
        }
        self.bytes
    }
}
