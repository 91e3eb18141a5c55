//! TIFF, and the EXIF blocks of other formats, which have the same structure.

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};
use image::ImageFormat;

use super::{images, noise};

pub fn seeds() -> Vec<Vec<u8>> {
    let plain = Page::gray(16, 12);
    let pixels = noise(16 * 12, 2);
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(&pixels).expect("memory can be written to");
    let zlib = zlib.finish().expect("memory can be written to");
    // Runs of equal bytes, and some literal bytes.
    let runs: Vec<u8> = (0..12_u8).flat_map(|y| [0xf5, y, 3, y, 1, 2, 3]).collect();
    vec![
        encoded_by_the_crate(),
        tiff(std::slice::from_ref(&plain)),
        tiff(&[plain.clone(), Page::gray(8, 8), plain.clone().rgb()]),
        tiff(&[plain.clone().compressed(8, zlib)]),
        tiff(&[plain.clone().compressed(32_773, runs)]),
        tiff(&[plain.clone().compressed(5, lzw(&pixels))]),
        tiff(&[plain.clone().rgb().with(317, 2)]),
        tiff(&[plain.clone().with(258, 16).data(noise(16 * 12 * 2, 4))]),
        tiff(&[plain.clone().with(258, 1).with(262, 0).data(noise(2 * 12, 5))]),
        tiff(&[plain.with(274, 6)]),
        tiled(),
    ]
}

fn encoded_by_the_crate() -> Vec<u8> {
    images::encoded(images::rgb(16, 16), ImageFormat::Tiff)
}

/// An EXIF block that holds only the orientation.
pub fn orientation(value: u16) -> Vec<u8> {
    tiff(&[Page { tags: vec![(274, value.into())], data: Vec::new() }])
}

/// A directory of numbers, and the pixels as one strip, one tile, or a JPEG.
#[derive(Clone)]
pub struct Page {
    pub tags: Vec<(u16, u32)>,
    pub data: Vec<u8>,
}

impl Page {
    fn gray(width: u32, height: u32) -> Self {
        let data = noise((width * height) as usize, 2);
        let tags =
            [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (277, 1), (278, height)];
        Self { tags: tags.into(), data }
    }

    fn rgb(self) -> Self {
        let data = self.data.repeat(3);
        self.with(262, 2).with(277, 3).data(data)
    }

    fn with(mut self, tag: u16, value: u32) -> Self {
        self.tags.retain(|&(other, _)| other != tag);
        self.tags.push((tag, value));
        self
    }

    fn data(self, data: Vec<u8>) -> Self {
        Self { data, ..self }
    }

    fn compressed(self, method: u32, data: Vec<u8>) -> Self {
        self.with(259, method).data(data)
    }
}

/// Several pages, each with its data before its directory.
pub fn tiff(pages: &[Page]) -> Vec<u8> {
    let mut bytes = b"II*\0\0\0\0\0".to_vec();
    // The position of the pointer to the next directory.
    let mut link = 4;
    for page in pages {
        let data = bytes.len() as u32;
        bytes.extend(&page.data);
        let start = bytes.len() as u32;
        bytes[link..link + 4].copy_from_slice(&start.to_le_bytes());
        let mut tags = page.tags.clone();
        if !page.data.is_empty() {
            let (places, lengths) = match tags.iter().find(|tag| matches!(tag, (322, _) | (259, 6)))
            {
                Some((322, _)) => (324, 325),
                Some(_) => (513, 514),
                None => (273, 279),
            };
            tags.extend([(places, data), (lengths, page.data.len() as u32)]);
        }
        tags.sort_unstable();
        bytes.extend((tags.len() as u16).to_le_bytes());
        for (tag, value) in tags {
            let [low, high] = tag.to_le_bytes();
            // One 32-bit number.
            bytes.extend([low, high, 4, 0, 1, 0, 0, 0]);
            bytes.extend(value.to_le_bytes());
        }
        link = bytes.len();
        bytes.extend([0; 4]);
    }
    bytes
}

/// One tile larger than the image.
fn tiled() -> Vec<u8> {
    let tags = [(256, 10), (257, 10), (258, 8), (259, 1), (262, 1), (277, 1), (322, 16), (323, 16)];
    tiff(&[Page { tags: tags.into(), data: noise(256, 9) }])
}

/// Bytes as 9-bit codes, cleared before the codes grow.
fn lzw(bytes: &[u8]) -> Vec<u8> {
    let chunks = bytes
        .chunks(200)
        .flat_map(|chunk| [256].into_iter().chain(chunk.iter().map(|&byte| u32::from(byte))));
    let (mut bits, mut count, mut codes) = (0_u32, 0, Vec::new());
    for code in chunks.chain([257]) {
        bits = bits << 9 | code;
        count += 9;
        while count >= 8 {
            codes.push((bits >> (count - 8)) as u8);
            count -= 8;
        }
        bits &= (1 << count) - 1;
    }
    codes.push((bits << (8 - count)) as u8);
    codes
}
