//! Which kind do the inputs hold, and what was asked of it? Options of the command line become those of
//! the library, once for all kinds.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context, Result, anyhow, bail};
use lookalike::{
    Collection, Criteria, Kind, Radius, Width,
    kind::{Asked, Purpose, Reach, Registration, Registry, Settings, UsageError},
    model::Model,
    stop_words::StopWords,
};

use crate::args::{ImageArgs, Matching, RecipeArgs, VerifyArgs};

/// A kind that is open, and what was asked of it.
pub struct Chosen {
    pub registration: Registration,
    pub kind: Arc<dyn Kind>,
    settings: Settings,
    asked: Asked,
    /// The widest distance that a collection can be searched within, if it decides.
    widest: Option<Radius>,
}

/// What a command says of how items are compared.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    pub recipe: &'a RecipeArgs,
    pub verify: &'a VerifyArgs,
    pub images: ImageArgs,
    pub distance: Option<Radius>,
    pub blocks: Option<u32>,
}

impl Chosen {
    /// The kind of this name, as it was asked for. `others` are options that only some kinds take, and
    /// whether they were given.
    pub fn new(
        registry: &Registry,
        name: &str,
        choice: Choice<'_>,
        others: &[(&'static str, bool)],
    ) -> Result<Self> {
        let registration = *registry.named(name).map_err(usage)?;
        choice.refuse(&registration, others)?;
        let settings = choice.settings()?;
        let kind = Arc::from((registration.open)(&settings).map_err(usage)?);
        let VerifyArgs { level, similarity, exact, recall, .. } = *choice.verify;
        let reach = reach(exact, recall);
        let Choice { distance, blocks, .. } = choice;
        let asked = Asked { level, similarity, distance, reach, blocks, ..Asked::default() };
        Ok(Self { registration, kind, settings, asked, widest: None })
    }

    /// The kind of a collection, which decides how items are compared; how close they must be is asked
    /// of every search.
    pub fn of_collection(
        registry: &Registry,
        collection: &Collection,
        verify: &VerifyArgs,
        images: ImageArgs,
        distance: Option<Radius>,
    ) -> Result<Self> {
        let kind = collection.shared_kind();
        let registration = *registry.named(kind.name()).map_err(usage)?;
        let VerifyArgs { level, similarity, measure, no_verify, exact, recall } = *verify;
        let options = registration.options;
        let given = [
            ("level", level.is_some()),
            ("similarity", similarity.is_some()),
            ("orientations", images.orientations),
            ("match", images.matching != Matching::Whole),
        ];
        if let Some((name, _)) = given.iter().find(|(name, is)| *is && !options.contains(name)) {
            bail!("--{name} does not apply to {}", registration.items);
        }
        if measure.is_some() || no_verify {
            bail!(
                "--{}: the collection decides how its {} are compared; leave it out",
                if no_verify { "no-verify" } else { "measure" },
                registration.items
            );
        }
        let parts = images.matching == Matching::Partial;
        let asked = Asked {
            level,
            similarity,
            distance,
            reach: reach(exact, recall),
            blocks: None,
            turned: Some(images.orientations || parts),
            parts: Some(parts),
        };
        let widest = collection.widest().distance;
        Ok(Self { registration, kind, settings: Settings::default(), asked, widest })
    }

    /// The same for digests by which items are found however they are turned, if the kind knows of that.
    pub fn in_any_orientation(mut self) -> Result<Self> {
        if self.registration.options.contains(&"orientations") {
            self.settings.orientations = true;
            self.kind = Arc::from((self.registration.open)(&self.settings).map_err(usage)?);
        }
        Ok(self)
    }

    /// The same for fingerprints of the width that the inputs have, if they are such.
    pub fn of_width(mut self, width: Option<Width>) -> Result<Self> {
        if width.is_some() {
            self.settings.bits = width;
            self.kind = Arc::from((self.registration.open)(&self.settings).map_err(usage)?);
        }
        Ok(self)
    }

    /// The same for vectors of as many dimensions as the inputs have, if they are such.
    pub fn of_dimensions(mut self, dimensions: Option<u32>) -> Result<Self> {
        if dimensions.is_some() {
            self.settings.dimensions = dimensions;
            self.kind = Arc::from((self.registration.open)(&self.settings).map_err(usage)?);
        }
        Ok(self)
    }

    /// When items are alike, for this purpose.
    pub fn criteria(&self, purpose: Purpose) -> Result<Criteria> {
        let mut by = self.kind.criteria(&self.asked, purpose).map_err(usage)?;
        let is_asked = self.asked.distance.is_some() || self.asked.level.is_some();
        if let Some(widest) = self.widest.filter(|_| !is_asked) {
            // Unless the user says otherwise, everything that a collection can find is listed.
            let is_listed = purpose == Purpose::List || !self.kind.scale(&by, &by).has_levels();
            let narrowest = by.distance.map_or(widest, |usual| usual.min(widest));
            by.distance = Some(if is_listed { widest } else { narrowest });
        }
        Ok(by)
    }
}

impl Choice<'_> {
    /// How items are to be taken apart.
    pub fn settings(&self) -> Result<Settings> {
        let RecipeArgs { recipe, features, stop_words, weights, model, top, hash, seed, bits } =
            self.recipe;
        let VerifyArgs { level, similarity, measure, no_verify, .. } = self.verify;
        let is_asked = level.is_some() || similarity.is_some() || measure.is_some();
        let verify = if *no_verify { Some(false) } else { is_asked.then_some(true) };
        Ok(Settings {
            recipe: recipe.clone(),
            features: *features,
            stop_words: stop_words.as_deref().map(words).transpose()?,
            weights: *weights,
            model: model.as_deref().map(read_model).transpose()?,
            top: *top,
            hash: *hash,
            seed: *seed,
            bits: *bits,
            dimensions: None,
            measure: *measure,
            verify,
            orientations: self.images.orientations,
            partial: self.images.matching == Matching::Partial,
        })
    }

    /// Refuses options that say nothing of this kind.
    fn refuse(&self, kind: &Registration, others: &[(&'static str, bool)]) -> Result<()> {
        let RecipeArgs { recipe, features, stop_words, weights, model, top, hash, seed, bits } =
            self.recipe;
        let VerifyArgs { level, similarity, measure, no_verify, .. } = self.verify;
        let given = [
            ("recipe", recipe.is_some()),
            ("features", features.is_some()),
            ("stop-words", stop_words.is_some()),
            ("weights", weights.is_some()),
            ("model", model.is_some()),
            ("top", top.is_some()),
            ("hash", hash.is_some()),
            ("seed", seed.is_some()),
            ("bits", bits.is_some()),
            ("level", level.is_some()),
            ("similarity", similarity.is_some()),
            ("measure", measure.is_some()),
            ("no-verify", *no_verify),
            ("orientations", self.images.orientations),
            ("match", self.images.matching != Matching::Whole),
            ("distance", self.distance.is_some()),
            ("blocks", self.blocks.is_some()),
        ];
        let refused = given
            .iter()
            .chain(others)
            .find(|(name, is_given)| *is_given && !kind.options.contains(name));
        let Some((name, _)) = refused else { return Ok(()) };
        let takes = ["recipe", "level", "similarity", "distance", "bits"];
        let takes = takes.iter().filter(|name| kind.options.contains(name));
        let takes: Vec<_> = takes.map(|name| format!("--{name}")).collect();
        let (items, takes) = (kind.items, takes.join(", "));
        bail!(
            "--{name} does not apply to {items}, which take {takes}; if these are not {items}, set --kind"
        )
    }
}

fn reach(exact: bool, recall: Option<f64>) -> Reach {
    match (exact, recall) {
        (true, _) => Reach::Exact,
        (false, Some(recall)) => Reach::Recall(recall),
        (false, None) => Reach::Declared,
    }
}

/// An option that makes no sense, as the command line spells it.
pub fn usage(error: UsageError) -> anyhow::Error {
    let UsageError { option, message } = error;
    if option.is_empty() { anyhow!(message) } else { anyhow!("--{option}{message}") }
}

/// Stop words by language, or from a file.
pub fn words(list: &str) -> Result<StopWords> {
    if list == "none" {
        return Ok(StopWords::NONE);
    }
    let path = Path::new(list);
    if !path.is_file() {
        return list.parse().with_context(|| format!("--stop-words: no file {list}, and"));
    }
    let text = fs::read_to_string(path).with_context(|| format!("--stop-words {list}"))?;
    Ok(StopWords::own(&text))
}

/// A model from its file.
pub fn read_model(path: &Path) -> Result<Arc<Model>> {
    let model = Model::open(path).with_context(|| format!("--model {}", path.display()))?;
    Ok(Arc::new(model))
}
