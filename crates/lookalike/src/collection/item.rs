//! What goes into a collection, and what comes out?

use crate::{Fingerprint, hash};

/// An item to be stored.
///
/// ```
/// use lookalike::{Fingerprint, collection::NewItem};
///
/// let prints: [Fingerprint<4>; 1] = [Fingerprint([0b1011]).resize()];
/// let item = NewItem { payload: Some(r#"{"url":"https://example.org"}"#), ..NewItem::new("a", &prints) };
/// assert_eq!(item.id, "a");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewItem<'a> {
    /// The caller's name for it: 1 to 32,767 bytes, unique in a collection. For an item without a
    /// name there is [`content_id`].
    pub id: &'a str,
    /// Its fingerprints, at least one, of the collection's width. An item is as near as the nearest
    /// of them.
    pub fingerprints: &'a [Fingerprint<4>],
    /// What else is to be remembered: a JSON document of at most 64 KiB.
    pub payload: Option<&'a str>,
    /// When it was inserted, in milliseconds since 1970; now, if left out.
    pub inserted: Option<u64>,
}

impl<'a> NewItem<'a> {
    /// An item without payload, inserted now.
    pub fn new(id: &'a str, fingerprints: &'a [Fingerprint<4>]) -> Self {
        Self { id, fingerprints, payload: None, inserted: None }
    }
}

/// An item as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredItem {
    /// The caller's name for it.
    pub id: String,
    /// Its place in the order of insertion. Never given twice.
    pub sequence: u64,
    /// When it was inserted, in milliseconds since 1970.
    pub inserted: u64,
    /// Its fingerprints.
    pub fingerprints: Vec<Fingerprint<4>>,
    /// What else was to be remembered: a JSON document.
    pub payload: Option<String>,
}

/// An item within the radius of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The caller's name for it.
    pub id: String,
    /// Its place in the order of insertion.
    pub sequence: u64,
    /// Bits in which it differs from the query; of an item with several fingerprints, the nearest.
    pub distance: u32,
}

impl Found {
    /// Nearest first, then by sequence number; of an item that was found several times, the nearest.
    ///
    /// For what was found by several fingerprints of one query.
    pub fn sort(found: &mut Vec<Self>) {
        found.sort_unstable_by_key(|found| (found.sequence, found.distance));
        found.dedup_by_key(|found| found.sequence);
        found.sort_unstable_by_key(|found| (found.distance, found.sequence));
    }
}

/// An id for an item that nobody named, from its content: equal content has the same id, whatever
/// file it comes from. `b3-` and the first 128 bits of the BLAKE3 hash, as `b3sum` prints them.
///
/// ```
/// use lookalike::collection::content_id;
///
/// assert_eq!(content_id(b""), "b3-af1349b9f5f9a1a6a0404dea36dcc949");
/// ```
pub fn content_id(content: &[u8]) -> String {
    let [first, second] = hash::content(content).map(u64::swap_bytes);
    format!("b3-{first:016x}{second:016x}")
}

/// What became of an item that was to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Added {
    /// It is stored.
    New {
        /// Its place in the order of insertion.
        sequence: u64,
    },
    /// It is stored in place of another one of the same id.
    Replaced {
        /// Its place in the order of insertion: a new one.
        sequence: u64,
    },
    /// An item of this id with the same fingerprints is there already; it stays as it was.
    Present {
        /// The place of the one that is there.
        sequence: u64,
    },
    /// The id is taken by an item with other fingerprints; that one stays as it was.
    Taken {
        /// The place of the one that is there.
        sequence: u64,
    },
    /// Something near is there already: nearest first, then by sequence number.
    Near {
        /// What is near.
        matches: Vec<Found>,
    },
    /// It cannot be stored: its id, fingerprints or payload are not as [`NewItem`] says.
    Unfit {
        /// What is wrong with it.
        why: String,
    },
}

impl Added {
    /// Whether the item is stored now, by this call.
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::New { .. } | Self::Replaced { .. })
    }
}
