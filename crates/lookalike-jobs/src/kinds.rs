//! The kind of the inputs, opened with the options of the command line: translates them to those of
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

/// A kind, opened with the options of a command.
pub struct SelectedKind {
    pub registration: Registration,
    pub kind: Arc<dyn Kind>,
    settings: Settings,
    asked: Asked,
    /// The greatest distance that a collection can be searched within.
    widest: Option<Radius>,
}

/// The options that say how items are compared.
#[derive(Clone, Copy)]
pub struct CompareOptions<'a> {
    pub recipe: &'a RecipeArgs,
    pub verify: VerifyArgs,
    pub images: ImageArgs,
    pub distance: Option<Radius>,
    pub blocks: Option<u32>,
}

impl SelectedKind {
    /// Opens the kind of this name. `others` are further options that only some kinds take, and
    /// whether they are given.
    pub fn new(
        registry: &Registry,
        name: &str,
        compare: CompareOptions<'_>,
        others: &[(&'static str, bool)],
    ) -> Result<Self> {
        let registration = *registry.named(name).map_err(usage_error)?;
        compare.check_options(&registration, others)?;
        let settings = compare.settings()?;
        let kind = Arc::from((registration.open)(&settings).map_err(usage_error)?);
        let VerifyArgs { level, similarity, exact, recall, .. } = compare.verify;
        let reach = reach(exact, recall);
        let CompareOptions { distance, blocks, .. } = compare;
        let asked = Asked { level, similarity, distance, reach, blocks, ..Asked::default() };
        Ok(Self { registration, kind, settings, asked, widest: None })
    }

    /// The kind of a collection. The collection fixes how items are compared; each search sets how
    /// close they must be.
    pub fn of_collection(
        registry: &Registry,
        collection: &Collection,
        verify: VerifyArgs,
        images: ImageArgs,
        distance: Option<Radius>,
    ) -> Result<Self> {
        let kind = collection.shared_kind();
        let registration = *registry.named(kind.name()).map_err(usage_error)?;
        let VerifyArgs { level, similarity, measure, no_verify, exact, recall } = verify;
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
                "--{0}: the collection fixes how its {1} are compared; omit --{0}",
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

    /// The same, with digests that match in any orientation, if the kind supports it.
    pub fn in_any_orientation(mut self) -> Result<Self> {
        if self.registration.options.contains(&"orientations") {
            self.settings.orientations = true;
            self.kind = Arc::from((self.registration.open)(&self.settings).map_err(usage_error)?);
        }
        Ok(self)
    }

    /// The same for the width of the input fingerprints, if the inputs are fingerprints.
    pub fn of_width(mut self, width: Option<Width>) -> Result<Self> {
        if width.is_some() {
            self.settings.bits = width;
            self.kind = Arc::from((self.registration.open)(&self.settings).map_err(usage_error)?);
        }
        Ok(self)
    }

    /// The same for vectors of as many dimensions as the inputs have, if they are such.
    pub fn of_dimensions(mut self, dimensions: Option<u32>) -> Result<Self> {
        if dimensions.is_some() {
            self.settings.dimensions = dimensions;
            self.kind = Arc::from((self.registration.open)(&self.settings).map_err(usage_error)?);
        }
        Ok(self)
    }

    /// When two items match, for this purpose.
    pub fn criteria(&self, purpose: Purpose) -> Result<Criteria> {
        let mut by = self.kind.criteria(&self.asked, purpose).map_err(usage_error)?;
        let is_asked = self.asked.distance.is_some() || self.asked.level.is_some();
        if let Some(widest) = self.widest.filter(|_| !is_asked) {
            // By default, everything that a collection can find is listed.
            let is_listed = purpose == Purpose::List || !self.kind.scale(&by, &by).has_levels();
            let narrowest = by.distance.map_or(widest, |usual| usual.min(widest));
            by.distance = Some(if is_listed { widest } else { narrowest });
        }
        Ok(by)
    }
}

impl<'a> From<&'a RecipeArgs> for CompareOptions<'a> {
    fn from(recipe: &'a RecipeArgs) -> Self {
        let (verify, images) = (VerifyArgs::default(), ImageArgs::default());
        Self { recipe, verify, images, distance: None, blocks: None }
    }
}

impl CompareOptions<'_> {
    /// How items become digests.
    pub fn settings(&self) -> Result<Settings> {
        let RecipeArgs { recipe, features, stop_words, weights, model, top, hash, seed, bits } =
            self.recipe;
        let VerifyArgs { level, similarity, measure, no_verify, .. } = self.verify;
        let is_asked = level.is_some() || similarity.is_some() || measure.is_some();
        let verify = if no_verify { Some(false) } else { is_asked.then_some(true) };
        Ok(Settings {
            recipe: recipe.clone(),
            features: *features,
            stop_words: stop_words.as_deref().map(read_stop_words).transpose()?,
            weights: *weights,
            model: model.as_deref().map(read_model).transpose()?,
            top: *top,
            hash: *hash,
            seed: *seed,
            bits: *bits,
            dimensions: None,
            measure,
            verify,
            orientations: self.images.orientations,
            partial: self.images.matching == Matching::Partial,
        })
    }

    /// Fails if an option does not apply to this kind.
    fn check_options(&self, kind: &Registration, others: &[(&'static str, bool)]) -> Result<()> {
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
            ("no-verify", no_verify),
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
            "--{name} does not apply to {items}, which take {takes}; if the input is not {items}, set --kind"
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

/// A usage error, with the option as the command line spells it.
pub fn usage_error(error: UsageError) -> anyhow::Error {
    let UsageError { option, message } = error;
    if option.is_empty() { anyhow!(message) } else { anyhow!("--{option}{message}") }
}

/// Stop words by language, or from a file.
fn read_stop_words(list: &str) -> Result<StopWords> {
    if list == "none" {
        return Ok(StopWords::NONE);
    }
    let path = Path::new(list);
    if !path.is_file() {
        return list.parse().with_context(|| {
            format!("--stop-words {list}: not a file, and not a list of languages")
        });
    }
    let text = fs::read_to_string(path).with_context(|| format!("--stop-words {list}"))?;
    Ok(StopWords::own(&text))
}

pub fn read_model(path: &Path) -> Result<Arc<Model>> {
    let model = Model::open(path).with_context(|| format!("--model {}", path.display()))?;
    Ok(Arc::new(model))
}
