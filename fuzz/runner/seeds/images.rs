//! PNG, GIF, WebP and BMP.

use std::io::Cursor;

use image::{
    Delay, DynamicImage, ExtendedColorType, Frame, GrayImage, ImageEncoder, ImageFormat, Luma, Rgb,
    RgbImage, Rgba, RgbaImage,
    codecs::{
        bmp::BmpEncoder,
        gif::{GifEncoder, Repeat},
        png::{CompressionType, FilterType, PngEncoder},
    },
};

use super::noise;
use crate::repair::crc;

fn gray(width: u32, height: u32) -> GrayImage {
    GrayImage::from_fn(width, height, |x, y| Luma([(x * 9) as u8 ^ (y * 5) as u8]))
}

pub fn rgb(width: u32, height: u32) -> RgbImage {
    let pixel = |x, y| Rgb([(x * 5) as u8, (y * 7) as u8, (x * y) as u8]);
    RgbImage::from_fn(width, height, pixel)
}

fn rgba(width: u32, height: u32, shift: u32) -> RgbaImage {
    let pixel = |x, y| {
        let x = x + shift;
        Rgba([
            (x * 5) as u8,
            (y * 7) as u8,
            (x * y) as u8,
            if x > y { 255 } else { (x * 16) as u8 },
        ])
    };
    RgbaImage::from_fn(width, height, pixel)
}

pub fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).expect("the image can be encoded");
    bytes.into_inner()
}

pub fn png() -> Vec<Vec<u8>> {
    let deep = DynamicImage::from(rgba(20, 12, 0)).into_rgba16();
    vec![
        encoded(gray(32, 24), ImageFormat::Png),
        encoded(rgb(33, 17), ImageFormat::Png),
        encoded(rgba(16, 16, 0), ImageFormat::Png),
        encoded(deep, ImageFormat::Png),
        uncompressed_png(),
        indexed_png(),
        interlaced_png(),
        animated_png(),
    ]
}

/// Uncompressed, so that mutations change the pixels and their filters.
fn uncompressed_png() -> Vec<u8> {
    let (mut bytes, image) = (Vec::new(), rgb(16, 16));
    PngEncoder::new_with_quality(&mut bytes, CompressionType::Uncompressed, FilterType::Paeth)
        .write_image(&image, 16, 16, ExtendedColorType::Rgb8)
        .expect("the image can be encoded");
    bytes
}

fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let body = [kind, content].concat();
    [&(content.len() as u32).to_be_bytes()[..], &body, &crc(&body).to_be_bytes()].concat()
}

/// A zlib stream of stored blocks.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u16;
    let (mut low, mut high) = (1_u32, 0_u32);
    for &byte in bytes {
        low = (low + u32::from(byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    let sum = (high << 16 | low).to_be_bytes();
    [b"\x78\x01\x01", &length.to_le_bytes()[..], &(!length).to_le_bytes(), bytes, &sum].concat()
}

/// `header`: width, height, bits, colour type, interlacing; `chunks`: those between header and end.
fn png_of(header: (u32, u32, u8, u8, u8), chunks: &[Vec<u8>]) -> Vec<u8> {
    let (width, height, bits, kind, interlaced) = header;
    let rest = [bits, kind, 0, 0, interlaced];
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &rest].concat();
    let (start, end) = (chunk(b"IHDR", &header), chunk(b"IEND", b""));
    [b"\x89PNG\r\n\x1a\n", &start[..], &chunks.concat(), &end].concat()
}

/// A palette of four colours, one of them transparent, with two bits per pixel.
fn indexed_png() -> Vec<u8> {
    let rows: Vec<u8> = (0..12_u8).flat_map(|y| [y % 3, 0x1b, 0xe4 ^ y, 0x55]).collect();
    let palette = chunk(b"PLTE", &noise(12, 1));
    png_of((12, 12, 2, 3, 0), &[palette, chunk(b"tRNS", &[255, 0]), chunk(b"IDAT", &stored(&rows))])
}

/// The seven Adam7 passes of 8 x 8 gray pixels, with gamma and text chunks.
fn interlaced_png() -> Vec<u8> {
    let passes = [(1, 1), (1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4)];
    let rows = passes.iter().flat_map(|&(width, height)| {
        (0..height).flat_map(move |y| [vec![y as u8 % 5], noise(width, y as u32)].concat())
    });
    let rows: Vec<u8> = rows.collect();
    let text = chunk(b"tEXt", b"Comment\0made for a test");
    let gamma = chunk(b"gAMA", &45_455_u32.to_be_bytes());
    png_of((8, 8, 8, 0, 1), &[gamma, text, chunk(b"IDAT", &stored(&rows))])
}

/// Two frames; the first is the default image.
fn animated_png() -> Vec<u8> {
    let rows: Vec<u8> = (0..8_u8).flat_map(|y| [vec![0], noise(8, y.into())].concat()).collect();
    let control = |number: u32| {
        let size = [8_u32, 8, 0, 0].map(u32::to_be_bytes).concat();
        chunk(b"fcTL", &[&number.to_be_bytes()[..], &size, &[0, 1, 0, 10, 0, 0]].concat())
    };
    let numbers = [2_u32, 0].map(u32::to_be_bytes).concat();
    let second = [&2_u32.to_be_bytes()[..], &stored(&rows)].concat();
    let exif = chunk(b"eXIf", &super::tiff::orientation(6));
    let (first, second) = (chunk(b"IDAT", &stored(&rows)), chunk(b"fdAT", &second));
    let frames = [chunk(b"acTL", &numbers), exif, control(0), first, control(1), second];
    png_of((8, 8, 8, 0, 0), &frames)
}

pub fn gif() -> Vec<Vec<u8>> {
    let frames = |count: u32| {
        let mut bytes = Vec::new();
        let mut encoder = GifEncoder::new(&mut bytes);
        encoder.set_repeat(Repeat::Infinite).expect("the image can be encoded");
        for number in 0..count {
            let (left, top) = (number * 3, number);
            let delay = Delay::from_numer_denom_ms(100, 1);
            let frame = Frame::from_parts(rgba(18, 14, number), left, top, delay);
            encoder.encode_frame(frame).expect("the image can be encoded");
        }
        drop(encoder);
        bytes
    };
    vec![encoded(rgba(24, 20, 0), ImageFormat::Gif), frames(3), plain_gif()]
}

/// GIF87a: no extensions, a global palette, interlaced, three codes.
fn plain_gif() -> Vec<u8> {
    let screen = [b"GIF87a".as_slice(), &[8, 0, 8, 0, 0x80, 0, 0], &noise(6, 3)].concat();
    // A clear code, then one code per pixel; another clear code before codes grow.
    let codes = noise(64, 4).into_iter().flat_map(|pixel| [4, pixel & 1]);
    let (mut bits, mut count, mut data) = (0_u32, 0, Vec::new());
    for code in codes.chain([5]) {
        bits |= u32::from(code) << count;
        count += 3;
        while count >= 8 {
            data.push(bits as u8);
            (bits, count) = (bits >> 8, count - 8);
        }
    }
    data.push(bits as u8);
    let frame = [0x2c, 0, 0, 0, 0, 8, 0, 8, 0, 0x40, 2, data.len() as u8];
    [screen.as_slice(), &frame, &data, &[0, 0x3b]].concat()
}

pub fn webp() -> Vec<Vec<u8>> {
    let lossless = encoded(rgba(24, 20, 0), ImageFormat::WebP);
    // After the headers of file and chunk.
    let stream = lossless[20..].to_vec();
    let exif = riff(b"EXIF", &super::tiff::orientation(3));
    let extended = |flags: u8| riff(b"VP8X", &[&[flags, 0, 0, 0][..], &sides(24, 20)].concat());
    let alpha = riff(b"ALPH", &[&[0][..], &noise(24 * 20, 8)].concat());
    let frame = |kind, stream: &[u8]| {
        let place = [&[0; 6][..], &sides(24, 20), &[100, 0, 0, 2]].concat();
        riff(b"ANMF", &[place, riff(kind, stream)].concat())
    };
    let control = riff(b"ANIM", &[255, 255, 255, 255, 0, 0]);
    let (first, second) = (frame(b"VP8L", &stream), frame(b"VP8 ", &vp8(24, 20, 2)));
    vec![
        lossless,
        encoded(rgb(17, 33), ImageFormat::WebP),
        webp_of(&[riff(b"VP8 ", &vp8(24, 20, 1))]),
        webp_of(&[riff(b"VP8 ", &vp8(64, 48, 4))]),
        webp_of(&[extended(0x18), alpha, riff(b"VP8 ", &vp8(24, 20, 3)), exif]),
        webp_of(&[extended(0x12), control, first, second]),
    ]
}

fn webp_of(chunks: &[Vec<u8>]) -> Vec<u8> {
    riff(b"RIFF", &[b"WEBP".to_vec(), chunks.concat()].concat())
}

fn riff(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_le_bytes();
    let padding = &[0][..content.len() % 2];
    [&kind[..], &length, content, padding].concat()
}

/// A side length as stored in the extended format: minus one, in 24 bits.
fn sides(width: u32, height: u32) -> Vec<u8> {
    [width - 1, height - 1].iter().flat_map(|side| side.to_le_bytes()[..3].to_vec()).collect()
}

/// A key frame of VP8. Any bytes are valid arithmetic code, so these are arbitrary.
fn vp8(width: u16, height: u16, seed: u32) -> Vec<u8> {
    let pixels = usize::from(width) * usize::from(height);
    let (head, rest) = (noise(400, seed), noise(400 + 3 * pixels, seed + 10));
    // A visible key frame, and the length of the first partition.
    let tag = 0x10 | (head.len() as u32) << 5;
    let sides = [width, height].map(u16::to_le_bytes).concat();
    // Default colour space and clamping, no segments, no loop filter.
    let head = [&[0][..], &head[1..]].concat();
    [&tag.to_le_bytes()[..3], b"\x9d\x01\x2a", &sides, &head, &rest].concat()
}

pub fn bmp() -> Vec<Vec<u8>> {
    let palette: Vec<[u8; 3]> = (0..16).map(|at| [at * 16, at * 3, 255 - at]).collect();
    let (mut indexed, pixels) = (Vec::new(), noise(20 * 10, 5));
    let pixels: Vec<u8> = pixels.iter().map(|pixel| pixel % 16).collect();
    BmpEncoder::new(&mut indexed)
        .encode_with_palette(&pixels, 20, 10, ExtendedColorType::L8, Some(&palette))
        .expect("the image can be encoded");
    vec![
        encoded(rgb(19, 13), ImageFormat::Bmp),
        encoded(rgba(10, 12, 0), ImageFormat::Bmp),
        encoded(gray(9, 9), ImageFormat::Bmp),
        indexed,
        run_length_bmp(8, 1, &[4, 1, 0, 3, 7, 8, 9, 0, 2, 5, 0, 2, 1, 1, 9, 6, 0, 0, 8, 2, 0, 1]),
        run_length_bmp(4, 2, &[4, 0x12, 0, 5, 0x12, 0x34, 0x50, 0, 0, 0, 8, 0x77, 0, 1]),
        run_length_bmp(16, 3, &noise(16 * 8 * 2, 6)),
    ]
}

/// 16 x 8 pixels with this bit depth and compression method; method 3 has a bit mask per colour.
fn run_length_bmp(bits: u16, compression: u32, data: &[u8]) -> Vec<u8> {
    let table = match compression {
        3 => [0xf800_u32, 0x07e0, 0x001f].map(u32::to_le_bytes).concat(),
        _ => noise(4 << bits, 7),
    };
    let offset = 14 + 40 + table.len() as u32;
    let size = offset + data.len() as u32;
    let numbers =
        [size, 0, offset, 40, 16, 8, u32::from(bits) << 16 | 1, compression, 0, 0, 0, 0, 0];
    [b"BM".to_vec(), numbers.map(u32::to_le_bytes).concat(), table, data.to_vec()].concat()
}
