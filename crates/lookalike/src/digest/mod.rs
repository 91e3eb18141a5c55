//! What is kept of an item, once it is gone?
//!
//! A [`Digest`] is everything that may decide how close two items are, and nothing else; [`Digests`]
//! are those of many items, as columns. [`Facts`] describe an item and decide nothing. Which columns
//! are filled, and what they mean, is known to the kind of the items alone.
//!
//! | file | what is there |
//! |---|---|
//! | `bytes.rs` | the byte form of a digest |
//! | `columns.rs` | [`Digests`] |
//! | `prints.rs` | the column of fingerprints, of any width |
//! | `facts.rs` | [`Facts`] |

mod bytes;
mod columns;
mod facts;
mod prints;

use crate::{FeatureSet, Fingerprint, Width, fragments::Fragment, verify::Set};
#[cfg(feature = "collection")]
pub(crate) use bytes::{read_count, write_count};
pub use columns::Digests;
pub use facts::{Facts, Fidelity};
pub(crate) use prints::{PrintColumn, with_prints};

/// 128 bits of BLAKE3: nobody can make two different things that have the same.
pub type Identity = [u8; 16];

/// All that decides how close an item is to others. A digest without fingerprints and key is that of
/// an empty item, which is alike nothing.
///
/// ```
/// use lookalike::{Digest, Fingerprint, Width};
///
/// let digest = Digest::of_print(Fingerprint([7, 0, 0, 0]));
/// let bytes = digest.to_bytes(Width::Bits64);
/// assert_eq!(bytes.len(), 10);
/// assert_eq!(Digest::from_bytes(&bytes), Some(digest));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    /// Fingerprints of the whole item, in the widest type. The first one is its own; others are how it
    /// would look turned.
    pub prints: Vec<Fingerprint<4>>,
    /// What it is made of.
    pub set: FeatureSet,
    /// Given only if there is too little else: the item is alike those with the same key.
    pub key: Option<Identity>,
    /// Fingerprints of its parts, and where they are.
    pub parts: Vec<Fragment>,
    /// What the kind alone understands.
    pub extra: Vec<u8>,
}

impl Digest {
    /// Of an item of which nothing is known but a fingerprint.
    pub fn of_print(print: Fingerprint<4>) -> Self {
        Self { prints: vec![print], ..Self::default() }
    }

    /// Whether it is of an item that is alike nothing.
    pub fn is_empty(&self) -> bool {
        self.prints.is_empty() && self.key.is_none()
    }

    /// The fingerprint of the whole item, if it has one.
    pub fn print(&self) -> Option<Fingerprint<4>> {
        self.prints.first().copied()
    }

    /// The same for digests that no closeness can tell apart, within one process.
    pub fn identity(&self) -> Identity {
        let Self { prints, set, key, parts, extra } = self;
        let mut hasher = blake3::Hasher::new();
        // Items with the same key are alike, whatever else is known of them.
        if let Some(key) = key {
            return identity_of(hasher.update(b"key").update(key));
        }
        for counted in [prints.len(), set.features().len(), parts.len()] {
            hasher.update(&(counted as u64).to_le_bytes());
        }
        hasher.update(bytemuck::cast_slice(prints));
        hasher.update(bytemuck::cast_slice(set.features()));
        for Fragment { print, place } in parts {
            hasher.update(bytemuck::bytes_of(print));
            hasher.update(bytemuck::cast_slice(&[place.x, place.y, place.scale]));
        }
        identity_of(hasher.update(extra))
    }
}

/// The first half of a hash.
pub(crate) fn identity_of(hasher: &blake3::Hasher) -> Identity {
    let mut identity = Identity::default();
    identity.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    identity
}

/// How digests of one kind and recipe look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The width of fingerprints.
    pub width: Width,
    /// How many fingerprints an item has.
    pub prints: usize,
    /// Whether nothing but one fingerprint is kept.
    pub is_bare: bool,
}

/// A digest that lies in columns.
#[derive(Clone, Copy)]
pub struct DigestRef<'a> {
    /// Words of all fingerprints, one after the other.
    prints: &'a [u64],
    words: usize,
    set: Set<'a>,
    key: Option<&'a Identity>,
    parts: &'a [Fragment],
    extra: &'a [u8],
}

impl<'a> DigestRef<'a> {
    /// Whether it is of an item that is alike nothing.
    pub fn is_empty(&self) -> bool {
        self.prints.is_empty() && self.key.is_none()
    }

    /// How many fingerprints it has.
    pub fn prints(&self) -> usize {
        self.prints.len() / self.words
    }

    /// The words of a fingerprint.
    pub fn print(&self, number: usize) -> Option<&'a [u64]> {
        self.prints.get(number * self.words..(number + 1) * self.words)
    }

    /// Bits in which the first fingerprints of two items differ; `None` if one has none.
    pub fn distance(&self, other: &Self) -> Option<u32> {
        Some(distance(self.print(0)?, other.print(0)?))
    }

    /// What it is made of.
    pub(crate) fn set(&self) -> Set<'a> {
        self.set
    }

    /// The key of an item of which there is too little else.
    pub fn key(&self) -> Option<&'a Identity> {
        self.key
    }

    /// Fingerprints of its parts, and where they are.
    pub fn parts(&self) -> &'a [Fragment] {
        self.parts
    }

    /// What the kind alone understands.
    pub fn extra(&self) -> &'a [u8] {
        self.extra
    }

    /// The same with this set.
    pub(crate) fn with_set(self, set: Set<'a>) -> Self {
        Self { set, ..self }
    }
}

/// Bits in which two fingerprints of one width differ.
pub(crate) fn distance(one: &[u64], two: &[u64]) -> u32 {
    one.iter().zip(two).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// Runs of values, one after the other.
#[derive(Clone, Debug)]
struct Lists<T> {
    ends: Vec<usize>,
    values: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { ends: Vec::new(), values: Vec::new() }
    }
}

impl<T: Clone> Lists<T> {
    /// Lists that were never pushed are empty.
    fn push(&mut self, entry: usize, list: &[T]) {
        if !list.is_empty() {
            self.ends.resize(entry, self.values.len());
            self.values.extend_from_slice(list);
            self.ends.push(self.values.len());
        }
    }

    fn of(&self, entry: usize) -> &[T] {
        let Some(&end) = self.ends.get(entry) else { return &[] };
        let start = entry.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[start..end]
    }
}
