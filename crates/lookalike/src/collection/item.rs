//! The items that go into a collection, and what comes out of it.

use std::cmp::Reverse;

use crate::{Closeness, Criteria, Digest, digest::Identity, hash};

/// An item to be stored.
///
/// ```
/// use lookalike::{Digest, Fingerprint, collection::NewItem};
///
/// let digest = Digest::of_print(Fingerprint([0b1011]).resize());
/// let item = NewItem { payload: Some(r#"{"url":"https://example.org"}"#), ..NewItem::new("a", &digest) };
/// assert_eq!(item.id, "a");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewItem<'a> {
    /// The caller's name for it: 1 to 32,767 bytes, unique in a collection. [`content_id`] makes one
    /// for an item without a name.
    pub id: &'a str,
    /// Its digest, as the kind of the collection makes it.
    pub digest: &'a Digest,
    /// A hash of its whole content, which distinguishes items with equal digests; see
    /// [`content_hash`]. Without it, items with equal digests count as having the same content.
    pub content: Option<Identity>,
    /// The caller's own data: a JSON document of at most 64 KiB.
    pub payload: Option<&'a str>,
    /// When it was inserted, in milliseconds since 1970; defaults to now.
    pub inserted: Option<u64>,
}

impl<'a> NewItem<'a> {
    /// An item without a payload, inserted now.
    pub fn new(id: &'a str, digest: &'a Digest) -> Self {
        Self { id, digest, content: None, payload: None, inserted: None }
    }
}

/// An item as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredItem {
    /// The caller's name for it.
    pub id: String,
    /// Its position in the order of insertion. Never reused.
    pub sequence: u64,
    /// When it was inserted, in milliseconds since 1970.
    pub inserted: u64,
    /// Its digest.
    pub digest: Digest,
    /// A hash of its whole content.
    pub content: Option<Identity>,
    /// The caller's own data: a JSON document.
    pub payload: Option<String>,
}

impl StoredItem {
    /// The same item, to be stored in another collection.
    pub fn as_new(&self) -> NewItem<'_> {
        let Self { id, digest, content, payload, inserted, .. } = self;
        let payload = payload.as_deref();
        NewItem { id, digest, content: *content, payload, inserted: Some(*inserted) }
    }
}

/// An item that matches a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The caller's name for it.
    pub id: String,
    /// Its position in the order of insertion.
    pub sequence: u64,
    /// How close it is to the query: the same figures as in `pairs` and `compare`.
    pub closeness: Closeness,
}

/// Sorts matches closest first: by level, similarity and distance, then by order of insertion.
pub(super) fn order(closeness: &Closeness, sequence: u64) -> impl Ord + use<> {
    let Closeness { distance, similarity, level } = *closeness;
    // A similarity is never negative, so its bits sort as its value does.
    let similarity = similarity.map(f32::to_bits);
    (Reverse(level), Reverse(similarity), distance.unwrap_or(u32::MAX), sequence)
}

/// Makes an id from the content of an item that has no name: equal contents have the same id,
/// whichever file they come from. The id is `b3-` and the first 128 bits of the BLAKE3 hash, as `b3sum`
/// prints them.
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

/// A hash that distinguishes contents: the first 128 bits of the BLAKE3 hash.
pub fn content_hash(content: &[u8]) -> Identity {
    let mut identity = Identity::default();
    let words = hash::content(content).map(u64::to_le_bytes);
    identity.copy_from_slice(words.as_flattened());
    identity
}

/// When a new item is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum AddRule {
    /// Only if no item has its id.
    Insert,
    /// Always; it replaces an item with the same id, unless both are equal.
    Replace,
    /// Only if no item has its id and no item matches it by these criteria.
    UnlessAlike(Criteria),
}

/// The outcome of adding an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Added {
    /// The item was stored.
    Added {
        /// Its position in the order of insertion.
        sequence: u64,
    },
    /// The item was stored and replaced one with the same id.
    Replaced {
        /// Its new position in the order of insertion.
        sequence: u64,
    },
    /// An item with this id and the same content already exists; it was not changed.
    Present {
        /// The position of the existing item.
        sequence: u64,
    },
    /// An item with this id but different content already exists; it was not changed.
    Conflict {
        /// The position of the existing item.
        sequence: u64,
    },
    /// Matching items already exist, so the new one was not stored.
    Near {
        /// The matching items: closest first, then in order of insertion.
        matches: Vec<Match>,
    },
    /// The item cannot be stored: its id, digest or payload does not meet the limits of [`NewItem`].
    Unfit {
        /// Why it cannot be stored.
        reason: String,
    },
}

impl Added {
    /// Whether this call stored the item.
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Added { .. } | Self::Replaced { .. })
    }

    /// One word for the outcome, the same in every front end.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Added { .. } => "added",
            Self::Replaced { .. } => "replaced",
            Self::Present { .. } => "present",
            Self::Conflict { .. } => "conflict",
            Self::Near { .. } => "near",
            Self::Unfit { .. } => "unfit",
        }
    }
}

/// The number of items with each outcome. The counts add up to the number of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddCounts {
    /// Items that are new and stored.
    pub added: u64,
    /// Items that replaced one with the same id.
    pub replaced: u64,
    /// Items that already existed with the same content.
    pub present: u64,
    /// Items whose id belongs to an item with different content.
    pub conflict: u64,
    /// Items not stored because others match them.
    pub near: u64,
    /// Items that cannot be stored.
    pub unfit: u64,
}

impl AddCounts {
    /// Counts one more outcome.
    pub fn count(&mut self, added: &Added) {
        *match added {
            Added::Added { .. } => &mut self.added,
            Added::Replaced { .. } => &mut self.replaced,
            Added::Present { .. } => &mut self.present,
            Added::Conflict { .. } => &mut self.conflict,
            Added::Near { .. } => &mut self.near,
            Added::Unfit { .. } => &mut self.unfit,
        } += 1;
    }

    /// The number of all items.
    pub fn total(&self) -> u64 {
        let Self { added, replaced, present, conflict, near, unfit } = self;
        added + replaced + present + conflict + near + unfit
    }
}
