//! Images, which match if their fingerprints are near, in any orientation on request, or if they show
//! parts of each other.
//!
//! | file | what is there |
//! |---|---|
//! | `digest.rs` | the digest of an image |
//! | `parts.rs` | whether two images show parts of each other |
//! | `stored.rs` | the stored form of the kind |

mod digest;
mod parts;
#[cfg(feature = "collection")]
mod stored;
#[cfg(test)]
pub(crate) mod tests;

use super::{
    Asked, Criteria, Digester, Kind, Lookup, Purpose, Reads, Registration, Scale, Settings,
    UsageError, hash::check_distance,
};
use std::sync::Arc;

use crate::{
    Closeness, Level, Preset, Radius,
    digest::{DigestRef, Shape, distance},
    extract::image::{Limits, Orientation},
    model::Model,
    recipe::{ImageMethod, ImagePreset, ImageRecipe, RecipeError},
};
pub(crate) use digest::Extra;
use digest::ImageDigester;
pub use digest::PARTS_VERSION;

/// Images, taken apart by one recipe.
///
/// Two images are alike if their fingerprints are within the distance, upright or, if asked for, in
/// any of eight orientations: the least distance counts, whichever of the two is turned. Files whose
/// further frames or pages do not agree are similar at most. Images without a fingerprint (too flat,
/// too small) are alike only files of the same bytes.
///
/// ```
/// use lookalike::{
///     Kind, Resources, Search, digest::Digests, kind::{Asked, Input, Purpose, image::ImageKind},
///     recipe::ImagePreset,
/// };
/// use lookalike::extract::image::{Image, Pixels};
///
/// // Two images of hills, one of them darker, and one of something else.
/// let hills = |x: f32, y: f32| (x / 9.0).sin() * 50.0 + (y / 7.0 + x / 31.0).cos() * 60.0 + 120.0;
/// let paint = |colour: &dyn Fn(f32, f32) -> f32| {
///     let bytes = (0..100 * 100).map(|at| colour((at % 100) as f32, (at / 100) as f32) as u8);
///     Image::of_pixels(Pixels::gray(100, 100, bytes.collect()).unwrap())
/// };
/// let images = [
///     paint(&hills),
///     paint(&|x, y| hills(y, x * x / 90.0)),
///     paint(&|x, y| hills(x, y) * 0.8),
/// ];
///
/// let kind = ImageKind::of(ImagePreset::named("pdq")?);
/// let resources = Resources::new();
/// let mut digests = Digests::new(kind.shape(), &resources);
/// for image in &images {
///     digests.push(&kind.digester().digest(Input::Image(image))?.0)?;
/// }
/// digests.seal()?;
/// let by = kind.criteria(&Asked::default(), Purpose::List)?;
/// let pairs = Search::new(&kind, &by, &resources).pairs(&digests)?.pairs.to_vec()?;
/// assert_eq!(pairs.iter().map(|pair| (pair.a, pair.b)).collect::<Vec<_>>(), [(0, 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageKind {
    recipe: ImageRecipe,
    preset: &'static ImagePreset,
    orientations: bool,
    partial: bool,
    limits: Limits,
}

impl ImageKind {
    /// Images among all kinds.
    pub const REGISTRATION: Registration = Registration {
        name: "image",
        items: "images",
        reads: Reads::Files,
        options: &[
            "recipe",
            "model",
            "level",
            "distance",
            "orientations",
            "match",
            "cache",
            "follow-links",
            "report",
        ],
        keep: "best",
        open: |settings| Ok(Box::new(Self::open(settings)?)),
        #[cfg(feature = "collection")]
        reopen: |text| Some(Arc::new(Self::from_stored(text)?)),
    };

    /// Images by a preset and what a caller changed in it.
    pub fn open(settings: &Settings) -> Result<Self, UsageError> {
        let preset = match &settings.recipe {
            None => &ImagePreset::ALL[0],
            Some(name) => ImagePreset::named(name).map_err(|error| wrong_recipe(name, &error))?,
        };
        let model = settings.model.as_ref().map(|model| fitting(model, preset)).transpose()?;
        let recipe = ImageRecipe { model, ..preset.recipe.clone() };
        let turned = settings.orientations || settings.partial;
        Self::of(preset).recipe(recipe).orientations(turned).partial(settings.partial)
    }

    /// Whole images by a preset, upright.
    pub fn of(preset: &'static ImagePreset) -> Self {
        let recipe = preset.recipe.clone();
        let (orientations, partial) = (false, false);
        Self { recipe, preset, orientations, partial, limits: Limits::default() }
    }

    /// The same by a recipe that differs from its preset in its model.
    #[must_use]
    pub fn recipe(mut self, recipe: ImageRecipe) -> Self {
        self.recipe = recipe;
        self
    }

    /// Turned and mirrored images count, too.
    #[must_use]
    pub fn orientations(mut self, orientations: bool) -> Self {
        self.orientations = orientations;
        self
    }

    /// Digests keep parts, by which cropped, framed and captioned images are found: takes several times
    /// as long. `Err` for recipes that cannot.
    pub fn partial(mut self, partial: bool) -> Result<Self, UsageError> {
        if partial && self.recipe.method != ImageMethod::Pdq {
            let message = " partial goes with --recipe pdq; leave --recipe out";
            return Err(UsageError::new("match", message));
        }
        self.partial = partial;
        Ok(self)
    }

    /// How much decoding one image may cost.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The recipe of its fingerprints.
    pub fn image_recipe(&self) -> &ImageRecipe {
        &self.recipe
    }

    /// The distance of two images, and how the second one must be turned to lie as the first does.
    pub fn orientation(&self, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<(u32, Orientation)> {
        let upright = a.distance(&b)?;
        // Turning one image is not the same as turning the other back: bits depend on a median, which
        // moves when frequencies change their sign.
        let turned = |still: DigestRef<'_>, turned: DigestRef<'_>| {
            let still = still.print(0)?;
            let all = (0..turned.prints()).filter_map(|number| turned.print(number));
            all.map(|print| distance(still, print)).zip(Orientation::ALL).min()
        };
        let second = turned(a, b);
        let first = turned(b, a).map(|(distance, turned)| (distance, turned.inverse()));
        let nearest = second.into_iter().chain(first).min();
        let upright = (upright, Orientation::UPRIGHT);
        nearest.into_iter().chain([upright]).min_by_key(|near| near.0)
    }

    /// The distance of two whole images. Those whose further frames do not agree are no nearer than
    /// similar.
    fn distance(
        &self,
        by: &Criteria,
        a: DigestRef<'_>,
        b: DigestRef<'_>,
        extras: &[Extra; 2],
    ) -> Option<u32> {
        let distance = match by.turned {
            true => self.orientation(a, b)?.0,
            false => a.distance(&b)?,
        };
        let least = if extras[0].frames_agree(&extras[1]) { 0 } else { self.recipe.beyond_near() };
        Some(distance.max(least))
    }
}

fn wrong_recipe(name: &str, error: &RecipeError) -> UsageError {
    if Preset::named(name).is_err() {
        return UsageError::new("recipe", format!(" {name}: {error}"));
    }
    let names: Vec<_> = ImagePreset::ALL.iter().map(|preset| preset.recipe.name()).collect();
    let names = names.join(", ");
    UsageError::new("recipe", format!(" {name} is for texts; for images there is {names}"))
}

/// The model, if it is for this preset.
fn fitting(model: &Arc<Model>, preset: &ImagePreset) -> Result<Arc<Model>, UsageError> {
    let message = match preset.recipe.model_name() {
        Some(name) if model.features_name() == name => return Ok(model.clone()),
        Some(name) => format!(
            ": it knows \"{}\", but the recipe has \"{name}\"; learn one with --recipe hsv",
            model.features_name()
        ),
        None => format!(" is for --recipe hsv; {} needs none", preset.recipe.name()),
    };
    Err(UsageError::new("model", message))
}

impl Kind for ImageKind {
    fn name(&self) -> &'static str {
        "image"
    }

    fn recipe(&self) -> String {
        let turned = if self.orientations { ", orientations" } else { "" };
        let parts = if self.partial { format!(", parts {PARTS_VERSION}") } else { String::new() };
        format!("{}{turned}{parts}", self.recipe)
    }

    fn shape(&self) -> Shape {
        let can_turn = self.orientations && !self.recipe.method.needs_colour();
        let prints = if can_turn { Orientation::ALL.len() } else { 1 };
        Shape { width: self.recipe.width, prints, is_bare: false }
    }

    fn digester(&self) -> Box<dyn Digester + '_> {
        Box::new(ImageDigester { kind: self })
    }

    fn criteria(&self, asked: &Asked, purpose: Purpose) -> Result<Criteria, UsageError> {
        if asked.blocks.is_some() {
            let message =
                " is for fingerprints; how images are found is chosen by cost, so leave it out";
            return Err(UsageError::new("blocks", message));
        }
        if asked.parts == Some(true) && !self.partial {
            let message =
                " partial: these digests have no parts; create the collection with --match partial";
            return Err(UsageError::new("match", message));
        }
        if asked.level == Some(Level::Part) && !self.partial {
            let message = " part goes with --match partial, which looks for parts";
            return Err(UsageError::new("level", message));
        }
        if asked.level.is_some() && asked.distance.is_some() {
            let message = " and --distance both say how near images must be; give one";
            return Err(UsageError::new("level", message));
        }
        let is_asked = asked.level.is_some() || asked.distance.is_some();
        let level = asked.level.unwrap_or(Level::Similar);
        let listed = asked.distance.unwrap_or(self.preset.radius_of(level));
        check_distance(listed, self.recipe.width)?;
        let is_whole = asked.level.is_some_and(|level| level > Level::Part);
        let (distance, parts) = match purpose {
            Purpose::List => (listed, self.partial && !is_whole),
            Purpose::Look => (listed.max(self.preset.radius_of(Level::Similar)), self.partial),
            Purpose::Act => {
                let acting = if is_asked { listed } else { self.preset.radius_of(Level::Copy) };
                (acting, asked.level == Some(Level::Part))
            }
        };
        let turned = self.orientations && asked.turned.unwrap_or(true);
        let parts = parts && asked.parts.unwrap_or(true);
        Ok(Criteria { distance: Some(distance), turned, parts, ..Criteria::default() })
    }

    fn lookups(&self, by: &Criteria) -> Vec<Lookup> {
        let Some(radius) = by.distance else { return vec![Lookup::Every] };
        let near = |radius, turned| Lookup::Near { radius, turned, decides: false };
        let mut lookups = vec![near(radius, by.turned)];
        if by.parts {
            lookups.push(Lookup::Parts(parts::SEARCH));
            lookups.push(near(parts::WORTH_A_LOOK, false));
        }
        lookups
    }

    fn judge(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness> {
        if a.key().is_some() || b.key().is_some() {
            return (a.key() == b.key()).then(|| self.equal(by));
        }
        let extras = [Extra::of(a.extra())?, Extra::of(b.extra())?];
        let distance = self.distance(by, a, b, &extras)?;
        let level = self.recipe.level(distance);
        let is_near = by.distance.is_none_or(|radius| radius.contains(distance));
        // The level does not depend on the radius: beyond the loosest one, it is what parts say.
        let is_part = (!is_near || level.is_none())
            && by.parts
            && parts::overlap(by, [a, b], extras).is_some();
        let level = level.or(is_part.then_some(Level::Part));
        let closeness = Closeness { distance: Some(distance), similarity: None, level };
        (is_near || is_part).then_some(closeness)
    }

    fn equal(&self, _by: &Criteria) -> Closeness {
        Closeness { distance: Some(0), similarity: None, level: Some(Level::Copy) }
    }

    fn details(
        &self,
        by: &Criteria,
        a: DigestRef<'_>,
        b: DigestRef<'_>,
    ) -> Vec<(&'static str, String)> {
        let turned = self.orientation(a, b).filter(|_| by.turned);
        turned.map(|(_, turned)| ("orientation", turned.name().to_owned())).into_iter().collect()
    }

    fn usual_distance(&self) -> Radius {
        self.preset.radius()
    }

    fn scale(&self, acting: &Criteria, looking: &Criteria) -> Scale {
        let bits = self.recipe.width.bits();
        let whole = Level::WHOLE.map(|level| (level, self.preset.radius_of(level).bits()));
        let part = looking.parts.then_some((Level::Part, bits));
        // Images that share parts are as far apart as strangers: half of all bits, give or take.
        let widest = acting.distance.map_or(bits, Radius::bits);
        let widest = if acting.parts { bits * 5 / 8 } else { widest };
        Scale::Distance { widest, levels: whole.into_iter().chain(part).collect() }
    }

    fn words(&self, by: &Criteria) -> String {
        let turned = if by.turned { ", in any orientation" } else { "" };
        let parts = if by.parts { ", or shared parts" } else { "" };
        let bits = self.recipe.width.bits();
        match by.distance {
            Some(most) => format!("distance <= {most} of {bits} bits{turned}{parts}"),
            None => "any distance".to_owned(),
        }
    }

    #[cfg(feature = "collection")]
    fn stored(&self) -> super::RecipeText {
        self.to_stored()
    }
}
