//! What is a new collection of? As the user says, or as the inputs look.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use lookalike::{
    Collection, Criteria,
    kind::{Purpose, Reads, Registry},
};

use crate::{
    args::{CacheArgs, ImageArgs, IndexMakeArgs, Matching, RecipeArgs, RowArgs, VerifyArgs},
    config::{Work, input_options},
    kinds::{Choice, Chosen},
    source::{InputOptions, Inputs, Skipped, guess_kind},
};

/// The kind of a new collection, and the widest it can be searched by.
pub struct Made {
    pub chosen: Chosen,
    widest: Criteria,
}

impl Made {
    /// As the user says, or as the inputs look.
    pub fn new(
        make: &IndexMakeArgs,
        inputs: Option<(&[PathBuf], &RowArgs, &Work)>,
        registry: &Registry,
    ) -> Result<Self> {
        let guessed = || inputs.map_or("text", |(paths, rows, _)| guess_kind(paths, rows, "hash"));
        let name = match (&make.kind, &make.recipe.recipe) {
            (Some(name), _) => name.clone(),
            (None, Some(recipe)) => kind_of_recipe(recipe, registry),
            (None, None) => guessed().to_owned(),
        };
        let choice = Choice {
            recipe: &make.recipe,
            verify: &VerifyArgs { no_verify: make.no_verify, ..VerifyArgs::default() },
            // Images are found however they are turned.
            images: ImageArgs { orientations: false, matching: make.matching },
            distance: make.max_distance,
            blocks: None,
        };
        let chosen = Chosen::new(registry, &name, choice, &[])?.in_any_orientation()?;
        let width = match (chosen.registration.reads, make.recipe.bits, inputs) {
            (Reads::Prints, None, Some((paths, rows, work))) => Some(width_of(paths, rows, work)?),
            _ => None,
        };
        let chosen = chosen.of_width(width.flatten())?;
        let dimensions = match (chosen.registration.reads, inputs) {
            (Reads::Vectors, Some((paths, rows, work))) => dimensions_of(paths, rows, work)?,
            _ => None,
        };
        let chosen = chosen.of_dimensions(dimensions)?;
        let widest = chosen.criteria(Purpose::Look)?;
        Ok(Self { chosen, widest })
    }

    /// Makes it.
    pub fn create(&self, folder: &Path) -> Result<Collection> {
        Ok(Collection::create(folder, self.chosen.kind.clone(), &self.widest)?)
    }

    /// Refuses what the user says of a collection that is there, if it is of something else.
    pub fn check(make: &IndexMakeArgs, collection: &Collection, registry: &Registry) -> Result<()> {
        let widest = collection.widest();
        if let Some(radius) = make.max_distance {
            ensure!(
                Some(radius) == widest.distance,
                "--max-distance {radius}, but the collection was made for {}; leave it out",
                widest.distance.map_or("any".to_owned(), |radius| radius.to_string())
            );
        }
        let is_partial = make.matching == Matching::Partial;
        ensure!(
            !is_partial || widest.parts,
            "--match partial, but the collection was made without it; make a new one"
        );
        let IndexMakeArgs { recipe, kind, no_verify, .. } = make;
        check_recipe(recipe, kind.as_deref(), *no_verify, collection, registry)
    }
}

/// Refuses a recipe by which items are taken apart in another way than those of a collection.
pub fn check_recipe(
    recipe: &RecipeArgs,
    kind: Option<&str>,
    no_verify: bool,
    collection: &Collection,
    registry: &Registry,
) -> Result<()> {
    if recipe.is_default() && kind.is_none() && !no_verify {
        return Ok(());
    }
    let kind = kind.map(str::to_owned).or_else(|| match &recipe.recipe {
        Some(recipe) => Some(kind_of_recipe(recipe, registry)),
        None => Some(collection.kind().name().to_owned()),
    });
    let matching = match collection.widest().parts {
        true => Matching::Partial,
        false => Matching::Whole,
    };
    let recipe = recipe.clone();
    let bits = recipe.bits;
    let said = IndexMakeArgs { kind, max_distance: None, matching, recipe, no_verify };
    let mut said = Made::new(&said, None, registry)?.chosen;
    if bits.is_none() && said.registration.reads == Reads::Prints {
        said = said.of_width(Some(collection.kind().shape().width))?;
    }
    Ok(collection.check_kind(&*said.kind)?)
}

/// The kind that has a recipe of this name; texts if none does, which then say so.
fn kind_of_recipe(recipe: &str, registry: &Registry) -> String {
    let has = |kind: &&lookalike::kind::Registration| {
        let settings =
            lookalike::kind::Settings { recipe: Some(recipe.to_owned()), ..Default::default() };
        kind.options.contains(&"recipe") && (kind.open)(&settings).is_ok()
    };
    registry.iter().find(has).map_or("text", |kind| kind.name).to_owned()
}

/// The width of the fingerprints of these files.
fn width_of(paths: &[PathBuf], rows: &RowArgs, work: &Work) -> Result<Option<lookalike::Width>> {
    ensure!(
        paths.iter().all(|path| path.as_os_str() != "-"),
        "a new collection needs the width of its fingerprints, which standard input does not tell; \
         use --bits"
    );
    let options = options(Reads::Prints, rows, work);
    Ok(Inputs::open(paths, Reads::Prints, &options, &mut Skipped::unless(false))?.width())
}

/// The number of dimensions of the vectors in these files.
fn dimensions_of(paths: &[PathBuf], rows: &RowArgs, work: &Work) -> Result<Option<u32>> {
    ensure!(
        paths.iter().all(|path| path.as_os_str() != "-"),
        "a new collection needs the number of dimensions of its vectors, which is not read from \
         standard input; name a file"
    );
    let options = options(Reads::Vectors, rows, work);
    let inputs = Inputs::open(paths, Reads::Vectors, &options, &mut Skipped::unless(false))?;
    Ok(inputs.dimensions())
}

/// How inputs of a collection are read.
pub fn options(reads: Reads, rows: &RowArgs, work: &Work) -> InputOptions {
    let mut options = input_options(reads, rows, &CacheArgs::default(), work);
    options.prints.kind = Some("hash".to_owned());
    options
}
