//! How are the words of a text hashed fast?
//!
//! A window of 1024 bytes becomes a bitmap of ASCII letters and digits and all that is not ASCII; runs
//! begin and end where its bits change. First the places of these edges are written down, then the
//! runs between them are hashed, one after the other without waiting: both loops do the same for
//! nearly every word. A run that is ASCII is a word: up to 16 bytes are loaded, brought to lower case
//! and hashed at once. So is a run whose other characters are letters of two bytes; any other goes
//! the plain way. What ends a run, an ASCII character that is no letter or digit, ends a word whatever
//! is around it, so the answer is that of [`word_hashes`] of the whole text.
//!
//! Whatever is in the two loops is inlined into a function compiled for the kernel; closures that
//! iterators call would not be.

use super::character::Character;
use super::words::word_hashes;
use crate::hash::{first_bytes, mix_block, mix_length, mix_short};

/// Bytes whose runs are hashed together. The next window begins where this one ends, or where a run
/// does that goes on behind it.
const WINDOW: usize = 1024;

/// The longest run that is hashed at once, and so what is loaded behind a window.
const SHORT: usize = 16;

type Window = [u8; WINDOW + SHORT];

/// Adds the hash of every word to `hashes`. `bitmap` says which bytes of a block are ASCII letters or
/// digits, or not ASCII: one bit a byte.
#[inline(always)]
pub(super) fn hash_words(text: &str, hashes: &mut Vec<u64>, bitmap: impl Fn(&[u8; 64]) -> u64) {
    let (mut rest, mut edges) = (text, Edges { places: [0; MOST_EDGES], count: 0 });
    while !rest.is_empty() {
        let mut last;
        let window = match rest.as_bytes().first_chunk() {
            Some(window) => window,
            None => {
                // What is behind the text ends its last run.
                last = [b' '; WINDOW + SHORT];
                last[..rest.len()].copy_from_slice(rest.as_bytes());
                &last
            }
        };
        let mut done = edges.find(window, rest.len(), &bitmap);
        hash_runs(rest, window, edges.runs(), hashes);
        if done == 0 {
            done = rest.bytes().position(ends_run).unwrap_or(rest.len());
            hash_any_run(&rest[..done], hashes);
        }
        rest = &rest[done.min(rest.len())..];
    }
}

fn ends_run(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

/// Where the runs of a window begin and end, in turn.
struct Edges {
    /// Those that are written down; behind them, anything.
    places: [u16; MOST_EDGES],
    count: usize,
}

/// Those of a window, and room for what is written in vain.
const MOST_EDGES: usize = WINDOW + 8;

/// The places of the ones in a byte, from the lowest; behind them, zeros.
const ONES: [[u16; 8]; 256] = {
    let mut ones = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bits, mut count) = (byte as u64, 0);
        while bits != 0 {
            ones[byte][count] = take_lowest(&mut bits) as u16;
            count += 1;
        }
        byte += 1;
    }
    ones
};

impl Edges {
    /// Finds the edges of a window in place of those before, as far as there is text. Says where the
    /// next window begins: at a run that does not end in this one, or behind it.
    #[inline(always)]
    fn find(
        &mut self,
        window: &Window,
        length: usize,
        bitmap: &impl Fn(&[u8; 64]) -> u64,
    ) -> usize {
        let (mut count, mut open, mut place) = (0, 0, 0u16);
        let (blocks, _) = window.as_chunks::<64>();
        for block in blocks.iter().take(length / 64 + 1) {
            let runs = bitmap(block);
            let edges = runs ^ (runs << 1 | open);
            open = runs >> 63;
            for byte in edges.to_le_bytes() {
                // Eight at once, whether they are there or not: the next ones are written over the rest.
                let places: &mut [u16; 8] =
                    self.places[count..].first_chunk_mut().expect("there is room for eight more");
                *places = ONES[usize::from(byte)].map(|one| place + one);
                count += byte.count_ones() as usize;
                place += 8;
            }
        }
        self.count = count;
        if open == 1 { self.places[count - 1].into() } else { WINDOW }
    }

    /// The runs that begin and end in the window.
    #[inline(always)]
    fn runs(&self) -> &[[u16; 2]] {
        self.places[..self.count].as_chunks().0
    }
}

/// Hashes the runs of a window, with which `text` begins.
#[inline(always)]
fn hash_runs(text: &str, window: &Window, runs: &[[u16; 2]], hashes: &mut Vec<u64>) {
    let mut found = [0; 64];
    for runs in runs.chunks(64) {
        let mut others = 0u64;
        for (number, (run, hash)) in runs.iter().zip(&mut found).enumerate() {
            match hash_short(window, *run) {
                Some(short) => *hash = short,
                None => others |= 1 << number,
            }
        }
        if others == 0 {
            hashes.extend_from_slice(&found[..runs.len()]);
        } else {
            hash_others(text, window, runs, others, &found, hashes);
        }
    }
}

/// Adds the hashes of up to 64 runs. `found` has all but those of `others`, each of which may be no
/// word or several.
fn hash_others(
    text: &str,
    window: &Window,
    runs: &[[u16; 2]],
    mut others: u64,
    found: &[u64; 64],
    hashes: &mut Vec<u64>,
) {
    let mut done = 0;
    while others != 0 {
        let other = take_lowest(&mut others);
        hashes.extend_from_slice(&found[done..other]);
        match hash_letters(window, runs[other]) {
            Some(hash) => hashes.push(hash),
            None => {
                let [start, end] = runs[other].map(usize::from);
                hash_any_run(&text[start..end], hashes);
            }
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
fn short_run(window: &Window, [start, end]: [u16; 2]) -> Option<(u128, usize)> {
    let length = usize::from(end - start);
    let block = window[usize::from(start) % WINDOW..].first_chunk()?;
    (length <= SHORT).then_some((u128::from_le_bytes(*block), length))
}

/// The hash of a run of up to 16 letters and digits, as most are.
#[inline(always)]
fn hash_short(window: &Window, run: [u16; 2]) -> Option<u64> {
    let (block, length) = short_run(window, run)?;
    let word = first_bytes(lower_case(block), length);
    (word & TOPS == 0).then(|| mix_short(word, length))
}

/// The hash of a run of up to 16 bytes, as [`hash_short`], if what is not ASCII in it are letters of
/// two bytes, as in most languages with an alphabet: the run is a word, then.
#[inline]
fn hash_letters(window: &Window, run: [u16; 2]) -> Option<u64> {
    let (block, length) = short_run(window, run)?;
    let word = first_bytes(block, length);
    let mut letters = word & TOPS;
    // A top bit that is not set, moved to where it makes an ASCII letter small; zeros stay zeros.
    let mut small = word | first_bytes((!word & TOPS) >> 2, length);
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
    Some(mix_short(small, length))
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
        mix_block(hash, first_bytes(lower_case(u128::from_le_bytes(block)), chunk.len()))
    });
    hashes.push(mix_length(hash, run.len()));
}

/// Letters in lower case. Digits have the bit that makes letters small already.
#[inline(always)]
fn lower_case(block: u128) -> u128 {
    block | u128::from_le_bytes([0x20; 16])
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
            let mut window = [b' '; WINDOW + SHORT];
            window[..text.len()].copy_from_slice(text.as_bytes());
            if let Some(hash) = hash_letters(&window, [0, end as u16]) {
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
            times in prop_oneof![Just(1), 1..60usize],
            cut in 0..200usize,
        ) {
            // Many windows, and runs longer than one.
            let text = pieces.concat().repeat(times);
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
