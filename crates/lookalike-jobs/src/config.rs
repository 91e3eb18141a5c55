//! What was asked for, checked: choices that only make sense together.

use std::{
    fs,
    num::NonZeroU32,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use lookalike::{
    AllPairs, ImageMethod, ImagePreset, ImageRecipe, ImageSearch, Kernel, Level, Likeness, Model,
    Preset, Radius, Reach, Recipe, RecipeError, Resources, Similarity, StopWords, TextSearch,
    Verify, Width,
};

use crate::args::{
    CacheArgs, ImageArgs, Matching, RecipeArgs, RecipeName, RowArgs, VerifyArgs, WorkArgs,
};
use crate::source::{Budget, Cache, ImageReading, usual_cache};

/// The radius for fingerprints of which nothing else is known.
pub const USUAL_RADIUS: Radius = Radius::new(3);

/// How to search fingerprints of one width.
pub struct Search {
    pub width: Width,
    pub radius: Radius,
    blocks: Option<u32>,
}

/// Nobody.
pub const UNWATCHED: Watch<'static> = &|_| ControlFlow::Continue(());

/// Hears how far a search is, and may stop it.
pub type Watch<'a> = &'a (dyn Fn(f64) -> ControlFlow<()> + Sync);

/// What the work may take.
#[derive(Clone)]
pub struct Work {
    pub threads: Option<usize>,
    pub memory: Option<u64>,
    pub temp: Option<PathBuf>,
    kernel: Option<Kernel>,
}

impl Work {
    pub fn new(args: WorkArgs) -> Result<Self> {
        let WorkArgs { threads, memory, temp, kernel } = args;
        if let Some(folder) = &temp {
            ensure!(folder.is_dir(), "--temp {}: no such folder", folder.display());
        }
        Ok(Self { threads, memory, temp, kernel })
    }

    /// The library's form of it. `progress` hears how far a search is.
    pub fn resources<'a>(&self, progress: Watch<'a>) -> Resources<'a> {
        let mut resources = Resources::new().watch(progress);
        if let Some(bytes) = self.memory {
            let folder = self.temp.clone().unwrap_or_else(std::env::temp_dir);
            resources = resources.memory(bytes, folder);
        }
        if let Some(kernel) = self.kernel {
            resources = resources.kernel(kernel);
        }
        resources
    }

    /// Runs `work` on as many threads as were asked for.
    pub fn on_threads<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_threads(self.threads, work)
    }
}

impl Search {
    pub fn new(distance: Option<Radius>, blocks: Option<u32>, width: Width) -> Result<Self> {
        let radius = distance.unwrap_or(USUAL_RADIUS);
        check_radius(radius, width)?;
        if let Some(blocks) = blocks {
            ensure!(
                blocks > radius.bits(),
                "--blocks {blocks} cannot find pairs within {radius} bits; \
                 use at least {} blocks, or leave --blocks out",
                radius.bits() + 1
            );
            ensure!(
                blocks <= width.bits(),
                "--blocks {blocks}: {} bits cannot be cut into so many; use at most {}",
                width.bits(),
                width.bits()
            );
        }
        Ok(Self { width, radius, blocks })
    }

    /// Whether the user says how pairs are found.
    pub fn is_planned(&self) -> bool {
        self.blocks.is_some()
    }

    /// The library's options for this search.
    pub fn all_pairs<'a>(&self, work: &Work, watch: Watch<'a>) -> AllPairs<'a> {
        let pairs = AllPairs::new(self.radius).resources(work.resources(watch));
        match self.blocks {
            Some(blocks) => pairs.blocks(blocks),
            None => pairs,
        }
    }
}

/// Texts and images are found by more than blocks of bits.
pub fn refuse_blocks(blocks: Option<u32>, items: &str) -> Result<()> {
    ensure!(
        blocks.is_none(),
        "--blocks is for fingerprints; how {items} are found is chosen by cost, so leave it out"
    );
    Ok(())
}

/// Runs `work` on this many threads; on all cores if nothing was said.
pub fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    ensure!(threads != Some(0), "--threads 0: use at least 1, or leave it out for all cores");
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .context("cannot start the threads; try a smaller --threads")?
        .install(work)
}

/// How texts become fingerprints, and how near two of them must be.
pub struct Making {
    pub recipe: Recipe,
    pub radius: Radius,
}

impl Making {
    pub fn new(args: &RecipeArgs, distance: Option<Radius>) -> Result<Self> {
        let recipe = recipe(args)?;
        check(&recipe)?;
        let preset = text_preset(args)?;
        // A preset's radius is a share of its bits.
        let share = preset.radius.bits() * recipe.width.bits() / preset.recipe.width.bits();
        let radius = distance.unwrap_or(Radius::new(share));
        check_radius(radius, recipe.width)?;
        Ok(Self { recipe, radius })
    }
}

/// Texts less similar than this are listed, but none of them is removed unless the user says so.
const ACTING: Similarity = Level::Near.similarity();

/// When are two texts alike?
#[derive(Clone)]
pub struct Alike {
    pub recipe: Recipe,
    pub likeness: Likeness,
    /// How similar they are, at least, unless the user asks for something else.
    usual: Similarity,
    reach: Reach,
}

impl Alike {
    pub fn new(recipe: &RecipeArgs, distance: Option<Radius>, verify: &VerifyArgs) -> Result<Self> {
        let usual = text_preset(recipe)?.verify;
        let reach = match (verify.exact, verify.recall) {
            (true, _) => Reach::Exact,
            (false, Some(recall)) => Reach::Recall(recall),
            (false, None) => Reach::Declared,
        };
        let Making { recipe, radius } = Making::new(recipe, distance)?;
        ensure!(
            verify.level != Some(Level::Part),
            "--level part is for images; texts that contain each other: --measure containment"
        );
        let similarity = verify.level.map(Level::similarity).or(verify.similarity);
        let asked = similarity.is_some() || verify.measure.is_some();
        let usual = usual.or(asked.then_some(Verify::DEFAULT));
        let verify = match usual {
            Some(usual) if !verify.no_verify => Some(Verify {
                similarity: similarity.unwrap_or(usual.similarity),
                measure: verify.measure.unwrap_or(usual.measure),
                ..usual
            }),
            _ => None,
        };
        // Where features decide, bits count only if the user says so.
        let radius = if verify.is_some() { distance } else { Some(radius) };
        let usual = usual.unwrap_or(Verify::DEFAULT).similarity;
        Ok(Self { recipe, likeness: Likeness { verify, radius }, usual, reach })
    }

    /// How alike texts must be to be listed, though less alike than what is asked for: every level
    /// there is.
    pub fn looking(&self) -> Self {
        self.at(|asked| if self.usual < asked { self.usual } else { asked })
    }

    /// How alike texts must be for one of them to be removed: near, unless the user asks for
    /// something else.
    pub fn acting(&self, args: &VerifyArgs) -> Self {
        let is_asked = args.level.is_some() || args.similarity.is_some();
        self.at(|asked| if is_asked || asked > ACTING { asked } else { ACTING })
    }

    /// The same at another similarity.
    fn at(&self, similarity: impl Fn(Similarity) -> Similarity) -> Self {
        let verify = self.likeness.verify;
        let verify =
            verify.map(|verify| Verify { similarity: similarity(verify.similarity), ..verify });
        Self { likeness: Likeness { verify, ..self.likeness }, ..self.clone() }
    }

    /// When two texts are alike, in words.
    pub fn words(&self) -> String {
        let Likeness { verify, radius } = self.likeness;
        let near =
            radius.map(|radius| format!("within {radius} of {} bits", self.recipe.width.bits()));
        let similar = verify.map(|verify| verify.to_string());
        near.into_iter().chain(similar).collect::<Vec<_>>().join(", ")
    }

    /// What options of the recipe do, if they do not decide.
    pub fn note(&self) -> Option<String> {
        let verify = self.likeness.verify.filter(|_| self.likeness.radius.is_none())?;
        (self.recipe.name == "own").then(|| {
            format!(
                "note: texts are compared by {verify}; --features, --bits and the like only change \
                 fingerprints, which decide with --no-verify or --distance"
            )
        })
    }

    /// The library's options for this search.
    pub fn search(&self) -> TextSearch {
        TextSearch::new(&self.recipe, self.likeness).reach(self.reach)
    }
}

/// When are two images alike?
#[derive(Clone)]
pub struct ImagesAlike {
    pub preset: &'static ImagePreset,
    pub recipe: ImageRecipe,
    pub radius: Radius,
    /// How they are compared; parts only if such pairs count.
    pub images: ImageArgs,
    /// Whether the user asked for parts.
    matching: Matching,
    /// Whether the user says how alike they must be.
    is_asked: bool,
}

impl ImagesAlike {
    pub fn new(
        recipe: &RecipeArgs,
        distance: Option<Radius>,
        verify: &VerifyArgs,
        images: ImageArgs,
    ) -> Result<Self> {
        let preset = match recipe.recipe {
            None => &ImagePreset::ALL[0],
            Some(RecipeName::Image(preset)) => preset,
            Some(RecipeName::Text(preset)) => {
                let names: Vec<_> =
                    ImagePreset::ALL.iter().map(|preset| preset.recipe.name()).collect();
                bail!(
                    "--recipe {} is for texts; for images there is {}",
                    preset.recipe.name,
                    names.join(", ")
                )
            }
        };
        refuse_text_options(recipe, verify)?;
        let partial = images.matching == Matching::Partial;
        ensure!(
            !partial || preset.recipe.method == ImageMethod::Pdq,
            "--match partial goes with --recipe pdq; leave --recipe out"
        );
        ensure!(
            partial || verify.level != Some(Level::Part),
            "--level part goes with --match partial, which looks for parts"
        );
        let made = ImageRecipe {
            model: recipe.model.as_deref().map(|path| model_for(path, preset)).transpose()?,
            ..preset.recipe.clone()
        };
        let radius = match (distance, verify.level) {
            (Some(_), Some(_)) => {
                bail!("--level and --distance both say how near images must be; give one")
            }
            (Some(radius), None) => radius,
            (None, level) => preset.radius_of(level.unwrap_or(Level::Similar)),
        };
        check_radius(radius, preset.recipe.width)?;
        // Parts are less alike than all whole images.
        let is_whole = verify.level.is_some_and(|level| level > Level::Part);
        let images = ImageArgs {
            orientations: images.orientations || partial,
            matching: if is_whole { Matching::Whole } else { images.matching },
        };
        let matching = if partial { Matching::Partial } else { Matching::Whole };
        let is_asked = distance.is_some() || verify.level.is_some();
        Ok(Self { preset, recipe: made, radius, images, matching, is_asked })
    }

    /// How alike images must be to be listed, though less alike than what is asked for: every level
    /// there is.
    pub fn looking(&self) -> Self {
        let radius = self.radius.max(self.preset.radius_of(Level::Similar));
        let images = ImageArgs { matching: self.matching, ..self.images };
        Self { radius, images, ..self.clone() }
    }

    /// How alike images must be for one of them to be removed: copies, unless the user asks for
    /// something else; parts only by name.
    pub fn acting(&self, args: &VerifyArgs) -> Self {
        let radius = if self.is_asked { self.radius } else { self.preset.radius_of(Level::Copy) };
        let matching = match args.level {
            Some(Level::Part) => Matching::Partial,
            _ => Matching::Whole,
        };
        Self { radius, images: ImageArgs { matching, ..self.images }, ..self.clone() }
    }

    /// Whether fewer images are alike than by these rules.
    pub fn is_narrower(&self, other: &Self) -> bool {
        self.radius < other.radius || self.images.matching != other.images.matching
    }

    /// As the recipe has it, if nothing else is said.
    pub fn of_recipe(recipe: &RecipeArgs) -> Result<Self> {
        Self::new(recipe, None, &VerifyArgs::default(), ImageArgs::default())
    }

    /// When two images are alike, in words.
    pub fn words(&self) -> String {
        let turned = if self.images.orientations { ", in any orientation" } else { "" };
        let parts = match self.images.matching {
            Matching::Whole => "",
            Matching::Partial => ", or by their parts",
        };
        let bits = self.recipe.width.bits();
        format!("within {} of {bits} bits{turned}{parts}", self.radius)
    }

    /// The library's options for this search.
    pub fn search(&self, work: &Work) -> ImageSearch {
        ImageSearch::new(&self.recipe, self.radius)
            .orientations(self.images.orientations)
            .partial(self.images.matching == Matching::Partial)
            .kernel(work.kernel.unwrap_or_else(Kernel::detect))
    }
}

fn model_for(path: &Path, preset: &ImagePreset) -> Result<Arc<Model>> {
    let Some(name) = preset.recipe.model_name() else {
        bail!("--model is for --recipe hsv; {} needs none", preset.recipe.name())
    };
    let model = model(path)?;
    ensure!(
        model.features_name() == name,
        "--model {}: it knows \"{}\", but the recipe has \"{name}\"; learn one with --recipe hsv",
        path.display(),
        model.features_name()
    );
    Ok(model)
}

/// What is said of words says nothing of images.
fn refuse_text_options(recipe: &RecipeArgs, verify: &VerifyArgs) -> Result<()> {
    let RecipeArgs { features, stop_words, weights, top, hash, seed, bits, recipe: _, model: _ } =
        recipe;
    let given = [
        ("--features", features.is_some()),
        ("--stop-words", stop_words.is_some()),
        ("--weights", weights.is_some()),
        ("--top", top.is_some()),
        ("--hash", hash.is_some()),
        ("--seed", seed.is_some()),
        ("--bits", bits.is_some()),
        ("--similarity", verify.similarity.is_some()),
        ("--measure", verify.measure.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((name, _)) => {
            bail!("{name} is for texts; images have --recipe, --level and --distance")
        }
        None => Ok(()),
    }
}

fn text_preset(args: &RecipeArgs) -> Result<&'static Preset> {
    match args.recipe {
        None => Ok(&Preset::ALL[0]),
        Some(RecipeName::Text(preset)) => Ok(preset),
        Some(RecipeName::Image(preset)) => {
            bail!("--recipe {} is for images, but these are texts", preset.recipe.name())
        }
    }
}

/// How images are read: with the cache that was asked for, or the usual one.
pub fn image_reading(cache: &CacheArgs, rows: &RowArgs, memory: Option<u64>) -> ImageReading {
    let path = cache.cache.clone().or_else(usual_cache);
    let cache = match path {
        Some(path) if path != Path::new("none") => Cache::open(&path),
        _ => Cache::none(),
    };
    let memory = Arc::new(Budget::new(memory));
    ImageReading { follow_links: rows.follow_links, cache: Arc::new(cache), memory }
}

/// The recipe that was asked for, its model included; not yet checked.
pub fn recipe(args: &RecipeArgs) -> Result<Recipe> {
    let base = &text_preset(args)?.recipe;
    let mut recipe = Recipe {
        features: args.features.unwrap_or(base.features),
        stop_words: args
            .stop_words
            .as_deref()
            .map_or_else(|| Ok(base.stop_words.clone()), words)?,
        weights: args.weights.unwrap_or(base.weights),
        model: args.model.as_deref().map(model).transpose()?,
        top: args.top.map_or(base.top, NonZeroU32::new),
        hash: args.hash.unwrap_or(base.hash),
        seed: args.seed.unwrap_or(base.seed),
        width: args.bits.unwrap_or(base.width),
        ..base.clone()
    };
    recipe.hash.check_seed(recipe.seed).context("--seed")?;
    let unnamed = Recipe { model: None, ..recipe.clone() };
    if unnamed != *base {
        recipe.name = "own".into();
    }
    Ok(recipe)
}

fn check(recipe: &Recipe) -> Result<()> {
    recipe.check().map_err(|error| match error {
        RecipeError::NoModel { .. } => {
            anyhow!("{error}; make one with lookalike recipes learn, and name it with --model")
        }
        RecipeError::OtherModel { .. } => anyhow!("--model: {error}; learn one with this recipe"),
        error => error.into(),
    })
}

/// Stop words by language, or from a file.
fn words(list: &str) -> Result<StopWords> {
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

fn model(path: &Path) -> Result<Arc<Model>> {
    let model = Model::open(path).with_context(|| format!("--model {}", path.display()))?;
    Ok(Arc::new(model))
}

/// A radius wider than the fingerprints is a mistake, not a wish for all pairs.
pub fn check_radius(radius: Radius, width: Width) -> Result<()> {
    ensure!(
        radius.bits() <= width.bits(),
        "--distance {radius} is more than the {} bits of a fingerprint; use {} or less",
        width.bits(),
        width.bits()
    );
    Ok(())
}
