//! Hashes the words of a text, window by window.
//!
//! A window of 512 bytes becomes bitmaps of where words begin and end. The first loop writes down the
//! places of these edges, the second hashes the runs between them. Both do the same for nearly every
//! word, so branches are predicted well. Up to 16 bytes, already in lower case, are loaded and hashed at
//! once.
//!
//! An ASCII window has one bitmap of letters and digits. For any other, [`Classes`] separates words from
//! characters that are words by themselves, and finds the runs that take the slow path. The result
//! equals [`word_hashes`] of the whole text.
//!
//! Everything in the loops is inlined into a function compiled for the kernel; closures called by
//! iterators would not be.

use super::classes::{Classes, Known};
use super::words::word_hashes;
use crate::hash::{LENGTHS, first_bytes, mix, mix_block, mix_length, mix_short};

/// The size of a window in bytes. The next window begins where this one ends, or where its last run
/// ends. Larger windows and their edges would leave less of the cache to everything else.
pub(super) const WINDOW: usize = 512;

/// The longest run that is hashed at once, and the number of bytes loaded beyond a window.
pub(super) const SHORT: usize = 16;

pub(super) type Window = [u8; WINDOW + SHORT];

/// Adds the hash of every word to `hashes`. `ascii` finds the bytes of an ASCII block that are letters
/// or digits, one bit per byte. `known` classifies the characters of any block, given also the byte
/// before it and the two after it.
#[inline(always)]
pub(super) fn hash_words(
    text: &str,
    hashes: &mut Vec<u64>,
    ascii: impl Fn(&[u8; 64]) -> u64,
    known: impl Fn(&[u8; 67], &mut [u8; 64]) -> Known,
) {
    let (mut rest, mut edges) = (text, Edges { places: [0; MAX_EDGES], count: 0 });
    let mut lower = [0; WINDOW + SHORT];
    while !rest.is_empty() {
        let mut last;
        let window = match rest.as_bytes().first_chunk() {
            Some(window) => window,
            None => {
                // The bytes after the text end its last run.
                last = [b' '; WINDOW + SHORT];
                last[..rest.len()].copy_from_slice(rest.as_bytes());
                &last
            }
        };
        if lower_ascii(window, &mut lower) {
            edges.find_in_ascii(window, rest.len(), &ascii);
        } else {
            edges.find_in_classes(&Classes::find(rest, window, &mut lower, &known));
        }
        hash_runs(rest, &lower, edges.runs(), hashes);
        let mut done = edges.open().unwrap_or_else(|| ceil_boundary(rest, WINDOW));
        if done == 0 {
            done = rest.bytes().position(ends_run).unwrap_or(rest.len());
            hash_any_run(&rest[..done], hashes);
        }
        rest = &rest[done..];
    }
}

fn ends_run(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

/// The first place from `place` on where a character begins, or the end of the text.
fn ceil_boundary(text: &str, place: usize) -> usize {
    (place..text.len()).find(|&place| text.is_char_boundary(place)).unwrap_or(text.len())
}

/// Writes letters in lower case, if all is ASCII; says whether it is. Digits have the bit that makes
/// letters small already; what is neither is not looked at.
#[inline(always)]
fn lower_ascii(window: &Window, lower: &mut Window) -> bool {
    let mut seen = 0;
    for (lower, byte) in lower.iter_mut().zip(window) {
        seen |= byte;
        *lower = byte | 0x20;
    }
    seen.is_ascii()
}

/// The beginnings and ends of the runs of a window, alternating.
struct Edges {
    /// The places written so far, followed by arbitrary ones.
    places: [u16; MAX_EDGES],
    count: usize,
}

/// The edges of a window, with space for surplus writes.
const MAX_EDGES: usize = WINDOW + 8;

/// Added to the beginning of a run for the slow path, which makes it longer than any other.
const CAREFUL: u16 = 1 << 15;

/// The places of the ones in a byte, lowest first, followed by zeros.
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

/// The places of four beginnings, the low bits of a byte, and four ends, the high ones, from the
/// lowest; where one run ends and the next begins, the place is there twice.
const ENDS_AND_STARTS: [[u16; 8]; 256] = {
    let mut edges = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut place, mut count) = (0, 0);
        while place < 4 {
            let here = (byte >> place & 1) + (byte >> (place + 4) & 1);
            let mut time = 0;
            while time < here {
                edges[byte][count] = place as u16;
                count += 1;
                time += 1;
            }
            place += 1;
        }
        byte += 1;
    }
    edges
};

impl Edges {
    /// Replaces the edges by those of an ASCII window, up to the end of the text.
    #[inline(always)]
    fn find_in_ascii(
        &mut self,
        window: &Window,
        length: usize,
        bitmap: &impl Fn(&[u8; 64]) -> u64,
    ) {
        let mut edges = EdgesOfBlocks::new(&mut self.places);
        let (blocks, _) = window.as_chunks::<64>();
        for block in blocks.iter().take(length / 64 + 1) {
            edges.add_words(bitmap(block));
        }
        self.count = edges.count;
    }

    /// The same for the words of any window.
    #[inline(always)]
    fn find_in_classes(&mut self, classes: &Classes) {
        let mut edges = EdgesOfBlocks::new(&mut self.places);
        if classes.any_alone() {
            for [starts, ends] in classes.starts_and_ends() {
                edges.add(starts, ends);
            }
        } else {
            for words in classes.words() {
                edges.add_words(*words);
            }
        }
        self.count = edges.count;
        if classes.any_careful() {
            for [start, _] in self.places[..self.count].as_chunks_mut().0 {
                *start |= if classes.is_careful(usize::from(*start)) { CAREFUL } else { 0 };
            }
        }
    }

    /// The runs that begin and end in the window.
    #[inline(always)]
    fn runs(&self) -> &[[u16; 2]] {
        self.places[..self.count].as_chunks().0
    }

    /// Where a run begins that does not end in the window.
    #[inline(always)]
    fn open(&self) -> Option<usize> {
        let [start] = self.places[..self.count].as_chunks::<2>().1 else { return None };
        Some(usize::from(*start))
    }
}

/// Writes edges, block by block.
struct EdgesOfBlocks<'a> {
    places: &'a mut [u16; MAX_EDGES],
    count: usize,
    /// The place of the bytes whose edges come next, eight times.
    from: [u16; 8],
    /// Whether the previous byte belongs to a word.
    open: u64,
}

impl<'a> EdgesOfBlocks<'a> {
    #[inline(always)]
    fn new(places: &'a mut [u16; MAX_EDGES]) -> Self {
        Self { places, count: 0, from: [0; 8], open: 0 }
    }

    /// Adds the edges of words that do not touch, from their bytes.
    #[inline(always)]
    fn add_words(&mut self, words: u64) {
        let edges = words ^ (words << 1 | self.open);
        self.open = words >> 63;
        for byte in edges.to_le_bytes() {
            self.write(&ONES, byte, 8);
        }
    }

    /// Adds the edges of any words, from their beginnings and ends.
    #[inline(always)]
    fn add(&mut self, starts: u64, ends: u64) {
        const HALF: u64 = 0x0f0f_0f0f_0f0f_0f0f;
        let first = starts & HALF | (ends & HALF) << 4;
        let second = starts >> 4 & HALF | ends & !HALF;
        for (first, second) in first.to_le_bytes().into_iter().zip(second.to_le_bytes()) {
            self.write(&ENDS_AND_STARTS, first, 4);
            self.write(&ENDS_AND_STARTS, second, 4);
        }
    }

    /// Writes eight at once, however many there are; the next ones overwrite the surplus.
    #[inline(always)]
    fn write(&mut self, table: &[[u16; 8]; 256], bits: u8, bytes: u16) {
        let (places, edges) =
            (self.places[self.count..].first_chunk_mut(), table[usize::from(bits)]);
        let places: &mut [u16; 8] = places.expect("there is room for eight more");
        for number in 0..8 {
            places[number] = self.from[number] + edges[number];
        }
        self.from = self.from.map(|place| place + bytes);
        self.count += bits.count_ones() as usize;
    }
}

/// Hashes the runs of a window at the start of `text`. `lower` is the window in lower case.
#[inline(always)]
fn hash_runs(text: &str, lower: &Window, runs: &[[u16; 2]], hashes: &mut Vec<u64>) {
    let mut found = [0; 64];
    for runs in runs.chunks(64) {
        let mut others = 0u64;
        for (run, hash) in runs.iter().zip(&mut found) {
            let length = length(*run);
            // The first one ends up highest, so no two are examined together, which would cost more.
            others = others << 1 | u64::from(length > SHORT);
            *hash = hash_short(lower, run[0], length);
        }
        if others == 0 {
            hashes.extend_from_slice(&found[..runs.len()]);
        } else {
            let others = others.reverse_bits() >> (64 - runs.len());
            hash_others(text, lower, runs, others, &found, hashes);
        }
    }
}

/// The length of a run; one for the slow path is longer than a window.
#[inline(always)]
fn length([start, end]: [u16; 2]) -> usize {
    usize::from(end.wrapping_sub(start))
}

/// The hash of a word of up to 16 bytes; an arbitrary number for a longer one.
#[inline(always)]
fn hash_short(lower: &Window, start: u16, length: usize) -> u64 {
    let block = lower[usize::from(start) % WINDOW..].first_chunk();
    let block = u128::from_le_bytes(*block.expect("16 bytes are behind the window"));
    mix_short(first_bytes(block, length % LENGTHS), length % LENGTHS)
}

/// Adds the hashes of up to 64 runs. `found` has all but those of `others`, which are long words or have
/// no word or several.
fn hash_others(
    text: &str,
    lower: &Window,
    runs: &[[u16; 2]],
    mut others: u64,
    found: &[u64; 64],
    hashes: &mut Vec<u64>,
) {
    let mut done = 0;
    while others != 0 {
        let other = take_lowest(&mut others);
        hashes.extend_from_slice(&found[done..other]);
        let run = runs[other];
        let [start, end] = [run[0] & !CAREFUL, run[1]].map(usize::from);
        if length(run) > WINDOW {
            hash_any_run(&text[start..end], hashes);
        } else {
            hashes.push(hash_long(lower, start, end));
        }
        done = other + 1;
    }
    hashes.extend_from_slice(&found[done..runs.len()]);
}

/// Removes the lowest one and returns its place; 64 if there is none.
#[inline(always)]
pub(super) const fn take_lowest(bits: &mut u64) -> usize {
    let place = bits.trailing_zeros();
    *bits &= bits.wrapping_sub(1);
    place as usize
}

/// The hash of a word of any length.
#[inline]
fn hash_long(lower: &Window, start: usize, end: usize) -> u64 {
    let hash = (start..end).step_by(SHORT).fold(0, |hash, place| {
        let block = lower[place % WINDOW..].first_chunk();
        let block = u128::from_le_bytes(*block.expect("16 bytes are behind the window"));
        mix_block(hash, first_bytes(block, (end - place).min(SHORT)))
    });
    mix_length(hash, end - start)
}

/// Adds the hashes of the words in a run.
#[inline(never)]
fn hash_any_run(run: &str, hashes: &mut Vec<u64>) {
    if run.is_ascii() {
        hashes.push(mix(&run.as_bytes().to_ascii_lowercase()));
    } else {
        word_hashes(run, hashes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{token_hashes_with, words};
    use crate::hamming::Kernel;
    use crate::hash::mix;
    use proptest::prelude::*;

    /// Long stretches of ASCII and of other scripts, and what may disturb them.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,80}",
            "[a-zA-Z0-9]{0,40}",
            "[a-z ]{0,30}",
            "[a-zA-Z0-9\u{80}-\u{7ff}]{0,12} ",
            "[\u{400}-\u{45f}]{1,40} ?",
            "[a-z\u{c0}-\u{17f}]{1,20}[ \u{2019}\u{a0}]?",
            "[\u{4e00}-\u{9fff}]{1,40}[\u{3002}\u{ff0c} ]?",
            "[\u{3000}-\u{30ff}\u{4e00}-\u{4e10}]{1,30}",
            "[\u{ff00}-\u{ffef}a-c\u{6587}]{1,12}",
            "[\u{ac00}-\u{d7a3}]{1,12} ",
            "[\u{2000}-\u{206f}a\u{6587}]{1,6}",
            "\\PC{0,5}",
            prop::sample::select(NEIGHBOURS).prop_map(String::from),
        ]
    }

    /// What normalisation, marks and invisible characters do to their neighbours; the first and last
    /// characters of ranges.
    const NEIGHBOURS: &[&str] = &[
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
        "\u{4e2d}\u{301}",
        "\u{4e2d}\u{fe00}\u{6587}",
        "\u{8fba}\u{e0100}",
        "\u{304b}\u{3099}",
        "\u{30cf}\u{309a}\u{30cf}",
        "\u{ff76}\u{ff9e}",
        "\u{309b}\u{309f}\u{30ff}",
        "\u{4dff}\u{4e00}",
        "\u{4dbf}\u{4dc0}",
        "\u{9fa5}\u{9fa6}\u{9fff}\u{a000}",
        "\u{3005}\u{3007}\u{3021}\u{302a}",
        "\u{ff1d}\u{338}",
        "\u{3002}\u{301}x",
        "\u{ac00}\u{11a8}",
        "\u{1100}\u{1161}",
        "\u{abff}\u{ac00}\u{d77f}\u{d780}\u{d7a3}\u{d7a4}",
        "\u{d7ff}\u{e000}",
        "\u{438}\u{306}",
        "\u{418}\u{306}\u{419}",
        "\u{45f}\u{460}\u{461}",
        "\u{d7}\u{f7}\u{df}\u{178}\u{17f}",
        "\u{2026}\u{2026}",
        "\u{200d}\u{4e2d}\u{200d}a",
        "\u{20000}\u{2f800}\u{f900}",
        "\u{e17}\u{e35}\u{e48}",
    ];

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
