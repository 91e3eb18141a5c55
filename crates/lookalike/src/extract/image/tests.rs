//! What decoders do with files that are broken, lie, or mean harm: small files, made here.

use std::io::Cursor;

use image::{
    DynamicImage, GrayImage, ImageFormat as Encoding, RgbImage, RgbaImage, codecs::gif::GifEncoder,
};

use super::*;

fn encoded(format: Encoding) -> Vec<u8> {
    let pixel = |x: u32, y: u32| image::Rgb([(x * 5) as u8, (y * 7) as u8, (x * y) as u8]);
    let image = DynamicImage::ImageRgb8(RgbImage::from_fn(48, 40, pixel));
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

const FORMATS: [(Encoding, ImageFormat); 6] = [
    (Encoding::Jpeg, ImageFormat::Jpeg),
    (Encoding::Png, ImageFormat::Png),
    (Encoding::WebP, ImageFormat::WebP),
    (Encoding::Gif, ImageFormat::Gif),
    (Encoding::Bmp, ImageFormat::Bmp),
    (Encoding::Tiff, ImageFormat::Tiff),
];

/// Below the guard: a panic is one.
fn decode(bytes: &[u8]) -> Result<Image, DecodeError> {
    Decoder { frames: true, ..Decoder::default() }.decode_unguarded(bytes, None)
}

fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xEDB8_8320))
    }) ^ u32::MAX
}

fn chunk(kind: &[u8], content: &[u8]) -> Vec<u8> {
    let body = [kind, content].concat();
    [&(content.len() as u32).to_be_bytes()[..], &body, &crc(&body).to_be_bytes()].concat()
}

/// A PNG that claims a size and holds next to nothing.
fn png(width: u32, height: u32, more: &[u8]) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let data = chunk(b"IDAT", b"\x78\x9c\x03\x00\x00\x00\x00\x01");
    let end = chunk(b"IEND", b"");
    [b"\x89PNG\r\n\x1a\n", &chunk(b"IHDR", &header)[..], more, &data, &end].concat()
}

#[test]
fn every_format_is_told_by_its_content_and_decoded() {
    for (format, expected) in FORMATS {
        let image = decode(&encoded(format)).unwrap();
        assert_eq!((image.width, image.height, image.format), (48, 40, expected));
    }
}

#[test]
fn a_tiny_file_that_claims_huge_sides_is_refused_at_once() {
    let error = decode(&png(100_000, 100_000, b"")).unwrap_err();
    let limit = Limits::default().pixels;
    assert_eq!(error, DecodeError::TooManyPixels { width: 100_000, height: 100_000, limit });
    assert_eq!(error.to_string(), "100000 x 100000 pixels, more than the 268435456 allowed");
    for (format, _) in FORMATS {
        let mut bytes = encoded(format);
        // Wherever a side is written, it becomes a large one: no decoder may believe it.
        for at in 0..bytes.len().saturating_sub(4).min(400) {
            let old: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
            bytes[at..at + 4].copy_from_slice(&[0xFE; 4]);
            let _ = decode(&bytes);
            bytes[at..at + 4].copy_from_slice(&old);
        }
    }
}

#[test]
fn a_comment_larger_than_any_image_is_passed_over_or_refused() {
    // A keyword, its end, a method, and 4 MB in stored blocks of which none is the last.
    let mut content = vec![b'k', 0, 0, 0x78, 0x01];
    for _ in 0..64 {
        content.extend([0x00, 0xFF, 0xFF, 0x00, 0x00]);
        content.extend(std::iter::repeat_n(0, 0xFFFF));
    }
    let limits = Limits { pixels: 64, bytes: 1 << 20 };
    let decoder = Decoder { limits, ..Decoder::default() };
    let _ = decoder.decode_unguarded(&png(8, 8, &chunk(b"zTXt", &content)), None);
}

#[test]
fn a_file_of_any_format_that_is_cut_off_anywhere_is_refused() {
    let mut files: Vec<_> = FORMATS.iter().map(|&(format, _)| encoded(format)).collect();
    files.extend([gif(&[1, 2, 3]), apng(&[1, 2, 3], true), webp(&[1, 2, 3]), tiff(&[1, 2, 3])]);
    for bytes in files {
        let whole = decode(&bytes).unwrap();
        assert_eq!(decode(&[&bytes[..], b"trailing bytes"].concat()).as_ref(), Ok(&whole));
        // The last marker of a JPEG says nothing that was not known.
        let end = if whole.format == ImageFormat::Jpeg { 2 } else { 0 };
        for length in 0..bytes.len() - end {
            let cut = decode(&bytes[..length]);
            assert!(cut.is_err(), "{:?}, {length} of {}", whole.format, bytes.len());
        }
        for length in bytes.len() - end..bytes.len() {
            assert_eq!(decode(&bytes[..length]).as_ref(), Ok(&whole), "{:?}", whole.format);
        }
    }
    assert_eq!(decode(b""), Err(DecodeError::Empty));
    let page = decode(b"<html><body>not found").unwrap_err();
    assert_eq!(page.to_string(), "not an image (starts with \"<html><b\")");
}

/// An image that is another one for each number.
fn scene(number: u32) -> RgbaImage {
    let value = |x: f32, y: f32, wave: u32| {
        let phase = (number * (wave + 3)) as f32;
        (120.0 + 50.0 * (x / 5.0 + phase).sin() + 60.0 * (y * phase / 40.0).cos()) as u8
    };
    RgbaImage::from_fn(64, 64, |x, y| {
        let [red, green, blue] = [0, 1, 2].map(|wave| value(x as f32, y as f32, wave));
        image::Rgba([red, green, blue, 255])
    })
}

fn gif(scenes: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new_with_speed(&mut bytes, 30);
    scenes.iter().for_each(|&number| {
        encoder.encode_frame(image::Frame::new(scene(number))).unwrap();
    });
    drop(encoder);
    bytes
}

/// The first scene is a frame of the animation, or stands for it.
fn apng(scenes: &[u32], starts_animation: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 64, 64);
    encoder.set_color(png::ColorType::Rgba);
    let animated = scenes.len() - usize::from(!starts_animation);
    encoder.set_animated(animated as u32, 0).unwrap();
    encoder.set_sep_def_img(!starts_animation).unwrap();
    let mut writer = encoder.write_header().unwrap();
    scenes.iter().for_each(|&number| writer.write_image_data(&scene(number)).unwrap());
    writer.finish().unwrap();
    bytes
}

fn webp(scenes: &[u32]) -> Vec<u8> {
    let still = |&number: &u32| {
        let mut bytes = Cursor::new(Vec::new());
        scene(number).write_to(&mut bytes, Encoding::WebP).unwrap();
        bytes.into_inner()[12..].to_vec()
    };
    animation_of_webp([64, 64], &scenes.iter().map(still).collect::<Vec<_>>())
}

fn tiff(scenes: &[u32]) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = ::tiff::encoder::TiffEncoder::new(&mut bytes).unwrap();
    for &number in scenes {
        let page = DynamicImage::ImageRgba8(scene(number)).into_rgb8();
        encoder.write_image::<::tiff::encoder::colortype::RGB8>(64, 64, &page).unwrap();
    }
    bytes.into_inner()
}

/// Makes a file of several scenes.
type Multiple<'a> = &'a dyn Fn(&[u32]) -> Vec<u8>;

#[test]
fn further_frames_and_pages_decide_whether_files_agree() {
    let kinds: [Multiple<'_>; 5] =
        [&gif, &|scenes| apng(scenes, true), &|scenes| apng(scenes, false), &webp, &tiff];
    for (kind, file) in kinds.iter().enumerate() {
        let frames = |scenes: &[u32]| decode(&file(scenes)).unwrap().frames;
        let all = frames(&[1, 2, 3, 4]);
        assert_eq!(all.more, 3, "{kind}");
        assert!(all.agree(&all) && all.agree(&frames(&[9, 2, 3, 4])), "{kind}");
        for others in [&[1, 2, 3][..], &[1, 2, 3, 4, 4], &[1, 2, 3, 5], &[1, 3, 2, 4], &[1, 2]] {
            let other = frames(others);
            assert!(!all.agree(&other) && !other.agree(&all), "{kind}: {others:?}");
        }
        // The same in another format; 256 colours make a GIF a little different.
        let is_gif = kind == 0;
        assert!(is_gif || all.agree(&decode(&webp(&[1, 2, 3, 4])).unwrap().frames), "{kind}");
        let mut bytes = Vec::new();
        all.write(&mut bytes);
        bytes.push(7);
        assert_eq!(Frames::read(&bytes), Some((all, &[7][..])));
    }
    assert!(Frames::default().agree(&Frames::default()));
}

#[test]
fn flat_frames_agree_only_if_they_are_equal() {
    let page = |light: u8| {
        let mut bytes = Cursor::new(Vec::new());
        let mut encoder = ::tiff::encoder::TiffEncoder::new(&mut bytes).unwrap();
        for light in [100, light] {
            let flat = vec![light; 64 * 64];
            encoder.write_image::<::tiff::encoder::colortype::Gray8>(64, 64, &flat).unwrap();
        }
        decode(&bytes.into_inner()).unwrap().frames
    };
    assert!(page(7).agree(&page(7)));
    assert!(!page(7).agree(&page(8)));
}

#[test]
fn of_too_many_frames_nothing_but_their_number_is_known() {
    let many = |last: u32| {
        let scenes: Vec<u32> = (0..300).map(|at| if at == 299 { last } else { 1 }).collect();
        decode(&tiff(&scenes)).unwrap().frames
    };
    let (one, two) = (many(1), many(2));
    assert_eq!((one.more, two.more), (299, 299));
    assert!(!one.agree(&two) && !one.agree(&one));
}

#[test]
fn a_damaged_chunk_of_a_png_is_noticed() {
    let bytes = apng(&[1, 2], true);
    let places =
        bytes.windows(4).enumerate().filter(|(_, kind)| *kind == b"IDAT" || *kind == b"fdAT");
    for (at, _) in places {
        let mut damaged = bytes.clone();
        damaged[at + 20] ^= 1;
        assert!(decode(&damaged).is_err(), "{at}");
    }
}

#[test]
fn a_tiff_whose_pages_go_round_in_circles_is_refused() {
    let mut bytes = tiff(&[1, 2]);
    let first: [u8; 4] = bytes[4..8].try_into().unwrap();
    let directory = u32::from_le_bytes(first) as usize;
    let entries = u16::from_le_bytes([bytes[directory], bytes[directory + 1]]) as usize;
    let next = directory + 2 + 12 * entries;
    bytes[next..next + 4].copy_from_slice(&first);
    let error = decode(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "broken TIFF: its pages have no end");
}

#[test]
fn the_header_tells_what_decoding_takes() {
    let mut files: Vec<_> = FORMATS.iter().map(|&(format, _)| encoded(format)).collect();
    files.extend([gif(&[1, 2]), apng(&[1, 2], true), webp(&[1, 2]), tiff(&[1, 2]), large_jpeg()]);
    for bytes in files {
        let image = decode(&bytes).unwrap();
        for colour in [false, true] {
            let decoder = Decoder { colour, ..Decoder::default() };
            let memory = decoder.memory(&mut Cursor::new(&bytes)).unwrap();
            let pixels = u64::from(image.width) * u64::from(image.height);
            let least = (1 << 20) + pixels;
            assert!((least..least + 40 * pixels).contains(&memory), "{}", image.format);
        }
    }
    let claimed = Decoder::default().memory(&mut Cursor::new(png(100_000, 100_000, b"")));
    assert!(claimed.is_some_and(|bytes| bytes > 10_000_000_000));
    assert_eq!(Decoder::default().memory(&mut Cursor::new(b"<html>")), None);
}

#[test]
fn bytes_changed_at_random_never_panic() {
    let mut state = 11_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize
    };
    let mut files: Vec<Vec<u8>> = FORMATS.iter().map(|&(format, _)| encoded(format)).collect();
    files.push(large_jpeg());
    for bytes in &mut files {
        for _ in 0..150 {
            let (at, byte) = (next() % bytes.len(), next() as u8);
            let old = std::mem::replace(&mut bytes[at], byte);
            let _ = decode(bytes);
            bytes[at] = old;
        }
    }
}

#[test]
fn a_tiff_of_countless_strips_is_refused() {
    let entry = |tag: u16, kind: u16, count: u32, value: u32| {
        [&tag.to_le_bytes()[..], &kind.to_le_bytes(), &count.to_le_bytes(), &value.to_le_bytes()]
            .concat()
    };
    let entries = [
        entry(0x100, 4, 1, 64),
        entry(0x101, 4, 1, 64),
        entry(0x102, 3, 1, 8),
        entry(0x103, 3, 1, 1),
        entry(0x106, 3, 1, 1),
        entry(0x111, 4, u32::MAX, 8),
        entry(0x116, 4, 1, 1),
        entry(0x117, 4, u32::MAX, 8),
    ];
    let directory =
        [&(entries.len() as u16).to_le_bytes()[..], &entries.concat(), &[0; 4]].concat();
    let bytes = [b"II*\0", &8_u32.to_le_bytes()[..], &directory].concat();
    assert!(decode(&bytes).is_err());
}

/// A JPEG large enough to be decoded at half its size or less.
fn large_jpeg() -> Vec<u8> {
    let value =
        |x: u32, y: u32| (128.0 + 90.0 * (x as f32 / 37.0).sin() * (y as f32 / 53.0).cos()) as u8;
    let image =
        DynamicImage::ImageLuma8(GrayImage::from_fn(700, 530, |x, y| image::Luma([value(x, y)])));
    let mut bytes = Cursor::new(Vec::new());
    image.to_rgb8().write_to(&mut bytes, Encoding::Jpeg).unwrap();
    bytes.into_inner()
}

fn with_exif(jpeg: &[u8], exif: &[u8]) -> Vec<u8> {
    let segment = [b"Exif\0\0", exif].concat();
    let length = (segment.len() as u16 + 2).to_be_bytes();
    [&jpeg[..2], &[0xFF, 0xE1], &length, &segment, &jpeg[2..]].concat()
}

fn orientation_tag(orientation: u16) -> Vec<u8> {
    let entry =
        [&0x112_u16.to_le_bytes()[..], &[3, 0, 1, 0, 0, 0], &orientation.to_le_bytes(), &[0; 2]];
    [b"II*\0\x08\0\0\0\x01\0".as_slice(), &entry.concat(), &[0; 4]].concat()
}

#[test]
fn a_scaled_jpeg_is_what_a_complete_decoder_makes_smaller() {
    let bytes = large_jpeg();
    let image = decode(&bytes).unwrap();
    assert_eq!((image.width, image.height), (700, 530));
    assert_eq!((image.pixels.width(), image.pixels.height()), (350, 265));
    let full = image::load_from_memory(&bytes).unwrap().to_luma8();
    for (x, y) in [(10, 10), (100, 60), (349, 264), (200, 130), (33, 251)] {
        let sum: u32 = [(0, 0), (1, 0), (0, 1), (1, 1)]
            .iter()
            .map(|&(dx, dy)| u32::from(full.get_pixel(2 * x + dx, 2 * y + dy)[0]))
            .sum();
        let scaled = i32::from(image.pixels.row(y as usize)[x as usize]);
        assert!((scaled - (sum / 4) as i32).abs() <= 4, "{x} {y}: {scaled} {}", sum / 4);
    }
    let prints = [bytes.as_slice(), &encoded_png(&full)].map(|bytes| {
        let pixels = decode(bytes).unwrap().pixels;
        pdq(&Cosines::of(&Frame::of(&pixels)))
    });
    assert!(prints[0].distance(&prints[1]) <= 20, "{}", prints[0].distance(&prints[1]));
}

fn encoded_png(gray: &GrayImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    gray.write_to(&mut bytes, Encoding::Png).unwrap();
    bytes.into_inner()
}

#[test]
fn a_scaled_jpeg_that_is_cut_off_says_so() {
    let bytes = large_jpeg();
    for part in [2, 3, 5] {
        let error = decode(&bytes[..bytes.len() / part]).unwrap_err();
        assert_eq!(error, DecodeError::CutOff { format: ImageFormat::Jpeg }, "1/{part}");
    }
    // Without its last marker everything is there.
    assert!(decode(&bytes[..bytes.len() - 2]).is_ok());
}

#[test]
fn the_exif_orientation_turns_the_image_and_a_broken_one_does_not() {
    let bytes = large_jpeg();
    let upright = decode(&bytes).unwrap();
    for tag in 1..=8 {
        let turned = decode(&with_exif(&bytes, &orientation_tag(tag))).unwrap();
        let expected = upright.pixels.clone().turned(Orientation::of_exif(tag).unwrap());
        assert_eq!(turned.pixels, expected, "{tag}");
        let is_tall = tag >= 5;
        assert_eq!((turned.width, turned.height), if is_tall { (530, 700) } else { (700, 530) });
    }
    for broken in [&b"II*\0\xff\xff\xff\xff"[..], b"MM", b"", &orientation_tag(99)] {
        assert_eq!(decode(&with_exif(&bytes, broken)).unwrap().pixels, upright.pixels);
    }
}

/// A scene with fine detail, as JPEG.
fn detailed_jpeg(width: u32, height: u32) -> Vec<u8> {
    let image = RgbImage::from_fn(width, height, |x, y| {
        let noise = (x * 7919 + y * 104_729).wrapping_mul(2_654_435_761) >> 26;
        let wave = 110.0 + 70.0 * (x as f32 / 23.0).sin() * (y as f32 / 31.0).cos();
        let light = wave as u32 + noise;
        image::Rgb([light as u8, (light / 2 + 40) as u8, (200 - light / 2) as u8])
    });
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, Encoding::Jpeg).unwrap();
    bytes.into_inner()
}

#[test]
fn a_small_jpeg_is_what_a_complete_decoder_makes_of_it() {
    for (width, height) in [(200, 120), (37, 75), (9, 300)] {
        let bytes = detailed_jpeg(width, height);
        let ours = decode(&bytes).unwrap().pixels;
        let full = image::load_from_memory(&bytes).unwrap().to_rgb8();
        let theirs = Pixels::rgb(width as usize, height as usize, full.into_raw()).unwrap();
        assert_eq!((ours.width(), ours.height()), (theirs.width(), theirs.height()));
        let mut lumas = [vec![0.0; ours.width()], vec![0.0; ours.width()]];
        for y in 0..ours.height() {
            ours.luma_row(y, &mut lumas[0]);
            theirs.luma_row(y, &mut lumas[1]);
            let worst = lumas[0].iter().zip(&lumas[1]).map(|(one, two)| (one - two).abs());
            // Both round, and one of them by way of colours.
            let worst = worst.fold(0.0, f32::max);
            assert!(worst <= 3.0, "{width} x {height}, row {y}: {worst}");
        }
    }
}

#[test]
fn an_eighth_of_a_jpeg_is_the_mean_of_its_blocks() {
    // Enough blocks that several codes are passed over at a step.
    let bytes = detailed_jpeg(2_080, 2_051);
    let ours = decode(&bytes).unwrap().pixels;
    assert_eq!((ours.width(), ours.height()), (260, 257));
    let full = image::load_from_memory(&bytes).unwrap().to_rgb8();
    let theirs = Pixels::rgb(2_080, 2_051, full.into_raw()).unwrap();
    let mut luma = vec![0.0; 2_080];
    for row in 0..256 {
        let mut sums = vec![0.0_f32; 260];
        for y in 8 * row..8 * row + 8 {
            theirs.luma_row(y, &mut luma);
            let blocks = luma.as_chunks::<8>().0.iter();
            sums.iter_mut().zip(blocks).for_each(|(sum, block)| *sum += block.iter().sum::<f32>());
        }
        for (&ours, sum) in ours.row(row).iter().zip(sums) {
            assert!(
                (f32::from(ours) - sum / 64.0).abs() <= 1.5,
                "row {row}: {ours} {}",
                sum / 64.0
            );
        }
    }
}

#[test]
fn of_an_animation_the_first_image_is_decoded_however_many_and_large_the_others_are() {
    let still = encoded(Encoding::Gif);
    let expected = decode(&still).unwrap().pixels;
    let (end, frames) = still.split_last().unwrap();
    // A frame that claims the largest size there is, with next to nothing in it.
    let giant = [0x2C, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 2, 1, 0x2C, 0];
    let animated = [frames, &giant.repeat(100_000), &[*end]].concat();
    assert!(decode(&animated).unwrap().pixels == expected);

    let still = encoded(Encoding::WebP);
    let expected = decode(&still).unwrap().pixels;
    let animated = animated_webp([48, 40], &still[12..], 3_000);
    assert!(decode(&animated).unwrap().pixels == expected);
}

#[test]
fn an_animation_larger_than_any_image_is_refused_at_once() {
    let mut gif = encoded(Encoding::Gif);
    gif[6..10].fill(0xFF);
    let error = decode(&gif).unwrap_err();
    assert!(matches!(error, DecodeError::TooManyPixels { .. }), "{error}");
    let still = encoded(Encoding::WebP);
    let giant = animated_webp([1 << 15, 1 << 15], &still[12..], 2);
    let error = decode(&giant).unwrap_err();
    assert!(matches!(error, DecodeError::TooManyPixels { .. }), "{error}");
}

/// An animation that shows the same image again and again; `frame` is the chunk of a still one.
fn animated_webp(size: [u32; 2], frame: &[u8], frames: usize) -> Vec<u8> {
    animation_of_webp(size, &vec![frame.to_vec(); frames])
}

fn animation_of_webp([width, height]: [u32; 2], frames: &[Vec<u8>]) -> Vec<u8> {
    let small = |number: u32| number.to_le_bytes()[..3].to_vec();
    let chunk = |name: &[u8], content: &[u8]| {
        [name, &(content.len() as u32).to_le_bytes(), content].concat()
    };
    let canvas = [&[0x02, 0, 0, 0][..], &small(width - 1), &small(height - 1)].concat();
    let shown = |frame: &Vec<u8>| {
        // Width and height of the frame's own image: lossless ones have it behind a signature.
        let bits = u32::from_le_bytes(frame[9..13].try_into().unwrap());
        let (width, height) = (bits & 0x3FFF, bits >> 14 & 0x3FFF);
        // The last byte says that a frame replaces what was there, and is not mixed with it.
        let place = [small(0), small(0), small(width), small(height), small(100), vec![2]].concat();
        chunk(b"ANMF", &[&place, &frame[..]].concat())
    };
    let shown: Vec<u8> = frames.iter().flat_map(shown).collect();
    let body = [b"WEBP", &chunk(b"VP8X", &canvas)[..], &chunk(b"ANIM", &[0; 6]), &shown].concat();
    chunk(b"RIFF", &body)
}

#[test]
fn a_palette_that_ends_within_a_colour_is_damage() {
    let chunk = |kind: &[u8; 4], content: &[u8]| {
        let named = [&kind[..], content].concat();
        let sum = crc32fast::hash(&named).to_be_bytes();
        [&(content.len() as u32).to_be_bytes()[..], &named, &sum].concat()
    };
    // Two pixels of one bit each, by a palette.
    let head = chunk(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 1, 1, 3, 0, 0, 0]);
    let rows = [0x78, 0x01, 0x01, 0x02, 0x00, 0xfd, 0xff, 0x00, 0x40, 0x00, 0x42, 0x00, 0x41];
    for (palette, is_whole) in [(&[9; 6][..], true), (&[9; 1], false), (&[9; 4], false)] {
        let chunks =
            [&head[..], &chunk(b"PLTE", palette), &chunk(b"IDAT", &rows), &chunk(b"IEND", &[])];
        let file = [&b"\x89PNG\r\n\x1a\n"[..], &chunks.concat()].concat();
        assert_eq!(decode(&file).is_ok(), is_whole, "{palette:?}: {:?}", decode(&file).err());
    }
}
