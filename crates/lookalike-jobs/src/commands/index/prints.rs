//! Which fingerprints do these inputs have, made as the collection makes them?

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use lookalike::{
    About, Fingerprint, ImageDigest, ImagePreset, ImageSearch, Maker, Preset, Recipe, Width,
};

use super::{
    super::texts::{Printed, for_each_print},
    content::ByContent,
};
use crate::{
    args::{
        CacheArgs, ImageArgs, IndexMakeArgs, Kind, Matching, RecipeArgs, RecipeName, RowArgs,
        VerifyArgs,
    },
    config::{ImagesAlike, Making, USUAL_RADIUS, image_reading},
    report::{Progress, id_text, say},
    source::{
        Bad, Fingerprints, Images, PrintOptions, Reason, RowOptions, Rows, Skipped, guess_kind,
        path_text,
    },
};

/// An item with its fingerprint.
pub struct Named {
    /// What it is called among its inputs: its id, or where it stands.
    pub name: String,
    /// What it is stored as, if it has no id of its own.
    pub content: Option<ByContent>,
    pub print: Fingerprint<4>,
    /// All that is known of an image.
    pub image: Option<Box<ImageDigest>>,
}

impl Named {
    pub fn new(name: String, print: Fingerprint<4>) -> Self {
        Self { name, content: None, print, image: None }
    }

    /// What it is called in the collection.
    pub fn id(&self) -> &str {
        self.content.as_ref().map_or(&self.name, |content| &content.id)
    }
}

/// Takes items as they are read.
pub type OnItems<'a> = &'a mut (dyn FnMut(Vec<Named>) -> Result<()> + Send);

/// Texts of a collection are compared by their fingerprints alone; this recipe is made for it.
const TEXT_RECIPE: &str = "bare";

/// What a new collection is of: as the user says, or as the inputs look.
pub fn about(make: &IndexMakeArgs, inputs: Option<(&[PathBuf], &RowArgs)>) -> Result<About> {
    let guessed = || inputs.map_or(Kind::Text, |(paths, rows)| guess_kind(paths, rows, Kind::Hash));
    let named = make.recipe.recipe.map(|name| match name {
        RecipeName::Text(_) => Kind::Text,
        RecipeName::Image(_) => Kind::Image,
    });
    Ok(match make.kind.or(named).unwrap_or_else(guessed) {
        Kind::Text => {
            let Making { recipe, radius } = text_making(make)?;
            About::texts(recipe, radius)
        }
        Kind::Image => {
            let images = ImageArgs { matching: make.matching, ..ImageArgs::default() };
            let verify = VerifyArgs::default();
            let alike = ImagesAlike::new(&make.recipe, make.max_distance, &verify, images)?;
            ensure!(
                make.recipe.model.is_none(),
                "--model: a collection of images keeps no model; leave --model out, or compare the \
                 images with pairs or dedup, which take one"
            );
            let ImagePreset { recipe, .. } = alike.preset;
            match make.matching {
                Matching::Whole => About::images(recipe, alike.radius),
                Matching::Partial => About::image_parts(recipe, alike.radius),
            }
        }
        Kind::Hash => {
            ensure!(
                make.recipe.model.is_none(),
                "--model: fingerprints are taken as they are; leave --model out"
            );
            let width = match (make.recipe.bits, inputs) {
                (Some(bits), _) => bits,
                (None, Some((paths, _))) => width_of(paths)?,
                (None, None) => Width::Bits64,
            };
            About::given(width, make.max_distance.unwrap_or(USUAL_RADIUS))
        }
    })
}

fn text_making(make: &IndexMakeArgs) -> Result<Making> {
    let usual = RecipeName::Text(Preset::named(TEXT_RECIPE)?);
    let recipe = RecipeArgs { recipe: make.recipe.recipe.or(Some(usual)), ..make.recipe.clone() };
    Making::new(&recipe, make.max_distance)
}

/// The width of the fingerprints of these files.
fn width_of(paths: &[PathBuf]) -> Result<Width> {
    ensure!(
        paths.iter().all(|path| path.as_os_str() != "-"),
        "a new collection needs the width of its fingerprints, which standard input does not tell; \
         use --bits"
    );
    let options = PrintOptions { kind: Some(Kind::Hash), ..PrintOptions::default() };
    Ok(Fingerprints::open(paths, &options, &mut Skipped::unless(false))?.width)
}

/// Refuses what the user says of a collection that is there, if it is of something else.
pub fn check(make: &IndexMakeArgs, held: &About) -> Result<()> {
    if let Some(radius) = make.max_distance {
        ensure!(
            radius == held.max_radius,
            "--max-distance {radius}, but the collection was made for {}; leave it out",
            held.max_radius
        );
    }
    let matching = if held.keeps_parts() { Matching::Partial } else { Matching::Whole };
    ensure!(
        make.matching == Matching::Whole || make.matching == matching,
        "--match partial, but the collection was made without it; make a new one"
    );
    let says_nothing = make.recipe.is_default() && make.kind.is_none();
    if says_nothing {
        return Ok(());
    }
    let said = about(
        &IndexMakeArgs {
            max_distance: Some(held.max_radius),
            kind: make.kind,
            recipe: make.recipe.clone(),
            matching: if make.kind == Some(Kind::Text) { Matching::Whole } else { matching },
        },
        None,
    )?;
    let same = said.maker == held.maker && (said.width == held.width || said.maker == Maker::GIVEN);
    ensure!(
        same,
        "the collection is of \"{}\", {} bits, not of \"{}\", {} bits; they cannot be compared",
        held.maker,
        held.width.bits(),
        said.maker,
        said.width.bits()
    );
    Ok(())
}

/// Whose fingerprints of images these are.
pub fn image_preset(maker: &Maker) -> Result<&'static ImagePreset> {
    ImagePreset::ALL
        .iter()
        .find(|ImagePreset { recipe, .. }| {
            [Maker::images(recipe), Maker::image_parts(recipe)].contains(maker)
        })
        .with_context(|| format!("this version does not make fingerprints of {maker}"))
}

/// Inputs of a collection's kind.
pub enum Source {
    Texts(Box<Rows>, Recipe),
    Hashes(Fingerprints),
    Images(Images, ImageSearch),
}

impl Source {
    pub fn open(
        paths: &[PathBuf],
        rows: &RowArgs,
        about: &About,
        images: ImageArgs,
        skipped: &mut Skipped,
    ) -> Result<Self> {
        Ok(match &about.maker {
            Maker::Text(recipe) => {
                let rows = Rows::open(paths, RowOptions::from(rows), skipped)?;
                Self::Texts(Box::new(rows), recipe.clone())
            }
            maker if *maker == Maker::GIVEN => {
                let options = PrintOptions {
                    kind: Some(Kind::Hash),
                    bits: Some(about.width),
                    ..PrintOptions::default()
                };
                Self::Hashes(Fingerprints::open(paths, &options, skipped)?)
            }
            maker => {
                let preset = image_preset(maker)?;
                let partial = images.matching == Matching::Partial;
                let search = ImageSearch::new(&preset.recipe, preset.radius())
                    .orientations(images.orientations || partial)
                    .partial(partial);
                let reading = image_reading(&CacheArgs::default(), rows, None);
                Self::Images(Images::open(paths, &reading, skipped)?, search)
            }
        })
    }

    /// What is read, in words.
    pub fn what(&self) -> String {
        match self {
            Self::Texts(rows, _) => rows.what(),
            Self::Hashes(prints) => prints.what(),
            Self::Images(images, _) => images.what(),
        }
    }

    /// Reads every item in order. What has no fingerprint is skipped, and said so.
    pub fn read(
        self,
        skipped: &mut Skipped,
        progress: &Progress,
        on_items: OnItems<'_>,
    ) -> Result<()> {
        let notes = match self {
            Self::Texts(rows, recipe) => read_texts(*rows, &recipe, skipped, progress, on_items)?,
            Self::Hashes(prints) => read_hashes(prints, skipped, progress, on_items)?,
            Self::Images(images, search) => {
                read_images(images, &search, skipped, progress, on_items)?
            }
        };
        progress.clear();
        notes.iter().for_each(|note| say(note));
        Ok(())
    }
}

fn read_texts(
    mut rows: Rows,
    recipe: &Recipe,
    skipped: &mut Skipped,
    progress: &Progress,
    on_items: OnItems<'_>,
) -> Result<Vec<String>> {
    for_each_print(&mut rows, recipe, skipped, progress, &mut |prints| {
        let named = |Printed { id, print, row, place }: Printed<'_>| Named {
            content: place.map(|place| ByContent::of_row(&row.content, place)),
            ..Named::new(id_text(id).into_owned(), print)
        };
        on_items(prints.into_iter().map(named).collect())
    })?;
    Ok(rows.notes().to_vec())
}

fn read_hashes(
    source: Fingerprints,
    skipped: &mut Skipped,
    progress: &Progress,
    on_items: OnItems<'_>,
) -> Result<Vec<String>> {
    match source.width {
        Width::Bits32 | Width::Bits64 => read_words::<1>(source, skipped, progress, on_items),
        Width::Bits128 => read_words::<2>(source, skipped, progress, on_items),
        Width::Bits256 => read_words::<4>(source, skipped, progress, on_items),
    }
}

/// Names of fingerprints are known once all are read.
fn read_words<const WORDS: usize>(
    mut source: Fingerprints,
    skipped: &mut Skipped,
    progress: &Progress,
    on_items: OnItems<'_>,
) -> Result<Vec<String>> {
    let width = source.width;
    let mut prints: Vec<Fingerprint<WORDS>> = Vec::new();
    let ids = source.read(skipped, &mut |piece| {
        progress.read(piece.len());
        prints.extend_from_slice(piece);
        Ok(())
    })?;
    for (piece, prints) in prints.chunks(PIECE).enumerate() {
        let first = (piece * PIECE) as u32;
        let items = (first..).zip(prints).map(|(number, print)| match ids.own(number) {
            Ok(id) => Named::new(id_text(id).into_owned(), print.resize()),
            Err((file, line)) => Named {
                content: Some(ByContent::new(print.to_hex(width), (file, Some(line)))),
                ..Named::new(id_text(ids.at(number)).into_owned(), print.resize())
            },
        });
        on_items(items.collect())?;
    }
    Ok(Vec::new())
}

/// Fingerprints that are handed on at once.
const PIECE: usize = 1 << 14;

/// The same with the parts of images, some 8 KB each.
const PIECE_OF_PARTS: usize = 1 << 10;

fn read_images(
    mut images: Images,
    search: &ImageSearch,
    skipped: &mut Skipped,
    progress: &Progress,
    on_items: OnItems<'_>,
) -> Result<Vec<String>> {
    let (mut items, mut flat) = (Vec::new(), Vec::new());
    images.read(search, skipped, &|| progress.read(1), &mut |item, digest| {
        let most = if digest.parts.is_some() { PIECE_OF_PARTS } else { PIECE };
        let name = path_text(&item.path);
        match digest.prints.as_ref().map(|prints| prints.upright) {
            Some(upright) => {
                let image = Some(Box::new(digest));
                items.push(Named { image, ..Named::new(name, upright) });
            }
            None => flat.push(name),
        }
        if items.len() >= most {
            on_items(std::mem::take(&mut items))?;
        }
        Ok(())
    })?;
    on_items(items)?;
    for name in &flat {
        let what = "too flat or too small, so it has no fingerprint";
        skipped.note(Bad::item(name, Reason::NoFeatures, what), 1);
    }
    Ok(images.notes().to_vec())
}
