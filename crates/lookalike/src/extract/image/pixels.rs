//! Decoded images and their pixels.

use super::{Frames, ImageFormat, Orientation};

/// A decoded image. Its pixels are turned as a viewer shows them, and may be fewer than those of the
/// file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Image {
    /// The width of the image in the file, as shown.
    pub width: u32,
    /// The height of the image in the file, as shown.
    pub height: u32,
    /// The format of the file.
    pub format: ImageFormat,
    /// The pixels, reduced where the decoder could.
    pub pixels: Pixels,
    /// The other frames of the file.
    pub frames: Frames,
}

impl Image {
    /// An image from the caller's own pixels.
    ///
    /// ```
    /// use lookalike::extract::image::{Image, Pixels};
    ///
    /// let pixels = Pixels::gray(64, 64, vec![128; 64 * 64]).unwrap();
    /// assert_eq!(Image::of_pixels(pixels).width, 64);
    /// ```
    pub fn of_pixels(pixels: Pixels) -> Self {
        let (width, height) = (pixels.width as u32, pixels.height as u32);
        Self { width, height, format: ImageFormat::Raw, pixels, frames: Frames::default() }
    }
}

/// Rows of pixels, gray or red-green-blue, with one byte per value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    pub(super) width: usize,
    pub(super) height: usize,
    /// 1 or 3.
    pub(super) channels: usize,
    pub(super) bytes: Vec<u8>,
}

impl Pixels {
    /// Gray pixels, row by row; `None` unless there is exactly one byte per pixel, and at least one
    /// pixel.
    pub fn gray(width: usize, height: usize, bytes: Vec<u8>) -> Option<Self> {
        Self::new(width, height, 1, bytes)
    }

    /// Red, green and blue of each pixel, row by row; `None` unless there are exactly three bytes per
    /// pixel, and at least one pixel.
    pub fn rgb(width: usize, height: usize, bytes: Vec<u8>) -> Option<Self> {
        Self::new(width, height, 3, bytes)
    }

    /// All values, row by row.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn new(width: usize, height: usize, channels: usize, bytes: Vec<u8>) -> Option<Self> {
        let expected = width.checked_mul(height)?.checked_mul(channels)?;
        let fits = expected == bytes.len() && expected > 0;
        fits.then_some(Self { width, height, channels, bytes })
    }

    /// The width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The values of a row: one per pixel, or red, green and blue.
    pub fn row(&self, y: usize) -> &[u8] {
        let length = self.width * self.channels;
        &self.bytes[y * length..][..length]
    }

    /// The brightness of each pixel of a row, 0 to 255.
    pub fn luma_row(&self, y: usize, luma: &mut [f32]) {
        let row = self.row(y);
        if self.channels == 1 {
            luma.iter_mut().zip(row).for_each(|(luma, &gray)| *luma = f32::from(gray));
        } else {
            for (luma, pixel) in luma.iter_mut().zip(row.as_chunks::<3>().0) {
                let [red, green, blue] = pixel.map(f32::from);
                // In the order in which the PDQ reference adds them.
                *luma = 0.299 * red + 0.587 * green + 0.114 * blue;
            }
        }
    }

    /// Red, green and blue of each pixel of a row.
    pub fn for_each_rgb(&self, y: usize, mut on_pixel: impl FnMut([u8; 3])) {
        let row = self.row(y);
        match self.channels {
            1 => row.iter().for_each(|&gray| on_pixel([gray; 3])),
            _ => row.as_chunks::<3>().0.iter().for_each(|&pixel| on_pixel(pixel)),
        }
    }

    /// The same pixels, turned or mirrored.
    #[must_use]
    pub fn turned(self, orientation: Orientation) -> Self {
        if orientation == Orientation::UPRIGHT {
            return self;
        }
        let Self { width, height, channels, bytes } = &self;
        let swap = orientation.transposes();
        let (new_width, new_height) = if swap { (*height, *width) } else { (*width, *height) };
        let mut turned = Vec::with_capacity(bytes.len());
        for y in 0..new_height {
            for x in 0..new_width {
                let (mut from_x, mut from_y) = (x, y);
                if orientation.mirrors_x() {
                    from_x = new_width - 1 - from_x;
                }
                if orientation.mirrors_y() {
                    from_y = new_height - 1 - from_y;
                }
                if swap {
                    (from_x, from_y) = (from_y, from_x);
                }
                let from = (from_y * width + from_x) * channels;
                turned.extend_from_slice(&bytes[from..from + channels]);
            }
        }
        Self { width: new_width, height: new_height, channels: *channels, bytes: turned }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_moves_each_pixel_where_it_belongs() {
        let pixels = Pixels::gray(3, 2, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let turned =
            |transposed, x, y| pixels.clone().turned(Orientation::new(transposed, x, y)).bytes;
        assert_eq!(turned(false, true, false), [3, 2, 1, 6, 5, 4]);
        assert_eq!(turned(false, false, true), [4, 5, 6, 1, 2, 3]);
        assert_eq!(turned(true, false, false), [1, 4, 2, 5, 3, 6]);
        // A quarter turn clockwise: transposed, then mirrored left to right.
        assert_eq!(turned(true, true, false), [4, 1, 5, 2, 6, 3]);
    }

    #[test]
    fn pixels_without_a_byte_each_are_refused() {
        assert!(Pixels::gray(2, 2, vec![0; 5]).is_none());
        assert!(Pixels::rgb(2, 2, vec![0; 4]).is_none());
        assert!(Pixels::gray(0, 2, vec![]).is_none());
        assert!(Pixels::gray(usize::MAX, 2, vec![]).is_none());
    }
}
