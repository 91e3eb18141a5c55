//! Files that no encoder at hand writes, made here: progressive ones, ones with a scan for each
//! component, ones that lack something.

use super::super::{DecodeError, Decoder, ImageFormat, Pixels};

const WIDTH: usize = 40;
const HEIGHT: usize = 24;

/// Coefficients of a block in zigzag order.
type Block = [i32; 64];

/// Three components of 5 x 3 blocks, or half as many of the colours.
struct Image {
    sampling: [usize; 3],
    blocks: [Vec<Block>; 3],
}

impl Image {
    /// `luma` is 1 for colours in full size, 2 for half.
    fn new(luma: usize) -> Self {
        let sampling = [luma, 1, 1];
        let mut state = 7_u32;
        let mut next = move |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 8) % (2 * most + 1)) as i32 - most as i32
        };
        let blocks = sampling.map(|factor| {
            let (columns, rows) = (WIDTH.div_ceil(8 * luma), HEIGHT.div_ceil(8 * luma));
            let mut block = || {
                let mut block = [0; 64];
                block[0] = next(40);
                (0..12).for_each(|_| block[1 + next(31).unsigned_abs() as usize * 2] = next(5));
                block
            };
            (0..columns * rows * factor * factor).map(|_| block()).collect()
        });
        Self { sampling, blocks }
    }

    /// Blocks of a row, whole units of them; and blocks that hold something of the image.
    fn columns(&self, part: usize) -> (usize, usize, usize) {
        let (factor, most) = (self.sampling[part], self.sampling[0]);
        let used = |length: usize| (length * factor).div_ceil(8 * most);
        (WIDTH.div_ceil(8 * most) * factor, used(WIDTH), used(HEIGHT))
    }

    /// Blocks in the order in which a scan of these components has them, each with its component.
    fn order(&self, parts: &[usize]) -> Vec<Vec<(usize, usize)>> {
        if let [part] = *parts {
            let (columns, across, down) = self.columns(part);
            let places = (0..down).flat_map(|y| (0..across).map(move |x| (x, y)));
            return places.map(|(x, y)| vec![(part, y * columns + x)]).collect();
        }
        let most = self.sampling[0];
        let mut units = Vec::new();
        for y in 0..HEIGHT.div_ceil(8 * most) {
            for x in 0..WIDTH.div_ceil(8 * most) {
                let mut unit = Vec::new();
                for &part in parts {
                    let factor = self.sampling[part];
                    for row in y * factor..(y + 1) * factor {
                        let columns = x * factor..(x + 1) * factor;
                        unit.extend(columns.map(|x| (part, row * self.columns(part).0 + x)));
                    }
                }
                units.push(unit);
            }
        }
        units
    }

    fn file(&self, process: u8, scans: &[Scan], restart: u16) -> Vec<u8> {
        let mut file = vec![0xFF, 0xD8];
        segment(&mut file, 0xDB, &[&[0], &[4; 64][..]].concat());
        let size = [8, 0, HEIGHT as u8, 0, WIDTH as u8, 3];
        let parts = (1..4).zip(self.sampling).flat_map(|(id, of)| [id, (of << 4 | of) as u8, 0]);
        segment(&mut file, process, &[&size[..], &parts.collect::<Vec<_>>()].concat());
        // Sizes of constants have 4 bits; half of the other symbols have 8, the rest 9.
        let constants = [0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let others = [0, 0, 0, 0, 0, 0, 0, 128, 128, 0, 0, 0, 0, 0, 0, 0];
        for (class, counts, last) in [(0x00, constants, 11), (0x10, others, 255)] {
            let symbols: Vec<u8> = (0..=last).collect();
            segment(&mut file, 0xC4, &[&[class], &counts[..], &symbols].concat());
        }
        segment(&mut file, 0xDD, &restart.to_be_bytes());
        for scan in scans {
            let parts = scan.parts.iter().flat_map(|&part| [part as u8 + 1, 0]);
            let head: Vec<u8> = [scan.parts.len() as u8].into_iter().chain(parts).collect();
            let range = [scan.from as u8, scan.to as u8, scan.high << 4 | scan.low];
            segment(&mut file, 0xDA, &[&head[..], &range].concat());
            scan.write(self, restart.into(), process == 0xC2, &mut file);
        }
        file.extend([0xFF, 0xD9]);
        file
    }
}

fn segment(file: &mut Vec<u8>, marker: u8, content: &[u8]) {
    file.extend([0xFF, marker]);
    file.extend((content.len() as u16 + 2).to_be_bytes());
    file.extend(content);
}

#[derive(Clone, Copy)]
struct Scan {
    parts: &'static [usize],
    from: usize,
    to: usize,
    high: u8,
    low: u8,
}

const fn scan(parts: &'static [usize], from: usize, to: usize, high: u8, low: u8) -> Scan {
    Scan { parts, from, to, high, low }
}

const TOGETHER: [Scan; 1] = [scan(&[0, 1, 2], 0, 63, 0, 0)];
const SEPARATE: [Scan; 3] =
    [scan(&[0], 0, 63, 0, 0), scan(&[1], 0, 63, 0, 0), scan(&[2], 0, 63, 0, 0)];
const PROGRESSIVE: [Scan; 9] = [
    scan(&[0, 1, 2], 0, 0, 0, 1),
    scan(&[0], 1, 5, 0, 2),
    scan(&[1], 1, 63, 0, 0),
    scan(&[2], 1, 63, 0, 0),
    scan(&[0], 6, 63, 0, 2),
    scan(&[0], 1, 63, 2, 1),
    scan(&[0, 1, 2], 0, 0, 1, 0),
    scan(&[0], 1, 20, 1, 0),
    scan(&[0], 21, 63, 1, 0),
];

fn size(value: i32) -> u32 {
    32 - value.unsigned_abs().leading_zeros()
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    bits: u32,
    count: u32,
    /// Blocks that have nothing more, not yet written, and the bits that follow them.
    ended: u32,
    after: Vec<u32>,
}

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        for at in (0..count).rev() {
            self.bits = self.bits << 1 | (value >> at & 1);
            self.count += 1;
            if self.count == 8 {
                self.bytes.push(self.bits as u8);
                if self.bits as u8 == 0xFF {
                    self.bytes.push(0);
                }
                (self.bits, self.count) = (0, 0);
            }
        }
    }

    fn symbol(&mut self, symbol: u32) {
        if symbol < 128 { self.put(symbol, 8) } else { self.put(128 + symbol, 9) }
    }

    /// The size of a constant's difference, and the difference.
    fn constant(&mut self, value: i32) {
        let size = size(value);
        self.put(size, 4);
        self.bits_of(value, size);
    }

    /// A run of zeros, the size of a value, and the value.
    fn value(&mut self, run: u32, value: i32) {
        let size = size(value);
        self.symbol(run << 4 | size);
        self.bits_of(value, size);
    }

    fn bits_of(&mut self, value: i32, size: u32) {
        self.put((if value < 0 { value - 1 } else { value }) as u32, size);
    }

    fn end_blocks(&mut self) {
        if self.ended > 0 {
            let length = self.ended.ilog2();
            self.symbol(length << 4);
            self.put(self.ended, length);
        }
        self.ended = 0;
        std::mem::take(&mut self.after).into_iter().for_each(|bit| self.put(bit, 1));
    }

    fn align(&mut self) {
        self.end_blocks();
        while self.count > 0 {
            self.put(1, 1);
        }
    }
}

impl Scan {
    fn write(&self, image: &Image, restart: usize, progressive: bool, file: &mut Vec<u8>) {
        let mut bits = Bits::default();
        let mut before = [0; 3];
        for (number, unit) in image.order(self.parts).into_iter().enumerate() {
            if restart > 0 && number > 0 && number % restart == 0 {
                bits.align();
                bits.bytes.extend([0xFF, 0xD0 + ((number / restart - 1) % 8) as u8]);
                before = [0; 3];
            }
            for (part, block) in unit {
                let block = &image.blocks[part][block];
                if self.from == 0 && self.high == 0 {
                    let constant = block[0] >> self.low;
                    bits.constant(constant - before[part]);
                    before[part] = constant;
                } else if self.from == 0 {
                    bits.put((block[0] >> self.low) as u32 & 1, 1);
                }
                match (progressive, self.from, self.high) {
                    (true, 0, _) => {}
                    (_, _, 0) => self.first(block, progressive, &mut bits),
                    _ => self.next(block, &mut bits),
                }
            }
        }
        bits.align();
        file.extend(bits.bytes);
    }

    fn first(&self, block: &Block, progressive: bool, bits: &mut Bits) {
        let mut run = 0;
        for &value in &block[self.from.max(1)..=self.to] {
            let value = value.signum() * (value.abs() >> self.low);
            if value == 0 {
                run += 1;
                continue;
            }
            bits.end_blocks();
            (0..run / 16).for_each(|_| bits.symbol(0xF0));
            bits.value(run % 16, value);
            run = 0;
        }
        bits.ended += u32::from(run > 0);
        if !progressive {
            bits.end_blocks();
        }
    }

    fn next(&self, block: &Block, bits: &mut Bits) {
        let upper = |value: i32| value.unsigned_abs() >> self.low;
        let last_new = (self.from..=self.to).rev().find(|&at| upper(block[at]) == 1);
        let (mut run, mut passed) = (0, Vec::new());
        for (at, &value) in block.iter().enumerate().take(self.to + 1).skip(self.from) {
            let value = upper(value);
            if value == 0 {
                run += 1;
                continue;
            }
            while run > 15 && last_new.is_some_and(|last| at <= last) {
                bits.end_blocks();
                bits.symbol(0xF0);
                std::mem::take(&mut passed).into_iter().for_each(|bit| bits.put(bit, 1));
                run -= 16;
            }
            if value > 1 {
                passed.push(value & 1);
                continue;
            }
            bits.end_blocks();
            bits.symbol(run << 4 | 1);
            bits.put((block[at] > 0).into(), 1);
            std::mem::take(&mut passed).into_iter().for_each(|bit| bits.put(bit, 1));
            run = 0;
        }
        if run > 0 || !passed.is_empty() {
            bits.ended += 1;
            bits.after.extend(passed);
        }
    }
}

fn decode(bytes: &[u8], colour: bool) -> Result<Pixels, DecodeError> {
    let decoder = Decoder { colour, ..Decoder::default() };
    decoder.decode_unguarded(bytes, None).map(|image| image.pixels)
}

fn cut_off() -> DecodeError {
    DecodeError::CutOff { format: ImageFormat::Jpeg }
}

fn broken(what: &str) -> DecodeError {
    DecodeError::Broken { format: ImageFormat::Jpeg, what: what.to_owned() }
}

fn furthest(one: &Pixels, two: &Pixels) -> u8 {
    assert_eq!((one.width, one.height, one.channels), (two.width, two.height, two.channels));
    one.bytes.iter().zip(&two.bytes).map(|(one, two)| one.abs_diff(*two)).max().unwrap()
}

#[test]
fn scans_in_any_order_show_the_same_image() {
    for (luma, restart) in [(1, 0), (2, 0), (1, 2), (2, 3)] {
        let image = Image::new(luma);
        let expected = decode(&image.file(0xC0, &TOGETHER, restart), true).unwrap();
        let progressive = decode(&image.file(0xC2, &PROGRESSIVE, restart), true).unwrap();
        assert!(furthest(&expected, &progressive) <= 1);
        let separate = decode(&image.file(0xC0, &SEPARATE, restart), true).unwrap();
        // Two decoders round differently, and colours in half size are spread differently.
        let most = if luma == 1 { 6 } else { 90 };
        let difference = furthest(&expected, &separate);
        assert!(difference <= most, "{luma}: {difference}");
        let gray = |process, scans: &[Scan]| decode(&image.file(process, scans, restart), false);
        let expected = gray(0xC0, &TOGETHER).unwrap();
        assert_eq!(gray(0xC0, &SEPARATE).unwrap(), expected);
    }
}

#[test]
fn a_file_cut_off_anywhere_is_refused_unless_only_its_last_marker_is_missing() {
    let image = Image::new(2);
    let files = [(0xC0, &TOGETHER[..]), (0xC0, &SEPARATE), (0xC2, &PROGRESSIVE)];
    for ((process, scans), restart) in files.into_iter().flat_map(|file| [(file, 0), (file, 3)]) {
        let file = image.file(process, scans, restart);
        for colour in [false, true] {
            let whole = decode(&file, colour).unwrap();
            for length in 3..file.len() - 2 {
                let error = decode(&file[..length], colour).map(|_| length).unwrap_err();
                assert_eq!(error, cut_off(), "{length}");
                // Some programs end such a file.
                let ended = [&file[..length], &[0xFF, 0xD9]].concat();
                let is_end_of_scan = decode(&ended, colour).is_ok_and(|pixels| pixels != whole);
                assert!(!is_end_of_scan || process == 0xC2, "{length}");
            }
            assert_eq!(decode(&file[..file.len() - 2], colour), Ok(whole.clone()));
            assert_eq!(decode(&[&file[..], &[0x5A; 100]].concat(), colour), Ok(whole));
        }
    }
}

#[test]
fn damage_within_a_scan_is_noticed_if_blocks_are_lost_or_added() {
    let image = Image::new(1);
    for (process, scans) in [(0xC0, &TOGETHER[..]), (0xC2, &PROGRESSIVE)] {
        let file = image.file(process, scans, 0);
        let scan = file.windows(2).position(|two| two == [0xFF, 0xDA]).unwrap() + 60;
        let lost = [&file[..scan], &file[scan + 40..]].concat();
        assert!(decode(&lost, true).is_err());
        let doubled = [&file[..scan], &file[scan - 40..]].concat();
        assert!(decode(&doubled, true).is_err());
    }
    let file = image.file(0xC0, &TOGETHER, 2);
    let restart = file.windows(2).position(|two| two == [0xFF, 0xD2]).unwrap();
    let mut other = file.clone();
    other[restart + 1] = 0xD5;
    assert_eq!(decode(&other, false), Err(broken("a restart is out of order")));
}

#[test]
fn a_progressive_file_without_one_of_its_scans_is_refused() {
    let image = Image::new(2);
    for left_out in 0..5 {
        let mut scans = PROGRESSIVE.to_vec();
        scans.remove(left_out);
        let found = decode(&image.file(0xC2, &scans, 0), true);
        // Colours in little detail are what an encoder may mean.
        let is_allowed = matches!(left_out, 2 | 3);
        assert_eq!(found.is_ok(), is_allowed, "{left_out}: {found:?}");
    }
    // An encoder may stop before the last bits.
    assert!(decode(&image.file(0xC2, &PROGRESSIVE[..7], 0), true).is_ok());
}

#[test]
fn what_is_not_supported_is_called_by_its_name() {
    let file = Image::new(1).file(0xC0, &TOGETHER, 0);
    let frame = file.windows(2).position(|two| two == [0xFF, 0xC0]).unwrap();
    let changed = |at: usize, value: u8| {
        let mut file = file.clone();
        file[at] = value;
        decode(&file, false).unwrap_err().to_string()
    };
    let message = |what: &str| format!("unsupported JPEG: {what}; convert it to JPEG, PNG or WebP");
    for (marker, what) in [
        (0xC3, "lossless JPEG"),
        (0xC5, "hierarchical JPEG"),
        (0xC9, "arithmetic coding"),
        (0xCA, "arithmetic coding"),
    ] {
        assert_eq!(changed(frame + 1, marker), message(what));
    }
    assert_eq!(changed(frame + 4, 12), message("values of 12 bits"));
}
