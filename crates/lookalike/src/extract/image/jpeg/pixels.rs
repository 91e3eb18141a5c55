//! Turns the components of a frame into pixels.

use super::{Scaled, decoder::Decoder, frame::Component};
use crate::extract::image::Pixels;

impl Decoder<'_> {
    /// Turns the coefficients into pixels.
    pub fn finish(self) -> Scaled {
        let Some(frame) = self.frame else { return Scaled::Other };
        let scaled = |length: usize| (length * frame.side).div_ceil(8);
        let (width, height) = (scaled(frame.width), scaled(frame.height));
        let planes: Vec<Vec<u8>> = frame
            .components
            .iter()
            .filter(|component| component.wanted)
            .map(|component| component.plane(frame.side, &self.quantisers[component.quantiser]))
            .collect();
        let stride = |component: &Component| component.columns * frame.side;
        let is_rgb = match self.transform {
            None => frame.components[0].id == b'R',
            Some(transform) => transform == 0,
        };
        let pixels = match planes.as_slice() {
            [luma, blue, red] => {
                let mut bytes = Vec::with_capacity(width * height * 3);
                let [y_part, blue_part, red_part] = [0, 1, 2].map(|part| &frame.components[part]);
                for y in 0..height {
                    for x in 0..width {
                        let at = |plane: &[u8], part: &Component| {
                            let column = x * part.across / frame.across;
                            let row = y * part.down / frame.down;
                            plane[row * stride(part) + column]
                        };
                        let values = [at(luma, y_part), at(blue, blue_part), at(red, red_part)];
                        bytes.extend(if is_rgb { values } else { rgb(values) });
                    }
                }
                Pixels::rgb(width, height, bytes)
            }
            [luma, ..] => {
                let mut bytes = Vec::with_capacity(width * height);
                for row in luma.chunks(stride(&frame.components[0])).take(height) {
                    bytes.extend_from_slice(&row[..width]);
                }
                Pixels::gray(width, height, bytes)
            }
            [] => None,
        };
        let (width, height) = (frame.width as u32, frame.height as u32);
        let orientation = self.orientation;
        pixels.map_or(Scaled::Other, |pixels| Scaled::Decoded {
            pixels,
            width,
            height,
            orientation,
        })
    }
}

/// Red, green and blue from YCbCr as JFIF defines it, in fixed point with 16 fractional bits.
fn rgb(values: [u8; 3]) -> [u8; 3] {
    let [luma, blue, red] = values.map(i32::from);
    let (blue, red) = (blue - 128, red - 128);
    let byte = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
    let luma = luma << 16;
    [
        byte(luma + 91_881 * red),
        byte(luma - 22_554 * blue - 46_802 * red),
        byte(luma + 116_130 * blue),
    ]
}
