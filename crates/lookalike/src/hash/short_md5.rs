//! MD5 (RFC 1321) of many short texts at once. Each step of MD5 waits for the previous one, but not for
//! those of other texts, so several texts are hashed side by side.

use std::array::from_fn;

/// The number of texts hashed side by side: as many as the smallest vector registers have words.
const LANES: usize = 4;

/// The words of a block, or of a state, of each text.
type Lanes = [u32; LANES];

/// The longest text that fits one block with its end mark and length.
const MAX_LENGTH: usize = 55;

/// How far words are rotated, by round and kind of step.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The first 32 fractional bits of |sin 1|, |sin 2|, ...
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// Calls back with the MD5 digest of each text as one big-endian number, in order.
///
/// ```
/// use lookalike::hash::short_md5s;
///
/// let mut digests = Vec::new();
/// short_md5s(["", "a"].map(str::as_bytes), |digest| digests.push(digest));
/// assert_eq!(digests[1], 0x0cc175b9c0f1b6a831c399e269772661);
/// ```
///
/// # Panics
/// If a text has more than 55 bytes.
pub fn short_md5s<'a>(texts: impl IntoIterator<Item = &'a [u8]>, mut on_digest: impl FnMut(u128)) {
    let mut texts = texts.into_iter();
    loop {
        let mut blocks = [[0; LANES]; 16];
        let mut filled = 0;
        for text in texts.by_ref().take(LANES) {
            fill(&mut blocks, filled, text);
            filled += 1;
        }
        let digests = compress(&blocks);
        (0..filled).for_each(|lane| on_digest(number(&digests, lane)));
        if filled < LANES {
            return;
        }
    }
}

/// Writes the only block of a text: its bytes, a mark, its length in bits.
#[inline]
fn fill(blocks: &mut [Lanes; 16], lane: usize, text: &[u8]) {
    assert!(text.len() <= MAX_LENGTH, "{} bytes do not fit one block", text.len());
    let mut block = [0; 64];
    block[..text.len()].copy_from_slice(text);
    block[text.len()] = 0x80;
    block[56..].copy_from_slice(&(8 * text.len() as u64).to_le_bytes());
    let (words, _) = block.as_chunks::<4>();
    words.iter().zip(blocks).for_each(|(word, lanes)| lanes[lane] = u32::from_le_bytes(*word));
}

fn compress(blocks: &[Lanes; 16]) -> [Lanes; 4] {
    let state = START.map(|word| [word; LANES]);
    let state = round::<0>(state, blocks, |step| step, |b, c, d| d ^ (b & (c ^ d)));
    let state = round::<1>(state, blocks, |step| (5 * step + 1) % 16, |b, c, d| c ^ (d & (b ^ c)));
    let state = round::<2>(state, blocks, |step| (3 * step + 5) % 16, |b, c, d| b ^ c ^ d);
    let state = round::<3>(state, blocks, |step| 7 * step % 16, |b, c, d| c ^ (b | !d));
    from_fn(|word| state[word].map(|lane| lane.wrapping_add(START[word])))
}

/// Sixteen steps that differ only in their word of the block, sine and rotation. Four of them are
/// unrolled: each computes another word of the state, so none is moved.
#[inline(always)]
fn round<const ROUND: usize>(
    [mut a, mut b, mut c, mut d]: [Lanes; 4],
    blocks: &[Lanes; 16],
    word: impl Fn(usize) -> usize,
    choose: impl Fn(u32, u32, u32) -> u32,
) -> [Lanes; 4] {
    for first in (0..16).step_by(4) {
        let step = |number: usize, [a, b, c, d]: [Lanes; 4]| -> Lanes {
            let (turn, sine) = (TURNS[ROUND][number], SINES[16 * ROUND + first + number]);
            let block = &blocks[word(first + number)];
            from_fn(|lane| {
                let chosen = choose(b[lane], c[lane], d[lane]);
                let sum = a[lane].wrapping_add(chosen).wrapping_add(block[lane]).wrapping_add(sine);
                sum.rotate_left(turn).wrapping_add(b[lane])
            })
        };
        a = step(0, [a, b, c, d]);
        d = step(1, [d, a, b, c]);
        c = step(2, [c, d, a, b]);
        b = step(3, [b, c, d, a]);
    }
    [a, b, c, d]
}

/// The digest of a lane: four little-endian words, read as one big-endian number.
fn number(digests: &[Lanes; 4], lane: usize) -> u128 {
    digests.iter().fold(0, |number, word| number << 32 | u128::from(word[lane].swap_bytes()))
}

#[cfg(test)]
mod tests {
    use md5::{Digest, Md5};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_has_its_digest_wherever_it_stands(
            texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..=MAX_LENGTH), 0..40)
        ) {
            let mut digests = Vec::new();
            short_md5s(texts.iter().map(Vec::as_slice), |digest| digests.push(digest));
            let naive = |text: &Vec<u8>| u128::from_be_bytes(Md5::digest(text).into());
            prop_assert_eq!(digests, texts.iter().map(naive).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "56 bytes do not fit one block")]
    fn refuses_what_needs_a_second_block() {
        short_md5s([&[0; 56][..]], |_| {});
    }
}
