//! Hashes of bytes that are the same on every machine and never change.
//!
//! [`FeatureHash`] names the built-in hashes of features. [`spread`] widens a 64-bit hash to the words
//! of a wider fingerprint. [`content`] identifies the content of a file. The caller's own hashes need
//! nothing from here: any `u64` is a feature hash. Published test values are in `vectors/hash.tsv`.

mod short_md5;

use std::fmt;
use std::str::FromStr;

use md5::{Digest, Md5};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::spelling::nearest;
pub use short_md5::short_md5s;

/// The identity of some bytes: the first 128 bits of their BLAKE3 hash, as little-endian words.
///
/// Files with the same identity count as equal, and one may be removed because of the other. So this is
/// a cryptographic hash: nobody can make two files that share it.
///
/// ```
/// assert_eq!(lookalike::hash::content(b""), [0xa6a1_f9f5_b949_13af, 0x49c9_dc36_ea4d_40a0]);
/// ```
pub fn content(bytes: &[u8]) -> [u64; 2] {
    let hash = *blake3::hash(bytes).as_bytes();
    let words = hash.as_chunks::<8>().0;
    [words[0], words[1]].map(u64::from_le_bytes)
}

/// A byte hash whose output never changes.
///
/// ```
/// use lookalike::hash::FeatureHash;
///
/// let hash: FeatureHash = "xxh3".parse().unwrap();
/// assert_eq!(hash.hash(0, b""), 0x2d06_8005_38d3_94c2);
/// assert_eq!(FeatureHash::Md5First8.hash(0, b"hello"), 0x5d41_402a_bc4b_2a76);
///
/// let error = "murmur64".parse::<FeatureHash>().unwrap_err();
/// assert!(error.to_string().contains("did you mean murmur3-64?"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeatureHash {
    /// Two wide multiplications for up to 16 bytes, with a 64-bit seed: the default.
    ///
    /// The only one that hashes every token of a text once and computes the hash of a run of neighbours
    /// from theirs ([`shingle_hashes`](crate::extract::text::shingle_hashes)). The others hash all
    /// bytes of each feature.
    #[default]
    Mix,
    /// XXH3, 64 bits, with a 64-bit seed.
    Xxh3,
    /// The first 64 bits (`h1`) of MurmurHash3 x64_128, with a 32-bit seed.
    Murmur3_64,
    /// MurmurHash3 x64_128: its 128 bits are the first two words of wide fingerprints.
    Murmur3_128,
    /// Bob Jenkins' lookup3 `hashlittle2`: `c` below `b`. The seed is `pc` below `pb`.
    Jenkins,
    /// The first 8 bytes of the MD5 digest, big-endian, as seomoz' `simhash` reads them. No seed.
    Md5First8,
    /// The last 8 bytes of the MD5 digest, big-endian, as PyPI `simhash` reads them. No seed.
    Md5Last8,
}

impl FeatureHash {
    /// Every built-in hash, the default first.
    pub const ALL: [Self; 7] = [
        Self::Mix,
        Self::Xxh3,
        Self::Murmur3_64,
        Self::Murmur3_128,
        Self::Jenkins,
        Self::Md5First8,
        Self::Md5Last8,
    ];

    /// The name used in recipes and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mix => "mix",
            Self::Xxh3 => "xxh3",
            Self::Murmur3_64 => "murmur3-64",
            Self::Murmur3_128 => "murmur3-128",
            Self::Jenkins => "jenkins",
            Self::Md5First8 => "md5-first8",
            Self::Md5Last8 => "md5-last8",
        }
    }

    /// The number of bits of a seed. [`check_seed`](Self::check_seed) rejects larger ones.
    pub const fn seed_bits(self) -> u32 {
        match self {
            Self::Mix | Self::Xxh3 | Self::Jenkins => 64,
            Self::Murmur3_64 | Self::Murmur3_128 => 32,
            Self::Md5First8 | Self::Md5Last8 => 0,
        }
    }

    /// An error if [`hash`](Self::hash) would ignore part of the seed.
    pub fn check_seed(self, seed: u64) -> Result<(), HashError> {
        let used = u64::BITS - seed.leading_zeros();
        let bits = self.seed_bits();
        if used > bits { Err(HashError::Seed { hash: self, seed, bits }) } else { Ok(()) }
    }

    /// The 64-bit hash of `bytes`.
    #[inline]
    pub fn hash(self, seed: u64, bytes: &[u8]) -> u64 {
        self.native(seed, bytes).0
    }

    /// The hash of `bytes` for a fingerprint of `WORDS` words.
    ///
    /// Word 0 is [`hash`](Self::hash). Words that the hash does not supply come from [`spread`].
    ///
    /// ```
    /// use lookalike::hash::FeatureHash;
    ///
    /// let [low, _] = FeatureHash::Xxh3.words::<2>(0, b"feature");
    /// assert_eq!(low, FeatureHash::Xxh3.hash(0, b"feature"));
    /// ```
    #[inline]
    pub fn words<const WORDS: usize>(self, seed: u64, bytes: &[u8]) -> [u64; WORDS] {
        let (first, second) = self.native(seed, bytes);
        let mut words = spread(first);
        if let (Some(second), Some(word)) = (second, words.get_mut(1)) {
            *word = second;
        }
        words
    }

    /// The bits that the hash supplies: 64, and 64 more if it has them.
    #[inline]
    fn native(self, seed: u64, bytes: &[u8]) -> (u64, Option<u64>) {
        match self {
            Self::Mix => (seeded(mix(bytes), seed), None),
            Self::Xxh3 => (xxh3_64_with_seed(bytes, seed), None),
            Self::Murmur3_64 => (murmur3_x64_128(seed as u32, bytes).0, None),
            Self::Murmur3_128 => {
                let (h1, h2) = murmur3_x64_128(seed as u32, bytes);
                (h1, Some(h2))
            }
            Self::Jenkins => (lookup3(seed, bytes), None),
            Self::Md5First8 => ((md5(bytes) >> 64) as u64, None),
            Self::Md5Last8 => (md5(bytes) as u64, None),
        }
    }
}

impl fmt::Display for FeatureHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FeatureHash {
    type Err = HashError;

    fn from_str(name: &str) -> Result<Self, HashError> {
        Self::ALL.into_iter().find(|hash| hash.name() == name).ok_or_else(|| {
            let nearest = nearest(name, Self::ALL.map(Self::name)).unwrap_or_default();
            HashError::Unknown { name: name.into(), nearest }
        })
    }
}

/// Why a hash cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HashError {
    /// No hash has that name.
    #[error("there is no hash \"{name}\"; did you mean {nearest}?")]
    Unknown {
        /// The name.
        name: String,
        /// The nearest valid name.
        nearest: &'static str,
    },
    /// The seed has more bits than the hash takes.
    #[error("{hash} takes a seed of {bits} bits; {seed:#x} does not fit")]
    Seed {
        /// The hash.
        hash: FeatureHash,
        /// The seed.
        seed: u64,
        /// The number of bits of a seed of this hash.
        bits: u32,
    },
}

/// Widens one 64-bit hash to `WORDS` words.
///
/// Word 0 is the hash. Word `i` is SplitMix64's finalizer of `hash + i * 0x9e3779b97f4a7c15`, which
/// is a bijection: features that differ in 64 bits differ in every word.
///
/// ```
/// use lookalike::hash::spread;
///
/// assert_eq!(spread(7), [7]);
/// assert_eq!(spread(0), [0, 0xe220_a839_7b1d_cdaf]); // SplitMix64's first output for seed 0
/// ```
#[inline]
pub fn spread<const WORDS: usize>(hash: u64) -> [u64; WORDS] {
    std::array::from_fn(|i| match i as u64 {
        0 => hash,
        i => splitmix64(hash.wrapping_add(i.wrapping_mul(GOLDEN))),
    })
}

/// 2^64 divided by the golden ratio, rounded to an odd number.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014; constants of Vigna's C version).
#[inline]
pub(crate) const fn splitmix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The first odd words of the fraction of pi: nothing-up-my-sleeve numbers.
const PI: [u64; 4] =
    [0x243f_6a88_85a3_08d3, 0x4528_21e6_38d0_1377, 0xc0ac_29b7_c97c_50dd, 0x3f84_d5b5_b547_0917];

/// The base of the number whose digits are the tokens of a run, for [`mix_run`].
pub(crate) const RUN_BASE: u64 = 0x9216_d5d9_8979_fb1b;

/// The hash of some bytes by [`FeatureHash::Mix`] without a seed.
#[inline]
pub(crate) fn mix(bytes: &[u8]) -> u64 {
    let (blocks, tail) = bytes.as_chunks::<16>();
    let mix_next = |hash, block: &_| mix_block(hash, u128::from_le_bytes(*block));
    let mut hash = blocks.iter().fold(0, mix_next);
    if !tail.is_empty() {
        let mut last = [0; 16];
        last[..tail.len()].copy_from_slice(tail);
        hash = mix_next(hash, &last);
    }
    mix_length(hash, bytes.len())
}

/// Mixes in a block of 16 bytes, little-endian; the last one is padded with zeros.
#[inline]
pub(crate) const fn mix_block(hash: u64, block: u128) -> u64 {
    let block = block ^ ((PI[1] as u128) << 64 | PI[0] as u128);
    fold(hash ^ block as u64, (block >> 64) as u64)
}

/// The first bytes of a block; the others become zero.
#[inline(always)]
pub(crate) const fn first_bytes(block: u128, length: usize) -> u128 {
    block & OF_LENGTH[length].first
}

/// [`mix`] of up to 16 bytes, padded with zeros.
#[inline(always)]
pub(crate) const fn mix_short(block: u128, length: usize) -> u64 {
    fold(mix_block(0, block) ^ PI[2], OF_LENGTH[length].factor)
}

/// Constants for a length up to 16.
#[repr(align(32))]
struct Length {
    /// The bits of a block that count.
    first: u128,
    /// The factor in [`mix_length`].
    factor: u64,
}

/// The number of lengths with an entry. Those above 16 have no meaning, but need no bounds check.
pub(crate) const LENGTHS: usize = 32;

static OF_LENGTH: [Length; LENGTHS] = {
    let mut lengths = [const { Length { first: 0, factor: PI[3] } }; LENGTHS];
    let mut length = 1;
    while length <= 16 {
        lengths[length].first = u128::MAX >> (128 - 8 * length);
        lengths[length].factor ^= length as u64;
        length += 1;
    }
    lengths
};

/// The last step of [`mix`].
#[inline]
pub(crate) const fn mix_length(hash: u64, length: usize) -> u64 {
    fold(hash ^ PI[2], length as u64 ^ PI[3])
}

/// The hash of a run of several tokens, whose hashes are the digits of a number in base [`RUN_BASE`].
#[inline]
pub(crate) const fn mix_run(sum: u64) -> u64 {
    fold(sum ^ PI[0], PI[2])
}

/// A different hash of the same feature for every seed; seed 0 changes nothing.
#[inline]
pub(crate) const fn seeded(hash: u64, seed: u64) -> u64 {
    if seed == 0 { hash } else { splitmix64(hash ^ seed) }
}

/// Both halves of the product, combined by exclusive or.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// The MD5 digest as one big-endian number.
fn md5(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Md5::digest(bytes).into())
}

/// Austin Appleby's MurmurHash3_x64_128: `(h1, h2)`.
fn murmur3_x64_128(seed: u32, bytes: &[u8]) -> (u64, u64) {
    let mut h1 = u64::from(seed);
    let mut h2 = h1;
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = halves(block);
        h1 = (h1 ^ murmur3_k1(k1)).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ murmur3_k2(k2)).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    // Mixing a zero key is the identity, so a short tail may be padded with zeros.
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    let (k1, k2) = halves(&last);
    h1 ^= murmur3_k1(k1) ^ bytes.len() as u64;
    h2 ^= murmur3_k2(k2) ^ bytes.len() as u64;

    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = murmur3_finish(h1);
    h2 = murmur3_finish(h2);
    h1 = h1.wrapping_add(h2);
    (h1, h2.wrapping_add(h1))
}

/// A 16-byte block as two little-endian numbers.
#[inline]
pub(crate) fn halves(block: &[u8; 16]) -> (u64, u64) {
    let whole = u128::from_le_bytes(*block);
    (whole as u64, (whole >> 64) as u64)
}

const MURMUR3_C1: u64 = 0x87c3_7b91_1142_53d5;
const MURMUR3_C2: u64 = 0x4cf5_ad43_2745_937f;

#[inline]
const fn murmur3_k1(k1: u64) -> u64 {
    k1.wrapping_mul(MURMUR3_C1).rotate_left(31).wrapping_mul(MURMUR3_C2)
}

#[inline]
const fn murmur3_k2(k2: u64) -> u64 {
    k2.wrapping_mul(MURMUR3_C2).rotate_left(33).wrapping_mul(MURMUR3_C1)
}

#[inline]
const fn murmur3_finish(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

/// Bob Jenkins' `hashlittle2` (lookup3.c, May 2006) with `pc`, `pb` in and out as one number.
fn lookup3(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed as u32);
    let mut state = [start, start, start.wrapping_add((seed >> 32) as u32)];

    // The last block, even a full one, is mixed only by `final`; empty input is not mixed.
    let last_size = if bytes.is_empty() { 0 } else { (bytes.len() - 1) % 12 + 1 };
    let (blocks, last) = bytes.split_at(bytes.len() - last_size);
    for block in blocks.as_chunks::<12>().0 {
        lookup3_add(&mut state, block);
        lookup3_mix(&mut state);
    }
    if !last.is_empty() {
        let mut padded = [0; 12];
        padded[..last.len()].copy_from_slice(last);
        lookup3_add(&mut state, &padded);
        lookup3_final(&mut state);
    }
    let [_, b, c] = state;
    u64::from(b) << 32 | u64::from(c)
}

/// Adds a block, as three little-endian numbers, to the state `a, b, c`.
fn lookup3_add(state: &mut [u32; 3], block: &[u8; 12]) {
    for (word, bytes) in state.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = word.wrapping_add(u32::from_le_bytes(*bytes));
    }
}

/// `mix(a, b, c)`: six steps with rotating roles.
fn lookup3_mix([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &mut u32, z: &mut u32, rotation| {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(rotation);
        *z = z.wrapping_add(*y);
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
}

/// `final(a, b, c)`: seven steps with rotating roles.
fn lookup3_final([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: u32, rotation| {
        *x = (*x ^ y).wrapping_sub(y.rotate_left(rotation));
    };
    step(c, *b, 14);
    step(a, *c, 11);
    step(b, *a, 25);
    step(c, *b, 16);
    step(a, *c, 4);
    step(b, *a, 14);
    step(c, *b, 24);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{self, hex};
    use proptest::prelude::*;

    fn bytes(text: &str) -> Vec<u8> {
        let digits = text.trim_matches('-').as_bytes();
        digits.chunks(2).map(|pair| hex(str::from_utf8(pair).unwrap()) as u8).collect()
    }

    #[test]
    fn published_values_are_reproduced() {
        let vectors = vectors::read("hash.tsv");
        for line in &vectors {
            let [name, seed, input, value, source] = line.as_slice() else { panic!("{line:?}") };
            let hash: FeatureHash = name.parse().unwrap();
            let words: [u64; 2] = hash.words(hex(seed), &bytes(input));
            for (i, expected) in value.split(' ').enumerate() {
                assert_eq!(words[i], hex(expected), "{name} of {input}, seed {seed} ({source})");
            }
        }
        for hash in FeatureHash::ALL {
            assert!(vectors.iter().any(|line| line[0] == hash.name()), "no vectors for {hash}");
        }
    }

    /// SMHasher's own test: the hashes of 256 keys, hashed together, begin with a known value.
    #[test]
    fn murmur3_passes_the_verification_of_smhasher() {
        let digest = |seed: u32, bytes: &[u8]| -> Vec<u8> {
            let (h1, h2) = murmur3_x64_128(seed, bytes);
            [h1.to_le_bytes(), h2.to_le_bytes()].concat()
        };
        let key: Vec<u8> = (0..=255).collect();
        let digests: Vec<u8> = (0..256).flat_map(|i| digest(256 - i, &key[..i as usize])).collect();
        assert_eq!(digest(0, &digests)[..4], 0x6384_ba69_u32.to_le_bytes());
    }

    #[test]
    fn names_read_back_as_the_same_hash() {
        for hash in FeatureHash::ALL {
            assert_eq!(hash.to_string().parse(), Ok(hash));
        }
    }

    #[test]
    fn seeds_too_wide_for_a_hash_are_refused() {
        assert!(FeatureHash::Xxh3.check_seed(u64::MAX).is_ok());
        assert!(FeatureHash::Murmur3_128.check_seed(0xffff_ffff).is_ok());
        assert!(FeatureHash::Murmur3_64.check_seed(1 << 32).is_err());
        assert!(FeatureHash::Md5Last8.check_seed(0).is_ok());
        let error = FeatureHash::Md5Last8.check_seed(1).unwrap_err();
        assert_eq!(error.to_string(), "md5-last8 takes a seed of 0 bits; 0x1 does not fit");
    }

    proptest! {
        #[test]
        fn the_first_word_does_not_depend_on_the_width(bytes: Vec<u8>, seed: u32) {
            for hash in FeatureHash::ALL {
                let [a] = hash.words(seed.into(), &bytes);
                let [b, c, ..] = hash.words::<4>(seed.into(), &bytes);
                prop_assert_eq!(a, hash.hash(seed.into(), &bytes));
                prop_assert_eq!([a, c], hash.words(seed.into(), &bytes));
                prop_assert_eq!(a, b);
            }
        }
    }
}
