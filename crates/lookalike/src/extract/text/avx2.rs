//! The classes of characters for AVX2: 32 bytes at a time.
//!
//! Chinese characters and Korean syllables are classified by their first two bytes. Of the other
//! characters, those of some [pages](Pages) are known. A page is 64 characters that differ in the last
//! byte only; a table of 16 bytes classifies them.

#![expect(unsafe_code, reason = "calls functions compiled for AVX2 once it is known to be there")]

use std::arch::x86_64::*;
use std::sync::OnceLock;

use bytemuck::cast;

use super::character::Character;
use super::classes::{Class, Known};
use super::window::hash_words;
use crate::hamming::Kernel;

/// [`hash_words`] for AVX2; returns `false`, without doing anything, if this machine lacks it.
pub(super) fn try_hash_words(kernel: Kernel, text: &str, hashes: &mut Vec<u64>) -> bool {
    if kernel.avx2().is_none() {
        return false;
    }
    // SAFETY: the proof exists only where AVX2, BMI1, BMI2 and POPCNT were detected.
    unsafe { by_avx2(text, hashes) };
    true
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn by_avx2(text: &str, hashes: &mut Vec<u64>) {
    let pages = Pages::made();
    hash_words(text, hashes, |block| ascii(block), |around, lower| known(around, lower, pages));
}

/// Which bytes of a block are ASCII letters or digits.
#[target_feature(enable = "avx2")]
#[inline]
fn ascii(block: &[u8; 64]) -> u64 {
    bits(each(cast(*block), |bytes| letters_and_digits(bytes)))
}

/// 64 bytes.
type Block = [__m256i; 2];

#[target_feature(enable = "avx2")]
#[inline]
fn known(around: &[u8; 67], lower: &mut [u8; 64], pages: &Pages) -> Known {
    let from = |place: usize| {
        let block: &[u8; 64] =
            around[place..].first_chunk().expect("three bytes more than a block");
        cast::<[u8; 64], Block>(*block)
    };
    let (bytes, behind) = (from(1), from(2));
    let mut known = Known {
        ascii: bits(each(bytes, |bytes| letters_and_digits(bytes))),
        wide: bits(bytes),
        ..Known::default()
    };
    let two = bits(each(bytes, |bytes| equal(_mm256_and_si256(bytes, all(0xe0)), 0xc0)));
    let three = bits(each(bytes, |bytes| equal(_mm256_and_si256(bytes, all(0xf0)), 0xe0)));
    // The last byte of a character may be the first of the block.
    if two != 0 || around[0] & 0xe0 == 0xc0 {
        let before = from(0);
        let found = pages.two(bytes, behind);
        known.letters = bits(each(found, |found| low_bits(found)));
        known.separators = bits(each(found, |found| high_bits(found)));
        *lower = cast(both(|half| lower_two(before[half], bytes[half], behind[half])));
    } else {
        *lower = cast(each(bytes, |bytes| lower_ascii(bytes)));
    }
    if three != 0 {
        let found = pages.three(bytes, behind, from(3));
        let han = bits(both(|half| is_han(bytes[half], behind[half])));
        let hangul = bits(both(|half| is_hangul(bytes[half], behind[half])));
        let separators = bits(each(found, |found| high_bits(found)));
        known.alone = bits(each(found, |found| low_bits(found))) | han;
        known.letters |= hangul;
        known.separators |= separators;
        known.three = known.alone | hangul | separators;
    }
    known
}

// Replaces methods of arrays, which are not compiled for AVX2 and into which nothing is inlined.
#[target_feature(enable = "avx2")]
#[inline]
fn each([first, second]: Block, make: impl Fn(__m256i) -> __m256i) -> Block {
    [make(first), make(second)]
}

#[target_feature(enable = "avx2")]
#[inline]
fn both(make: impl Fn(usize) -> __m256i) -> Block {
    [make(0), make(1)]
}

/// The top bits of all bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn bits([first, second]: Block) -> u64 {
    let (first, second) = (_mm256_movemask_epi8(first), _mm256_movemask_epi8(second));
    u64::from(first as u32) | u64::from(second as u32) << 32
}

#[target_feature(enable = "avx2")]
#[inline]
fn all(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte as i8)
}

#[target_feature(enable = "avx2")]
#[inline]
fn equal(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, all(byte))
}

/// Which bytes are ASCII letters or digits.
#[target_feature(enable = "avx2")]
#[inline]
fn letters_and_digits(bytes: __m256i) -> __m256i {
    // Comparisons are signed. Moving the last wanted byte to 127 leaves one bound to compare with.
    let small = _mm256_or_si256(bytes, all(0x20));
    let letter = _mm256_cmpgt_epi8(_mm256_add_epi8(small, all(127 - b'z')), all(127 - 26));
    let digit = _mm256_cmpgt_epi8(_mm256_add_epi8(bytes, all(127 - b'9')), all(127 - 10));
    _mm256_or_si256(letter, digit)
}

/// Letters of ASCII in lower case.
#[target_feature(enable = "avx2")]
#[inline]
fn lower_ascii(bytes: __m256i) -> __m256i {
    // The clear top bit, moved to where it makes a letter lower case.
    let small = _mm256_srli_epi16::<2>(_mm256_andnot_si256(bytes, all(0x80)));
    _mm256_or_si256(bytes, small)
}

/// U+4E00 to U+9FFF: words by themselves.
#[target_feature(enable = "avx2")]
#[inline]
fn is_han(bytes: __m256i, behind: __m256i) -> __m256i {
    // As signed numbers, bytes that are not ASCII keep their order below all others.
    let from_e4 = _mm256_cmpgt_epi8(bytes, all(0xe3));
    let below_ea = _mm256_cmpgt_epi8(all(0xea), bytes);
    let below_4e00 = _mm256_and_si256(equal(bytes, 0xe4), _mm256_cmpgt_epi8(all(0xb8), behind));
    _mm256_andnot_si256(below_4e00, _mm256_and_si256(from_e4, below_ea))
}

/// U+AC00 to U+D77F: letters.
#[target_feature(enable = "avx2")]
#[inline]
fn is_hangul(bytes: __m256i, behind: __m256i) -> __m256i {
    let between = _mm256_or_si256(equal(bytes, 0xeb), equal(bytes, 0xec));
    let from_ac00 = _mm256_and_si256(equal(bytes, 0xea), _mm256_cmpgt_epi8(behind, all(0xaf)));
    let to_d77f = _mm256_and_si256(equal(bytes, 0xed), _mm256_cmpgt_epi8(all(0x9e), behind));
    _mm256_or_si256(between, _mm256_or_si256(from_ac00, to_d77f))
}

/// The first bytes of known pages of two-byte characters: signs, Western and Eastern European letters,
/// Cyrillic.
const TWO: [u8; 6] = [0xc2, 0xc3, 0xc4, 0xc5, 0xd0, 0xd1];

/// The same for three-byte characters: dashes and quotation marks, Chinese signs, kana, wide forms.
const THREE: [[u8; 2]; 7] = [
    [0xe2, 0x80],
    [0xe3, 0x80],
    [0xe3, 0x81],
    [0xe3, 0x82],
    [0xe3, 0x83],
    [0xef, 0xbc],
    [0xef, 0xbd],
];

/// A byte for each low half of a last byte. A bit for each high half, from 8 to b: the low ones for
/// letters, the high ones for separators.
type Page = [u8; 16];

/// The classes of the characters of some pages.
struct Pages {
    two: [Page; TWO.len()],
    three: [Page; THREE.len()],
}

impl Pages {
    fn made() -> &'static Self {
        static MADE: OnceLock<Pages> = OnceLock::new();
        MADE.get_or_init(|| Self { two: TWO.map(page_of_two), three: THREE.map(page_of_three) })
    }

    /// The class of each two-byte character, at its first byte.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn two(&self, bytes: Block, behind: Block) -> Block {
        let low = each(behind, |behind| _mm256_and_si256(behind, all(0x0f)));
        let mut found = [_mm256_setzero_si256(); 2];
        for (first, page) in TWO.iter().zip(&self.two) {
            found = both(|half| {
                let here = _mm256_and_si256(look_up(page, low[half]), equal(bytes[half], *first));
                _mm256_or_si256(found[half], here)
            });
        }
        both(|half| _mm256_and_si256(found[half], bit_of_high_half(behind[half])))
    }

    /// The class of each three-byte character, at its first byte.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn three(&self, bytes: Block, behind: Block, last: Block) -> Block {
        let low = each(last, |last| _mm256_and_si256(last, all(0x0f)));
        let mut found = [_mm256_setzero_si256(); 2];
        for ([first, second], page) in THREE.iter().zip(&self.three) {
            found = both(|half| {
                let (first, second) = (equal(bytes[half], *first), equal(behind[half], *second));
                let here =
                    _mm256_and_si256(look_up(page, low[half]), _mm256_and_si256(first, second));
                _mm256_or_si256(found[half], here)
            });
        }
        both(|half| _mm256_and_si256(found[half], bit_of_high_half(last[half])))
    }
}

/// The byte of a page for each low half.
#[target_feature(enable = "avx2")]
#[inline]
fn look_up(page: &Page, low: __m256i) -> __m256i {
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(cast::<Page, __m128i>(*page)), low)
}

/// The bits that stand for the high half of a last byte.
#[target_feature(enable = "avx2")]
#[inline]
fn bit_of_high_half(last: __m256i) -> __m256i {
    const BITS: Page = [0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0x44, 0x88, 0, 0, 0, 0];
    look_up(&BITS, _mm256_and_si256(_mm256_srli_epi16::<4>(last), all(0x0f)))
}

/// Bytes that have a low bit.
#[target_feature(enable = "avx2")]
#[inline]
fn low_bits(bytes: __m256i) -> __m256i {
    _mm256_cmpgt_epi8(_mm256_and_si256(bytes, all(0x0f)), _mm256_setzero_si256())
}

/// Bytes that have a high bit, if no byte has two.
#[target_feature(enable = "avx2")]
#[inline]
fn high_bits(bytes: __m256i) -> __m256i {
    _mm256_or_si256(bytes, _mm256_cmpgt_epi8(bytes, all(0x0f)))
}

fn page_of_two(first: u8) -> Page {
    page(|last| {
        let character = Character::of(character(&[first, last]));
        let is_lowered = character.utf8().0[..2] == lower_of_two([first, last]);
        Some(Class::of(character, 2)).filter(|class| *class != Class::Letter || is_lowered)
    })
}

fn page_of_three([first, second]: [u8; 2]) -> Page {
    page(|last| {
        let utf8 = [first, second, last];
        let character = Character::of(character(&utf8));
        let is_lower = character.utf8().0[..3] == utf8;
        // Low bits are of one class only.
        Some(Class::of(character, 3)).filter(|class| match class {
            Class::Alone => is_lower,
            class => *class != Class::Letter,
        })
    })
}

/// Made of the class of each last byte, if it is to be known.
fn page(class: impl Fn(u8) -> Option<Class>) -> Page {
    let mut page = Page::default();
    for last in 0x80..=0xbf_u8 {
        let bit = 1 << (last / 16 - 8);
        page[usize::from(last % 16)] |= match class(last) {
            Some(Class::Letter | Class::Alone) => bit,
            Some(Class::Separator) => bit << 4,
            Some(Class::Unclear) | None => 0,
        };
    }
    page
}

fn character(utf8: &[u8]) -> char {
    let text = str::from_utf8(utf8).expect("a first byte and those behind it");
    text.chars().next().expect("the text is not empty")
}

/// What [`lower_two`] makes of a character.
fn lower_of_two([first, last]: [u8; 2]) -> [u8; 2] {
    match (first, last) {
        (0xc3, 0x80..=0x9e) => [first, last + 0x20],
        (0xd0, 0x80..=0x8f) => [0xd1, last + 0x10],
        (0xd0, 0x90..=0x9f) => [0xd0, last + 0x20],
        (0xd0, 0xa0..=0xaf) => [0xd1, last - 0x20],
        other => other.into(),
    }
}

/// Converts ASCII, Western European and Cyrillic letters to lower case. (The other known characters are
/// lower case already.)
#[target_feature(enable = "avx2")]
#[inline]
fn lower_two(before: __m256i, bytes: __m256i, behind: __m256i) -> __m256i {
    let high = |bytes| _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), all(0x0f));
    let western = _mm256_and_si256(equal(before, 0xc3), _mm256_cmpgt_epi8(all(0x9f), bytes));
    let western = _mm256_and_si256(western, all(0x20));
    const LAST: Page = [0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x20, 0xe0, 0, 0, 0, 0, 0];
    let last = _mm256_and_si256(equal(before, 0xd0), look_up(&LAST, high(bytes)));
    const FIRST: Page = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0];
    let first = _mm256_and_si256(equal(bytes, 0xd0), look_up(&FIRST, high(behind)));
    let change = _mm256_or_si256(western, _mm256_or_si256(last, first));
    _mm256_add_epi8(lower_ascii(bytes), change)
}

#[cfg(test)]
mod tests {
    use super::super::classes;
    use super::*;

    /// What is known of a block in which a character begins at some place: its class, if any.
    fn class_at(place: usize, character: char) -> Option<Class> {
        let mut around = [b' '; 68];
        let length = character.encode_utf8(&mut around[1 + place..]).len();
        let around = around.first_chunk().unwrap();
        let (mut lower, mut expected) = ([0; 64], [0; 64]);
        // SAFETY: the caller has asked for AVX2.
        let found = unsafe { known(around, &mut lower, Pages::made()) };
        let portable = classes::known(around, &mut expected);
        assert_eq!((found.ascii, found.wide), (portable.ascii, portable.wide));
        let first = 1 << place;
        let class = match [found.letters, found.alone, found.separators] {
            [0, 0, 0] => return None,
            [letters, 0, 0] if letters == first => Class::Letter,
            [0, alone, 0] if alone == first => Class::Alone,
            [0, 0, separators] if separators == first => Class::Separator,
            _ => panic!("{character:?} at {place}"),
        };
        assert_eq!(found.three, if length == 3 { first } else { 0 });
        if class != Class::Separator {
            let (utf8, _) = Character::of(character).utf8();
            let length = length.min(64 - place);
            assert_eq!(lower[place..][..length], utf8[..length], "{character:?} at {place}");
        }
        Some(class)
    }

    #[test]
    fn every_character_that_is_known_is_what_the_table_says() {
        if Kernel::detect().avx2().is_none() {
            return;
        }
        let mut known = 0;
        for character in '\u{80}'..=char::MAX {
            let expected = Class::of(Character::of(character), character.len_utf8());
            for place in [0, 31, 62, 63] {
                let found = class_at(place, character);
                assert!(found.is_none_or(|class| class == expected), "{character:?}: {found:?}");
                known += usize::from(found.is_some());
            }
        }
        assert!(known > 4 * 32_000, "{} characters", known / 4);
    }

    #[test]
    fn the_end_of_a_letter_that_began_in_the_block_before_is_in_lower_case() {
        if Kernel::detect().avx2().is_none() {
            return;
        }
        for (capital, small) in [("\u{dc}", 0xbc), ("\u{416}", 0xb6), ("\u{420}", 0x80)] {
            let (mut around, mut lower) = ([b' '; 67], [0; 64]);
            around[..2].copy_from_slice(capital.as_bytes());
            // SAFETY: the proof exists only where AVX2 was detected.
            unsafe { known(&around, &mut lower, Pages::made()) };
            assert_eq!(lower[0], small, "{capital}");
        }
    }
}
