//! Which of these texts are alike?
//!
//! [`TextSearch`] says when two texts are alike; a [`TextCollector`] takes texts as they arrive and
//! keeps their fingerprints and feature sets only; [`Texts`] answers. Texts are known by the order in
//! which they came: no ids or files here.
//!
//! | file | question |
//! |---|---|
//! | `digest.rs` | What is kept of a text, once it is gone? |
//! | `store.rs` | What is kept of all texts? |
//! | `answer.rs` | Which of them are alike, and which belong to which keeper? |
//! | `lost.rs` | How much is lost if some of them are removed? |

mod answer;
mod digest;
mod lost;
mod store;

use rayon::prelude::*;

use crate::{
    AlikePairs, Fingerprint, PairsError, Radius, Recipe, Resources, Similarity, Verify, Width,
    groups::Groups,
};
use digest::{Digest, Digester};
use store::Store;

/// When are two texts alike?
///
/// If they are verified, their feature sets decide; a radius beside that is one more condition. If
/// not, their fingerprints do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// What their features must have in common.
    pub verify: Option<Verify>,
    /// How many bits of their fingerprints may differ; any number if there is none.
    pub radius: Option<Radius>,
}

impl Likeness {
    /// Texts with as much in common as [`Verify`] asks for, and nothing else.
    pub fn similar(verify: Verify) -> Self {
        Self { verify: Some(verify), radius: None }
    }

    /// Texts whose fingerprints differ in few bits.
    pub fn within(radius: Radius) -> Self {
        Self { verify: None, radius: Some(radius) }
    }
}

/// How to look for alike texts.
///
/// ```
/// use lookalike::{Likeness, Preset, Resources, TextSearch, Verify};
///
/// let recipe = &Preset::named("words")?.recipe;
/// let resources = Resources::new();
/// let search = TextSearch::new(recipe, Likeness::similar(Verify::DEFAULT));
/// let mut collector = search.collector(&resources);
/// collector.push_all(&[
///     "The ferry to the island leaves at nine in the morning from the north end of the harbour.",
///     "Boil the potatoes in their skins, let them cool, and slice them as thin as you can.",
///     "The ferry to the island leaves at ten in the morning, from the north end of the harbour!",
/// ])?;
/// let texts = collector.finish()?;
///
/// let pairs = texts.pairs(&resources)?.pairs.to_vec()?;
/// assert_eq!((pairs[0].a, pairs[0].b, pairs.len()), (0, 2, 1));
/// assert!(pairs[0].similarity.unwrap() > 0.8);
///
/// // What can go, if the last one is to stay? Without listing all pairs.
/// let groups = texts.stars(&[2, 1, 0], &resources)?.groups;
/// assert_eq!((groups[0].keep, groups[0].members[0].item), (2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextSearch {
    recipe: Recipe,
    likeness: Likeness,
    reach: Reach,
}

/// Which pairs a search must find.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Reach {
    /// All, up to [`EXACT_TEXTS`] texts with [`EXACT_FEATURES`] features; of more, at least
    /// [`USUAL_RECALL`] of those at the very threshold.
    #[default]
    Declared,
    /// All.
    Exact,
    /// At least this share of the pairs at the very threshold, and more of those above it: only texts
    /// with a common key are compared. Containment has no keys, and is always exact.
    Recall(f64),
}

/// The most texts that are searched exactly unless the caller says otherwise.
pub const EXACT_TEXTS: u64 = 1_000_000;
/// The most features, of all texts together.
pub const EXACT_FEATURES: u64 = 150_000_000;
/// The recall at the threshold beyond that.
pub const USUAL_RECALL: f64 = 0.99;

impl TextSearch {
    /// Texts that are alike by their fingerprints, made by `recipe`, or by their features.
    pub fn new(recipe: &Recipe, likeness: Likeness) -> Self {
        Self { recipe: recipe.clone(), likeness, reach: Reach::default() }
    }

    /// Chooses which pairs must be found.
    #[must_use]
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Starts taking texts. What does not fit the memory limit goes to temporary files: feature sets
    /// now, all else in the search. What must fit is some 100 bytes for each text.
    pub fn collector(&self, resources: &Resources<'_>) -> TextCollector {
        let search = self.clone();
        TextCollector(match self.recipe.width {
            Width::Bits32 | Width::Bits64 => Box::new(Collected::<1>::new(search, resources)),
            Width::Bits128 => Box::new(Collected::<2>::new(search, resources)),
            Width::Bits256 => Box::new(Collected::<4>::new(search, resources)),
        })
    }

    /// How close two items are, and whether they are alike: what the search says of the two. `None`
    /// if one of them is empty or has no fingerprint, and so is never alike anything.
    pub fn compare(&self, one: &Item<'_>, two: &Item<'_>) -> Option<TextCloseness> {
        match self.recipe.width {
            Width::Bits32 | Width::Bits64 => self.compare_in::<1>(one, two),
            Width::Bits128 => self.compare_in::<2>(one, two),
            Width::Bits256 => self.compare_in::<4>(one, two),
        }
    }

    fn compare_in<const WORDS: usize>(
        &self,
        one: &Item<'_>,
        two: &Item<'_>,
    ) -> Option<TextCloseness> {
        let mut digester = Digester::<WORDS>::new(self);
        let (one, two) = (digester.digest(one), digester.digest(two));
        self.closeness(&one, &two)
    }

    /// The definition of alike texts.
    fn closeness<const WORDS: usize>(
        &self,
        one: &Digest<WORDS>,
        two: &Digest<WORDS>,
    ) -> Option<TextCloseness> {
        let Likeness { verify, radius } = self.likeness;
        let [a, b] = [one.print()?, two.print()?];
        let distance = a.zip(b).map(|(a, b)| a.distance(&b));
        let is_within =
            radius.is_none_or(|radius| distance.is_some_and(|bits| radius.contains(bits)));
        match (one, two) {
            (Digest::Full(one), Digest::Full(two)) => {
                let similarity = verify.map(|verify| verify.compare(&one.set, &two.set));
                let is_enough = verify
                    .zip(similarity)
                    .is_none_or(|(verify, similarity)| similarity >= verify.similarity.get());
                Some(TextCloseness { distance, similarity, alike: is_within && is_enough })
            }
            // Too little to compare: the same content or nothing.
            _ => {
                let same = one.content().is_some() && one.content() == two.content();
                let distance = if same { Some(0) } else { distance };
                let similarity = verify.map(|_| if same { 1.0 } else { 0.0 });
                let everything = verify.is_some_and(|verify| verify.similarity.get() == 0.0);
                Some(TextCloseness { distance, similarity, alike: same || everything && is_within })
            }
        }
    }
}

/// How close two texts are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextCloseness {
    /// Bits in which their fingerprints differ; `None` if one has none.
    pub distance: Option<u32>,
    /// The similarity of their contents, 0 to 1; `None` if only fingerprints are compared.
    pub similarity: Option<f32>,
    /// Whether they are alike.
    pub alike: bool,
}

/// Takes texts as they arrive, and keeps fingerprints and feature sets.
pub struct TextCollector(Box<dyn Collect>);

impl TextCollector {
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

    /// No more texts will come.
    pub fn finish(mut self) -> Result<Texts, PairsError> {
        self.0.seal()?;
        Ok(Texts(self.0))
    }
}

/// What is kept of many texts, ready to be searched.
pub struct Texts(Box<dyn Collect>);

impl Texts {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks for another similarity from now on; of texts that are not verified, for nothing.
    ///
    /// The answers are those of a search for that similarity over the same texts.
    pub fn set_similarity(&mut self, similarity: Similarity) {
        self.0.set_similarity(similarity);
    }

    /// Every alike pair.
    pub fn pairs(&self, resources: &Resources<'_>) -> Result<TextPairs, PairsError> {
        self.0.pairs(resources)
    }

    /// About how many alike pairs there are, estimated from a sample in a fraction of the time it takes to
    /// find them; `None` if nothing but fingerprints is compared.
    pub fn expected_pairs(&self, resources: &Resources<'_>) -> Result<Option<u64>, PairsError> {
        self.0.expected_pairs(resources)
    }

    /// Groups around keepers: texts are taken in `order`; one that is alike an earlier keeper belongs
    /// to the first such keeper in that order, otherwise it becomes a keeper.
    ///
    /// Verified texts are compared with keepers only, so that many texts of one template take linear
    /// time. A text that is not in `order` is in no group.
    pub fn stars(
        &self,
        order: &[u32],
        resources: &Resources<'_>,
    ) -> Result<TextGroups, PairsError> {
        self.0.stars(order, resources)
    }

    /// Groups of the first `own` texts around the others: each belongs to the first of the others that
    /// it is alike. Own texts are not compared with each other.
    pub fn against(&self, own: usize, resources: &Resources<'_>) -> Result<TextGroups, PairsError> {
        self.0.against(own, resources)
    }

    /// How many words are lost if these texts are removed: words that no other text has. `None` if the
    /// features that are compared are not single words.
    ///
    /// Takes at most 16 MB. Words are told apart by 27 bits of their hashes, so some lost ones are missed: of a
    /// hundred, about three beside four million different kept words.
    pub fn lost_words(
        &self,
        is_removed: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Option<LostWords>, PairsError> {
        self.0.lost_words(is_removed)
    }
}

/// How many words of removed texts no kept text has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostWords {
    /// The different words of every removed text, added up.
    pub removed: u64,
    /// Those of them that no kept text has.
    pub lost: u64,
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
///     FeatureHash, Item, Likeness, Parts, Preset, Resources, TextSearch, Verify, recipe::Scratch,
/// };
///
/// let recipe = &Preset::named("words")?.recipe;
/// let resources = Resources::new();
/// let search = TextSearch::new(recipe, Likeness::similar(Verify::DEFAULT));
/// let mut collector = search.collector(&resources);
/// let item = |text: &str| {
///     let hash = |token: &str| FeatureHash::Mix.hash(0, token.as_bytes());
///     let tokens: Vec<u64> = text.split(';').map(hash).collect();
///     let print = recipe.fingerprint_of_tokens::<2>(&tokens, &mut Scratch::new());
///     Item::Made(print.map(|print| print.resize()), Parts::Tokens(tokens))
/// };
/// collector.push_items(&[item("a b;c d;e"), item("f;g;h i"), item("a b;c d;e;e")])?;
/// let pairs = collector.finish()?.pairs(&resources)?.pairs.to_vec()?;
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
    /// How they were found.
    pub found: TextFound,
}

/// Which texts belong to which keeper, and how that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextGroups {
    /// Keepers and their members.
    pub groups: Groups,
    /// How they were found.
    pub found: TextFound,
}

/// How alike texts were found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextFound {
    /// Whether pairs may be missing.
    pub how: How,
    /// How candidates were found, for people to read.
    pub plan: String,
    /// Pairs whose contents were compared.
    pub verified: u64,
    /// Texts with too few features or none, matched by their exact normalised content only.
    pub short: u32,
    /// Empty texts, and items without a fingerprint: never matched.
    pub empty: u32,
    /// Bytes of temporary files.
    pub spilled: u64,
}

/// Whether pairs may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// The answer equals comparing every pair.
    Exact,
    /// At least this share of the pairs at the very threshold is expected to be there, and more of
    /// those above it; of images that show parts of each other, of all pairs.
    Recall(f64),
}

/// Texts with fingerprints of some width.
trait Collect: Send + Sync {
    fn push_all(&mut self, items: &[Item<'_>]) -> Result<(), PairsError>;
    fn len(&self) -> usize;
    fn seal(&mut self) -> Result<(), PairsError>;
    fn pairs(&self, resources: &Resources<'_>) -> Result<TextPairs, PairsError>;
    fn expected_pairs(&self, resources: &Resources<'_>) -> Result<Option<u64>, PairsError>;
    fn stars(&self, order: &[u32], resources: &Resources<'_>) -> Result<TextGroups, PairsError>;
    fn against(&self, own: usize, resources: &Resources<'_>) -> Result<TextGroups, PairsError>;
    fn set_similarity(&mut self, similarity: Similarity);
    fn lost_words(
        &self,
        is_removed: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Option<LostWords>, PairsError>;
}

struct Collected<const WORDS: usize> {
    search: TextSearch,
    store: Store<WORDS>,
}

impl<const WORDS: usize> Collected<WORDS> {
    fn new(search: TextSearch, resources: &Resources<'_>) -> Self {
        Self { store: Store::new(resources), search }
    }
}

impl<const WORDS: usize> Collect for Collected<WORDS> {
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

    fn seal(&mut self) -> Result<(), PairsError> {
        self.store.seal()
    }

    fn pairs(&self, resources: &Resources<'_>) -> Result<TextPairs, PairsError> {
        answer::pairs(&self.search, &self.store, resources)
    }

    fn expected_pairs(&self, resources: &Resources<'_>) -> Result<Option<u64>, PairsError> {
        answer::expected_pairs(&self.search, &self.store, resources)
    }

    fn stars(&self, order: &[u32], resources: &Resources<'_>) -> Result<TextGroups, PairsError> {
        answer::stars(&self.search, &self.store, order, resources)
    }

    fn against(&self, own: usize, resources: &Resources<'_>) -> Result<TextGroups, PairsError> {
        answer::against(&self.search, &self.store, own, resources)
    }

    fn set_similarity(&mut self, similarity: Similarity) {
        if let Some(verify) = &mut self.search.likeness.verify {
            verify.similarity = similarity;
        }
    }

    fn lost_words(
        &self,
        is_removed: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Option<LostWords>, PairsError> {
        match self.search.likeness.verify {
            Some(verify) => lost::words(&self.store, verify, is_removed),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
