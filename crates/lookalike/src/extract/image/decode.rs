//! Recognises the formats of images and decodes them within limits.
//!
//! [`Decoder`] recognises the format by content and decodes the largest preview of a RAW file. A file
//! can claim any size in a few bytes, so limits are checked against its header before anything is
//! allocated. Whatever cannot be read gets a reason.

use std::{
    fmt,
    io::{Cursor, Read, Seek},
    panic::AssertUnwindSafe,
};

use image::{
    AnimationDecoder, DynamicImage, ImageDecoder, ImageError,
    codecs::{
        bmp::BmpDecoder, gif::GifDecoder, jpeg::JpegDecoder, png::PngDecoder, tiff::TiffDecoder,
        webp::WebPDecoder,
    },
    error::LimitErrorKind,
};

use super::{
    Frames, Image, Orientation, Pixels,
    container::{Contents, contents},
    jpeg::{self, Scaled},
    memory,
    metadata::Metadata,
    raw::{self, NoPreview, Raw},
    tiff::{Directory, Page},
};

/// The formats of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ImageFormat {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG; for an animation, its default image.
    Png,
    /// WebP, lossy or lossless; for an animation, its first frame.
    WebP,
    /// GIF; for an animation, its first frame.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// TIFF; its first page.
    Tiff,
    /// Not a file: pixels from the caller.
    Raw,
    /// RAW file of Canon cameras until 2018.
    Cr2,
    /// RAW file of Canon cameras since 2018.
    Cr3,
    /// RAW file of Nikon.
    Nef,
    /// RAW file of Sony.
    Arw,
    /// RAW file in the format of Adobe, from many cameras and phones.
    Dng,
    /// RAW file of Fujifilm.
    Raf,
    /// RAW file of Olympus.
    Orf,
    /// RAW file of Panasonic and Leica.
    Rw2,
    /// RAW file of another maker.
    OtherRaw,
}

impl ImageFormat {
    /// Every format that can be decoded.
    pub const ALL: [Self; 15] = [
        Self::Jpeg,
        Self::Png,
        Self::WebP,
        Self::Gif,
        Self::Bmp,
        Self::Tiff,
        Self::Cr2,
        Self::Cr3,
        Self::Nef,
        Self::Arw,
        Self::Dng,
        Self::Raf,
        Self::Orf,
        Self::Rw2,
        Self::OtherRaw,
    ];

    /// The format of a file by its first 18 bytes. Many RAW files start like a TIFF;
    /// [`of_file`](Self::of_file) distinguishes them.
    ///
    /// ```
    /// use lookalike::extract::image::ImageFormat;
    ///
    /// assert_eq!(ImageFormat::of_content(b"GIF89a..."), Some(ImageFormat::Gif));
    /// assert_eq!(ImageFormat::of_content(b"<html>"), None);
    /// ```
    pub fn of_content(start: &[u8]) -> Option<Self> {
        let starts = |magic: &[u8]| start.starts_with(magic);
        if starts(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if starts(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if starts(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
            Some(Self::WebP)
        } else if starts(b"GIF87a") || starts(b"GIF89a") {
            Some(Self::Gif)
        } else if starts(b"II*\0") && start.get(8..10) == Some(b"CR") {
            Some(Self::Cr2)
        } else if starts(b"IIRO") || starts(b"IIRS") || starts(b"MMOR") {
            Some(Self::Orf)
        } else if starts(b"IIU\0") {
            Some(Self::Rw2)
        } else if starts(b"FUJIFILMCCD-RAW") {
            Some(Self::Raf)
        } else if start.get(4..12) == Some(b"ftypcrx ") {
            Some(Self::Cr3)
        } else if starts(b"II*\0") || starts(b"MM\0*") || starts(b"II+\0") || starts(b"MM\0+") {
            Some(Self::Tiff)
        } else if starts(b"BM") && is_bmp_header(start) {
            Some(Self::Bmp)
        } else {
            None
        }
    }

    /// The format of a file by its content. If it starts like a TIFF and the content does not say
    /// whether it is a RAW file, the extension of its name decides.
    pub fn of_file(content: &[u8], extension: Option<&str>) -> Option<Self> {
        match Self::of_content(content)? {
            Self::Tiff => Some(raw::format_of_tiff(content, extension).unwrap_or(Self::Tiff)),
            format => Some(format),
        }
    }

    /// The RAW format with this extension.
    ///
    /// ```
    /// use lookalike::extract::image::ImageFormat;
    ///
    /// assert_eq!(ImageFormat::raw_of_extension("NEF"), Some(ImageFormat::Nef));
    /// assert_eq!(ImageFormat::raw_of_extension("tif"), None);
    /// ```
    pub fn raw_of_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "cr2" => Self::Cr2,
            "cr3" => Self::Cr3,
            "nef" => Self::Nef,
            "arw" => Self::Arw,
            "dng" => Self::Dng,
            "raf" => Self::Raf,
            "orf" => Self::Orf,
            "rw2" => Self::Rw2,
            "3fr" | "dcr" | "erf" | "fff" | "gpr" | "iiq" | "kdc" | "mef" | "mos" | "nrw"
            | "pef" | "rwl" | "sr2" | "srf" | "srw" => Self::OtherRaw,
            _ => return None,
        })
    }

    /// Whether files of this format hold sensor data of a camera.
    pub const fn is_raw(self) -> bool {
        matches!(
            self,
            Self::Cr2
                | Self::Cr3
                | Self::Nef
                | Self::Arw
                | Self::Dng
                | Self::Raf
                | Self::Orf
                | Self::Rw2
                | Self::OtherRaw
        )
    }

    /// The name of the format of a file that starts like this, if it is an image format that cannot be
    /// decoded here.
    ///
    /// ```
    /// use lookalike::extract::image::ImageFormat;
    ///
    /// assert_eq!(ImageFormat::not_read(b"\0\0\0\x20ftypavif"), Some("AVIF"));
    /// assert_eq!(ImageFormat::not_read(b"GIF89a..."), None);
    /// ```
    pub fn not_read(start: &[u8]) -> Option<&'static str> {
        if start.starts_with(b"\xff\x0a") || start.starts_with(b"\0\0\0\x0cJXL ") {
            return Some("JPEG XL");
        }
        // A file of ISO boxes: the first one names the format.
        match (start.get(4..8)?, start.get(8..12)?) {
            (b"ftyp", b"avif" | b"avis") => Some("AVIF"),
            (b"ftyp", b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"mif1" | b"msf1") => {
                Some("HEIC")
            }
            _ => None,
        }
    }

    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
            Self::Raw => "pixels",
            Self::Cr2 => "CR2",
            Self::Cr3 => "CR3",
            Self::Nef => "NEF",
            Self::Arw => "ARW",
            Self::Dng => "DNG",
            Self::Raf => "RAF",
            Self::Orf => "ORF",
            Self::Rw2 => "RW2",
            Self::OtherRaw => "camera RAW",
        }
    }
}

impl fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Two letters identify nothing, so the sizes of the headers must make sense, too.
fn is_bmp_header(start: &[u8]) -> bool {
    let size = start.get(14..18).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    matches!(size, Some(12 | 16 | 40 | 52 | 56 | 64 | 108 | 124))
}

/// Limits on decoding an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of pixels that a file may claim to have.
    pub pixels: u64,
    /// Maximum memory for decoding in bytes, including the decoded pixels.
    pub bytes: u64,
}

impl Default for Limits {
    /// 2^28 pixels (a square of 16,384) and 512 MiB.
    fn default() -> Self {
        Self { pixels: 1 << 28, bytes: 512 << 20 }
    }
}

/// Turns the bytes of a file into pixels.
///
/// ```
/// use lookalike::extract::image::{DecodeError, Decoder};
///
/// let decoder = Decoder::default();
/// assert_eq!(decoder.decode(b""), Err(DecodeError::Empty));
/// assert_eq!(decoder.decode(b"<html>").unwrap_err().to_string(), "not an image (starts with \"<html>\")");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    /// The limits.
    pub limits: Limits,
    /// Whether colours are needed. Decoding may be faster without them.
    pub colour: bool,
    /// Whether all frames and pages are decoded, not only counted.
    pub frames: bool,
}

impl Decoder {
    /// Decodes an image as a viewer shows it: turned by its EXIF orientation, on white if it is
    /// transparent, and the first one of an animation.
    ///
    /// For a RAW file, this is the largest preview, with the width and height of the sensor data.
    ///
    /// A truncated or damaged file is an error. Bytes after the end of an image are ignored, and a
    /// JPEG with all of its pixels may lack its last marker.
    pub fn decode(&self, bytes: &[u8]) -> Result<Image, DecodeError> {
        self.decode_named(bytes, None)
    }

    /// Like [`decode`](Self::decode), for a file whose name has this extension. It matters only for
    /// RAW files, and only if their content does not identify them.
    pub fn decode_named(
        &self,
        bytes: &[u8],
        extension: Option<&str>,
    ) -> Result<Image, DecodeError> {
        // Decoders are third-party code. A panic on a broken file must cost that file only.
        let decode = || self.decode_unguarded(bytes, extension);
        std::panic::catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| {
            let format = ImageFormat::of_content(bytes).unwrap_or(ImageFormat::Raw);
            Err(broken(format, "the decoder gave up"))
        })
    }

    /// [`decode_named`](Self::decode_named) without catching panics of decoders, for tests.
    #[doc(hidden)]
    pub fn decode_unguarded(
        &self,
        bytes: &[u8],
        extension: Option<&str>,
    ) -> Result<Image, DecodeError> {
        if bytes.is_empty() {
            return Err(DecodeError::Empty);
        }
        let format = ImageFormat::of_file(bytes, extension).ok_or_else(|| {
            ImageFormat::not_read(bytes).map_or_else(
                || DecodeError::NotAnImage { start: start_of(bytes) },
                |format| DecodeError::NotRead { format },
            )
        })?;
        let contents = contents(format, bytes)?;
        let mut image = self.decode_as(format, bytes)?;
        image.frames = Frames::counted(contents.more);
        if self.frames && contents.more > 0 {
            self.look_at_frames(format, bytes, &contents, &mut image)?;
        }
        Ok(image)
    }

    /// An upper bound on the memory that decoding a file takes besides the file itself, in bytes, from
    /// its header; `None` if no decoder would accept the header.
    pub fn memory(&self, file: &mut (impl Read + Seek)) -> Option<u64> {
        memory::needed(file, self.colour)
    }

    fn decode_as(&self, format: ImageFormat, bytes: &[u8]) -> Result<Image, DecodeError> {
        let input = Cursor::new(bytes);
        let failed = |error| reason(format, error);
        match format {
            ImageFormat::Jpeg => match jpeg::decode(bytes, self.limits.pixels, self.colour)? {
                Scaled::Decoded { pixels, width, height, orientation } => {
                    Ok(shown(width, height, format, pixels, orientation))
                }
                Scaled::Other => self.read(format, JpegDecoder::new(input).map_err(failed)?),
            },
            ImageFormat::Png => {
                let decoder = PngDecoder::with_limits(input, self.image_limits());
                self.read(format, decoder.map_err(failed)?)
            }
            ImageFormat::WebP => self.read(format, WebPDecoder::new(input).map_err(failed)?),
            ImageFormat::Gif => self.read(format, GifDecoder::new(input).map_err(failed)?),
            ImageFormat::Bmp => self.read(format, BmpDecoder::new(input).map_err(failed)?),
            ImageFormat::Tiff => self.read(format, TiffDecoder::new(input).map_err(failed)?),
            ImageFormat::Raw => Err(broken(format, "pixels are not a file")),
            _ => self.decode_raw(format, bytes),
        }
    }

    /// Decodes the largest preview of a RAW file; width and height are those of the sensor data.
    fn decode_raw(&self, format: ImageFormat, bytes: &[u8]) -> Result<Image, DecodeError> {
        let raw = Raw::open(bytes, format).map_err(|none| match none {
            NoPreview::CutOff => DecodeError::CutOff { format },
            NoPreview::None => DecodeError::NoPreview { format },
        })?;
        let preview = self.decode_as(ImageFormat::Jpeg, raw.preview)?;
        // The orientation of the preview decides; if it has none, that of the sensor data.
        let is_turned = Metadata::of(raw.preview, ImageFormat::Jpeg).orientation().is_some();
        let turn = raw.orientation.filter(|_| !is_turned).and_then(Orientation::of_exif);
        let turn = turn.unwrap_or(Orientation::UPRIGHT);
        let (width, height) = raw.size;
        let is_upright = (width >= height) == (preview.width >= preview.height);
        let swap = if is_turned { !is_upright } else { turn.transposes() };
        let (width, height) = if swap { (height, width) } else { (width, height) };
        let pixels = preview.pixels.turned(turn);
        Ok(Image { width, height, format, pixels, frames: Frames::default() })
    }

    /// Describes all frames but the one that was decoded, unless there are too many.
    fn look_at_frames(
        &self,
        format: ImageFormat,
        bytes: &[u8],
        contents: &Contents,
        image: &mut Image,
    ) -> Result<(), DecodeError> {
        let more = contents.more;
        if format == ImageFormat::Tiff {
            let pages = contents.pages.get(1..).unwrap_or(&[]);
            let area = |page: &Directory| u64::from(page.width).saturating_mul(page.height.into());
            let pixels = pages.iter().map(area).fold(0, u64::saturating_add);
            if Frames::are_few(more, pixels, self.limits.pixels) {
                for page in pages {
                    let decoder = TiffDecoder::new(Page::new(bytes, page.offset));
                    let page =
                        self.read(format, decoder.map_err(|error| reason(format, error))?)?;
                    image.frames.describe(&page.pixels);
                }
            }
            return Ok(());
        }
        let area = u64::from(image.width) * u64::from(image.height);
        if !Frames::are_few(more, area.saturating_mul(more.into()), self.limits.pixels) {
            return Ok(());
        }
        let failed = |error| reason(format, error);
        let frames = self.animation(format, bytes).map_err(failed)?;
        for frame in frames.into_iter().flatten().skip(usize::from(contents.starts_animation)) {
            let frame = DynamicImage::ImageRgba8(frame.map_err(failed)?.into_buffer());
            let pixels = pixels(frame).ok_or_else(|| broken(format, "a frame has no pixels"))?;
            image.frames.describe(&pixels);
            if image.frames.described() == more as usize {
                return Ok(());
            }
        }
        Err(broken(format, "frames are missing"))
    }

    /// All frames of an animation as they are shown, in order; none for other files.
    fn animation<'a>(
        &self,
        format: ImageFormat,
        bytes: &'a [u8],
    ) -> Result<Option<image::Frames<'a>>, ImageError> {
        let input = Cursor::new(bytes);
        let limits = self.image_limits();
        Ok(match format {
            ImageFormat::Gif => {
                let mut decoder = GifDecoder::new(input)?;
                decoder.set_limits(limits)?;
                Some(decoder.into_frames())
            }
            ImageFormat::WebP => {
                let mut decoder = WebPDecoder::new(input)?;
                decoder.set_limits(limits)?;
                Some(decoder.into_frames())
            }
            ImageFormat::Png => Some(PngDecoder::with_limits(input, limits)?.apng()?.into_frames()),
            _ => None,
        })
    }

    fn read(
        &self,
        format: ImageFormat,
        mut decoder: impl ImageDecoder,
    ) -> Result<Image, DecodeError> {
        let (width, height) = decoder.dimensions();
        self.check_size(width, height, decoder.total_bytes())?;
        let failed = |error| reason(format, error);
        decoder.set_limits(self.image_limits()).map_err(failed)?;
        // With a broken EXIF block, the image is shown as it is stored.
        let orientation = decoder.orientation().map_or(1, |orientation| orientation.to_exif());
        let orientation = Orientation::of_exif(orientation.into()).unwrap_or(Orientation::UPRIGHT);
        let decoded = DynamicImage::from_decoder(decoder).map_err(failed)?;
        let pixels = pixels(decoded).ok_or_else(|| broken(format, "it has no pixels"))?;
        Ok(shown(width, height, format, pixels, orientation))
    }

    fn check_size(&self, width: u32, height: u32, bytes: u64) -> Result<(), DecodeError> {
        let pixels = u64::from(width) * u64::from(height);
        if pixels > self.limits.pixels {
            let limit = self.limits.pixels;
            return Err(DecodeError::TooManyPixels { width, height, limit });
        }
        if bytes > self.limits.bytes {
            return Err(DecodeError::TooMuchMemory { limit: self.limits.bytes });
        }
        Ok(())
    }

    fn image_limits(&self) -> image::Limits {
        let mut limits = image::Limits::no_limits();
        limits.max_alloc = Some(self.limits.bytes);
        limits
    }
}

/// The image as a viewer shows it.
fn shown(
    width: u32,
    height: u32,
    format: ImageFormat,
    pixels: Pixels,
    orientation: Orientation,
) -> Image {
    let swap = orientation.transposes();
    let (width, height) = if swap { (height, width) } else { (width, height) };
    let frames = Frames::default();
    Image { width, height, format, pixels: pixels.turned(orientation), frames }
}

/// Gray or colour bytes; transparent pixels become white.
fn pixels(decoded: DynamicImage) -> Option<Pixels> {
    let (width, height) = (decoded.width() as usize, decoded.height() as usize);
    match decoded {
        DynamicImage::ImageLuma8(_) | DynamicImage::ImageLuma16(_) => {
            Pixels::gray(width, height, decoded.into_luma8().into_raw())
        }
        _ if decoded.color().has_alpha() => {
            let bytes = decoded.into_rgba8().into_raw();
            let on_white = |&[red, green, blue, alpha]: &[u8; 4]| {
                let rest = (255 - u32::from(alpha)) * 255;
                let mix =
                    |value: u8| ((u32::from(value) * u32::from(alpha) + rest + 127) / 255) as u8;
                [mix(red), mix(green), mix(blue)]
            };
            let bytes = bytes.as_chunks::<4>().0.iter().flat_map(on_white).collect();
            Pixels::rgb(width, height, bytes)
        }
        _ => Pixels::rgb(width, height, decoded.into_rgb8().into_raw()),
    }
}

/// Why a file cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The file is empty.
    #[error("empty: it has no bytes")]
    Empty,
    /// The file starts like no known format.
    #[error("not an image (starts with {start})")]
    NotAnImage {
        /// Its first bytes, quoted.
        start: String,
    },
    /// An image in a format without a built-in decoder.
    #[error("{format} is not supported; convert it to JPEG, PNG or WebP")]
    NotRead {
        /// The format.
        format: &'static str,
    },
    /// More pixels than allowed.
    #[error("{width} x {height} pixels, more than the {limit} allowed")]
    TooManyPixels {
        /// The width according to the header.
        width: u32,
        /// The height according to the header.
        height: u32,
        /// The maximum number of pixels.
        limit: u64,
    },
    /// More memory than allowed.
    #[error("decoding takes more than the {limit} bytes of memory allowed")]
    TooMuchMemory {
        /// The maximum number of bytes.
        limit: u64,
    },
    /// The file is truncated.
    #[error("cut off: the {format} ends too early")]
    CutOff {
        /// The format that it starts like.
        format: ImageFormat,
    },
    /// A RAW file without a preview, or with too small a one to compare.
    #[error("{format} without a preview large enough to compare; convert it to DNG with a preview")]
    NoPreview {
        /// The format.
        format: ImageFormat,
    },
    /// It may be intact, but uses a feature without a built-in decoder.
    #[error("unsupported {format}: {what}; convert it to JPEG, PNG or WebP")]
    Unsupported {
        /// The format.
        format: ImageFormat,
        /// The feature.
        what: String,
    },
    /// The content is damaged.
    #[error("broken {format}: {what}")]
    Broken {
        /// The format that it starts like.
        format: ImageFormat,
        /// The message of the decoder.
        what: String,
    },
}

fn broken(format: ImageFormat, what: impl fmt::Display) -> DecodeError {
    DecodeError::Broken { format, what: what.to_string() }
}

fn reason(format: ImageFormat, error: ImageError) -> DecodeError {
    if let ImageError::Limits(limit) = &error
        && limit.kind() == LimitErrorKind::InsufficientMemory
    {
        return DecodeError::TooMuchMemory { limit: Limits::default().bytes };
    }
    if ends_early(&error) {
        return DecodeError::CutOff { format };
    }
    // Decoders repeat the format and may write several lines; one is enough.
    let is_unsupported = matches!(error, ImageError::Unsupported(_));
    let what = match &error {
        ImageError::Decoding(cause) => {
            std::error::Error::source(cause).map_or_else(|| cause.to_string(), ToString::to_string)
        }
        error => error.to_string(),
    };
    let what = what.lines().next().unwrap_or_default().chars().take(120).collect::<String>();
    if is_unsupported { DecodeError::Unsupported { format, what } } else { broken(format, what) }
}

fn ends_early(error: &ImageError) -> bool {
    let end = std::io::ErrorKind::UnexpectedEof;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = match error {
        ImageError::IoError(error) => Some(error),
        error => Some(error),
    };
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == end) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The first bytes, for a message.
fn start_of(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(8)];
    format!("\"{}\"", start.escape_ascii())
}
