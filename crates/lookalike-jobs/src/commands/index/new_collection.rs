//! The kind, recipe and limits of a new collection, from the options or guessed from the inputs.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use lookalike::{
    Collection, Criteria,
    kind::{Purpose, Reads, Registry},
};

use crate::{
    args::{CacheArgs, ImageArgs, Matching, NewCollectionArgs, RecipeArgs, RowArgs, VerifyArgs},
    config::{self, Work},
    kinds::{CompareOptions, SelectedKind},
    source::{InputOptions, Inputs, Skipped, guess_kind},
};

/// The kind of a new collection, and the widest search that it supports.
pub struct NewCollection {
    pub selected: SelectedKind,
    widest: Criteria,
}

impl NewCollection {
    /// Selects the kind by the options, or else by the inputs.
    pub fn select(
        args: &NewCollectionArgs,
        inputs: Option<(&[PathBuf], &RowArgs, &Work)>,
        registry: &Registry,
    ) -> Result<Self> {
        let guessed = || inputs.map_or("text", |(paths, rows, _)| guess_kind(paths, rows, "hash"));
        let name = match (&args.kind, &args.recipe.recipe) {
            (Some(name), _) => name.clone(),
            (None, Some(recipe)) => kind_of_recipe(recipe, registry),
            (None, None) => guessed().to_owned(),
        };
        let compare = CompareOptions {
            recipe: &args.recipe,
            verify: VerifyArgs { no_verify: args.no_verify, ..VerifyArgs::default() },
            // Images match in any orientation.
            images: ImageArgs { orientations: false, matching: args.matching },
            distance: args.max_distance,
            blocks: None,
        };
        let selected = SelectedKind::new(registry, &name, compare, &[])?.in_any_orientation()?;
        let width = match (selected.registration.reads, args.recipe.bits, inputs) {
            (Reads::Prints, None, Some((paths, rows, work))) => Some(width_of(paths, rows, work)?),
            _ => None,
        };
        let selected = selected.of_width(width.flatten())?;
        let dimensions = match (selected.registration.reads, inputs) {
            (Reads::Vectors, Some((paths, rows, work))) => dimensions_of(paths, rows, work)?,
            _ => None,
        };
        let selected = selected.of_dimensions(dimensions)?;
        let widest = selected.criteria(Purpose::Look)?;
        Ok(Self { selected, widest })
    }

    /// Creates the collection in a new folder.
    pub fn create(&self, folder: &Path) -> Result<Collection> {
        Ok(Collection::create(folder, self.selected.kind.clone(), &self.widest)?)
    }

    /// Fails if the options contradict an existing collection.
    pub fn check(
        args: &NewCollectionArgs,
        collection: &Collection,
        registry: &Registry,
    ) -> Result<()> {
        let widest = collection.widest();
        if let Some(radius) = args.max_distance {
            ensure!(
                Some(radius) == widest.distance,
                "--max-distance {radius}: the collection was created for {}; omit --max-distance",
                widest.distance.map_or("any".to_owned(), |radius| radius.to_string())
            );
        }
        let is_partial = args.matching == Matching::Partial;
        ensure!(
            !is_partial || widest.parts,
            "--match partial: the collection was created without it; create a new one"
        );
        let NewCollectionArgs { recipe, kind, no_verify, .. } = args;
        check_recipe(recipe, kind.as_deref(), *no_verify, collection, registry)
    }
}

/// Fails if the recipe makes other digests than the collection stores.
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
    let args = NewCollectionArgs { kind, max_distance: None, matching, recipe, no_verify };
    let mut requested = NewCollection::select(&args, None, registry)?.selected;
    if bits.is_none() && requested.registration.reads == Reads::Prints {
        requested = requested.of_width(Some(collection.kind().shape().width))?;
    }
    let requested = requested.of_dimensions(collection.kind().dimensions())?;
    Ok(collection.check_kind(&*requested.kind)?)
}

/// The kind that has a recipe of this name; otherwise text, which reports the unknown recipe.
fn kind_of_recipe(recipe: &str, registry: &Registry) -> String {
    let has = |kind: &&lookalike::kind::Registration| {
        let settings =
            lookalike::kind::Settings { recipe: Some(recipe.to_owned()), ..Default::default() };
        kind.options.contains(&"recipe") && (kind.open)(&settings).is_ok()
    };
    registry.iter().find(has).map_or("text", |kind| kind.name).to_owned()
}

/// The width of the fingerprints in these files.
fn width_of(paths: &[PathBuf], rows: &RowArgs, work: &Work) -> Result<Option<lookalike::Width>> {
    ensure!(
        paths.iter().all(|path| path.as_os_str() != "-"),
        "the width of fingerprints on standard input is unknown; set it with --bits to create the \
         collection"
    );
    let options = input_options(Reads::Prints, rows, work);
    Ok(Inputs::open(paths, Reads::Prints, &options, &mut Skipped::unless(false))?.width())
}

/// The number of dimensions of the vectors in these files.
fn dimensions_of(paths: &[PathBuf], rows: &RowArgs, work: &Work) -> Result<Option<u32>> {
    ensure!(
        paths.iter().all(|path| path.as_os_str() != "-"),
        "the number of dimensions of vectors on standard input is unknown; create the collection from a \
         file"
    );
    let options = input_options(Reads::Vectors, rows, work);
    let inputs = Inputs::open(paths, Reads::Vectors, &options, &mut Skipped::unless(false))?;
    Ok(inputs.dimensions())
}

/// How the inputs of a collection are read.
pub fn input_options(reads: Reads, rows: &RowArgs, work: &Work) -> InputOptions {
    let mut options = config::input_options(reads, rows, &CacheArgs::default(), work);
    options.prints.kind = Some("hash".to_owned());
    options
}
