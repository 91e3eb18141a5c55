//! Facts from the metadata of an image file: when it was taken, and whether it was edited.
//!
//! EXIF and XMP are read from JPEG, PNG, WebP, TIFF and RAW files. Damaged metadata are ignored; they
//! never make a file unreadable.

use super::{
    ImageFormat,
    raw::{self, IsoBox},
    tags::{Directory, Tiff},
};
use crate::{Facts, digest::Fidelity};

/// Tags of the first directory.
const COMPRESSION: u16 = 0x0103;
const MAKE: u16 = 0x010F;
const MODEL: u16 = 0x0110;
const ORIENTATION: u16 = 0x0112;
const SOFTWARE: u16 = 0x0131;
const MODIFIED: u16 = 0x0132;
const XMP: u16 = 0x02BC;
const EXIF: u16 = 0x8769;

/// Tags of the directory that the tag [`EXIF`] points to.
const TAKEN: u16 = 0x9003;
const DIGITISED: u16 = 0x9004;
const ZONE: u16 = 0x9010;
const ZONE_TAKEN: u16 = 0x9011;
const FRACTION_TAKEN: u16 = 0x9291;
const WIDTH: u16 = 0xA002;
const HEIGHT: u16 = 0xA003;

/// The time a camera may take to expose and compute an image, which is not editing.
const UNTOUCHED_SECONDS: i64 = 60;

/// Longer XMP packets hold something else.
const XMP_LOOKED_AT: usize = 1 << 16;

/// Names of programs that edit or re-save images, in lower case. Cameras and phones name their firmware
/// as software.
const EDITORS: [&str; 52] = [
    "acdsee",
    "acorn",
    "adobe",
    "affinity",
    "aperture",
    "aurora hdr",
    "canva",
    "capture nx",
    "capture one",
    "corel",
    "darktable",
    "digikam",
    "digital photo professional",
    "dxo",
    "facetune",
    "faststone",
    "gigapixel",
    "gimp",
    "graphicsmagick",
    "gthumb",
    "hugin",
    "imagemagick",
    "instagram",
    "iphoto",
    "irfanview",
    "krita",
    "lavc",
    "lightroom",
    "luminar",
    "meitu",
    "microsoft",
    "nx studio",
    "paint.net",
    "paintshop",
    "photofiltre",
    "photolab",
    "photomatix",
    "photopea",
    "photos ",
    "photoscape",
    "photoshop",
    "picasa",
    "pillow",
    "pixelmator",
    "polarr",
    "rawtherapee",
    "shotwell",
    "snapseed",
    "topaz",
    "viewnx",
    "vsco",
    "xnview",
];

/// The metadata of a file, as far as it has any.
#[derive(Clone, Copy, Default)]
pub(super) struct Metadata<'a> {
    /// The directory with maker, software and orientation.
    main: Option<Directory<'a>>,
    /// The directory with dates and sizes.
    exif: Option<Directory<'a>>,
    xmp: Option<&'a [u8]>,
}

/// The facts about an image file from its content: all but those of the file system. `size` is its width
/// and height as shown.
///
/// ```
/// use lookalike::extract::image::{ImageFormat, facts};
/// use lookalike::digest::Fidelity;
///
/// let facts = facts(b"BM...", ImageFormat::Bmp, (640, 480));
/// assert_eq!((facts.pixels, facts.fidelity), (Some((640, 480)), Some(Fidelity::Lossless)));
/// assert_eq!((facts.taken, facts.edited), (None, None));
/// ```
pub fn facts(content: &[u8], format: ImageFormat, pixels: (u32, u32)) -> Facts {
    let metadata = Metadata::of(content, format);
    Facts {
        bytes: content.len() as u64,
        pixels: Some(pixels),
        format: Some(format.name().to_owned()),
        fidelity: fidelity(content, format),
        taken: metadata.taken(),
        edited: metadata.edited((!format.is_raw()).then_some(pixels)),
        ..Facts::default()
    }
}

fn fidelity(content: &[u8], format: ImageFormat) -> Option<Fidelity> {
    let is_lossless = match format {
        _ if format.is_raw() => return Some(Fidelity::Raw),
        ImageFormat::Raw => return None,
        ImageFormat::Png | ImageFormat::Bmp => true,
        ImageFormat::WebP => riff(content).any(|(name, _)| name == *b"VP8L"),
        ImageFormat::Tiff => {
            let first = Tiff::new(content).and_then(Tiff::first);
            // Old and new JPEG in TIFF.
            !matches!(first.and_then(|first| first.number(COMPRESSION)), Some(6 | 7))
        }
        _ => false,
    };
    Some(if is_lossless { Fidelity::Lossless } else { Fidelity::Lossy })
}

impl<'a> Metadata<'a> {
    pub(super) fn of(content: &'a [u8], format: ImageFormat) -> Self {
        match format {
            ImageFormat::Jpeg => Self::of_jpeg(content),
            ImageFormat::Png => Self::of_png(content),
            ImageFormat::WebP => Self::of_webp(content),
            ImageFormat::Tiff => Self::of_tiff(content),
            ImageFormat::Cr3 => Self::of_cr3(content),
            ImageFormat::Raf => raw::raf_preview(content).map(Self::of_jpeg).unwrap_or_default(),
            _ if format.is_raw() => Self::of_tiff(content),
            _ => Self::default(),
        }
    }

    fn of_tiff(block: &'a [u8]) -> Self {
        let main = Tiff::new(block).and_then(Tiff::first);
        let exif = main.and_then(|main| main.below(EXIF));
        Self { main, exif, xmp: main.and_then(|main| main.bytes(XMP)) }
    }

    fn of_jpeg(content: &'a [u8]) -> Self {
        let (mut found, mut xmp) = (None, None);
        for (_, segment) in segments(content).filter(|(marker, _)| *marker == 0xE1) {
            if let Some(block) = segment.strip_prefix(b"Exif\0\0") {
                found = found.or(Some(block));
            } else if let Some(packet) = segment.strip_prefix(b"http://ns.adobe.com/xap/1.0/\0") {
                xmp = xmp.or(Some(packet));
            }
        }
        Self { xmp, ..found.map(Self::of_tiff).unwrap_or_default() }
    }

    fn of_png(content: &'a [u8]) -> Self {
        let (mut found, mut xmp) = (None, None);
        for (name, chunk) in chunks(content, 8, true) {
            match &name {
                b"eXIf" => found = found.or(Some(chunk)),
                // Uncompressed, without a language.
                b"iTXt" => xmp = xmp.or(chunk.strip_prefix(b"XML:com.adobe.xmp\0\0\0\0\0")),
                _ => {}
            }
        }
        Self { xmp, ..found.map(Self::of_tiff).unwrap_or_default() }
    }

    fn of_webp(content: &'a [u8]) -> Self {
        let (mut found, mut xmp) = (None, None);
        for (name, chunk) in riff(content) {
            match &name {
                // Some programs also write the prefix that EXIF has in a JPEG.
                b"EXIF" => found = Some(chunk.strip_prefix(b"Exif\0\0").unwrap_or(chunk)),
                b"XMP " => xmp = Some(chunk),
                _ => {}
            }
        }
        Self { xmp, ..found.map(Self::of_tiff).unwrap_or_default() }
    }

    /// In CR3, each directory is a separate TIFF structure.
    fn of_cr3(content: &'a [u8]) -> Self {
        let canon = raw::cr3_metadata(content).unwrap_or_default();
        let block = |kind: &[u8; 4]| {
            let found = IsoBox::all(canon).find(|found| found.kind == *kind)?;
            Tiff::new(found.content)?.first()
        };
        Self { main: block(b"CMT1"), exif: block(b"CMT2"), xmp: None }
    }

    /// The orientation of the image; `None` if the file has none.
    pub(super) fn orientation(&self) -> Option<u16> {
        u16::try_from(self.main?.number(ORIENTATION)?).ok().filter(|tag| (1..=8).contains(tag))
    }

    /// Width and height according to the camera.
    pub(super) fn size(&self) -> Option<(u32, u32)> {
        let side = |tag| self.exif?.number(tag).filter(|&side| side > 0);
        Some((side(WIDTH)?, side(HEIGHT)?))
    }

    /// The time it was taken, in nanoseconds since 1970.
    fn taken(&self) -> Option<i64> {
        let exif = self.exif?;
        let seconds = self.seconds(TAKEN).or_else(|| self.seconds(DIGITISED))?;
        let zone = [ZONE_TAKEN, ZONE].into_iter().find_map(|tag| zone(exif.text(tag)?));
        let fraction = exif.text(FRACTION_TAKEN).and_then(fraction).unwrap_or(0);
        (seconds - zone.unwrap_or(0)).checked_mul(1_000_000_000)?.checked_add(fraction)
    }

    /// A date in seconds since 1970 by the clock of the camera.
    fn seconds(&self, tag: u16) -> Option<i64> {
        seconds(self.exif?.text(tag)?)
    }

    /// Whether the file was edited: it says so itself, or its size differs from what the camera
    /// recorded. `None` if there is no sign of a camera either.
    fn edited(&self, pixels: Option<(u32, u32)>) -> Option<bool> {
        let text = |tag| self.main.and_then(|main| main.text(tag));
        let by_editor = text(SOFTWARE).is_some_and(is_editor);
        let later = text(MODIFIED).and_then(seconds).zip(self.seconds(TAKEN));
        let is_later = later.is_some_and(|(modified, taken)| modified > taken + UNTOUCHED_SECONDS);
        let is_resized = pixels.zip(self.size()).is_some_and(|((width, height), size)| {
            size != (width, height) && size != (height, width)
        });
        if by_editor || is_later || is_resized || self.xmp.is_some_and(tells_of_changes) {
            return Some(true);
        }
        let is_of_camera = [MAKE, MODEL].into_iter().any(|tag| text(tag).is_some())
            || self.seconds(TAKEN).is_some();
        is_of_camera.then_some(false)
    }
}

fn is_editor(software: &str) -> bool {
    let software = software.to_lowercase();
    EDITORS.iter().any(|editor| software.contains(editor))
}

/// Whether XMP has a history, or names a source or an editor.
fn tells_of_changes(packet: &[u8]) -> bool {
    let packet = &packet[..packet.len().min(XMP_LOOKED_AT)];
    let text = String::from_utf8_lossy(packet);
    if ["xmpMM:History", "xmpMM:DerivedFrom"].iter().any(|name| text.contains(name)) {
        return true;
    }
    // Either `CreatorTool="..."` or `CreatorTool>...<`.
    let tool =
        text.split_once("xmp:CreatorTool").map(|(_, rest)| rest.trim_start_matches(['=', '>']));
    let tool = tool.map(|rest| rest.trim_start_matches(['"', '\'']));
    tool.and_then(|rest| rest.split(['"', '\'', '<']).next()).is_some_and(is_editor)
}

/// `2024:05:31 18:20:01`, in seconds since 1970.
fn seconds(text: &str) -> Option<i64> {
    let mut numbers = text.split([':', ' ', '-', '/', 'T']);
    let mut next = |least: i64, most: i64| {
        let number = numbers.next()?.parse::<i64>().ok()?;
        (least..=most).contains(&number).then_some(number)
    };
    let (year, month, day) = (next(1, 9999)?, next(1, 12)?, next(1, 31)?);
    let (hour, minute, second) = (next(0, 23)?, next(0, 59)?, next(0, 60)?);
    // Years that begin in March have their odd day at the end.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// `+02:00`, in seconds.
fn zone(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(sign * (i64::from(hours) * 60 + i64::from(minutes)) * 60)
}

/// Decimal places of a second, in nanoseconds.
fn fraction(digits: &str) -> Option<i64> {
    let digits = &digits[..digits.len().min(9)];
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse::<i64>().ok()? * 10_i64.pow(9 - digits.len() as u32))
}

/// The segments of a JPEG before its first scan, each with its marker.
pub(super) fn segments(content: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = content.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        while let [0xFF, 0xFF, ..] = rest {
            rest = &rest[1..];
        }
        let [0xFF, marker @ (0xC0..=0xCF | 0xDB..=0xFE), high, low, ..] = *rest else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let segment = rest.get(4..2 + length).filter(|_| marker != 0xDA)?;
        rest = &rest[2 + length..];
        Some((marker, segment))
    })
}

/// The chunks of a PNG, or of a RIFF file, where they have no checksum and start at even offsets.
fn chunks(content: &[u8], start: usize, is_png: bool) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut rest = content.get(start..).unwrap_or_default();
    std::iter::from_fn(move || {
        let [first, second] = [rest.get(..4)?.try_into().ok()?, rest.get(4..8)?.try_into().ok()?];
        let (name, length, after) = match is_png {
            true => (second, u32::from_be_bytes(first), 4),
            false => (first, u32::from_le_bytes(second), u32::from_le_bytes(second) as usize & 1),
        };
        let end = usize::try_from(length).ok()?.checked_add(8)?;
        let chunk = rest.get(8..end)?;
        rest = rest.get(end.checked_add(after)?..).unwrap_or_default();
        Some((name, chunk))
    })
}

fn riff(content: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    chunks(content, 12, false)
}

#[cfg(test)]
mod tests {
    use super::{
        super::made::{Value, jpeg, nef, tiff},
        *,
    };

    type Tags = Vec<(u16, Value)>;

    fn camera() -> Tags {
        vec![(MAKE, Value::Text("NIKON")), (SOFTWARE, Value::Text("Ver.1.10"))]
    }

    fn with(mut tags: Tags, more: &[(u16, Value)], dates: &[(u16, Value)]) -> Vec<u8> {
        tags.extend(more.iter().cloned());
        tags.push((EXIF, Value::Directories(vec![dates.to_vec()])));
        tiff(b"II*\0", &tags)
    }

    fn in_jpeg(block: &[u8], packet: &str) -> Vec<u8> {
        let plain = jpeg(16, 8);
        let segment = |start: &[u8], content: &[u8]| {
            let length = (start.len() + content.len() + 2) as u16;
            [b"\xFF\xE1", &length.to_be_bytes()[..], start, content].concat()
        };
        let exif = segment(b"Exif\0\0", block);
        let xmp = segment(b"http://ns.adobe.com/xap/1.0/\0", packet.as_bytes());
        [&plain[..2], &exif, &xmp, &plain[2..]].concat()
    }

    fn of_jpeg(block: &[u8], packet: &str) -> Facts {
        facts(&in_jpeg(block, packet), ImageFormat::Jpeg, (16, 8))
    }

    #[test]
    fn dates_are_told_with_their_fraction_and_zone() {
        assert_eq!(seconds("1970:01:01 00:00:00"), Some(0));
        assert_eq!(seconds("2024:02:29 12:30:15"), Some(1_709_209_815));
        assert_eq!(seconds("1969-12-31T23:59:59"), Some(-1));
        for none in ["    :  :     :  :  ", "0000:00:00 00:00:00", "2024:13:01 00:00:00", "2024"] {
            assert_eq!(seconds(none), None, "{none}");
        }
        let dates = [
            (TAKEN, Value::Text("2024:02:29 12:30:15")),
            (FRACTION_TAKEN, Value::Text("25")),
            (ZONE_TAKEN, Value::Text("+02:00")),
        ];
        let taken = of_jpeg(&with(camera(), &[], &dates), "").taken;
        assert_eq!(taken, Some((1_709_209_815 - 7_200) * 1_000_000_000 + 250_000_000));
        assert_eq!(
            of_jpeg(&with(camera(), &[], &dates[..1]), "").taken,
            Some(1_709_209_815 * 1_000_000_000)
        );
    }

    #[test]
    fn an_image_is_edited_if_its_metadata_say_so() {
        let taken = (TAKEN, Value::Text("2024:02:29 12:30:15"));
        let size = |width, height| [(WIDTH, Value::Short(width)), (HEIGHT, Value::Short(height))];
        let modified = |text| [(MODIFIED, Value::Text(text))];
        let edited = |block: &[u8]| of_jpeg(block, "").edited;
        let dates = [taken.clone()];
        assert_eq!(edited(&with(camera(), &[], &dates)), Some(false));
        assert_eq!(edited(&with(vec![], &[], &dates)), Some(false));
        assert_eq!(edited(&with(vec![], &[], &[])), None);
        assert_eq!(facts(&jpeg(16, 8), ImageFormat::Jpeg, (16, 8)).edited, None);
        for (text, expected) in [("2024:02:29 12:30:40", false), ("2024:03:01 08:00:00", true)] {
            assert_eq!(edited(&with(camera(), &modified(text), &dates)), Some(expected), "{text}");
        }
        let editor = [(SOFTWARE, Value::Text("Adobe Photoshop 25.0 (Windows)"))];
        assert_eq!(edited(&with(vec![], &editor, &dates)), Some(true));
        // Turned is not resized.
        for (width, height, expected) in [(16, 8, false), (8, 16, false), (32, 16, true)] {
            assert_eq!(edited(&with(camera(), &[], &size(width, height))), Some(expected));
        }
        let block = with(camera(), &[], &dates);
        for (packet, expected) in [
            ("<rdf:Description xmp:Rating=\"5\" xmp:CreatorTool=\"NIKON D750 Ver.1.10\"/>", false),
            ("<rdf:Description xmp:CreatorTool=\"GIMP 2.10\"/>", true),
            ("<xmp:CreatorTool>Adobe Lightroom</xmp:CreatorTool>", true),
            ("<xmpMM:History><rdf:Seq/></xmpMM:History>", true),
        ] {
            assert_eq!(of_jpeg(&block, packet).edited, Some(expected), "{packet}");
        }
    }

    #[test]
    fn metadata_are_found_in_every_format_that_has_them() {
        let block = with(camera(), &[], &[(TAKEN, Value::Text("1970:01:01 00:00:07"))]);
        let chunk = |length: [u8; 4], name: &[u8], content: &[u8]| match name {
            b"eXIf" => [&length[..], name, content, &[0; 4]].concat(),
            _ => [name, &length, content].concat(),
        };
        let length = block.len() as u32;
        let png =
            [b"\x89PNG\r\n\x1a\n", &chunk(length.to_be_bytes(), b"eXIf", &block)[..]].concat();
        let lossless = chunk(3_u32.to_le_bytes(), b"VP8L", b"abc\0");
        let webp = chunk(length.to_le_bytes(), b"EXIF", &block);
        let webp = [b"RIFF\0\0\0\0WEBP", &lossless[..], &webp].concat();
        let files = [
            (png, ImageFormat::Png, Fidelity::Lossless),
            (webp, ImageFormat::WebP, Fidelity::Lossless),
            (block.clone(), ImageFormat::Tiff, Fidelity::Lossless),
            (in_jpeg(&block, ""), ImageFormat::Jpeg, Fidelity::Lossy),
            (block, ImageFormat::Arw, Fidelity::Raw),
        ];
        for (file, format, fidelity) in files {
            let facts = facts(&file, format, (1, 1));
            assert_eq!(
                (facts.taken, facts.fidelity),
                (Some(7_000_000_000), Some(fidelity)),
                "{format}"
            );
        }
        assert_eq!(facts(&nef(&camera(), 320, 240), ImageFormat::Nef, (1, 1)).edited, Some(false));
    }

    #[test]
    fn the_file_of_an_image_may_end_anywhere() {
        let block = with(camera(), &[], &[(TAKEN, Value::Text("1970:01:01 00:00:07"))]);
        let file = in_jpeg(&block, "<x/>");
        for length in 0..file.len() {
            for format in ImageFormat::ALL {
                let _ = facts(&file[..length], format, (1, 1));
                let _ = facts(&block[..length.min(block.len())], format, (1, 1));
            }
        }
    }
}
