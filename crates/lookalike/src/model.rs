//! How rare is a feature in other texts?
//!
//! A [`Model`] knows in how many of the texts it was learned from each feature is; it is learned
//! once from a sample of common texts, saved, and opened by everyone who weighs by it. It knows
//! features by their hashes only.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::hash;
use crate::recipe::{Recipe, log2};

/// In how many of some texts each feature is.
///
/// ```
/// use std::sync::Arc;
/// use lookalike::{Learner, Model, Preset, Recipe, Weighting};
///
/// let recipe = Recipe { weights: Weighting::TfIdf, ..Preset::named("words").unwrap().recipe.clone() };
/// let mut learner = Learner::new(&recipe);
/// for text in ["the cat", "the dog", "the end", "a dog"] {
///     learner.add(text);
/// }
/// let model = learner.finish();
/// assert_eq!(model.texts(), 4);
///
/// let mut file = Vec::new();
/// model.write(&mut file).unwrap();
/// assert_eq!(Model::read(file.as_slice()).unwrap(), model);
///
/// let recipe = Recipe { model: Some(Arc::new(model)), ..recipe };
/// assert!(recipe.fingerprint("the cat and the dog").is_some());
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    /// What the features are, as [`Recipe::features_name`] puts it.
    of: String,
    texts: u32,
    /// Features that are in two texts or more, and in how many.
    counts: HashMap<u64, u32>,
    /// Of all the above.
    checksum: u64,
    /// The same, as a cryptographic hash: what tells models apart.
    content: [u64; 2],
}

impl Model {
    fn new(of: String, texts: u32, counts: HashMap<u64, u32>) -> Self {
        let mut model = Self { of, texts, counts, checksum: 0, content: [0; 2] };
        let body = model.body();
        model.checksum = xxh3_64(&body);
        model.content = hash::content(&body);
        model
    }

    /// Learns from the hashes of the features of some items; `of` says what they are, and what recipe
    /// goes with them.
    pub fn of_hashes(of: &str, items: impl IntoIterator<Item = Vec<u64>>) -> Self {
        let (mut count, mut counts) = (0_u32, HashMap::new());
        for mut hashes in items {
            hashes.sort_unstable();
            hashes.dedup();
            hashes.into_iter().for_each(|hash| *counts.entry(hash).or_insert(0) += 1);
            count = count.saturating_add(1);
        }
        counts.retain(|_, count| *count > 1);
        Self::new(of.to_owned(), count, counts)
    }

    /// What tells it from every other model, for the name of a recipe: 16 digits of a hash of all
    /// that it knows.
    pub fn identity(&self) -> String {
        format!("{:016x}", self.content[0].swap_bytes())
    }

    /// How many texts it was learned from.
    pub const fn texts(&self) -> u32 {
        self.texts
    }

    /// What features it knows: `words:1, mix`, for instance.
    pub fn features_name(&self) -> &str {
        &self.of
    }

    /// How rare a feature is: the binary logarithm of texts over texts that have it (both and one),
    /// in units of 1/256. What is in one text or none counts as in one.
    pub(crate) fn rarity(&self, hash: u64) -> i32 {
        let having = self.counts.get(&hash).copied().unwrap_or(1);
        log2(self.texts.saturating_add(1)) - log2(having.saturating_add(1))
    }

    /// Writes it to a file, in place of one that is there.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let mut file = BufWriter::new(File::create(path)?);
        self.write(&mut file)?;
        Ok(file.flush()?)
    }

    /// Reads it from a file.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Self::read(BufReader::new(File::open(path)?))
    }

    /// Writes it.
    pub fn write(&self, mut output: impl Write) -> Result<(), ModelError> {
        output.write_all(MAGIC)?;
        output.write_all(&self.body())?;
        Ok(output.write_all(&self.checksum.to_le_bytes())?)
    }

    /// All but the first and the last bytes of a file, everything little-endian: version, length
    /// of the name, name, texts, features, then each feature's hash and count, by ascending hash.
    fn body(&self) -> Vec<u8> {
        let mut sorted: Vec<_> = self.counts.iter().collect();
        sorted.sort_unstable();
        let mut body = Vec::with_capacity(32 + self.of.len() + 12 * sorted.len());
        body.extend(VERSION.to_le_bytes());
        body.extend((self.of.len() as u32).to_le_bytes());
        body.extend(self.of.as_bytes());
        body.extend(self.texts.to_le_bytes());
        body.extend((sorted.len() as u64).to_le_bytes());
        for (hash, count) in sorted {
            body.extend(hash.to_le_bytes());
            body.extend(count.to_le_bytes());
        }
        body
    }

    /// Reads what [`write`](Self::write) wrote; anything else is refused.
    pub fn read(mut input: impl Read) -> Result<Self, ModelError> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        let rest = bytes.strip_prefix(MAGIC).ok_or(ModelError::NotAModel)?;
        let (body, checksum) = rest.split_last_chunk().ok_or(ModelError::Damaged)?;
        let mut fields = Fields(body);
        match fields.u32()? {
            VERSION => {}
            version => return Err(ModelError::Version { version }),
        }
        if xxh3_64(body) != u64::from_le_bytes(*checksum) {
            return Err(ModelError::Damaged);
        }
        let length = fields.u32()? as usize;
        let of = str::from_utf8(fields.take(length)?).map_err(|_| ModelError::Damaged)?.to_owned();
        let texts = fields.u32()?;
        let features = fields.u64()? as usize;
        let (entries, _) = fields.0.as_chunks::<12>();
        if entries.len() != features || fields.0.len() != 12 * features {
            return Err(ModelError::Damaged);
        }
        let counts = entries.iter().map(|entry| {
            let mut fields = Fields(entry);
            Ok((fields.u64()?, fields.u32()?))
        });
        Ok(Self::new(of, texts, counts.collect::<Result<_, ModelError>>()?))
    }
}

const MAGIC: &[u8; 16] = b"lookalike model\n";

const VERSION: u32 = 1;

/// Numbers one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], ModelError> {
        let (field, rest) = self.0.split_at_checked(length).ok_or(ModelError::Damaged)?;
        self.0 = rest;
        Ok(field)
    }

    fn u32(&mut self) -> Result<u32, ModelError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(ModelError::Damaged)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*field))
    }

    fn u64(&mut self) -> Result<u64, ModelError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(ModelError::Damaged)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*field))
    }
}

/// Models are equal if they know the same.
impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for Model {}

impl Hash for Model {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.content.hash(state);
    }
}

/// Makes a [`Model`] of the texts it is shown.
///
/// It holds every feature it has seen: show it a sample of some thousand texts, not all there are.
#[derive(Clone, Debug)]
pub struct Learner {
    recipe: Recipe,
    texts: u32,
    counts: HashMap<u64, u32>,
    features: Vec<u64>,
}

impl Learner {
    /// Learns about the features of a recipe: its tokens, shingles, stop words, hash and seed.
    pub fn new(recipe: &Recipe) -> Self {
        let recipe = recipe.clone();
        Self { recipe, texts: 0, counts: HashMap::new(), features: Vec::new() }
    }

    /// Looks at one text more.
    pub fn add(&mut self, text: &str) {
        self.features.clear();
        let features = &mut self.features;
        self.recipe.feature_hashes(text, |hash| features.push(hash));
        features.sort_unstable();
        features.dedup();
        for &hash in features.iter() {
            *self.counts.entry(hash).or_insert(0) += 1;
        }
        self.texts = self.texts.saturating_add(1);
    }

    /// What was learned.
    pub fn finish(mut self) -> Model {
        self.counts.retain(|_, &mut count| count >= 2);
        Model::new(self.recipe.features_name(), self.texts, self.counts)
    }
}

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Not one of our files.
    #[error("this is not a corpus model")]
    NotAModel,
    /// A file of another time.
    #[error(
        "this corpus model has format {version}, but this version reads {VERSION}; learn it again"
    )]
    Version {
        /// The format it has.
        version: u32,
    },
    /// Its checksum or its size is wrong.
    #[error("this corpus model is damaged; learn it again")]
    Damaged,
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Preset;

    fn learned() -> Vec<u8> {
        let mut learner = Learner::new(&Preset::named("words").unwrap().recipe);
        ["the cat", "the dog", "the the end"].into_iter().for_each(|text| learner.add(text));
        let mut bytes = Vec::new();
        learner.finish().write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn rarity_is_the_logarithm_of_texts_over_texts_that_have_it() {
        let model = Model::read(learned().as_slice()).unwrap();
        let rarity = |word: &str| model.rarity(crate::FeatureHash::Mix.hash(0, word.as_bytes()));
        assert_eq!(model.texts(), 3);
        assert_eq!([rarity("the"), rarity("cat"), rarity("zebra")], [0, 256, 256]);
    }

    #[test]
    fn every_damaged_or_cut_file_is_refused() {
        let bytes = learned();
        for length in 0..bytes.len() {
            assert!(Model::read(&bytes[..length]).is_err(), "cut at {length}");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            assert!(Model::read(damaged.as_slice()).is_err(), "changed at {place}");
        }
        let error = Model::read(&b"some text that is not a model"[..]).unwrap_err();
        assert_eq!(error.to_string(), "this is not a corpus model");
    }

    #[test]
    fn models_of_equally_many_texts_have_other_identities() {
        let one = Model::read(learned().as_slice()).unwrap();
        let mut learner = Learner::new(&Preset::named("words").unwrap().recipe);
        ["a cat", "a dog", "a a end"].into_iter().for_each(|text| learner.add(text));
        let other = learner.finish();
        assert_eq!((one.texts(), one.features_name()), (other.texts(), other.features_name()));
        assert_ne!(one, other);
        let named = |model: &Model| {
            let recipe = &Preset::named("words").unwrap().recipe;
            Recipe { model: Some(std::sync::Arc::new(model.clone())), ..recipe.clone() }.to_string()
        };
        assert_ne!(named(&one), named(&other));
        assert!(named(&one).contains(&one.identity()), "{}", named(&one));
        assert_eq!(Model::read(learned().as_slice()).unwrap().identity(), one.identity());
    }
}
