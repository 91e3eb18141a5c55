//! How are the words of a text hashed fast?
//!
//! A block of 64 bytes becomes a bitmap of ASCII letters and digits and all that is not ASCII; runs
//! begin and end where its bits change. First the places of these edges are written down, then the
//! runs between them are hashed, one after the other without waiting: both loops do the same for
//! nearly every word. A run that is ASCII is a word: up to 16 bytes are loaded, brought to lower case
//! and hashed at once. So is a run whose other characters are letters of two bytes; any other goes
//! the plain way. What ends a run, an ASCII character that is no letter or digit, ends a word whatever
//! is around it, so the answer is that of [`word_hashes`] of the whole text.

use super::character::Character;
use super::words::word_hashes;
use crate::hash::{first_bytes, mix_block, mix_length};

/// Blocks whose edges are written down before their runs are hashed.
const BLOCKS: usize = 16;

/// Adds the hash of every word to `hashes`. `bitmap` says which bytes of a block are ASCII letters or
/// digits, or not ASCII: one bit a byte.
#[inline(always)]
pub(super) fn hash_words(text: &str, hashes: &mut Vec<u64>, bitmap: impl Fn(&[u8; 64]) -> u64) {
    if u32::try_from(text.len()).is_err() {
        return word_hashes(text, hashes);
    }
    let mut edges = Edges { places: [0; MOST_EDGES], count: 0, open: 0 };
    let (blocks, tail) = text.as_bytes().as_chunks::<64>();
    for (number, block) in blocks.iter().enumerate() {
        edges.add(bitmap(block), 64 * number);
        if number % BLOCKS == BLOCKS - 1 {
            edges.hash_runs(text, hashes);
        }
    }
    // What is behind the text ends its last run.
    let mut last = [b' '; 64];
    last[..tail.len()].copy_from_slice(tail);
    edges.add(bitmap(&last), 64 * blocks.len());
    edges.hash_runs(text, hashes);
}

/// Where runs begin and end, in turn.
struct Edges {
    /// Those that are written down; behind them, anything.
    places: [u32; MOST_EDGES],
    count: usize,
    /// Whether a run goes on behind the last block: 1 or 0.
    open: u64,
}

/// Those of the blocks, one that was left over, and room for what is written in vain.
const MOST_EDGES: usize = 64 * (BLOCKS + 1);

/// The places of the ones in a byte, from the lowest; behind them, zeros.
const ONES: [[u8; 8]; 256] = {
    let mut ones = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bits, mut count) = (byte as u64, 0);
        while bits != 0 {
            ones[byte][count] = take_lowest(&mut bits) as u8;
            count += 1;
        }
        byte += 1;
    }
    ones
};

impl Edges {
    /// Writes down the edges of a block that begins at `place`.
    #[inline(always)]
    fn add(&mut self, runs: u64, place: usize) {
        let edges = runs ^ (runs << 1 | self.open);
        self.open = runs >> 63;
        let mut count = self.count;
        for (eight, byte) in edges.to_le_bytes().into_iter().enumerate() {
            // Eight at once, whether they are there or not: the next ones are written over the rest.
            let (first, ones) = ((place + 8 * eight) as u32, &ONES[usize::from(byte)]);
            let places: &mut [u32; 8] =
                self.places[count..].first_chunk_mut().expect("there is room for a block more");
            *places = ones.map(|one| first + u32::from(one));
            count += byte.count_ones() as usize;
        }
        self.count = count;
    }

    /// Hashes all runs that have ended, and keeps the beginning of one that has not.
    #[inline(always)]
    fn hash_runs(&mut self, text: &str, hashes: &mut Vec<u64>) {
        let (runs, begun) = self.places[..self.count].as_chunks::<2>();
        for some in runs.chunks(64) {
            hash_some(text, some, hashes);
        }
        self.count = begun.len();
        self.places[0] = begun.first().copied().unwrap_or(0);
    }
}

/// Hashes up to 64 runs.
#[inline(always)]
fn hash_some(text: &str, runs: &[[u32; 2]], hashes: &mut Vec<u64>) {
    let (before, mut others) = (hashes.len(), 0u64);
    hashes.extend(runs.iter().enumerate().map(|(number, run)| {
        hash_short(text.as_bytes(), run[0] as usize, run[1] as usize).unwrap_or_else(|| {
            others |= 1 << number;
            0
        })
    }));
    if others != 0 {
        hash_others(text, runs, others, before, hashes);
    }
}

/// Puts the words of `others`, which may be none or several for a run, where they belong among the
/// hashes from `before` on.
fn hash_others(
    text: &str,
    runs: &[[u32; 2]],
    mut others: u64,
    before: usize,
    hashes: &mut Vec<u64>,
) {
    let mut found = [0; 64];
    found[..runs.len()].copy_from_slice(&hashes[before..]);
    hashes.truncate(before);
    let mut done = 0;
    while others != 0 {
        let other = take_lowest(&mut others);
        hashes.extend_from_slice(&found[done..other]);
        let [start, end] = runs[other].map(|place| place as usize);
        match hash_letters(text.as_bytes(), start, end) {
            Some(hash) => hashes.push(hash),
            None => hash_any_run(&text[start..end], hashes),
        }
        done = other + 1;
    }
    hashes.extend_from_slice(&found[done..runs.len()]);
}

/// The place of the lowest one, which is taken away; 64 if there is none.
#[inline(always)]
const fn take_lowest(bits: &mut u64) -> usize {
    let place = bits.trailing_zeros();
    *bits &= bits.wrapping_sub(1);
    place as usize
}

/// A run of up to 16 bytes, with what is behind it, and its length.
#[inline(always)]
fn short_run(bytes: &[u8], start: usize, end: usize) -> Option<(&[u8; 16], usize)> {
    let length = end - start;
    let block = bytes.get(start..start + 16)?.first_chunk()?;
    (length <= 16).then_some((block, length))
}

/// The hash of a run of up to 16 letters and digits with 16 bytes of text to load, as most have.
#[inline(always)]
fn hash_short(bytes: &[u8], start: usize, end: usize) -> Option<u64> {
    let (block, length) = short_run(bytes, start, end)?;
    let (low, high) = first_bytes(&lower_case(block), length);
    ((low | high) & TOP == 0).then(|| mix_length(mix_block(0, (low, high)), length))
}

/// The hash of a run of up to 16 bytes, as [`hash_short`], if what is not ASCII in it are letters of
/// two bytes, as in most languages with an alphabet: the run is a word, then.
#[inline]
fn hash_letters(bytes: &[u8], start: usize, end: usize) -> Option<u64> {
    let (block, length) = short_run(bytes, start, end)?;
    let (low, high) = first_bytes(block, length);
    let word = u128::from(high) << 64 | u128::from(low);
    let mut letters = word & TOPS;
    // A top bit that is not set, moved to where it makes an ASCII letter small; zeros stay zeros.
    let mut small = word | (!word & TOPS) >> 2 & u128::MAX >> (128 - 8 * length);
    while letters != 0 {
        let place = letters.trailing_zeros() - 7;
        let letter = (word >> place) as u16;
        if letter & 0xc0e0 != 0x80c0 {
            return None;
        }
        let code = u32::from(letter & 0x1f) << 6 | u32::from(letter >> 8 & 0x3f);
        let lower = Character::of(char::from_u32(code)?).letter_of_two_bytes()?;
        small ^= u128::from(letter ^ lower) << place;
        letters &= !(0xffff << place);
    }
    Some(mix_length(mix_block(0, (small as u64, (small >> 64) as u64)), length))
}

/// Adds the hash of the word that a run is, or of the words in it.
#[inline(never)]
fn hash_any_run(run: &str, hashes: &mut Vec<u64>) {
    if !run.is_ascii() {
        return word_hashes(run, hashes);
    }
    let hash = run.as_bytes().chunks(16).fold(0, |hash, chunk| {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        mix_block(hash, first_bytes(&lower_case(&block), chunk.len()))
    });
    hashes.push(mix_length(hash, run.len()));
}

/// Letters in lower case. Digits have the bit that makes letters small already.
#[inline(always)]
fn lower_case(block: &[u8; 16]) -> [u8; 16] {
    (u128::from_le_bytes(*block) | u128::from_le_bytes([0x20; 16])).to_le_bytes()
}

/// Looks at eight bytes at a time.
#[inline(always)]
pub(super) fn bitmap(block: &[u8; 64]) -> u64 {
    let eights = block.as_chunks::<8>().0.iter().enumerate();
    eights.fold(0, |bits, (eight, &bytes)| {
        bits | gather(in_runs(u64::from_le_bytes(bytes))) << (8 * eight)
    })
}

const EACH: u64 = 0x0101_0101_0101_0101;
const TOP: u64 = 0x80 * EACH;
const TOPS: u128 = u128::from_le_bytes([0x80; 16]);

/// The top bit of each byte that is an ASCII letter or digit, or not ASCII.
#[inline(always)]
fn in_runs(bytes: u64) -> u64 {
    let ascii = bytes & !TOP;
    // Adding to a byte below 128 carries into its top bit from a limit on, and never beyond.
    let at_least = |bytes: u64, limit: u8| bytes + u64::from(0x80 - limit) * EACH;
    let small = ascii | (0x20 * EACH);
    let letter = at_least(small, b'a') & !at_least(small, b'z' + 1);
    let digit = at_least(ascii, b'0') & !at_least(ascii, b'9' + 1);
    (letter | digit | bytes) & TOP
}

/// The top bits of eight bytes, as eight bits.
#[inline(always)]
const fn gather(top_bits: u64) -> u64 {
    (top_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::super::{token_hashes_with, words};
    use super::*;
    use crate::hamming::Kernel;
    use crate::hash::mix;
    use proptest::prelude::*;

    #[test]
    fn every_byte_is_seen_at_every_place() {
        for byte in 0..=255u8 {
            for place in 0..64 {
                let mut block = [b' '; 64];
                block[place] = byte;
                let expected = byte.is_ascii_alphanumeric() || !byte.is_ascii();
                assert_eq!(bitmap(&block), u64::from(expected) << place, "{byte}");
            }
        }
    }

    #[test]
    fn every_letter_of_two_bytes_is_hashed_as_the_plain_way_does() {
        let mut short = 0;
        for letter in '\u{80}'..='\u{7ff}' {
            let text = format!("X{letter}9{letter} and much that is behind");
            let end = text.find(' ').unwrap();
            let mut expected = Vec::new();
            word_hashes(&text[..end], &mut expected);
            if let Some(hash) = hash_letters(text.as_bytes(), 0, end) {
                assert_eq!(expected, [hash], "{letter}");
                short += 1;
            }
        }
        assert!(short > 1_000, "{short} letters");
    }

    /// Long stretches of ASCII, and what may disturb them.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,80}",
            "[a-zA-Z0-9]{0,40}",
            "[a-z ]{0,30}",
            "[a-zA-Z0-9\u{80}-\u{7ff}]{0,12} ",
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
            words(text, |word| expected.push(mix(word)));
            for kernel in Kernel::available() {
                let mut found = vec![7];
                token_hashes_with(kernel, text, &mut found);
                prop_assert_eq!(&found, &expected, "{:?}", kernel);
            }
        }
    }
}
