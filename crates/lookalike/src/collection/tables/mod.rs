//! Search tables built from digests, one for each lookup of a kind.
//!
//! | file | what it finds |
//! |---|---|
//! | `prints.rs` | fingerprints within a radius: of items, of turned items, of parts |
//! | `sets.rs` | feature sets that overlap: by bitmaps and weights, or by equal keys |
//! | `vectors.rs` | vectors whose cosine is large enough: by 8-bit codes and a bound |
//! | `equal.rs` | items that match only items with the same key |
//!
//! A table returns candidates, which *may* match; the kind judges their digests. [`Layout`] lists the
//! tables; it follows from the kind and the widest criteria of the collection.

mod equal;
mod prints;
mod sets;
mod vectors;

use std::path::PathBuf;

use super::array::MappedFile;
use crate::{
    Digest, Kind, Radius,
    digest::Shape,
    index::{IndexError, file::Content},
    kind::{Criteria, Lookup, USUAL_RECALL},
    search::keys_for,
};
use equal::{EqualKeys, EqualRows};
use prints::{PrintRows, PrintTable};
pub use sets::{KeyRule, SetQuery};
use sets::{SetRows, SetTable};
use vectors::{VectorRows, VectorTable};

/// The fingerprints of a digest that a table contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The first fingerprint.
    Upright,
    /// All others: those of the turned item.
    Turned,
    /// The fingerprints of its parts.
    Parts,
}

impl Source {
    /// The extension of the file of the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upright => "near",
            Self::Turned => "turned",
            Self::Parts => "parts",
        }
    }
}

/// The fingerprints of one table, and the radius it can be searched by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintLayout {
    pub source: Source,
    pub words: usize,
    pub radius: Radius,
}

/// The tables of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub shape: Shape,
    pub prints: Vec<PrintLayout>,
    /// How the keys of feature sets are made; `None` if sets are not compared.
    pub keys: Option<KeyRule>,
    /// Whether vectors are compared.
    pub vectors: bool,
}

/// The maximum number of keys stored for a set. Only data in which almost everything matches needs
/// more.
const MAX_KEYS: usize = 100;

impl Layout {
    /// The tables that find all matches by these criteria, or by narrower ones.
    pub fn new(kind: &dyn Kind, widest: &Criteria) -> Self {
        let shape = kind.shape();
        let mut layout = Self { shape, prints: Vec::new(), keys: None, vectors: false };
        for lookup in kind.lookups(widest) {
            match lookup {
                Lookup::Near { radius, turned, .. } => {
                    let radius = radius.min(Radius::new(shape.width.bits()));
                    layout.widen(Source::Upright, shape.width.words(), radius);
                    if turned && shape.prints > 1 {
                        layout.widen(Source::Turned, shape.width.words(), radius);
                    }
                }
                Lookup::Parts(search) => layout.widen(Source::Parts, 1, search.radius),
                Lookup::Overlap { verify, .. } => {
                    let keys =
                        keys_for(&verify, USUAL_RECALL).filter(|keys| keys.bands <= MAX_KEYS);
                    layout.keys = Some(keys);
                }
                Lookup::Cosine { .. } => layout.vectors = true,
                Lookup::Every => {}
            }
        }
        layout
    }

    fn widen(&mut self, source: Source, words: usize, radius: Radius) {
        match self.prints.iter_mut().find(|print| print.source == source) {
            Some(existing) => existing.radius = existing.radius.max(radius),
            None => self.prints.push(PrintLayout { source, words, radius }),
        }
    }

    /// The position of the table of these fingerprints, if there is one, and the radius it can be
    /// searched by.
    pub fn place(&self, source: Source) -> Option<(usize, Radius)> {
        let place = self.prints.iter().position(|one| one.source == source)?;
        Some((place, self.prints[place].radius))
    }
}

/// The tables of one run.
pub struct Tables {
    /// In the order of the layout.
    pub prints: Vec<PrintTable>,
    pub equal: EqualKeys,
    pub sets: Option<SetTable>,
    pub vectors: Option<VectorTable>,
}

impl Tables {
    /// Whether the tables contain an item as it follows from its digest.
    pub fn hold(&self, layout: &Layout, item: u32, digest: &Digest) -> bool {
        let is_compared = is_compared(digest);
        let prints = self.prints.iter().zip(&layout.prints).all(|(table, layout)| {
            let own = own_prints(layout.source, digest).filter(|_| is_compared);
            table.of_item(item).eq(own.map(|print| print.resize()))
        });
        let sets = self.sets.as_ref().is_none_or(|sets| sets.holds(item, digest));
        let vectors = self.vectors.as_ref().is_none_or(|vectors| vectors.holds(item, digest));
        prints
            && sets
            && vectors
            && digest.key.is_none_or(|key| self.equal.find(&key).contains(&item))
    }

    /// The number of an item's features that are compared.
    pub fn features(&self, item: u32) -> u64 {
        self.sets.as_ref().map_or(0, |sets| sets.features(item))
    }

    pub fn memory_bytes(&self) -> usize {
        let indexes: usize = self.prints.iter().map(PrintTable::index_bytes).sum();
        let rest: usize = self.sections().iter().map(|(_, bytes)| bytes.len()).sum();
        indexes + rest + self.sets.as_ref().map_or(0, SetTable::rank_bytes)
    }

    /// Everything except the fingerprint indexes, for the file of the run.
    pub fn sections(&self) -> Vec<(Content, &[u8])> {
        let owners = (0..).zip(&self.prints);
        let owners = owners.map(|(number, table)| (Content::Owners(number), table.owners()));
        let sets = self.sets.iter().flat_map(SetTable::sections);
        let vectors = self.vectors.iter().flat_map(VectorTable::sections);
        owners.chain(self.equal.sections()).chain(sets).chain(vectors).collect()
    }

    /// Opens the tables of a run with this number of items.
    pub fn open(
        layout: &Layout,
        file: &MappedFile<'_>,
        indexes: &[PathBuf],
        items: usize,
    ) -> Result<Self, IndexError> {
        let prints = (0..).zip(&layout.prints).zip(indexes);
        let prints = prints.map(|((number, layout), path)| {
            let owners = file.array(Content::Owners(number))?;
            PrintTable::open(path, *layout, owners, items)
        });
        Ok(Self {
            prints: prints.collect::<Result<_, _>>()?,
            equal: EqualKeys::open(file, items)?,
            sets: match &layout.keys {
                Some(keys) => Some(SetTable::open(file, keys.as_ref(), items)?),
                None => None,
            },
            vectors: match layout.vectors {
                true => Some(VectorTable::open(file, items)?),
                false => None,
            },
        })
    }
}

/// Whether the fingerprints of an item are compared; if it has a key, only the key is.
pub fn is_compared(digest: &Digest) -> bool {
    digest.key.is_none() && !digest.prints.is_empty()
}

/// The fingerprints of a digest that belong in the table of `source`.
fn own_prints(source: Source, digest: &Digest) -> impl Iterator<Item = crate::Fingerprint<4>> {
    let (prints, parts) = match source {
        Source::Upright => (&digest.prints[..digest.prints.len().min(1)], &[][..]),
        Source::Turned => (digest.prints.get(1..).unwrap_or_default(), &[][..]),
        Source::Parts => (&[][..], &digest.parts[..]),
    };
    prints.iter().copied().chain(parts.iter().map(|part| part.print.resize()))
}

/// Collects the table entries of items, in order.
pub struct Rows {
    prints: Vec<(Source, PrintRows)>,
    equal: EqualRows,
    sets: Option<SetRows>,
    vectors: Option<VectorRows>,
    items: u32,
}

impl Rows {
    pub fn new(layout: &Layout) -> Self {
        let prints = layout.prints.iter().map(|one| (one.source, PrintRows::new(one.words)));
        let sets = layout.keys.as_ref().map(|keys| SetRows::new(keys.as_ref()));
        let vectors = layout.vectors.then(VectorRows::default);
        Self { prints: prints.collect(), equal: EqualRows::default(), sets, vectors, items: 0 }
    }

    /// Reserves memory for this number of further items.
    pub fn reserve(&mut self, items: usize) {
        self.prints.iter_mut().for_each(|(_, rows)| rows.reserve(items));
    }

    /// Adds the digest of the next item.
    pub fn push(&mut self, digest: &Digest) {
        let is_compared = is_compared(digest);
        for (source, rows) in &mut self.prints {
            rows.push(self.items, own_prints(*source, digest).filter(|_| is_compared));
        }
        self.equal.extend(digest.key.map(|key| (key, self.items)));
        if let Some(sets) = &mut self.sets {
            sets.push(&digest.set);
        }
        if let Some(vectors) = &mut self.vectors {
            vectors.push(digest);
        }
        self.items += 1;
    }

    /// Adds items of other tables, in ascending order, as the next ones.
    pub fn extend(&mut self, tables: &Tables, kept: &[u32]) {
        let start = self.items;
        for ((_, rows), table) in self.prints.iter_mut().zip(&tables.prints) {
            rows.extend(table, kept, start);
        }
        let place = |item: u32| kept.binary_search(&item).ok().map(|at| start + at as u32);
        self.equal.extend(tables.equal.iter().filter_map(|(key, item)| Some((key, place(item)?))));
        if let (Some(rows), Some(table)) = (&mut self.sets, &tables.sets) {
            rows.extend(table, kept);
        }
        if let (Some(rows), Some(table)) = (&mut self.vectors, &tables.vectors) {
            rows.extend(table, kept);
        }
        self.items += kept.len() as u32;
    }

    pub fn finish(self, layout: &Layout) -> Result<Tables, IndexError> {
        let Self { prints, equal, sets, vectors, .. } = self;
        let prints = prints.into_iter().zip(&layout.prints);
        Ok(Tables {
            prints: prints
                .map(|((_, rows), one)| rows.finish(one.radius))
                .collect::<Result<_, _>>()?,
            equal: equal.finish(),
            sets: sets.map(SetRows::finish),
            vectors: vectors.map(VectorRows::finish),
        })
    }
}
