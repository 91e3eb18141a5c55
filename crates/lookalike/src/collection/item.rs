//! What goes into a collection, and what comes out?

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
    /// The caller's name for it: 1 to 32,767 bytes, unique in a collection. For an item without a
    /// name there is [`content_id`].
    pub id: &'a str,
    /// What is kept of it, by the kind of the collection.
    pub digest: &'a Digest,
    /// A hash of all of its content, which tells items apart that have the same digest; see
    /// [`content_hash`]. Without it, digests do.
    pub content: Option<Identity>,
    /// What else is to be remembered: a JSON document of at most 64 KiB.
    pub payload: Option<&'a str>,
    /// When it was inserted, in milliseconds since 1970; now, if left out.
    pub inserted: Option<u64>,
}

impl<'a> NewItem<'a> {
    /// An item without payload, inserted now.
    pub fn new(id: &'a str, digest: &'a Digest) -> Self {
        Self { id, digest, content: None, payload: None, inserted: None }
    }
}

/// An item as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredItem {
    /// The caller's name for it.
    pub id: String,
    /// Its place in the order of insertion. Never given twice.
    pub sequence: u64,
    /// When it was inserted, in milliseconds since 1970.
    pub inserted: u64,
    /// What is kept of it.
    pub digest: Digest,
    /// A hash of all of its content.
    pub content: Option<Identity>,
    /// What else was to be remembered: a JSON document.
    pub payload: Option<String>,
}

impl StoredItem {
    /// The same, to be stored elsewhere.
    pub fn as_new(&self) -> NewItem<'_> {
        let Self { id, digest, content, payload, inserted, .. } = self;
        let payload = payload.as_deref();
        NewItem { id, digest, content: *content, payload, inserted: Some(*inserted) }
    }
}

/// An item that is alike a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The caller's name for it.
    pub id: String,
    /// Its place in the order of insertion.
    pub sequence: u64,
    /// How close it is to the query: the figures of `pairs` and `compare`.
    pub closeness: Closeness,
}

/// Closest first: by level, by similarity, by distance; then in order of insertion.
pub(super) fn order(closeness: &Closeness, sequence: u64) -> impl Ord + use<> {
    let Closeness { distance, similarity, level } = *closeness;
    // Not below 0, so its bits are in order.
    let similarity = similarity.map(f32::to_bits);
    (Reverse(level), Reverse(similarity), distance.unwrap_or(u32::MAX), sequence)
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

/// What tells contents apart: the first 128 bits of the BLAKE3 hash.
pub fn content_hash(content: &[u8]) -> Identity {
    let mut identity = Identity::default();
    let words = hash::content(content).map(u64::to_le_bytes);
    identity.copy_from_slice(words.as_flattened());
    identity
}

/// What becomes of an item that is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub enum AddRule {
    /// One whose id is there stays out.
    Insert,
    /// One whose id is there takes its place.
    Replace,
    /// One whose id is there stays out, and one that is alike any that is there by these criteria.
    UnlessAlike(Criteria),
}

/// What became of an item that was to be stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Added {
    /// It is stored.
    Added {
        /// Its place in the order of insertion.
        sequence: u64,
    },
    /// It is stored in place of another one of the same id.
    Replaced {
        /// Its place in the order of insertion: a new one.
        sequence: u64,
    },
    /// An item of this id with the same content is there already; it stays as it was.
    Present {
        /// The place of the one that is there.
        sequence: u64,
    },
    /// The id is taken by an item of other content; that one stays as it was.
    Conflict {
        /// The place of the one that is there.
        sequence: u64,
    },
    /// Something alike is there already: closest first, then in order of insertion.
    Near {
        /// What is alike.
        matches: Vec<Match>,
    },
    /// It cannot be stored: its id, digest or payload are not as [`NewItem`] says.
    Unfit {
        /// What is wrong with it.
        reason: String,
    },
}

impl Added {
    /// Whether the item is stored now, by this call.
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Added { .. } | Self::Replaced { .. })
    }

    /// One word for it, the same in every front end.
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

/// How many items became what. They add up to how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddCounts {
    /// Those that are stored and new.
    pub added: u64,
    /// Those that are stored in place of others.
    pub replaced: u64,
    /// Those that were there.
    pub present: u64,
    /// Those whose id is taken.
    pub conflict: u64,
    /// Those that are alike another one.
    pub near: u64,
    /// Those that cannot be stored.
    pub unfit: u64,
}

impl AddCounts {
    /// Counts one more.
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

    /// How many there were.
    pub fn total(&self) -> u64 {
        let Self { added, replaced, present, conflict, near, unfit } = self;
        added + replaced + present + conflict + near + unfit
    }
}
