//! The colours of an image: a histogram of hue, saturation and value with 32 bins each.
//!
//! Two fingerprints use it. [`colour`] projects the square roots of the shares, minus their mean, on
//! 128 fixed directions and keeps the signs. The original recipe, `hsv`, weights the bins like the
//! words of a text and lets the 15 heaviest vote in a SimHash.

use super::Pixels;
use crate::Fingerprint;

/// The number of bins per channel.
pub const BINS: usize = 32;

/// The number of pixels with each hue, saturation and value, in 32 bins each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// By channel (hue, saturation, value) and bin.
    pub counts: [[u32; BINS]; 3],
    /// The number of pixels.
    pub pixels: u32,
}

impl Histogram {
    /// Counts the pixels of an image; of a larger one, a sample of about 100,000.
    pub fn of(pixels: &Pixels) -> Self {
        let step = (pixels.width() * pixels.height()).div_ceil(100_000).isqrt().max(1);
        let mut histogram = Self { counts: [[0; BINS]; 3], pixels: 0 };
        for y in (0..pixels.height()).step_by(step) {
            let mut x = 0;
            pixels.for_each_rgb(y, |rgb| {
                if x % step == 0 {
                    histogram.add(hsv(rgb));
                }
                x += 1;
            });
        }
        histogram
    }

    fn add(&mut self, hsv: [u8; 3]) {
        self.pixels += 1;
        for (counts, value) in self.counts.iter_mut().zip(hsv) {
            counts[usize::from(value) * BINS / 256] += 1;
        }
    }
}

/// Hue, saturation and value, 0 to 255 each; the hue of gray is 0.
fn hsv([red, green, blue]: [u8; 3]) -> [u8; 3] {
    let [r, g, b] = [red, green, blue].map(i32::from);
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let range = most - least;
    if range == 0 {
        return [0, 0, most as u8];
    }
    // Sixths of the circle with 256 steps each, rounded down at the end.
    let sixth = if most == r {
        (g - b) * 256 / range
    } else if most == g {
        512 + (b - r) * 256 / range
    } else {
        1024 + (r - g) * 256 / range
    };
    let hue = sixth.rem_euclid(1536) / 6;
    [hue as u8, (range * 255 / most) as u8, most as u8]
}

/// The 128-bit fingerprint of a histogram. Bit `k` is 1 if the sum of all 96 values, each with its sign
/// in direction `k`, is above 0. The values are the square roots of the shares, minus their mean over
/// the channel.
pub fn colour(histogram: &Histogram) -> Fingerprint<2> {
    let mut values = [[0_i32; BINS]; 3];
    for (values, counts) in values.iter_mut().zip(&histogram.counts) {
        for (value, &count) in values.iter_mut().zip(counts) {
            let share = (u64::from(count) << 24) / u64::from(histogram.pixels.max(1));
            *value = share.isqrt() as i32;
        }
        // All values are multiplied by 32, so the mean is a whole number.
        let sum: i32 = values.iter().sum();
        values.iter_mut().for_each(|value| *value = BINS as i32 * *value - sum);
    }
    let values = values.as_flattened();
    let mut print = Fingerprint::ZERO;
    for bit in 0..128_u64 {
        let signs = [scrambled(2 * bit), scrambled(2 * bit + 1)];
        let signed = |(at, &value): (usize, &i32)| {
            if signs[at / 64] >> (at % 64) & 1 == 1 { value } else { -value }
        };
        let sum: i32 = values.iter().enumerate().map(signed).sum();
        print.0[(bit / 64) as usize] |= u64::from(sum > 0) << (bit % 64);
    }
    print
}

/// Bits without a pattern: the finalizer of SplitMix64.
fn scrambled(number: u64) -> u64 {
    let mut bits = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// Calls back with the features of the original recipe: the name of each bin (`h:12`, `s:3`, `v:31`)
/// and its share of the pixels in units of 1/65536.
pub fn hsv_features(histogram: &Histogram, mut on_feature: impl FnMut(&[u8], u32)) {
    let all = u64::from(histogram.pixels.max(1));
    for (name, counts) in ["h", "s", "v"].iter().zip(&histogram.counts) {
        for (bin, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let share = (u64::from(count) << 16) / all;
            on_feature(format!("{name}:{bin}").as_bytes(), share as u32);
        }
    }
}
