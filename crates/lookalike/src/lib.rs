//! Finds near-duplicates: everything within the radius you state, missing nothing.
//!
//! # The problem
//!
//! A pile of texts, pages or images holds copies that are not quite copies. Comparing each with each
//! takes half a billion comparisons for a mere 32,000 items. So every item becomes a *fingerprint*, a
//! few bits in which alike items differ little, and two questions remain: *which pairs differ in at
//! most k bits?* and *what is within k bits of this?* This crate answers both, exactly.
//!
//! # The line
//!
//! ```text
//! text ─► extract ─► features ─► fingerprint ─┬─► pairs   which ones are alike?
//!                                             └─► index   what is like this one?
//! ```
//!
//! | module | question |
//! |---|---|
//! | [`extract`] | What is an item made of? Runs of words, characters, bytes, tokens of code. |
//! | [`features`], [`hash`], [`simhash`](mod@simhash) | How do weighted features become bits? |
//! | [`recipe`] | Which choices decide the bits? [`Preset`]s are recipes with a name and a radius. |
//! | [`verify`] | What must two items have in common? |
//! | [`pairs`] | Which pairs differ in at most k bits? |
//! | [`index`] | What is within k bits of this? |
//! | [`hamming`] | How are many distances computed at once? |
//!
//! Enter where you like: with text, with features of your own, or with fingerprints you already have.
//!
//! # Alike texts
//!
//! ```
//! use lookalike::{Preset, all_pairs};
//!
//! let texts = [
//!     "The ferry to the island leaves at nine in the morning from the north end of the harbour.",
//!     "Boil the potatoes in their skins, let them cool, and slice them as thin as you can.",
//!     "The ferry to the island leaves at ten in the morning, from the north end of the harbour!",
//! ];
//! let Preset { recipe, radius, .. } = Preset::named("bare")?;
//! let prints: Vec<_> =
//!     texts.iter().map(|text| recipe.fingerprint(text).expect("each has some words")).collect();
//!
//! let mut alike = Vec::new();
//! all_pairs(&prints, *radius, |pair| alike.push((pair.a, pair.b)))?;
//! assert_eq!(alike, [(0, 2)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `2` is the number of 64-bit words of a fingerprint: 1 for 32 and 64 bits, 2 for 128, 4 for 256. A text
//! without any feature has no fingerprint; otherwise all empty texts would be alike.
//!
//! # Features of your own
//!
//! Anything that can be listed can be fingerprinted: hash each feature, give it a weight.
//!
//! ```
//! use lookalike::{Feature, FeatureHash, Features, simhash};
//!
//! let print = |words: &[(&str, i32)]| {
//!     let feature = |&(word, weight): &(&str, i32)| {
//!         Feature::weighted(FeatureHash::Xxh3.hash(0, word.as_bytes()), weight)
//!     };
//!     simhash::<1>(&words.iter().map(feature).collect::<Features<1>>())
//! };
//! let soup = print(&[("water", 5), ("salt", 1), ("carrot", 3), ("leek", 3)]).unwrap();
//! let more = print(&[("water", 5), ("carrot", 3), ("leek", 3)]).unwrap();
//! let cake = print(&[("flour", 5), ("sugar", 3), ("butter", 3), ("salt", 1)]).unwrap();
//! assert!(soup.distance(&more) < soup.distance(&cake));
//! ```
//!
//! # Fingerprints you already have
//!
//! ```
//! use lookalike::{AllPairs, Fingerprint, Radius};
//!
//! let prints = [0b0000_0000, 0b1111_0000, 0b0000_0111, 0b1111_0000].map(|bits| Fingerprint([bits]));
//! let answer = AllPairs::new(Radius::new(3)).run(&prints)?;
//!
//! // Different fingerprints, each standing by its first item, and groups of equal ones.
//! assert_eq!(answer.near().iter().map(|p| (p.a, p.b, p.distance)).collect::<Vec<_>>(), [(0, 2, 3)]);
//! assert_eq!(answer.equal_groups().collect::<Vec<_>>(), [[1, 3]]);
//!
//! // Or pair by pair, as `all_pairs` reports them.
//! let mut pairs = Vec::new();
//! answer.for_each(|pair| pairs.push((pair.a, pair.b)));
//! assert_eq!(pairs, [(0, 2), (1, 3)]);
//! # Ok::<(), lookalike::PairsError>(())
//! ```
//!
//! [`AllPairs`] also takes [`Resources`] (a memory limit with a folder for what does not fit, and who
//! watches), a number of blocks if you want the classic plan, and a [`Workspace`] if you search often; [`AllPairs::collector`] takes fingerprints as they arrive; [`AllPairs::plan`] says how the
//! answer would be found.
//!
//! # Searching
//!
//! ```
//! use lookalike::{Fingerprint, MutableIndex, Radius, StaticIndex, index::Search};
//!
//! let prints = [0b0000, 0b0111, 0b1111_1111].map(|bits| Fingerprint([bits]));
//! let index = StaticIndex::build(&prints, Radius::new(3))?;
//! let near = index.matches(&Fingerprint([0b0001]), Radius::new(2))?;
//! assert_eq!(near.iter().map(|found| found.id).collect::<Vec<_>>(), [0, 1]);
//!
//! let mut index = MutableIndex::new(Radius::new(3));
//! let id = index.insert(Fingerprint([0b1010]))?;
//! assert!(index.any(&Fingerprint([0b1000]), Radius::new(1))?);
//! index.remove(id);
//! assert!(!index.any(&Fingerprint([0b1000]), Radius::new(1))?);
//! # Ok::<(), lookalike::IndexError>(())
//! ```
//!
//! Both can be saved and opened again. Ask many queries at once with [`Search::search_batch`](index::Search::search_batch): it waits
//! for memory once for many of them.
//!
//! # What you can rely on
//!
//! - **Exact.** Everything within the radius is found, each pair once. A radius is inclusive.
//! - **Deterministic.** The same input gives the same bits, pairs and order: on every machine, with
//!   every [`Kernel`], for any number of threads. Bits are fixed by golden vectors; other bits would be
//!   a new recipe version.
//! - **Quiet.** The library prints nothing and starts no threads: it works on the rayon pool it is
//!   called in (`pool.install(|| ...)`).
//!
//! # Limits
//!
//! - One run or index holds at most [`u32::MAX`] items.
//! - Found pairs are held in memory, beyond the memory limit of [`Resources`].
//! - Exact is about fingerprints: whether two texts *are* alike is as good as the recipe. Its radius is
//!   where they are taken for alike.
//! - A radius of about a quarter of the bits or more is too wide for tables: then each is compared with
//!   each, as fast as bits can be counted, but quadratically.
//! - Fingerprints of different recipes must never be compared. Keep the [`Recipe`] with them.
//!
//! # Cargo features
//!
//! - `dictionary`: Chinese words by dictionary, and the preset `keywords`. Off by default: it brings
//!   some 5 MB of tables.
//! - `image`: images, from files to alike pairs ([`ImageKind`], [`extract::image`]). Off by default: it
//!   brings decoders.

mod alike;
mod closeness;
#[cfg(feature = "collection")]
pub mod collection;
mod cover;
pub mod digest;
mod equal;
pub mod extract;
pub mod features;
mod fingerprint;
pub mod fragments;
pub mod groups;
pub mod hamming;
pub mod hash;
pub mod index;
mod keys;
pub mod kind;
mod listing;
mod model;
mod overlap;
pub mod pairs;
pub mod recipe;
mod resources;
mod search;
pub mod simhash;
mod sorted;
pub mod spelling;
mod stop_words;
#[cfg(test)]
mod vectors;
pub mod verify;

pub(crate) use alike::Nearest;
pub use alike::{AlikePair, AlikePairs, Equals};
pub use closeness::Closeness;
#[cfg(feature = "collection")]
pub use collection::{AddRule, Added, Collection, CollectionError, NewItem, StoredItem};
pub use digest::{Digest, Digests, Facts, Fidelity, Shape};
pub use extract::{ExtractError, Shingles, Unit};
pub use features::{Feature, Features, WeightError};
pub use fingerprint::{Fingerprint, FingerprintError, Radius, Width};
pub use hamming::Kernel;
pub use hash::{FeatureHash, HashError};
pub use index::{IndexError, LinearIndex, Match, MutableIndex, StaticIndex};
#[cfg(feature = "collection")]
pub use kind::RecipeText;
#[cfg(feature = "image")]
pub use kind::image::ImageKind;
pub use kind::{
    Asked, Criteria, Digester, Input, Kind, Lookup, Parts, Purpose, Reach, ReadSeek, Reads,
    Registration, Registry, Scale, Settings, Unfit, UsageError,
    hash::HashKind,
    text::{LostWords, TextKind},
};
pub use model::{Learner, Model, ModelError};
pub use pairs::{AllPairs, Pair, Pairs, PairsError, Plan, Workspace, all_pairs};
#[cfg(feature = "image")]
pub use recipe::{ImageMethod, ImagePreset, ImageQuality, ImageRecipe};
pub use recipe::{Preset, Quality, Recipe, RecipeError, Weighting};
pub use resources::Resources;
pub use search::{Compared, Found as SearchFound, Pairs as AllAlike, Recall, Search, Stars};
pub use simhash::simhash;
pub use stop_words::{Language, StopWords, StopWordsError};
pub use verify::{FeatureSet, Level, Measure, Similarity, Verify, VerifyError};
