//! `lookalike index search`: what of a collection is near these?

use std::{
    io::{BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use lookalike::{
    Collection, Fingerprint, Found, ImageCollection, ImagePreset, ImageSearch, Level, Maker, Radius,
};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::{
    Held, content::place_of, figure, finish, image_preset, looking_radius, nothing_read,
    open_to_read, prints, prints::Named, summary,
};
use crate::{
    args::{ImageArgs, IndexSearchArgs, Matching},
    config::on_threads,
    report::{Output, Progress, check_places, grouped, json_line, say},
    source::Skipped,
};

/// The widest column of a table.
const WIDEST: usize = 60;

pub fn run(args: IndexSearchArgs) -> Result<ExitCode> {
    let start = Instant::now();
    let inputs = args.inputs.iter().map(PathBuf::as_path);
    check_places([args.output.place()], inputs.chain([args.folder.as_path()]))?;
    let partial = args.images.matching == Matching::Partial;
    let held = open(&args.folder, args.images, args.talk.quiet)?;
    let collection = held.whole();
    let radius = looking_radius(collection.about(), args.distance);
    let mut skipped = Skipped::unless(args.rows.strict);
    let as_table = args.output.file().is_none() && std::io::stdout().is_terminal();
    let mut searching = Searching {
        held: &held,
        partial,
        radius,
        limit: args.limit.unwrap_or(usize::MAX),
        output: BufWriter::new(Output::create(&args.output)?),
        as_table,
        images: image_preset(&collection.about().maker).ok(),
        queries: 0,
        matches: 0,
        alone: 0,
    };
    on_threads(args.threads, || match given(&args, collection)? {
        Some(query) => searching.search(&[query]),
        None => {
            let source = prints::Source::open(
                &args.inputs,
                &args.rows,
                collection.about(),
                args.images,
                &mut skipped,
            )?;
            if !args.talk.quiet {
                say(&format!("reading {}", source.what()));
            }
            let progress = Progress::new(args.talk.quiet);
            source.read(&mut skipped, &progress, &mut |items| searching.search(&items))
        }
    })?;
    let Searching { output, queries, matches, alone, .. } = searching;
    finish(output)?;
    let how = if partial {
        "or by their parts: estimated recall 100 % of what votes on parts accept"
    } else {
        "exact"
    };
    let found = format!("{} within {radius} bits, {how}", matches_words(matches));
    let figures = vec![
        figure("matches", matches, found),
        figure("without", alone, format!("{} without any", grouped(alone))),
    ];
    summary(queries, &skipped, start, figures).say(args.talk);
    nothing_read(queries, &skipped)?;
    Ok(ExitCode::SUCCESS)
}

/// With the tables of its images only if they are asked for.
fn open(folder: &Path, images: ImageArgs, quiet: bool) -> Result<Held> {
    let partial = images.matching == Matching::Partial;
    if !partial && !images.orientations {
        return Ok(Held::Whole(open_to_read(folder, quiet)?));
    }
    let held = Held::open_to_read(folder, quiet)?;
    ensure!(
        !partial || held.whole().about().keeps_parts(),
        "{}: it holds whole images only; --match partial must be said when a collection is made, \
         by index create or the first index add",
        folder.display()
    );
    Ok(held)
}

fn matches_words(matches: u64) -> String {
    if matches == 1 { "1 match".to_owned() } else { format!("{} matches", grouped(matches)) }
}

/// The query that stands on the command line itself.
fn given(args: &IndexSearchArgs, collection: &Collection) -> Result<Option<Named>> {
    let about = collection.about();
    let (id, print) = match (&args.text, &args.fingerprint) {
        (Some(text), _) => {
            let Maker::Text(recipe) = &about.maker else {
                bail!("--text: the collection is not of texts, but of {}", about.maker);
            };
            let print = recipe.fingerprint_any(text);
            (text, print.with_context(|| format!("--text: no {} in it", recipe.features))?)
        }
        (_, Some(bits)) => (bits, Fingerprint::parse(bits, about.width).context("--fingerprint")?),
        _ => return Ok(None),
    };
    Ok(Some(Named::new(id.clone(), print)))
}

/// A search under way.
struct Searching<'a> {
    held: &'a Held,
    /// Images are looked for by their parts, too.
    partial: bool,
    radius: Radius,
    limit: usize,
    output: BufWriter<Output>,
    as_table: bool,
    /// Set if the collection is of images.
    images: Option<&'static ImagePreset>,
    queries: u64,
    matches: u64,
    /// Queries without any match.
    alone: u64,
}

impl Searching<'_> {
    fn search(&mut self, items: &[Named]) -> Result<()> {
        let found = match (self.held, self.images) {
            (Held::Images(images), Some(preset)) => self.judged(images, preset, items)?,
            _ => self.as_a_whole(items)?,
        };
        for (item, found) in items.iter().zip(found) {
            self.queries += 1;
            self.matches += found.len() as u64;
            self.alone += u64::from(found.is_empty());
            if self.as_table {
                self.write_table(&item.name, &found)?;
            } else {
                self.write_lines(&item.name, &found)?;
            }
        }
        Ok(())
    }

    fn as_a_whole(&self, items: &[Named]) -> Result<Vec<Vec<Found>>> {
        let queries: Vec<_> = items.iter().map(|item| item.print).collect();
        Ok(self.held.whole().search_many(&queries, self.radius, self.limit)?)
    }

    /// Images that are alike, as `pairs` and `compare` say.
    fn judged(
        &self,
        images: &ImageCollection,
        preset: &ImagePreset,
        items: &[Named],
    ) -> Result<Vec<Vec<Found>>> {
        let search =
            ImageSearch::new(&preset.recipe, self.radius).orientations(true).partial(self.partial);
        let of_item = |item: &Named| match &item.image {
            Some(image) => Ok(images.search(&search, image, self.limit)?),
            None => Ok(self.as_a_whole(std::slice::from_ref(item))?.concat()),
        };
        items.par_iter().map(of_item).collect()
    }

    fn write_lines(&mut self, query: &str, found: &[Found]) -> Result<()> {
        for found in found {
            let mut fields = vec![
                ("query", json!(query)),
                ("match", json!(found.id)),
                ("distance", json!(found.distance)),
                // Only fingerprints are compared.
                ("similarity", Value::Null),
                ("level", json!(self.level(found.distance))),
            ];
            fields.extend(place_of(self.held.whole(), &found.id));
            writeln!(self.output, "{}", json_line(&fields))?;
        }
        Ok(())
    }

    fn write_table(&mut self, query: &str, found: &[Found]) -> Result<()> {
        let query = short(query);
        if found.is_empty() {
            writeln!(self.output, "{query}\n     nothing within {} bits", self.radius)?;
        } else {
            writeln!(self.output, "{query}")?;
        }
        for found in found {
            let level = self.level(found.distance).unwrap_or_default();
            let place = place_of(self.held.whole(), &found.id);
            let word =
                |(_, it): &(_, Value)| it.as_str().map_or_else(|| it.to_string(), String::from);
            let place = place.iter().map(word).collect::<Vec<_>>().join(":");
            let line =
                format!("{:>4} {level:<7} {}  {}", found.distance, short(&found.id), short(&place));
            writeln!(self.output, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// What people call this distance, of images.
    fn level(&self, distance: u32) -> Option<&'static str> {
        let preset = self.images?;
        let level = Level::WHOLE.iter().find(|level| preset.radius_of(**level).contains(distance));
        level.map(|level| level.name()).or(self.partial.then_some(Level::Part.name()))
    }
}

/// A name that fits a line and cannot upset a terminal.
fn short(name: &str) -> String {
    let shown: String =
        name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WIDEST + 1).collect();
    match shown.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}
