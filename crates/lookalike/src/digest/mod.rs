//! Digests: the stored form of items.
//!
//! A [`Digest`] is everything that may decide how close two items are, and nothing else. [`Digests`] are
//! the digests of many items as columns. [`Facts`] describe an item and decide nothing. Only the kind of
//! the items knows which columns are filled and what they mean.
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

use crate::{
    Fingerprint, Width,
    fragments::Fragment,
    verify::{FeatureSet, Set},
};
#[cfg(feature = "collection")]
pub(crate) use bytes::{read_count, write_count};
pub use columns::Digests;
pub use facts::{Facts, Fidelity};
pub(crate) use prints::{PrintColumn, with_prints};

/// 128 bits of BLAKE3. Nobody can make two different contents with the same identity.
pub type Identity = [u8; 16];

/// Everything that decides how close an item is to others. A digest with neither fingerprints, nor a key,
/// nor data of its kind is that of an empty item, which matches nothing.
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
    /// The fingerprints of the whole item, in the widest type. The first one is its own; the others are
    /// those of its other orientations.
    pub prints: Vec<Fingerprint<4>>,
    /// The features of the item.
    pub set: FeatureSet,
    /// Present only if the item has too little content; it then matches items with the same key.
    pub key: Option<Identity>,
    /// The fingerprints of its parts, with their places.
    pub parts: Vec<Fragment>,
    /// Data that only the kind understands.
    pub extra: Vec<u8>,
}

impl Digest {
    /// The digest of an item with only a fingerprint.
    pub fn of_print(print: Fingerprint<4>) -> Self {
        Self { prints: vec![print], ..Self::default() }
    }

    /// Whether the item matches nothing.
    pub fn is_empty(&self) -> bool {
        self.prints.is_empty() && self.key.is_none() && self.extra.is_empty()
    }

    /// Whether the item has one fingerprint and nothing else.
    pub(crate) fn is_bare(&self) -> bool {
        let Self { prints, set, key, parts, extra } = self;
        let has_more = key.is_some() || !parts.is_empty() || !extra.is_empty();
        prints.len() == 1 && set.features().is_empty() && !has_more
    }

    /// The fingerprint of the whole item, if it has one.
    pub fn print(&self) -> Option<Fingerprint<4>> {
        self.prints.first().copied()
    }

    /// A hash that is equal for digests that no closeness can distinguish, within one process.
    pub fn identity(&self) -> Identity {
        let Self { prints, set, key, parts, extra } = self;
        let mut hasher = blake3::Hasher::new();
        // Items with the same key match, whatever else is known about them.
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

/// The shape of digests of one kind and recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The width of fingerprints.
    pub width: Width,
    /// The number of fingerprints of an item.
    pub prints: usize,
    /// Whether digests have only one fingerprint and nothing else.
    pub is_bare: bool,
}

/// A digest in columns.
#[derive(Clone, Copy)]
pub struct DigestRef<'a> {
    /// The words of all fingerprints, in order.
    prints: &'a [u64],
    words: usize,
    set: Set<'a>,
    key: Option<&'a Identity>,
    parts: &'a [Fragment],
    extra: &'a [u8],
}

impl<'a> DigestRef<'a> {
    /// Whether the item matches nothing.
    pub fn is_empty(&self) -> bool {
        self.prints.is_empty() && self.key.is_none() && self.extra.is_empty()
    }

    /// The number of fingerprints.
    pub fn prints(&self) -> usize {
        self.prints.len() / self.words
    }

    /// The words of a fingerprint.
    pub fn print(&self, number: usize) -> Option<&'a [u64]> {
        self.prints.get(number * self.words..(number + 1) * self.words)
    }

    /// The distance of the first fingerprints of two items; `None` if one has none.
    pub fn distance(&self, other: &Self) -> Option<u32> {
        Some(distance(self.print(0)?, other.print(0)?))
    }

    /// The features of the item.
    pub(crate) fn set(&self) -> Set<'a> {
        self.set
    }

    /// The key of an item with too little content.
    pub fn key(&self) -> Option<&'a Identity> {
        self.key
    }

    /// The fingerprints of its parts, with their places.
    pub fn parts(&self) -> &'a [Fragment] {
        self.parts
    }

    /// Data that only the kind understands.
    pub fn extra(&self) -> &'a [u8] {
        self.extra
    }

    /// The same digest with this set.
    pub(crate) fn with_set(self, set: Set<'a>) -> Self {
        Self { set, ..self }
    }
}

/// The distance of two fingerprints of the same width.
pub(crate) fn distance(one: &[u64], two: &[u64]) -> u32 {
    one.iter().zip(two).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// Lists of values in one buffer.
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
    /// A list that was never pushed is empty.
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
