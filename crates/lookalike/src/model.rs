//! Corpus models: how rare a feature is in other texts.
//!
//! A [`Model`] counts the texts that contain each feature. It is learned once from a sample of common
//! texts, saved, and used by every recipe that weights by rarity. Features are known by their hashes.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::hash;
use crate::recipe::{Recipe, log2};

/// The number of texts that contain each feature, in some sample.
///
/// ```
/// use std::sync::Arc;
/// use lookalike::{Preset, Recipe, model::{Learner, Model}, recipe::Weighting};
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
    /// The name of the features, from [`Recipe::features_name`].
    of: String,
    texts: u32,
    /// Features in two texts or more, with the number of these texts.
    counts: HashMap<u64, u32>,
    /// A checksum of all fields above.
    checksum: u64,
    /// A cryptographic hash of the same, which identifies the model.
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

    /// Learns from the hashes of the features of some items. `of` names the features, and so the
    /// recipes that can use the model.
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

    /// The identity of the model: 16 hexadecimal digits of a hash of its content.
    pub fn identity(&self) -> String {
        format!("{:016x}", self.content[0].swap_bytes())
    }

    /// The number of texts it was learned from.
    pub const fn texts(&self) -> u32 {
        self.texts
    }

    /// The name of its features, such as `words:1, mix`.
    pub fn features_name(&self) -> &str {
        &self.of
    }

    /// The rarity of a feature: the binary logarithm of (texts + 1) / (texts with the feature + 1), in
    /// units of 1/256. A feature in no text counts as in one.
    pub(crate) fn rarity(&self, hash: u64) -> i32 {
        let having = self.counts.get(&hash).copied().unwrap_or(1);
        log2(self.texts.saturating_add(1)) - log2(having.saturating_add(1))
    }

    /// Writes the model to a file; an existing file is replaced.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let mut file = BufWriter::new(File::create(path)?);
        self.write(&mut file)?;
        Ok(file.flush()?)
    }

    /// Reads a model from a file.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Self::read(BufReader::new(File::open(path)?))
    }

    /// Writes the model.
    pub fn write(&self, mut output: impl Write) -> Result<(), ModelError> {
        output.write_all(MAGIC)?;
        output.write_all(&self.body())?;
        Ok(output.write_all(&self.checksum.to_le_bytes())?)
    }

    /// All of a file except its magic number and checksum, little-endian: version, length of the name,
    /// name, number of texts, number of features, then the hash and count of each feature, by ascending
    /// hash.
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

    /// Reads what [`write`](Self::write) wrote; anything else is an error.
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

/// Reads consecutive numbers.
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

/// Models are equal if their contents are.
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

/// Learns a [`Model`] from texts.
///
/// Memory grows with the number of distinct features; a sample of some thousand texts is enough.
#[derive(Clone, Debug)]
pub struct Learner {
    recipe: Recipe,
    texts: u32,
    counts: HashMap<u64, u32>,
    features: Vec<u64>,
}

impl Learner {
    /// Learns the features of a recipe, which depend on its tokens, shingles, stop words, hash and
    /// seed.
    pub fn new(recipe: &Recipe) -> Self {
        let recipe = recipe.clone();
        Self { recipe, texts: 0, counts: HashMap::new(), features: Vec::new() }
    }

    /// Adds a text.
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

    /// The model of all texts added.
    pub fn finish(mut self) -> Model {
        self.counts.retain(|_, &mut count| count >= 2);
        Model::new(self.recipe.features_name(), self.texts, self.counts)
    }
}

/// Why a model cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file is something else.
    #[error("this is not a corpus model")]
    NotAModel,
    /// The file has another version of the format.
    #[error(
        "this corpus model has format {version}, but this version reads {VERSION}; learn it again"
    )]
    Version {
        /// The version of the file.
        version: u32,
    },
    /// The checksum or the size is wrong.
    #[error("this corpus model is damaged; learn it again")]
    Damaged,
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;
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
        let rarity = |word: &str| model.rarity(mix(word.as_bytes()));
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
