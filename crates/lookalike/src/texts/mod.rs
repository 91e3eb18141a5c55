//! Which of these texts are alike?
//!
//! [`TextSearch`] holds the choices; a [`TextCollector`] takes texts as they arrive and keeps their
//! fingerprints and feature sets only; [`TextPairs`] is the answer. Texts are known by the order in
//! which they came: no ids or files here.
//!
//! | file | question |
//! |---|---|
//! | `digest.rs` | What is kept of a text, once it is gone? |
//! | `store.rs`, `sets.rs` | Where is it kept, if memory may not hold it? |
//! | `plan.rs` | How are candidates found, and what will that cost? |
//! | `scanned.rs`, `keyed.rs` | Which pairs may be alike, by each way? |
//! | `check.rs` | Which of them are? |

mod check;
mod digest;
mod keyed;
mod plan;
mod scanned;
mod sets;
mod store;

use std::path::PathBuf;

use rayon::prelude::*;

use crate::{
    AlikePairs, AllPairs, Fingerprint, Kernel, PairsError, Radius, Recipe, Verify, Width,
    alike::PackedPair,
    sorted::{InOrder, Record, Room, Sorted, Sorter},
};
use check::Check;
use digest::Digester;
use plan::{Tally, Way};
use store::Store;

/// How to look for alike texts.
///
/// Two texts are alike if their fingerprints are within the radius and, when verified, their feature
/// sets are as similar as [`Verify`] asks for. Between the two stands a cheap test: a second
/// fingerprint, of the runs that are verified, within a radius that all but one pair in a thousand
/// at the very threshold of similarity are in.
///
/// ```
/// use lookalike::{Preset, Radius, TextSearch, Verify};
///
/// let recipe = &Preset::named("words")?.recipe;
/// let search = TextSearch::new(recipe, Radius::new(32)).verify(Verify::DEFAULT);
/// let mut collector = search.collector();
/// collector.push_all(&[
///     "The ferry to the island leaves at nine in the morning from the north end of the harbour.",
///     "Boil the potatoes in their skins, let them cool, and slice them as thin as you can.",
///     "The ferry to the island leaves at ten in the morning, from the north end of the harbour!",
/// ])?;
/// let found = collector.finish()?;
/// let pairs = found.pairs.to_vec()?;
/// assert_eq!((pairs[0].a, pairs[0].b, pairs.len()), (0, 2, 1));
/// assert!(pairs[0].similarity.unwrap() > 0.8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TextSearch<'a> {
    recipe: Recipe,
    radius: Radius,
    verify: Option<Verify>,
    candidates: Candidates,
    kernel: Kernel,
    memory: Option<u64>,
    spill_folder: Option<PathBuf>,
    progress: &'a (dyn Fn(f64) + Sync),
}

/// How pairs that may be alike are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Candidates {
    /// Exactly, unless that takes long and keys are faster.
    #[default]
    Cheapest,
    /// Exactly: everything within the radius is looked at.
    Exact,
    /// By keys: only items with a common key are looked at. Only verified Jaccard similarities have
    /// keys; others are always searched exactly.
    Keys,
}

impl<'a> TextSearch<'a> {
    /// Texts whose fingerprints by `recipe` are within `radius`, not verified, in memory.
    pub fn new(recipe: &Recipe, radius: Radius) -> Self {
        Self {
            recipe: recipe.clone(),
            radius,
            verify: None,
            candidates: Candidates::default(),
            kernel: Kernel::detect(),
            memory: None,
            spill_folder: None,
            progress: &|_| {},
        }
    }

    /// Asks for more than fingerprints within the radius.
    #[must_use]
    pub fn verify(mut self, verify: impl Into<Option<Verify>>) -> Self {
        self.verify = verify.into();
        self
    }

    /// Chooses how candidates are found.
    #[must_use]
    pub fn candidates(mut self, candidates: Candidates) -> Self {
        self.candidates = candidates;
        self
    }

    /// Forces a kernel. The answer is the same.
    #[must_use]
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Limits memory to about this many bytes; feature sets, candidates and pairs that do not fit go
    /// to disk. What must fit are some 100 bytes for each text.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Where to spill; the system's temporary folder by default.
    #[must_use]
    pub fn spill_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spill_folder = Some(folder.into());
        self
    }

    /// Called now and then, from any thread, with the part of the search that is done (0 to 1). If it
    /// unwinds, so does the search, soon: the way to stop it.
    #[must_use]
    pub fn progress(mut self, progress: &'a (dyn Fn(f64) + Sync)) -> Self {
        self.progress = progress;
        self
    }

    /// Starts taking texts.
    pub fn collector(&self) -> TextCollector<'a> {
        let search = self.clone();
        TextCollector(match self.recipe.width {
            Width::Bits32 | Width::Bits64 => Box::new(Collected::<1>::new(search)),
            Width::Bits128 => Box::new(Collected::<2>::new(search)),
            Width::Bits256 => Box::new(Collected::<4>::new(search)),
        })
    }

    fn folder(&self) -> PathBuf {
        self.spill_folder.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Some eighths of the memory limit, if there is one.
    fn share(&self, eighths: u64) -> Option<u64> {
        self.memory.map(|memory| memory / 8 * eighths)
    }

    /// Room for as much.
    fn room(&self, eighths: u64) -> Room {
        self.share(eighths).map_or_else(Room::unlimited, |bytes| Room::new(bytes, self.folder()))
    }
}

/// Eighths of the memory limit for feature sets, for keys, for candidates that wait and for pairs
/// that were found; the rest is for what is always kept of every text.
const SETS: u64 = 3;
const KEYS: u64 = 2;
const WAITING: u64 = 1;
const FOUND: u64 = 1;

/// Takes texts as they arrive, keeps fingerprints and feature sets, then finds alike ones.
pub struct TextCollector<'a>(Box<dyn Collect + 'a>);

impl TextCollector<'_> {
    /// Adds texts, which take the next numbers. None of them is kept.
    ///
    /// Works on all threads of the caller's pool; a batch of some megabytes keeps them busy.
    pub fn push_all<T: AsRef<str> + Sync>(&mut self, texts: &[T]) -> Result<(), PairsError> {
        let items: Vec<Item<'_>> = texts.iter().map(|text| Item::Text(text.as_ref())).collect();
        self.0.push_all(&items)
    }

    /// As [`push_all`](Self::push_all), for items of any kind.
    pub fn push_items(&mut self, items: &[Item<'_>]) -> Result<(), PairsError> {
        self.0.push_all(items)
    }

    /// How many texts were pushed.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds the alike ones of everything pushed.
    pub fn finish(self) -> Result<TextPairs, PairsError> {
        self.0.finish()
    }
}

/// What is searched for its like.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// A text, taken apart by the recipe.
    Text(&'a str),
    /// Features with their weights, as [`Recipe::fingerprint_of_features`] takes them. Their sets are
    /// verified, weights apart. An item whose weights are no numbers has no fingerprint.
    Features(&'a [(String, f64)]),
    /// What the caller took apart: its fingerprint, as wide as the recipe's, and what is verified.
    /// Without a fingerprint it is alike nothing.
    Made(Option<Fingerprint<4>>, Parts<'a>),
}

/// What is verified of an item whose fingerprint its caller made.
///
/// ```
/// use lookalike::{
///     FeatureHash, Item, Parts, Preset, Radius, TextSearch, Verify, recipe::Scratch,
/// };
///
/// let recipe = &Preset::named("words")?.recipe;
/// let mut collector = TextSearch::new(recipe, Radius::new(32)).verify(Verify::DEFAULT).collector();
/// let item = |text: &str| {
///     let hash = |token: &str| FeatureHash::Mix.hash(0, token.as_bytes());
///     let tokens: Vec<u64> = text.split(';').map(hash).collect();
///     let print = recipe.fingerprint_of_tokens::<2>(&tokens, &mut Scratch::new());
///     Item::Made(print.map(|print| print.resize()), Parts::Tokens(tokens))
/// };
/// collector.push_items(&[item("a b;c d;e"), item("f;g;h i"), item("a b;c d;e;e")])?;
/// let pairs = collector.finish()?.pairs.to_vec()?;
/// assert_eq!((pairs[0].a, pairs[0].b, pairs.len()), (0, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Parts<'a> {
    /// A text: what would be verified of it, had the recipe made the fingerprint.
    Text(&'a str),
    /// The hashes of tokens, in order: runs of them are verified, as those of a text are. All bits
    /// of a hash should depend on all of the token.
    Tokens(Vec<u64>),
    /// The hashes of features, as those of tokens: their set is verified.
    Features(Vec<u64>),
}

/// Which texts are alike, and how that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextPairs {
    /// The alike ones, equal ones together.
    pub pairs: AlikePairs,
    /// Whether pairs may be missing.
    pub how: How,
    /// How candidates were found, for people to read.
    pub plan: String,
    /// Pairs whose contents were compared.
    pub verified: u64,
    /// Different texts that shared a key with thousands of others, and were compared with some of
    /// them only: there, more pairs may be missing than [`how`](Self::how) says. 0 if exact.
    pub crowded: u32,
    /// Texts with too few features or none, matched by their exact normalised content only.
    pub short: u32,
    /// Blank texts, and items without a fingerprint: alike nothing.
    pub empty: u32,
    /// Bytes of temporary files.
    pub spilled: u64,
}

/// Whether pairs may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// Every pair within the radius that is similar enough is there.
    Exact,
    /// This share of the pairs is expected to be there: those that were found stand for those that
    /// were not, by the recall at their similarity.
    Recall(f64),
}

/// A collector for fingerprints of some width.
trait Collect: Send {
    fn push_all(&mut self, items: &[Item<'_>]) -> Result<(), PairsError>;
    fn len(&self) -> usize;
    fn finish(self: Box<Self>) -> Result<TextPairs, PairsError>;
}

struct Collected<'a, const WORDS: usize> {
    search: TextSearch<'a>,
    store: Store<WORDS>,
}

impl<'a, const WORDS: usize> Collected<'a, WORDS> {
    fn new(search: TextSearch<'a>) -> Self {
        Self { store: Store::new(&search), search }
    }

    /// Pairs of entries that are alike, by fingerprints alone.
    fn bare(&self) -> Result<Found, PairsError> {
        let TextSearch { radius, kernel, progress, .. } = self.search;
        let pairs =
            AllPairs::new(radius).kernel(kernel).progress(progress).run(&self.store.prints)?;
        let plan = pairs.plan().to_string();
        let near = Sorter::new(&self.search.room(FOUND));
        let mut some = Vec::new();
        pairs.for_each(|pair| some.push(PackedPair::from(pair)));
        near.append(&mut some)?;
        self.found(near.finish()?, Way::Join.tally(), plan, 0)
    }

    /// Pairs of entries whose sets are similar enough.
    fn verified(&self, verify: Verify) -> Result<Found, PairsError> {
        let Self { search, store } = self;
        let way = Way::choose(search, verify, store)?;
        let check = Check::new(search, verify, store)?;
        let mut crowded = 0;
        match &way {
            Way::Join => scanned::by_plan(search, store, &check)?,
            Way::Scan => scanned::by_weight(search, verify, store, &check)?,
            Way::Keys(keys) => crowded = keyed::by_keys(search, store, keys, &check)?,
        }
        let (pairs, verified) = check.finish()?;
        Ok(Found { crowded, ..self.found(pairs, way.tally(), way.to_string(), verified)? })
    }

    /// Takes pairs of entries, each once, for those of their first items. Entries are numbered in the
    /// order of these: the order stays.
    fn found(
        &self,
        pairs: InOrder<PackedPair>,
        mut tally: Tally<'_>,
        plan: String,
        verified: u64,
    ) -> Result<Found, PairsError> {
        let firsts = &self.store.firsts;
        let spilled = pairs.spilled();
        let mut last = None;
        let near = pairs.settle(&self.search.room(FOUND), |pair| {
            if last.replace(pair.place()) == Some(pair.place()) {
                return None;
            }
            tally.add(pair.similarity());
            let [a, b] = [pair.a, pair.b].map(|entry| firsts[entry as usize]);
            Some(pair.between(a, b))
        })?;
        let spilled = spilled + near.spilled();
        Ok(Found { near, how: tally.how(), plan, verified, crowded: 0, spilled })
    }
}

/// What was found.
struct Found {
    near: Sorted<PackedPair>,
    how: How,
    plan: String,
    verified: u64,
    crowded: u32,
    spilled: u64,
}

impl<const WORDS: usize> Collect for Collected<'_, WORDS> {
    fn push_all(&mut self, items: &[Item<'_>]) -> Result<(), PairsError> {
        let search = &self.search;
        let digests: Vec<_> = items
            .par_iter()
            .map_init(|| Digester::new(search), |digester, item| digester.digest(item))
            .collect();
        digests.into_iter().try_for_each(|digest| self.store.push(digest))
    }

    fn len(&self) -> usize {
        self.store.items as usize
    }

    fn finish(mut self: Box<Self>) -> Result<TextPairs, PairsError> {
        self.store.seal()?;
        let found = match self.search.verify {
            Some(verify) => self.verified(verify)?,
            None => self.bare()?,
        };
        (self.search.progress)(1.0);
        let Store { equal, short, empty, sets, .. } = self.store;
        let equal_similarity = self.search.verify.map(|_| 1.0);
        Ok(TextPairs {
            pairs: AlikePairs::new(found.near, equal, equal_similarity, self.search.room(FOUND)),
            how: found.how,
            plan: found.plan,
            verified: found.verified,
            crowded: found.crowded,
            short,
            empty,
            spilled: sets.spilled() + found.spilled,
        })
    }
}

#[cfg(test)]
mod tests;
