//! Texts, which match if they share enough of their words and pairs of neighbouring words.
//!
//! | file | what is there |
//! |---|---|
//! | `digest.rs` | the digest of a text |
//! | `lost.rs` | words of removed texts that no kept text has |
//! | `stored.rs` | the stored form of the kind |

mod digest;
mod lost;
#[cfg(feature = "collection")]
mod stored;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use super::{
    Asked, Criteria, Digester, Kind, Lookup, Purpose, Reads, Registration, Scale, Settings,
    UsageError, hash::check_distance,
};
use crate::{
    Closeness, Level, Preset, Radius, Recipe,
    digest::{DigestRef, Digests, Shape},
    pairs::PairsError,
    recipe::RecipeError,
    verify::{Measure, Similarity, Verify},
};
pub use lost::LostWords;

/// Texts of one recipe.
///
/// If contents are compared, feature sets decide, and a distance is an additional condition. Otherwise
/// fingerprints decide. Texts with fewer than two distinct features match only if their sequences of
/// normalised words are equal.
///
/// ```
/// use lookalike::{
///     Kind, Preset, Resources, Search, digest::Digests,
///     kind::{Asked, Input, Purpose, text::TextKind},
/// };
///
/// let kind = TextKind::of(Preset::named("words")?);
/// let resources = Resources::new();
/// let mut digests = Digests::new(kind.shape(), &resources);
/// let mut digester = kind.digester();
/// for text in [
///     "The ferry to the island leaves at nine in the morning from the north end of the harbour.",
///     "Boil the potatoes in their skins, let them cool, and slice them as thin as you can.",
///     "The ferry to the island leaves at ten in the morning, from the north end of the harbour!",
/// ] {
///     digests.push(&digester.digest(Input::Text(text))?.0)?;
/// }
/// digests.seal()?;
///
/// let by = kind.criteria(&Asked::default(), Purpose::List)?;
/// let search = Search::new(&kind, &by, &resources);
/// let pairs = search.pairs(&digests)?.pairs.to_vec()?;
/// assert_eq!((pairs[0].a, pairs[0].b, pairs.len()), (0, 2, 1));
/// assert!(pairs[0].closeness.similarity.unwrap() > 0.8);
///
/// // Which texts can be removed if later ones are preferred? This lists no pairs.
/// let groups = search.stars(&digests, &[2, 1, 0])?.groups;
/// assert_eq!((groups[0].keep, groups[0].members[0].item), (2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextKind {
    recipe: Recipe,
    /// What is compared of two texts, and how similar they are at least, unless the caller says
    /// otherwise; fingerprints decide if there is nothing.
    verify: Option<Verify>,
    /// Within how many bits texts are alike if their fingerprints decide.
    radius: Radius,
}

/// Texts less similar than this are listed, but none of them is removed unless the user says so.
const ACTING: Level = Level::Near;

impl TextKind {
    /// Texts among all kinds.
    pub const REGISTRATION: Registration = Registration {
        name: "text",
        items: "texts",
        reads: Reads::Records,
        options: &[
            "recipe",
            "features",
            "stop-words",
            "weights",
            "model",
            "top",
            "hash",
            "seed",
            "bits",
            "level",
            "similarity",
            "measure",
            "no-verify",
            "exact",
            "recall",
            "distance",
            "field",
            "id",
            "lines",
            "format",
            "html",
            "markup",
            "follow-links",
            "report",
        ],
        keep: "longest",
        open: |settings| Ok(Box::new(Self::open(settings)?)),
        #[cfg(feature = "collection")]
        reopen: |text| Some(std::sync::Arc::new(Self::from_stored(text)?)),
    };

    /// Texts by a preset and what a caller changed in it.
    pub fn open(settings: &Settings) -> Result<Self, UsageError> {
        let preset = match &settings.recipe {
            None => &Preset::ALL[0],
            Some(name) => Preset::named(name).map_err(|error| wrong_recipe(name, &error))?,
        };
        let recipe = recipe_of(preset, settings)?;
        recipe.check().map_err(|error| wrong_model(&error))?;
        // A preset's radius is a share of its bits.
        let share = preset.radius.bits() * recipe.width.bits() / preset.recipe.width.bits();
        let verify = match settings.verify {
            Some(false) => None,
            Some(true) => Some(preset.verify.unwrap_or(Verify::DEFAULT)),
            None => preset.verify,
        };
        let verify = verify
            .map(|verify| Verify { measure: settings.measure.unwrap_or(verify.measure), ..verify });
        Ok(Self { recipe, verify, radius: Radius::new(share) })
    }

    /// Texts by a preset.
    pub fn of(preset: &Preset) -> Self {
        Self { recipe: preset.recipe.clone(), verify: preset.verify, radius: preset.radius }
    }

    /// Texts by a recipe. What `verify` says is compared; if there is nothing, fingerprints decide, and
    /// are near within `radius`.
    pub fn new(
        recipe: Recipe,
        verify: Option<Verify>,
        radius: Radius,
    ) -> Result<Self, RecipeError> {
        recipe.check()?;
        Ok(Self { recipe, verify, radius })
    }

    /// The recipe of its fingerprints.
    pub fn text_recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// What is compared of two texts.
    pub fn verify(&self) -> Option<Verify> {
        self.verify
    }

    /// The same with the least similarity of the criteria.
    fn verify_by(&self, by: &Criteria) -> Option<Verify> {
        let verify = self.verify?;
        Some(Verify { similarity: by.similarity.unwrap_or(verify.similarity), ..verify })
    }

    fn similarity(&self, usual: Similarity, asked: &Asked, purpose: Purpose) -> Similarity {
        let said = asked.level.map(Level::similarity).or(asked.similarity);
        let listed = said.unwrap_or(usual);
        let acting = ACTING.similarity();
        match purpose {
            Purpose::List => listed,
            Purpose::Look => {
                if usual < listed {
                    usual
                } else {
                    listed
                }
            }
            Purpose::Act => {
                if said.is_some() || listed > acting {
                    listed
                } else {
                    acting
                }
            }
        }
    }

    /// Texts of which one has too little to be compared: the same content or nothing.
    fn judge_short(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness> {
        if a.is_empty() || b.is_empty() {
            return None;
        }
        if a.key().is_some() && a.key() == b.key() {
            return Some(self.equal(by));
        }
        let everything = by.similarity == Some(Similarity::ZERO)
            || by.similarity.is_none() && by.distance.is_none();
        let distance = a.distance(&b);
        let is_within = |radius: Radius| distance.is_some_and(|bits| radius.contains(bits));
        let is_alike = everything && by.distance.is_none_or(is_within);
        is_alike.then(|| match self.verify {
            Some(_) => Closeness::similar(distance, 0.0),
            None => Closeness { distance, ..Closeness::default() },
        })
    }
}

/// The preset's recipe with what a caller changed in it.
pub fn recipe_of(preset: &Preset, settings: &Settings) -> Result<Recipe, UsageError> {
    let base = &preset.recipe;
    let mut recipe = Recipe {
        features: settings.features.unwrap_or(base.features),
        stop_words: settings.stop_words.clone().unwrap_or_else(|| base.stop_words.clone()),
        weights: settings.weights.unwrap_or(base.weights),
        model: settings.model.clone(),
        top: settings.top.map_or(base.top, NonZeroU32::new),
        hash: settings.hash.unwrap_or(base.hash),
        seed: settings.seed.unwrap_or(base.seed),
        width: settings.bits.unwrap_or(base.width),
        ..base.clone()
    };
    let check = recipe.hash.check_seed(recipe.seed);
    check.map_err(|error| UsageError::new("seed", format!(": {error}")))?;
    if (Recipe { model: None, ..recipe.clone() }) != *base {
        recipe.name = "own".into();
    }
    Ok(recipe)
}

fn wrong_recipe(name: &str, error: &RecipeError) -> UsageError {
    #[cfg(feature = "image")]
    if crate::recipe::ImagePreset::named(name).is_ok() {
        return UsageError::new("recipe", format!(" {name} is for images, but these are texts"));
    }
    UsageError::new("recipe", format!(" {name}: {error}"))
}

fn wrong_model(error: &RecipeError) -> UsageError {
    match error {
        RecipeError::NoModel { .. } => UsageError::new(
            "",
            format!("{error}; make one with lookalike recipes learn, and name it with --model"),
        ),
        RecipeError::OtherModel { .. } => {
            UsageError::new("model", format!(": {error}; learn one with this recipe"))
        }
        error => UsageError::new("", error.to_string()),
    }
}

impl Kind for TextKind {
    fn name(&self) -> &'static str {
        "text"
    }

    fn recipe(&self) -> String {
        self.recipe.to_string()
    }

    fn shape(&self) -> Shape {
        Shape { width: self.recipe.width, prints: 1, is_bare: false }
    }

    fn digester(&self) -> Box<dyn Digester + '_> {
        Box::new(digest::TextDigester::new(self))
    }

    fn criteria(&self, asked: &Asked, purpose: Purpose) -> Result<Criteria, UsageError> {
        if asked.level == Some(Level::Part) {
            let message =
                " part is for images; texts that contain each other: --measure containment";
            return Err(UsageError::new("level", message));
        }
        if asked.blocks.is_some() {
            let message =
                " is for fingerprints; how texts are found is chosen by cost, so leave it out";
            return Err(UsageError::new("blocks", message));
        }
        let similarity =
            self.verify.map(|verify| self.similarity(verify.similarity, asked, purpose));
        // Where contents decide, bits count only if the user says so.
        let distance =
            asked.distance.or(if self.verify.is_some() { None } else { Some(self.radius) });
        if let Some(distance) = distance {
            check_distance(distance, self.recipe.width)?;
        }
        Ok(Criteria { similarity, distance, reach: asked.reach, ..Criteria::default() })
    }

    fn lookups(&self, by: &Criteria) -> Vec<Lookup> {
        let widest = Radius::new(self.recipe.width.bits());
        match self.verify_by(by) {
            Some(verify) if verify.similarity == Similarity::ZERO => vec![Lookup::Every],
            Some(verify) => vec![Lookup::Overlap { verify, reach: by.reach }],
            None if by.distance.is_none() => vec![Lookup::Every],
            None => {
                vec![Lookup::Near {
                    radius: by.distance.unwrap_or(widest),
                    turned: false,
                    decides: true,
                }]
            }
        }
    }

    fn judge(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness> {
        if a.key().is_some() || b.key().is_some() {
            return self.judge_short(by, a, b);
        }
        let distance = a.distance(&b)?;
        if by.distance.is_some_and(|radius| !radius.contains(distance)) {
            return None;
        }
        match self.verify_by(by) {
            Some(verify) => {
                let similarity = verify.enough(a.set(), b.set(), by.kernel)?;
                Some(Closeness::similar(distance, similarity))
            }
            None => Some(Closeness::within(distance)),
        }
    }

    fn equal(&self, _by: &Criteria) -> Closeness {
        self.verify.map_or(Closeness::within(0), |_| Closeness::similar(0, 1.0))
    }

    fn usual_distance(&self) -> Radius {
        self.radius
    }

    fn scale(&self, acting: &Criteria, _looking: &Criteria) -> Scale {
        match self.verify_by(acting) {
            Some(verify) => Scale::Similarity {
                least: verify.similarity.get(),
                levels: Level::WHOLE.map(|level| (level, level.similarity().get())).into(),
            },
            None => {
                Scale::Distance { widest: acting.distance.map_or(0, Radius::bits), levels: vec![] }
            }
        }
    }

    fn words(&self, by: &Criteria) -> String {
        let bits = self.recipe.width.bits();
        let near = by.distance.map(|most| format!("distance <= {most} of {bits} bits"));
        let similar = self.verify_by(by).map(|verify| verify.to_string());
        similar.into_iter().chain(near).collect::<Vec<_>>().join(" and ")
    }

    fn notes(&self, by: &Criteria) -> Vec<String> {
        let verify = self.verify_by(by).filter(|_| by.distance.is_none());
        let verify = verify.filter(|_| self.recipe.name == "own");
        let note = |verify: Verify| {
            format!(
                "note: texts are compared by {verify}; --features, --bits and the like only change \
                 fingerprints, which decide with --no-verify or --distance"
            )
        };
        verify.map(note).into_iter().collect()
    }

    #[cfg(feature = "collection")]
    fn stored(&self) -> super::RecipeText {
        self.to_stored()
    }

    fn lost_words(
        &self,
        digests: &Digests,
        is_removed: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Option<LostWords>, PairsError> {
        match self.verify {
            Some(Verify { measure, features, .. }) => {
                let mark = match (measure, features.size.get()) {
                    (_, 1) => lost::Mark::Every,
                    (Measure::Mixed, _) => lost::Mark::Twice,
                    _ => return Ok(None),
                };
                lost::words(digests, mark, is_removed).map(Some)
            }
            None => Ok(None),
        }
    }
}
