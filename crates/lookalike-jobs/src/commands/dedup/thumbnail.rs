//! Thumbnails for the report: decodes the image again, scales it down by averaging, and encodes it
//! as JPEG, so that only pixels of the file get into the page.

use std::{ffi::OsStr, fs::File, io::Read, path::Path};

use image::{ExtendedColorType, codecs::jpeg::JpegEncoder};
use lookalike::extract::image::{Decoder, Pixels};

/// Lengths of the longer side to try, in pixels, each with its JPEG quality: lower for small
/// images, where artifacts matter less.
const SIDES: [(usize, u8); 8] =
    [(1280, 82), (960, 80), (720, 78), (480, 75), (320, 72), (224, 68), (160, 62), (112, 55)];

/// Estimated bits per pixel at these qualities, to choose the first side to try.
const BITS_PER_PIXEL: usize = 1;

/// At most this many bytes of a file are read.
const MAX_BYTES: u64 = 1 << 30;

/// The image as a JPEG of at most this many bytes; none if it cannot be read or does not fit.
pub fn thumbnail(path: &Path, bytes: usize) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut content).ok()?;
    let decoder = Decoder { colour: true, ..Decoder::default() };
    let extension = path.extension().and_then(OsStr::to_str);
    fitted(&decoder.decode_named(&content, extension).ok()?.pixels, bytes)
}

/// The largest thumbnail that fits.
fn fitted(pixels: &Pixels, bytes: usize) -> Option<Vec<u8>> {
    let area = |side: usize| side * side * pixels.height().min(pixels.width()) / longer(pixels);
    let plausible = SIDES.into_iter().filter(|&(side, _)| {
        let tried = area(side.min(longer(pixels)));
        side == SIDES[SIDES.len() - 1].0 || tried * BITS_PER_PIXEL / 8 <= 2 * bytes
    });
    plausible.into_iter().find_map(|(side, quality)| {
        let jpeg = encoded(pixels, side.min(longer(pixels)), quality)?;
        (jpeg.len() <= bytes).then_some(jpeg)
    })
}

fn longer(pixels: &Pixels) -> usize {
    pixels.width().max(pixels.height())
}

fn encoded(pixels: &Pixels, side: usize, quality: u8) -> Option<Vec<u8>> {
    let scaled = |length: usize| (length * side).div_ceil(longer(pixels)).max(1);
    let (width, height) = (scaled(pixels.width()), scaled(pixels.height()));
    let rgb = reduced(pixels, width, height);
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, quality)
        .encode(&rgb, width as u32, height as u32, ExtendedColorType::Rgb8)
        .ok()?;
    Some(jpeg)
}

/// The RGB pixels scaled down to this size: each pixel is the mean of those that it covers.
fn reduced(pixels: &Pixels, width: usize, height: usize) -> Vec<u8> {
    let mut rgb = Vec::with_capacity(width * height * 3);
    let mut sums = vec![[0_u32; 4]; width];
    let mut filled = 0;
    for y in 0..pixels.height() {
        let mut x = 0;
        pixels.for_each_rgb(y, |pixel| {
            let sum = &mut sums[x * width / pixels.width()];
            (0..3).for_each(|channel| sum[channel] += u32::from(pixel[channel]));
            sum[3] += 1;
            x += 1;
        });
        let is_last = (y + 1) * height / pixels.height() > filled;
        if is_last {
            for [red, green, blue, count] in sums.iter_mut().map(std::mem::take) {
                let half = count / 2;
                rgb.extend([red, green, blue].map(|sum| ((sum + half) / count.max(1)) as u8));
            }
            filled += 1;
        }
    }
    rgb
}

#[cfg(test)]
mod tests {
    use image::ImageReader;

    use super::*;

    fn image(width: usize, height: usize, colour: impl Fn(usize, usize) -> [u8; 3]) -> Pixels {
        let points = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Pixels::rgb(width, height, points.flat_map(|(x, y)| colour(x, y)).collect()).unwrap()
    }

    #[test]
    fn every_pixel_is_the_mean_of_those_it_covers() {
        let pixels = image(4, 2, |x, y| [x as u8 * 10, y as u8 * 100, 7]);
        assert_eq!(reduced(&pixels, 2, 1), [5, 50, 7, 25, 50, 7]);
        let pixels = image(5, 3, |x, _| [x as u8, 0, 0]);
        assert_eq!(reduced(&pixels, 5, 3).len(), 45);
        assert_eq!(reduced(&pixels, 2, 2).len(), 12);
        assert_eq!(reduced(&pixels, 1, 1), [2, 0, 0]);
    }

    #[test]
    fn thumbnail_fits_the_limit_and_keeps_the_aspect_ratio() {
        let noise =
            |x: usize, y: usize| [0, 1, 2].map(|at| (x * 31 + y * 17 + x * y * (at + 3)) as u8);
        let pixels = image(900, 600, noise);
        for bytes in [300_000, 60_000, 20_000, 5_000] {
            let jpeg = fitted(&pixels, bytes).unwrap();
            assert!(jpeg.len() <= bytes);
            let reader =
                ImageReader::new(std::io::Cursor::new(jpeg)).with_guessed_format().unwrap();
            let (width, height) = reader.into_dimensions().unwrap();
            assert!(width <= 900 && (width * 2).abs_diff(height * 3) <= 3, "{width} x {height}");
        }
        assert_eq!(fitted(&pixels, 100), None);
        // Small images are not enlarged.
        let small = image(8, 3, noise);
        assert!(fitted(&small, 100_000).is_some());
    }

    #[test]
    fn missing_and_invalid_files_have_no_thumbnail() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(thumbnail(&path, 1_000), None);
        std::fs::write(&path, "no image").unwrap();
        assert_eq!(thumbnail(&path, 1_000), None);
    }
}
