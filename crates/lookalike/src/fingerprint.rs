//! Fingerprints, their distances, and their written forms.
//!
//! A [`Fingerprint`] is a fixed number of bits in 64-bit words. [`Width`] is how many of them count, and
//! [`Radius`] is an inclusive bound on the distance. Nothing here knows where bits come from.

use std::fmt;

use bytemuck::{Pod, Zeroable};

/// The bits of one item: bit `i` is bit `i % 64` of word `i / 64`.
///
/// As a number, word 0 is the least significant; as bytes, everything is little-endian.
/// A 32-bit fingerprint is a `Fingerprint<1>` whose upper half is zero.
///
/// ```
/// use lookalike::Fingerprint;
///
/// let a = Fingerprint::<1>([0b1011]);
/// let b = Fingerprint::<1>([0b0001]);
/// assert_eq!(a.distance(&b), 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Fingerprint<const WORDS: usize>(pub [u64; WORDS]);

impl<const WORDS: usize> Fingerprint<WORDS> {
    /// The fingerprint with no bit set.
    pub const ZERO: Self = Self([0; WORDS]);

    /// The number of bits of the type.
    pub const BITS: u32 = 64 * WORDS as u32;

    /// The number of bits in which two fingerprints differ (Hamming distance).
    #[inline]
    pub fn distance(&self, other: &Self) -> u32 {
        self.xor(other).ones()
    }

    /// The bits in which two fingerprints differ.
    #[inline]
    pub fn xor(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] ^ other.0[word]))
    }

    /// The number of bits set.
    #[inline]
    pub fn ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether bit `index` is set; bits beyond the type are not.
    #[inline]
    pub fn bit(&self, index: u32) -> bool {
        self.0.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// The fingerprint as little-endian bytes, least significant word first.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The inverse of [`to_le_bytes`](Self::to_le_bytes); `None` unless there are `8 * WORDS` bytes.
    pub fn from_le_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: [[u8; 8]; WORDS] = words.try_into().ok()?;
        rest.is_empty().then(|| Self(words.map(u64::from_le_bytes)))
    }

    /// The same bits in a type of another size: adds zeros, or cuts words off, at the upper end. For
    /// callers that learn the width at run time and keep fingerprints in the widest type.
    ///
    /// ```
    /// use lookalike::Fingerprint;
    ///
    /// let wide: Fingerprint<4> = Fingerprint([7]).resize();
    /// assert_eq!(wide, Fingerprint([7, 0, 0, 0]));
    /// assert_eq!(wide.resize::<1>(), Fingerprint([7]));
    /// ```
    pub fn resize<const TO: usize>(&self) -> Fingerprint<TO> {
        Fingerprint(std::array::from_fn(|word| self.0.get(word).copied().unwrap_or(0)))
    }

    /// Splits the lowest `width` bits into `parts` equal segments, least significant first.
    ///
    /// A segment is a number, so it has at most 64 bits; `parts` must divide the width. Fails unless the
    /// type has exactly as many words as the width needs.
    ///
    /// ```
    /// use lookalike::{Fingerprint, Width};
    ///
    /// let print = Fingerprint::<1>([0x1122_3344_5566_7788]);
    /// assert_eq!(print.segments(Width::Bits64, 4).unwrap(), [0x7788, 0x5566, 0x3344, 0x1122]);
    /// ```
    pub fn segments(&self, width: Width, parts: u32) -> Result<Vec<u64>, FingerprintError> {
        let bits = width.bits();
        let refused = FingerprintError::Segments { bits, parts };
        if parts == 0 || !bits.is_multiple_of(parts) || bits / parts > 64 || width.words() != WORDS
        {
            return Err(refused);
        }
        let size = bits / parts;
        Ok((0..parts).map(|part| self.bits_from(part * size, size)).collect())
    }

    /// `count` bits (1 to 64) from bit `start` on, as a number.
    fn bits_from(&self, start: u32, count: u32) -> u64 {
        (0..count).fold(0, |number, i| number | u64::from(self.bit(start + i)) << i)
    }

    /// Reads a fingerprint in `0x` hexadecimal, `0b` binary, or decimal form. Exactly as many digits 0
    /// and 1 as the width has bits are also binary.
    ///
    /// ```
    /// use lookalike::{Fingerprint, Width};
    ///
    /// let print = Fingerprint::<1>::parse("0xff", Width::Bits64).unwrap();
    /// assert_eq!(print, Fingerprint::parse("255", Width::Bits64).unwrap());
    /// assert_eq!(print, Fingerprint::parse("0b11111111", Width::Bits32).unwrap());
    /// assert!(Fingerprint::<1>::parse("4294967296", Width::Bits32).is_err());
    /// let digits = "00000000000000000000000011111111";
    /// assert_eq!(print, Fingerprint::parse(digits, Width::Bits32).unwrap());
    /// ```
    pub fn parse(text: &str, width: Width) -> Result<Self, FingerprintError> {
        let text = text.trim();
        let (digits, radix) = match text.get(..2) {
            Some("0x" | "0X") => (&text[2..], 16),
            Some("0b" | "0B") => (&text[2..], 2),
            _ if is_binary(text, width) => (text, 2),
            _ => (text, 10),
        };
        if digits.is_empty() {
            return Err(FingerprintError::NotANumber { text: text.into() });
        }
        let too_wide = || FingerprintError::TooWide { text: text.into(), bits: width.bits() };
        let mut print = Self::ZERO;
        for digit in digits.chars() {
            let digit = digit
                .to_digit(radix)
                .ok_or_else(|| FingerprintError::NotANumber { text: text.into() })?;
            if print.multiply_add(u64::from(radix), u64::from(digit)) != 0 {
                return Err(too_wide());
            }
        }
        if (width.bits()..Self::BITS).any(|bit| print.bit(bit)) {
            return Err(too_wide());
        }
        Ok(print)
    }

    /// `self = self * factor + term` as one large number; returns the overflow.
    fn multiply_add(&mut self, factor: u64, term: u64) -> u64 {
        self.0.iter_mut().fold(term, |carry, word| {
            let wide = u128::from(*word) * u128::from(factor) + u128::from(carry);
            *word = wide as u64;
            (wide >> 64) as u64
        })
    }

    /// `0x` and one hexadecimal digit for every four bits of `width`, most significant first.
    pub fn to_hex(&self, width: Width) -> String {
        let all: String = self.0.iter().rev().map(|word| format!("{word:016x}")).collect();
        let digits = width.bits() as usize / 4;
        format!("0x{}", &all[all.len().saturating_sub(digits)..])
    }
}

impl<const WORDS: usize> Default for Fingerprint<WORDS> {
    fn default() -> Self {
        Self::ZERO
    }
}

impl<const WORDS: usize> fmt::Debug for Fingerprint<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:x}")
    }
}

/// All digits of the type, most significant first, with `0x`.
impl<const WORDS: usize> fmt::LowerHex for Fingerprint<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().rev().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

/// The number of bits of a fingerprint.
///
/// ```
/// use lookalike::Width;
///
/// assert_eq!(Width::ALL.map(Width::bits), [32, 64, 128, 256]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 32 bits, in the lower half of one word.
    Bits32,
    /// 64 bits, one word.
    Bits64,
    /// 128 bits, two words.
    Bits128,
    /// 256 bits, four words.
    Bits256,
}

impl Width {
    /// Every width, narrowest first.
    pub const ALL: [Self; 4] = [Self::Bits32, Self::Bits64, Self::Bits128, Self::Bits256];

    /// The width with this many bits.
    ///
    /// ```
    /// use lookalike::Width;
    ///
    /// assert_eq!(Width::from_bits(128).unwrap(), Width::Bits128);
    /// assert!(Width::from_bits(100).is_err());
    /// ```
    pub fn from_bits(bits: u32) -> Result<Self, FingerprintError> {
        Self::ALL
            .into_iter()
            .find(|width| width.bits() == bits)
            .ok_or(FingerprintError::Width { bits })
    }

    /// The number of bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits32 => 32,
            Self::Bits64 => 64,
            Self::Bits128 => 128,
            Self::Bits256 => 256,
        }
    }

    /// The number of 64-bit words of a fingerprint of this width.
    pub const fn words(self) -> usize {
        self.bits().div_ceil(64) as usize
    }
}

/// The largest distance of fingerprints that match. Always inclusive.
///
/// ```
/// use lookalike::Radius;
///
/// assert!(Radius::new(3).contains(3) && !Radius::new(3).contains(4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Radius(u32);

impl Radius {
    /// Fingerprints match if they differ in at most `bits` bits.
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// The bound, in bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether a distance is within the radius.
    #[inline]
    pub const fn contains(self, distance: u32) -> bool {
        distance <= self.0
    }
}

impl fmt::Display for Radius {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a text is not a fingerprint, or a width or segmentation is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintError {
    /// The text is not a decimal, `0x` hex or `0b` binary number.
    #[error("\"{text}\" is not a number; write a fingerprint as decimal, 0x hex or 0b binary")]
    NotANumber {
        /// The text.
        text: String,
    },
    /// The number needs more bits than the width has.
    #[error("{text} does not fit into {bits} bits; choose a larger width")]
    TooWide {
        /// The text.
        text: String,
        /// The width in bits.
        bits: u32,
    },
    /// There is no such width.
    #[error("fingerprints have 32, 64, 128 or 256 bits, not {bits}")]
    Width {
        /// The number of bits.
        bits: u32,
    },
    /// The bits cannot be split into this number of equal segments.
    #[error("{bits} bits cannot be cut into {parts} equal segments of 1 to 64 bits")]
    Segments {
        /// The width in bits.
        bits: u32,
        /// The number of segments.
        parts: u32,
    },
}

/// Whether a text has exactly one digit, 0 or 1, for every bit.
fn is_binary(text: &str, width: Width) -> bool {
    text.len() == width.bits() as usize && text.bytes().all(|digit| matches!(digit, b'0' | b'1'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distance_is_a_metric(a: [u64; 4], b: [u64; 4], c: [u64; 4]) {
            let [a, b, c] = [a, b, c].map(Fingerprint);
            prop_assert_eq!(a.distance(&a), 0);
            prop_assert_eq!(a.distance(&b), b.distance(&a));
            prop_assert!(a == b || a.distance(&b) > 0);
            prop_assert!(a.distance(&c) <= a.distance(&b) + b.distance(&c));
        }

        #[test]
        fn text_forms_read_back_as_the_same_bits(number: u128, narrow: u32, wide: [u64; 4]) {
            let print = Fingerprint([number as u64, (number >> 64) as u64]);
            for text in [format!("{number}"), format!("{number:#x}"), format!("{number:#b}")] {
                prop_assert_eq!(Fingerprint::<2>::parse(&text, Width::Bits128), Ok(print));
            }
            let print = Fingerprint([u64::from(narrow)]);
            for text in [format!("{narrow}"), format!("{narrow:#x}"), format!("{narrow:032b}")] {
                prop_assert_eq!(Fingerprint::<1>::parse(&text, Width::Bits32), Ok(print));
            }
            let wide = Fingerprint(wide);
            prop_assert_eq!(Fingerprint::<4>::parse(&wide.to_hex(Width::Bits256), Width::Bits256), Ok(wide));
        }

        #[test]
        fn bytes_read_back_as_the_same_bits(words: [u64; 2]) {
            let print = Fingerprint(words);
            prop_assert_eq!(Fingerprint::from_le_bytes(&print.to_le_bytes()), Some(print));
        }

        #[test]
        fn segments_put_together_again_are_the_fingerprint(words: [u64; 2]) {
            let print = Fingerprint(words);
            for parts in [2, 4, 8, 16, 32, 64, 128] {
                let size = 128 / parts;
                let segments = print.segments(Width::Bits128, parts).unwrap();
                let whole = segments.iter().rev().fold(0u128, |whole, &part| {
                    if size == 128 { u128::from(part) } else { whole << size | u128::from(part) }
                });
                prop_assert_eq!(whole, u128::from(words[1]) << 64 | u128::from(words[0]));
            }
        }
    }

    #[test]
    fn numbers_too_wide_are_refused_with_the_width() {
        for (text, width) in [
            ("0x1ffffffff", Width::Bits32),
            ("18446744073709551616", Width::Bits64),
            ("0x10000000000000000", Width::Bits64),
        ] {
            let error = Fingerprint::<1>::parse(text, width).unwrap_err();
            assert!(matches!(error, FingerprintError::TooWide { .. }), "{text}: {error}");
        }
        let far_above = Fingerprint::<4>::parse("18446744073709551616", Width::Bits32);
        assert!(matches!(far_above, Err(FingerprintError::TooWide { .. })));
    }

    #[test]
    fn text_that_is_no_number_is_refused() {
        for text in ["", "0x", "abc", "-1", "1.5", "0xg", "12 13", "+7", "ሴ1"] {
            let error = Fingerprint::<1>::parse(text, Width::Bits64).unwrap_err();
            assert!(matches!(error, FingerprintError::NotANumber { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn segments_that_do_not_divide_the_width_are_refused() {
        assert!(Fingerprint([1]).segments(Width::Bits64, 5).is_err());
        assert!(Fingerprint([1]).segments(Width::Bits64, 0).is_err());
        assert!(Fingerprint([1, 2]).segments(Width::Bits128, 1).is_err());
    }
}
