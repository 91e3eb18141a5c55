use super::{
    super::{
        DecodeError, Decoder, Image, ImageFormat as Format,
        made::{Value, jpeg, nef, preview, sensor, tiff},
    },
    *,
};

#[track_caller]
fn decoded(bytes: &[u8]) -> Image {
    Decoder::default().decode(bytes).unwrap()
}

/// The format, the size told, and whether the pixels are those of this JPEG.
#[track_caller]
fn assert_shows(bytes: &[u8], format: Format, size: (u32, u32), preview: &[u8]) {
    let shown = decoded(bytes);
    assert_eq!((shown.format, (shown.width, shown.height)), (format, size));
    assert_eq!(shown.pixels, decoded(preview).pixels);
}

#[test]
fn the_largest_preview_is_decoded_whatever_comes_first() {
    let (large, small) = (jpeg(640, 480), jpeg(320, 240));
    assert_shows(&nef(&preview(&small), 640, 480), Format::Nef, (1200, 800), &large);
    assert_shows(&nef(&preview(&large), 320, 240), Format::Nef, (1200, 800), &large);
}

#[test]
fn the_maker_tells_the_format_of_sensor_data() {
    for (make, format) in [
        ("NIKON", Format::Nef),
        ("SONY", Format::Arw),
        ("Canon", Format::Cr2),
        ("PENTAX", Format::OtherRaw),
    ] {
        let below = Value::Directories(vec![sensor(900, 600)]);
        let tags = [preview(&jpeg(300, 200)), vec![(0x010F, Value::Text(make)), (0x014A, below)]];
        assert_shows(&tiff(b"II*\0", &tags.concat()), format, (900, 600), &jpeg(300, 200));
    }
}

#[test]
fn a_dng_keeps_its_preview_in_strips() {
    let large = jpeg(400, 300);
    let strip = vec![
        (0x0103, Value::Short(7)),
        (0x0106, Value::Short(6)),
        (0x0117, Value::Long(large.len() as u32)),
        (0x0111, Value::At(large.clone())),
    ];
    let below = Value::Directories(vec![sensor(2000, 1000), strip]);
    let tags = [(0xC612, Value::Bytes(vec![1, 4, 0, 0])), (0x014A, below)];
    assert_shows(&tiff(b"II*\0", &tags), Format::Dng, (2000, 1000), &large);
}

#[test]
fn formats_with_a_start_of_their_own_are_known_by_it() {
    let large = jpeg(640, 480);
    let canon = tiff(b"II*\0", &preview(&large));
    let canon = [&canon[..8], b"CR\x02\0", &canon[12..]].concat();
    assert_shows(&canon, Format::Cr2, (640, 480), &large);
    // In notes of the maker, which nobody but the maker can read.
    let notes = [b"OLYMPUS\0".to_vec(), jpeg(160, 120), large.clone()].concat();
    let below = Value::Directories(vec![vec![(0x927C, Value::Bytes(notes))]]);
    let sides = [(0x0100, Value::Long(4000)), (0x0101, Value::Long(3000)), (0x8769, below)];
    assert_shows(&tiff(b"IIRO", &sides), Format::Orf, (4000, 3000), &large);
    let tags = [
        (0x0002, Value::Short(5000)),
        (0x0003, Value::Short(4000)),
        (0x002E, Value::Bytes(large.clone())),
        (0x0111, Value::Long(u32::MAX)),
        (0x0117, Value::Long(1)),
    ];
    assert_shows(&tiff(b"IIU\0", &tags), Format::Rw2, (5000, 4000), &large);
    assert_shows(&raf_file(&large), Format::Raf, (4896, 3264), &large);
    assert_shows(&cr3_file(&large, 0), Format::Cr3, (6000, 4000), &large);
}

fn raf_file(preview: &[u8]) -> Vec<u8> {
    let size = [&3264_u16.to_be_bytes()[..], &4896_u16.to_be_bytes()].concat();
    let other = [0x01, 0x10, 0, 2, 9, 9];
    let described = [&2_u32.to_be_bytes()[..], &other, &[0x01, 0x00, 0, 4], &size].concat();
    let mut file = b"FUJIFILMCCD-RAW 0201FF383501".to_vec();
    file.resize(0x54, 0);
    let mut start = 0x6C_u32;
    for part in [preview, &described, &[5; 100]] {
        file.extend([start, part.len() as u32].map(u32::to_be_bytes).concat());
        start += part.len() as u32;
    }
    [&file[..], preview, &described, &[5; 100]].concat()
}

fn iso_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat()
}

/// With a medium preview in a box of its own, and the full one as the first sample of a track.
fn cr3_file(large: &[u8], turned: u16) -> Vec<u8> {
    let main =
        [(0x0100, Value::Long(6000)), (0x0101, Value::Long(4000)), (0x0112, Value::Short(turned))];
    let canon = [&CANON[..], &iso_box(b"CMT1", &tiff(b"II*\0", &main))].concat();
    let medium = [&PREVIEW[..], &[0; 24], &jpeg(320, 240)].concat();
    let start = iso_box(b"ftyp", b"crx \0\0\0\x01crx isom");
    let file = |at: u64| {
        let size = [&[0; 8][..], &1_u32.to_be_bytes(), &(large.len() as u32).to_be_bytes()];
        let offset = [&[0; 4][..], &1_u32.to_be_bytes(), &at.to_be_bytes()];
        let table = [iso_box(b"stsz", &size.concat()), iso_box(b"co64", &offset.concat())].concat();
        let media = iso_box(b"minf", &iso_box(b"stbl", &table));
        let track = iso_box(b"trak", &iso_box(b"mdia", &media));
        let movie = [iso_box(b"uuid", &canon), track].concat();
        [start.clone(), iso_box(b"moov", &movie), iso_box(b"uuid", &medium)].concat()
    };
    let at = file(0).len() as u64 + 8;
    [file(at), iso_box(b"mdat", &[large, &[3; 200]].concat())].concat()
}

#[test]
fn a_preview_lies_as_the_sensor_does_unless_it_says_otherwise() {
    let turned = decoded(&nef(&[(0x0112, Value::Short(6))], 640, 480));
    assert_eq!((turned.width, turned.height), (800, 1200));
    let upright = decoded(&nef(&[], 640, 480)).pixels;
    let quarter = super::super::Orientation::of_exif(6).unwrap();
    assert_eq!(turned.pixels, upright.turned(quarter));
    let turned = decoded(&cr3_file(&jpeg(640, 480), 8));
    assert_eq!((turned.width, turned.height), (4000, 6000));
    // A JPEG with EXIF of its own is shown as that says, and only once.
    let block = tiff(b"II*\0", &[(0x0112, Value::Short(6))]);
    let exif = [b"Exif\0\0", &block[..]].concat();
    let plain = jpeg(640, 480);
    let length = (exif.len() as u16 + 2).to_be_bytes();
    let own = [&plain[..2], b"\xFF\xE1", &length, &exif, &plain[2..]].concat();
    let below = Value::Directories(vec![preview(&own), sensor(1200, 800)]);
    let tags = [(0x0112, Value::Short(6)), (0x014A, below)];
    let shown = decoded(&tiff(b"II*\0", &tags));
    assert_eq!((shown.width, shown.height, shown.pixels), (800, 1200, decoded(&own).pixels));
}

#[test]
fn a_thumbnail_is_no_preview() {
    let error = Decoder::default().decode(&nef(&preview(&jpeg(160, 120)), 150, 100)).unwrap_err();
    assert_eq!(error, DecodeError::NoPreview { format: Format::Nef });
    let said = error.to_string();
    assert!(said.starts_with("NEF without a preview large enough to compare"), "{said}");
}

#[test]
fn an_extension_decides_only_what_the_content_leaves_open() {
    let silent = tiff(b"II*\0", &preview(&jpeg(320, 240)));
    let format = |bytes: &[u8], extension| Format::of_file(bytes, extension);
    assert_eq!(format(&silent, None), Some(Format::Tiff));
    assert_eq!(format(&silent, Some("tif")), Some(Format::Tiff));
    assert_eq!(format(&silent, Some("ARW")), Some(Format::Arw));
    assert_eq!(format(&jpeg(8, 8), Some("arw")), Some(Format::Jpeg));
    assert_eq!(format(&nef(&[], 320, 240), Some("tif")), Some(Format::Nef));
    let shown = Decoder::default().decode_named(&silent, Some("arw")).unwrap();
    assert_eq!((shown.format, shown.width), (Format::Arw, 320));
}

#[test]
fn a_raw_file_cut_off_anywhere_is_refused() {
    let large = jpeg(320, 240);
    for file in [nef(&[], 320, 240), raf_file(&large), cr3_file(&large, 1)] {
        // Without the offset of a directory that is not there, nothing is missing.
        for length in (12..file.len() - 4).step_by(101).chain([file.len() - 5]) {
            let cut = Decoder::default().decode_named(&file[..length], Some("nef"));
            assert!(cut.is_err(), "{length} of {}", file.len());
        }
    }
}

#[test]
fn changed_raw_files_never_panic() {
    let large = jpeg(320, 240);
    let mut state = 5_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize
    };
    for mut file in [nef(&[], 320, 240), raf_file(&large), cr3_file(&large, 1)] {
        for _ in 0..400 {
            // Structures are at the ends; pixels in the middle are for the decoder's own tests.
            let near = next() % 600;
            let at = if next() % 2 == 0 { near } else { file.len() - 1 - near };
            let old =
                std::mem::replace(&mut file[at], [0, 1, 0x7F, 0xFF, next() as u8][next() % 5]);
            for format in [Format::Nef, Format::Raf, Format::Cr3, Format::Orf, Format::Rw2] {
                let _ = Raw::open(&file, format);
                let _ = super::super::facts(&file, format, (9, 9));
            }
            file[at] = old;
        }
    }
}

#[test]
fn jpegs_in_jpegs_are_not_read_again_for_each_of_them() {
    // Every ninth byte starts a JPEG, whose segments go on to the end.
    let nested = b"\xFF\xE0\0\x07\xFF\xD8\xFF\xE0\0".repeat(300_000);
    assert!(hidden(&nested).next().is_none());
}
