//! Finds near-duplicates: texts, images, and everything else that has fingerprints.
//!
//! # The problem
//!
//! A pile of documents or photographs holds copies that are not quite equal. Comparing only 32,000 items
//! exhaustively takes half a billion comparisons. So every item becomes a *digest*: fingerprints of 32 to
//! 256 bits, in which similar items differ little, and the evidence that decides. Searches find all pairs
//! that match without comparing all of them, and say whether the answer is exact.
//!
//! # The pipeline
//!
//! ```text
//! item ─► digest ─► candidates ─► verify ─► pairs or groups
//!           └─────► collection ─► matches
//! ```
//!
//! | step | what happens | where |
//! |---|---|---|
//! | digest | a [`Kind`] turns an item into a [`Digest`] by its [`Recipe`] | [`kind`], [`recipe`], [`extract`], [`digest`] |
//! | candidates, verify | a [`Search`] finds candidates, and the kind judges them | [`search`], [`verify`] |
//! | groups | matching items belong to a keeper | [`search::Stars`], [`groups`] |
//! | collection | a durable, searchable set of digests | [`collection`] |
//! | the engine | exact searches of fingerprints within a radius | [`pairs`], [`index`], [`hamming`] |
//!
//! # Similar texts
//!
//! ```
//! use lookalike::{
//!     Kind, Preset, Resources, Search,
//!     digest::Digests,
//!     kind::{Asked, Input, Purpose, text::TextKind},
//! };
//!
//! let kind = TextKind::of(Preset::named("words")?);
//! let resources = Resources::new();
//! let mut digests = Digests::new(kind.shape(), &resources);
//! let mut digester = kind.digester();
//! for text in [
//!     "The ferry to the island leaves at nine in the morning from the north end of the harbour.",
//!     "Boil the potatoes in their skins, let them cool, and slice them as thin as you can.",
//!     "The ferry to the island leaves at ten in the morning, from the north end of the harbour!",
//! ] {
//!     digests.push(&digester.digest(Input::Text(text))?.0)?;
//! }
//! digests.seal()?;
//!
//! let criteria = kind.criteria(&Asked::default(), Purpose::List)?;
//! let search = Search::new(&kind, &criteria, &resources);
//! let pairs = search.pairs(&digests)?.pairs.to_vec()?;
//! assert_eq!((pairs[0].a, pairs[0].b, pairs.len()), (0, 2, 1));
//!
//! // Which texts can be removed if later ones are preferred? This lists no pairs.
//! let groups = search.stars(&digests, &[2, 1, 0])?.groups;
//! assert_eq!((groups[0].keep, groups[0].members[0].item), (2, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Fingerprints
//!
//! A [`Recipe`] makes fingerprints, and [`AllPairs`] finds all pairs of them within a radius.
//!
//! ```
//! use lookalike::{AllPairs, Preset};
//!
//! let Preset { recipe, radius, .. } = Preset::named("bare")?;
//! let texts = ["red and green and blue", "one two three", "Red, and green, and blue!"];
//! let prints = texts.map(|text| recipe.fingerprint(text).expect("each text has words"));
//!
//! let pairs = AllPairs::new(*radius).run(&prints)?;
//! assert_eq!(pairs.equal_groups().collect::<Vec<_>>(), [[0, 2]]);
//! assert!(pairs.near().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A text without features has no fingerprint; otherwise all empty texts would match. `Fingerprint<4>` is
//! the widest type. [`Fingerprint::resize`] makes narrower ones, with which searches are faster and take
//! less memory: `Fingerprint<1>` for 32 and 64 bits, `Fingerprint<2>` for 128.
//!
//! # Your own features
//!
//! Hash each feature and give it a weight; [`simhash()`] makes a fingerprint of anything that can be
//! listed.
//!
//! ```
//! use lookalike::{features::{Feature, Features}, hash::FeatureHash, simhash};
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
//! # One query at a time
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
//! # Ok::<(), lookalike::index::IndexError>(())
//! ```
//!
//! [`Search::search_batch`](index::Search::search_batch) answers many queries faster than one by one. A
//! [`Collection`] keeps digests with ids in a folder, survives a crash, and verifies what it finds.
//!
//! # Guarantees
//!
//! - **Exact.** A search of fingerprints finds everything within the radius, each pair once. A search of a
//!   kind says whether it is exact, or the recall to expect ([`search::Recall`]). Radii are inclusive.
//! - **Deterministic.** The same input gives the same bits, pairs and order, on every machine, with every
//!   [`Kernel`](hamming::Kernel) and any number of threads. Golden vectors fix the bits; different bits
//!   are a new version of a recipe.
//! - **Quiet.** The library prints nothing, reads no environment, and starts no threads: it uses the rayon
//!   pool that it is called in (`pool.install(|| ...)`).
//!
//! # Limits
//!
//! - A search or an index holds at most [`u32::MAX`] items.
//! - Pairs that [`AllPairs`] finds are in memory, beyond the memory limit of [`Resources`].
//! - A radius of about a quarter of the bits or more is too wide for tables. Fingerprints are then compared
//!   exhaustively, which is fast but quadratic.
//! - Fingerprints of different recipes must never be compared. Store the [`Recipe`] with them.
//!
//! # Cargo features
//!
//! - `collection` (default): durable collections.
//! - `image`: images, from files to matching pairs ([`kind::image`], [`extract::image`]); brings decoders.
//! - `dictionary`: Chinese words from a dictionary, and the preset `keywords`; brings about 5 MB of tables.

mod alike;
mod closeness;
#[cfg(feature = "collection")]
pub mod collection;
mod cosine;
mod cover;
pub mod digest;
mod equal;
pub mod extract;
pub mod features;
pub mod fingerprint;
pub mod fragments;
pub mod groups;
pub mod hamming;
pub mod hash;
pub mod index;
mod keys;
pub mod kind;
mod listing;
pub mod model;
mod overlap;
pub mod pairs;
pub mod recipe;
mod resources;
pub mod search;
pub mod simhash;
mod sorted;
pub mod spelling;
pub mod stop_words;
#[cfg(test)]
mod vectors;
pub mod verify;

pub use closeness::Closeness;
#[cfg(feature = "collection")]
pub use collection::Collection;
pub use digest::{Digest, Facts};
pub use fingerprint::{Fingerprint, Radius, Width};
pub use index::{MutableIndex, StaticIndex};
pub use kind::{Criteria, Kind, Unfit};
pub use pairs::AllPairs;
pub use recipe::{Preset, Recipe};
pub use resources::Resources;
pub use search::{Pairs, Search};
pub use simhash::simhash;
pub use verify::Level;
