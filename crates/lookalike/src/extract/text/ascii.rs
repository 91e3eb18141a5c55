//! How are the words of a text hashed fast?
//!
//! Most text is ASCII for long stretches. There a block of 64 bytes becomes a bitmap of letters and
//! digits, words begin and end where its bits change, and a word of up to 16 bytes is loaded, brought
//! to lower case and hashed at once. Stretches with other characters go the plain way, with the same
//! answer as [`word_hashes`] of the whole text.

use super::words::word_hashes;
use crate::hash::{halves, mix_block, mix_length};

/// A block of text, one bit a byte.
#[derive(Clone, Copy)]
pub(super) struct Bitmaps {
    /// ASCII letters and digits.
    pub(super) letters: u64,
    /// Bytes of characters that are not ASCII.
    pub(super) others: u64,
}

/// Adds the hash of every word to `hashes`; `bitmaps` looks at a block.
#[inline(always)]
pub(super) fn hash_words(
    text: &str,
    hashes: &mut Vec<u64>,
    bitmaps: impl Fn(&[u8; 64]) -> Bitmaps,
) {
    let bytes = text.as_bytes();
    let mut place = 0;
    // Whether a word goes on from one block to the next, and where it begins.
    let (mut open, mut start) = (false, 0);
    while place < bytes.len() {
        let mut padded = [b' '; 64];
        let block = bytes[place..].first_chunk().unwrap_or_else(|| {
            padded[..bytes.len() - place].copy_from_slice(&bytes[place..]);
            &padded
        });
        let Bitmaps { letters, others } = bitmaps(block);
        let (mut starts, mut ends) = edges(letters, open);
        let ascii = others.trailing_zeros();
        if ascii < 64 {
            let before = (1 << ascii) - 1;
            (starts, ends) = (starts & before, ends & before);
        }
        if !open {
            start = place + take_lowest(&mut starts);
        }
        while ends != 0 {
            hashes.push(hash_word(bytes, start, place + take_lowest(&mut ends)));
            start = place + take_lowest(&mut starts);
        }
        if ascii == 64 {
            open = letters >> 63 == 1;
            place += 64;
        } else {
            // A word that is open at a character that is not ASCII goes on with it.
            let other = place + ascii as usize;
            let from = start.min(other);
            place = end_of_stretch(bytes, other);
            word_hashes(&text[from..place], |hash| hashes.push(hash));
            open = false;
        }
    }
    if open {
        hashes.push(hash_word(bytes, start, bytes.len()));
    }
}

/// Where runs of ones begin, and where they are over.
#[inline(always)]
const fn edges(bits: u64, open: bool) -> (u64, u64) {
    let before = bits << 1 | open as u64;
    (bits & !before, !bits & before)
}

/// The place of the lowest one, which is taken away; 64 if there is none.
#[inline(always)]
const fn take_lowest(bits: &mut u64) -> usize {
    let place = bits.trailing_zeros();
    *bits &= bits.wrapping_sub(1);
    place as usize
}

/// The place after the next ASCII character that is no letter or digit, and has another ASCII
/// character after it. Nothing before has to do with anything after: the word is over, and marks
/// that could change the character are not there.
fn end_of_stretch(bytes: &[u8], from: usize) -> usize {
    let ends =
        |pair: &[u8]| pair[0].is_ascii() && !pair[0].is_ascii_alphanumeric() && pair[1].is_ascii();
    bytes[from..].windows(2).position(ends).map_or(bytes.len(), |place| from + place + 1)
}

/// The hash of a word of ASCII letters and digits.
#[inline(always)]
fn hash_word(bytes: &[u8], start: usize, end: usize) -> u64 {
    let length = end - start;
    match bytes[start..].first_chunk() {
        Some(block) if length <= 16 => {
            let (low, high) = lower_case(block, length);
            mix_length(mix_block(0, (low, high)), length)
        }
        _ => hash_long_word(&bytes[start..end]),
    }
}

/// Any word; also where the text ends soon after it.
#[cold]
fn hash_long_word(word: &[u8]) -> u64 {
    let hash = word.chunks(16).fold(0, |hash, chunk| {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        mix_block(hash, lower_case(&block, chunk.len()))
    });
    mix_length(hash, word.len())
}

/// The first bytes of a block in lower case, the others zero. Digits have the bit that makes letters
/// small already.
#[inline(always)]
fn lower_case(block: &[u8; 16], length: usize) -> (u64, u64) {
    const SMALL: u64 = 0x2020_2020_2020_2020;
    let ((low, high), (low_mask, high_mask)) = (halves(block), MASKS[length]);
    ((low | SMALL) & low_mask, (high | SMALL) & high_mask)
}

/// For each length, which bits of a block count.
const MASKS: [(u64, u64); 17] = {
    let mut masks = [(0, 0); 17];
    let mut length = 1;
    while length <= 16 {
        let mask = u128::MAX >> (128 - 8 * length);
        masks[length] = (mask as u64, (mask >> 64) as u64);
        length += 1;
    }
    masks
};

/// Looks at eight bytes at a time.
#[inline(always)]
pub(super) fn bitmaps(block: &[u8; 64]) -> Bitmaps {
    let (mut letters, mut others) = (0, 0);
    for (eight, bytes) in block.as_chunks::<8>().0.iter().enumerate() {
        let (is_letter, is_other) = classes(u64::from_le_bytes(*bytes));
        letters |= gather(is_letter) << (8 * eight);
        others |= gather(is_other) << (8 * eight);
    }
    Bitmaps { letters, others }
}

const EACH: u64 = 0x0101_0101_0101_0101;
const TOP: u64 = 0x80 * EACH;

/// The top bit of each byte that is a letter or digit, and of each that is not ASCII.
#[inline(always)]
fn classes(bytes: u64) -> (u64, u64) {
    let ascii = bytes & !TOP;
    // Adding to a byte below 128 carries into its top bit from a limit on, and never beyond.
    let at_least = |bytes: u64, limit: u8| bytes + u64::from(0x80 - limit) * EACH;
    let small = ascii | (0x20 * EACH);
    let letter = at_least(small, b'a') & !at_least(small, b'z' + 1);
    let digit = at_least(ascii, b'0') & !at_least(ascii, b'9' + 1);
    ((letter | digit) & !bytes & TOP, bytes & TOP)
}

/// The top bits of eight bytes, as eight bits.
#[inline(always)]
const fn gather(top_bits: u64) -> u64 {
    (top_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::super::token_hashes_with;
    use super::*;
    use crate::hamming::Kernel;
    use proptest::prelude::*;

    #[test]
    fn every_byte_is_seen_at_every_place() {
        for byte in 0..=255u8 {
            for place in 0..64 {
                let mut block = [b' '; 64];
                block[place] = byte;
                let Bitmaps { letters, others } = bitmaps(&block);
                assert_eq!(letters, u64::from(byte.is_ascii_alphanumeric()) << place, "{byte}");
                assert_eq!(others, u64::from(!byte.is_ascii()) << place, "{byte}");
            }
        }
    }

    /// Long stretches of ASCII, and what may disturb them.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,80}",
            "[a-zA-Z0-9]{0,40}",
            "[a-z ]{0,30}",
            "\\PC{0,5}",
            prop::sample::select(vec![
                "=\u{338}",
                "e\u{301}",
                "a\u{ad}b",
                "\u{301}",
                "\u{200b}",
                "\u{4e2d}\u{6587}",
                "\u{ff21}\u{ff22}",
                "\u{1f600}",
                "9\u{fe0f}\u{20e3}",
                " \u{308}x",
                "x\u{345}",
                "\u{e9}t\u{e9} ",
                "\0",
                "\u{3042}a",
                "\u{feff}",
                "\u{80}",
                "`{@[/:",
                "\u{fb01}",
                "\u{212a}",
                "\u{130}",
            ])
            .prop_map(String::from),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_kernel_agrees_on_any_text_cut_anywhere(
            pieces in prop::collection::vec(piece(), 0..12),
            cut in 0..200usize,
        ) {
            let text = pieces.concat();
            let cut = (cut..).find(|&cut| cut >= text.len() || text.is_char_boundary(cut)).unwrap();
            let text = &text[cut.min(text.len())..];
            let mut expected = Vec::new();
            word_hashes(text, |hash| expected.push(hash));
            for kernel in Kernel::available() {
                let mut found = vec![7];
                token_hashes_with(kernel, text, &mut found);
                prop_assert_eq!(&found, &expected, "{:?}", kernel);
            }
        }
    }
}
