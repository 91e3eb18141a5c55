//! TIFF structures and RAW files for tests, made here.

use image::{GrayImage, Luma, codecs::jpeg::JpegEncoder};

/// A value of a tag.
#[derive(Clone)]
pub(super) enum Value {
    Short(u16),
    Long(u32),
    Text(&'static str),
    Bytes(Vec<u8>),
    /// Where these bytes are.
    At(Vec<u8>),
    /// Where these directories are.
    Directories(Vec<Vec<(u16, Value)>>),
}

/// A TIFF structure with one directory in its chain.
pub(super) fn tiff(magic: &[u8; 4], tags: &[(u16, Value)]) -> Vec<u8> {
    let mut bytes = [magic, &[0; 12][..]].concat();
    let first = put(&mut bytes, tags);
    bytes[4..8].copy_from_slice(&number(magic, first));
    bytes
}

fn number(bytes: &[u8], number: u32) -> [u8; 4] {
    if bytes[0] == b'M' { number.to_be_bytes() } else { number.to_le_bytes() }
}

fn short(bytes: &[u8], number: u16) -> [u8; 2] {
    if bytes[0] == b'M' { number.to_be_bytes() } else { number.to_le_bytes() }
}

/// Appends a directory behind all it needs; tells where it is.
fn put(bytes: &mut Vec<u8>, tags: &[(u16, Value)]) -> u32 {
    let mut directory = short(bytes, tags.len() as u16).to_vec();
    for (tag, value) in tags {
        let (kind, count, content) = match value {
            Value::Short(value) => (3, 1, [&short(bytes, *value)[..], &[0; 2]].concat()),
            Value::Long(value) => (4, 1, number(bytes, *value).to_vec()),
            Value::Text(text) => (2, text.len() as u32 + 1, [text.as_bytes(), &[0; 4]].concat()),
            Value::Bytes(content) => (7, content.len() as u32, content.clone()),
            Value::At(content) => {
                let at = place(bytes, content);
                (4, 1, number(bytes, at).to_vec())
            }
            Value::Directories(all) => {
                let places: Vec<u32> = all.iter().map(|tags| put(bytes, tags)).collect();
                let content = places.iter().flat_map(|&place| number(bytes, place)).collect();
                (4, places.len() as u32, content)
            }
        };
        let size = [0, 1, 1, 2, 4, 0, 0, 1][usize::from(kind)] * count as usize;
        let content = match size {
            0..=4 => [content, vec![0; 4]].concat()[..4].to_vec(),
            _ => {
                let at = place(bytes, &content);
                number(bytes, at).to_vec()
            }
        };
        directory.extend(short(bytes, *tag));
        directory.extend(short(bytes, kind));
        directory.extend(number(bytes, count));
        directory.extend(content);
    }
    directory.extend([0; 4]);
    place(bytes, &directory)
}

fn place(bytes: &mut Vec<u8>, content: &[u8]) -> u32 {
    let place = bytes.len() as u32;
    bytes.extend(content);
    place
}

/// A JPEG of waves.
pub(super) fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let wave = |x: u32, y: u32| {
        let [x, y] = [(x, width), (y, height)].map(|(at, of)| at as f32 / of as f32);
        Luma([(128.0 + 60.0 * (9.0 * x).sin() + 50.0 * (14.0 * y + 5.0 * x).cos()) as u8])
    };
    let mut bytes = Vec::new();
    let image = GrayImage::from_fn(width, height, wave);
    JpegEncoder::new_with_quality(&mut bytes, 85).encode_image(&image).unwrap();
    bytes
}

/// The tags of a JPEG in a directory.
pub(super) fn preview(jpeg: &[u8]) -> Vec<(u16, Value)> {
    let length = Value::Long(jpeg.len() as u32);
    vec![(0x0103, Value::Short(6)), (0x0201, Value::At(jpeg.to_vec())), (0x0202, length)]
}

/// The tags of sensor data of this size.
pub(super) fn sensor(width: u32, height: u32) -> Vec<(u16, Value)> {
    // A JPEG without loss: its frame says so.
    let mut data = jpeg(640, 640);
    let frame = data.windows(2).position(|marker| marker == b"\xFF\xC0").unwrap();
    data[frame + 1] = 0xC3;
    vec![
        (0x0100, Value::Long(width)),
        (0x0101, Value::Long(height)),
        (0x0103, Value::Short(7)),
        (0x0106, Value::Short(32_803)),
        (0x0117, Value::Long(data.len() as u32)),
        (0x0111, Value::At(data)),
    ]
}

/// A RAW file as Nikon makes them: a thumbnail first, then a preview of this size, and the sensor
/// data.
pub(super) fn nef(more: &[(u16, Value)], width: u32, height: u32) -> Vec<u8> {
    let below = vec![preview(&jpeg(width, height)), sensor(1200, 800)];
    let mut tags = vec![
        (0x0100, Value::Long(160)),
        (0x0101, Value::Long(120)),
        (0x010F, Value::Text("NIKON CORPORATION")),
        (0x0111, Value::At(vec![7; 160 * 120])),
        (0x0117, Value::Long(160 * 120)),
        (0x014A, Value::Directories(below)),
    ];
    tags.extend(more.iter().cloned());
    tiff(b"MM\0*", &tags)
}
