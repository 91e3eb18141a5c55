//! `lookalike dedup`: what of all this can go, because something alike stays?

mod acting;
mod answer;
mod decide;
mod keep;
mod matching;
mod originals;
mod outputs;
mod page;
mod plain;
mod prints;
mod seen;
mod thumbnail;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Result, bail, ensure};
use arrow_array::RecordBatch;
use lookalike::{AlikePairs, Collection, LostWords, TextFound, groups::Groups};
use serde_json::{Value, json};

use super::{
    FindPairs,
    images::{self, ImageSource, ReadImages},
    texts::{self, ReadTexts, TextSource},
};
use crate::{
    act::Reread,
    args::{DedupArgs, Grouping, KeepRules, Kind},
    config::{Alike, ImagesAlike, Work, image_reading, refuse_blocks},
    report::{Figure, Levels, Output, Summary, counted, grouped, html::Scale, id_value, say},
    source::{
        self, Bad, Digest, Fingerprints, Ids, ImageItem, Images, Kept, KeptOutput, Row, RowOptions,
        Rows, SeenFile, Skipped, guess_kind,
    },
};
use acting::{Acting, Acts, Secured, deed};
pub use answer::{Answer, Given, Id, Make, Unmade};
use decide::{Decision, Tally};
use keep::Preference;
use matching::{Grouped, ImageAlikes, Matching, TextAlikes};
use originals::Originals;
use outputs::Outputs;
use page::{Page, Shown};

pub fn run(args: DedupArgs) -> Result<ExitCode> {
    let done = Done::of(args, Given::default())?;
    done.tell();
    match done.allowed {
        Err(error) if done.args.output.is_some() || deed(&done.args.act).is_some() => Err(error),
        Err(error) if !done.args.talk.quiet => {
            say(&format!("note: {error}"));
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            done.acts.as_ref().map_or(Ok(()), Acts::check)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Everything `dedup` does, but for what it says in the end.
struct Done {
    args: DedupArgs,
    outcome: Outcome,
    skipped: Skipped,
    /// What was written of the input, if it was asked for.
    kept: Option<Kept>,
    /// What was done to the files themselves, if it was asked for.
    acts: Option<Acts>,
    /// Whether anything was written at all.
    written: bool,
    /// Whether so many may be removed.
    allowed: Result<()>,
    /// The rows of the items, from 0, if a program handed them over.
    rows: Vec<u32>,
    work: Work,
    seconds: f64,
}

impl Done {
    fn of(mut args: DedupArgs, given: Given<'_>) -> Result<Self> {
        let start = Instant::now();
        let kind = args.kind.unwrap_or_else(|| match given.rows {
            Some(_) => Kind::Text,
            None => guess_kind(&args.inputs, &args.rows, Kind::Text),
        });
        ensure!(
            args.against.is_none() || args.group == Grouping::Star,
            "--against removes what is alike something in OTHER; chains have no part in it: leave \
             --group out"
        );
        match kind {
            Kind::Text => refuse_blocks(args.blocks, "texts")?,
            Kind::Image => refuse_blocks(args.blocks, "images")?,
            Kind::Hash => {}
        }
        let secured = acting::secure(&args)?;
        let work = Work::new(std::mem::take(&mut args.work))?;
        outputs::check(&args)?;
        let skipped = Skipped::unless(args.rows.strict);
        let list = args.skipped.as_deref().filter(|_| !args.dry_run);
        let mut skipped = skipped.listed_in(list, args.force)?;
        let collection = args.against.as_deref().filter(|path| Collection::is_at(path));
        let found = match (kind, collection) {
            (Kind::Hash, _) => prints::search(&args, given, &work, &mut skipped)?,
            (_, Some(folder)) => seen::search(&args, folder, given, &work, &mut skipped)?,
            (Kind::Image, _) => search_images(&args, given, &work, &mut skipped)?,
            _ => search_texts(&args, given, &work, &mut skipped)?,
        };
        Self::finish(args, found, secured, work, skipped, start)
    }

    /// Decides what goes, and writes everything.
    fn finish(
        args: DedupArgs,
        found: Found,
        secured: Option<Secured>,
        work: Work,
        mut skipped: Skipped,
        start: Instant,
    ) -> Result<Self> {
        let Found { results, mut source, preference, mut outputs, acting, rows } = found;
        let outcome = work.on_threads(|| Outcome::new(results, &preference, &args))?;
        let Results { ids, told, .. } = &outcome.results;
        let allowed = outcome.decision.check(args.max_remove, ids, told.shown);
        if allowed.is_err() {
            outputs.keep_all();
        }
        let mut page = outputs.page.take();
        if let Some(page) = &mut page {
            let content = outcome.page(&args, &preference, &skipped);
            work.on_threads(|| source.write_page(content, page))?;
        }
        let written = !outputs.are_none() || args.report.is_some() || args.skipped.is_some();
        let write_kept = |keep: &dyn Fn(u32) -> bool, kept| source.write_kept(keep, kept);
        let kept = work.on_threads(|| {
            let pairs = outcome.pairs.as_ref().ok();
            outputs.write(&write_kept, pairs, &outcome.decision, told.levels, ids)
        })?;
        page.map(Output::finish).transpose()?;
        skipped.finish_list()?;
        let acts = match acting {
            Some(acting) if allowed.is_ok() => {
                let own = outcome.results.own as u32;
                let file = |item| source.file(item, own);
                let images = matches!(source, Source::Images { .. });
                let groups = &outcome.decision.groups;
                let mut acts = acting.run(groups, &file, source.reread(), images)?;
                secured.into_iter().for_each(|secured| acts.add_left(secured));
                Some(acts)
            }
            _ => None,
        };
        let seconds = start.elapsed().as_secs_f64();
        Ok(Self { args, outcome, skipped, kept, acts, written, allowed, rows, work, seconds })
    }

    fn summary(&self) -> Summary<'_> {
        let goes = self.kept.is_some() || self.acts.is_some();
        let against = self.args.against.as_ref().map(|_| Figure::against(&self.skipped));
        let mut figures: Vec<_> = against.into_iter().collect();
        figures.extend(self.outcome.figures(self.args.output.as_deref(), self.kept, goes));
        figures.extend(self.acts.iter().flat_map(Acts::figures));
        figures.push(Figure { name: "refused", value: self.blamed(), words: None });
        Summary {
            items: self.outcome.results.own as u64,
            skipped: &self.skipped,
            seconds: self.seconds,
            figures,
            plan: None,
        }
    }

    /// The group that made it too many, if so many may not be removed.
    fn blamed(&self) -> Value {
        let Outcome { decision, results, .. } = &self.outcome;
        match decision.largest().filter(|_| self.allowed.is_err()) {
            Some((position, group)) => json!({
                "group": position + 1,
                "keep": id_value(results.ids.at(group.keep)),
                "items": group.members.len() + 1,
            }),
            None => Value::Null,
        }
    }

    fn tell(&self) {
        let Self { args, written, acts, .. } = self;
        if let Some(acts) = acts.as_ref().filter(|_| !args.talk.quiet) {
            acts.list_left();
        }
        self.summary().say_labelled(args.talk);
        let idle = !written && acts.is_none() && self.allowed.is_ok();
        if idle && !args.talk.quiet && !args.dry_run {
            let shown = match self.outcome.results.told.shown {
                true => "--report FILE.html shows the groups",
                false => "--groups FILE lists the groups",
            };
            say(&format!("nothing was written: -o KEPT writes what is kept, {shown}"));
        }
    }
}

/// What a search found, with all that is needed to decide and to write.
struct Found {
    results: Results,
    source: Source,
    preference: Preference,
    outputs: Outputs,
    acting: Option<Acting>,
    /// The rows of the items, from 0, if a program handed them over.
    rows: Vec<u32>,
}

fn search_texts(
    args: &DedupArgs,
    given: Given<'_>,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<Found> {
    let Given { rows: given_rows, against, on_beat, make } = given;
    let is_given = given_rows.is_some();
    let alike = Alike::new(&args.recipe, args.distance, &args.verify)?;
    let (looking, alike) = (alike.looking(), alike.acting(&args.verify));
    let mut rows = open(&args.inputs, given_rows, options(args, work), skipped)?;
    let mut others = match &args.against {
        Some(path) => {
            let paths = std::slice::from_ref(path);
            let open = |skipped: &mut Skipped| open(paths, against, options(args, work), skipped);
            Some(skipped.of_others(open)?)
        }
        None => None,
    };
    let outputs = Outputs::open(args, |output| rows.open_kept(output))?;
    let acting = Acting::open(args, [rows.no_file(), others.as_ref().and_then(Rows::no_file)])?;
    let mut preference = Preference::new(args, Kind::Text);
    let mut numbers = Vec::new();
    let source = TextSource {
        rows: &mut rows,
        others: others.as_mut(),
        skipped,
        talk: args.talk,
        on_beat,
        make,
    };
    let mut on_row = |row: &Row<'_>, id: source::Id<'_>| {
        if is_given {
            numbers.push(row.line().saturating_sub(1) as u32);
        }
        preference.note(row, id)
    };
    let ReadTexts { texts, ids, own, items } =
        work.on_threads(|| source.read(&alike, work, &mut on_row))?;
    let texts = TextAlikes::new(texts, &alike, &looking);
    let left = &texts::left(work, items);
    let matching = Matching {
        own,
        items,
        preference: &preference,
        originals: None,
        args,
        work: left,
        on_beat,
    };
    let (matched, found, seconds) = work.on_threads(|| matching.run(texts))?;
    let told = Told {
        recipe: format!("{}{}", alike.recipe, if make.is_some() { ", own functions" } else { "" }),
        alike: alike.words(),
        how: how_words(&found),
        figures: text_figures(&found, seconds),
        levels: Levels::Similarity,
        scale: page::scale(&alike),
        shown: true,
    };
    let matches = Matches::Grouped(matched);
    let results = Results { matches, ids, own, items, originals: None, told };
    let source = Source::Texts { rows, others: others.map(Box::new) };
    Ok(Found { results, source, preference, outputs, acting, rows: numbers })
}

fn search_images(
    args: &DedupArgs,
    given: Given<'_>,
    work: &Work,
    skipped: &mut Skipped,
) -> Result<Found> {
    let alike = ImagesAlike::new(&args.recipe, args.distance, &args.verify, args.images)?;
    let (looking, alike) = (alike.looking(), alike.acting(&args.verify));
    if given.rows.is_some() || given.against.is_some() {
        bail!("images are read from files and folders, not from rows");
    }
    ensure!(given.make.is_none(), "functions of your own are for texts; these are images");
    let reading = image_reading(&args.cache, &args.rows, work.memory);
    let mut own = Images::open(&args.inputs, &reading, skipped)?;
    let mut others = match &args.against {
        Some(path) => {
            let paths = std::slice::from_ref(path);
            Some(skipped.of_others(|skipped| Images::open(paths, &reading, skipped))?)
        }
        None => None,
    };
    let outputs =
        Outputs::open(args, |output| Ok(KeptOutput::Folder(own.open_kept(output.file())?)))?;
    let acting = Acting::open(args, [None, None])?;
    let source = ImageSource {
        images: &mut own,
        others: others.as_mut(),
        skipped,
        talk: args.talk,
        on_beat: given.on_beat,
    };
    // What is only looked at may need more of an image.
    let is_looked_at = args.pairs.is_some() || args.report.is_some();
    let search = if is_looked_at { looking.search(work) } else { alike.search(work) };
    let ReadImages { images, ids, items, own: count } = work.on_threads(|| source.read(&search))?;
    let mut preference = Preference::new(args, Kind::Image);
    items[..count].iter().try_for_each(|item| preference.note_image(item))?;
    let originals = Originals::of(&items);
    let further = alike.is_narrower(&looking).then(|| looking.search(work));
    let images = ImageAlikes::new(images, alike.search(work), further);
    let matching = Matching {
        own: count,
        items: items.len(),
        preference: &preference,
        originals: Some(&originals),
        args,
        work,
        on_beat: given.on_beat,
    };
    let (matched, found, _) = work.on_threads(|| matching.run(images))?;
    let how = images::how_words(&found);
    let mut figures = images::figures(&found, &alike);
    figures.push(Figure { name: "found", value: json!(found.plan), words: Some(how.clone()) });
    let told = Told {
        recipe: alike.recipe.to_string(),
        alike: alike.words(),
        how,
        figures,
        levels: Levels::Distance(alike.preset.levels),
        scale: page::image_scale(&alike, &looking),
        shown: true,
    };
    let matches = Matches::Grouped(matched);
    let all = items.len();
    let results = Results { matches, ids, own: count, items: all, originals: None, told };
    let source = Source::Images { own, others, items };
    Ok(Found { results, source, preference, outputs, acting, rows: Vec::new() })
}

/// The rows of these files; or those a program handed over, under the name of the file.
fn open(
    paths: &[PathBuf],
    given: Option<Vec<RecordBatch>>,
    options: RowOptions,
    skipped: &mut Skipped,
) -> Result<Rows> {
    match given {
        None => Rows::open(paths, options, skipped),
        Some(rows) => {
            let name = paths.first().map_or_else(String::new, |path| path.display().to_string());
            Rows::in_memory(name, rows, options)
        }
    }
}

fn options(args: &DedupArgs, work: &Work) -> RowOptions {
    let keys = args.keep.as_ref().map_or_else(Vec::new, KeepRules::fields);
    let again = reads_again(args);
    let watch = deed(&args.act).is_some();
    let (temp, memory) = (work.temp.clone(), work.memory);
    RowOptions { keys, again, watch, temp, memory, ..RowOptions::from(&args.rows) }
}

/// Whether the input is read a second time, to show or to copy what is in it.
fn reads_again(args: &DedupArgs) -> bool {
    !args.dry_run && (args.output.is_some() || args.report.is_some())
}

/// Where the items came from: needed once more, to show and to copy them.
enum Source {
    Texts {
        rows: Rows,
        others: Option<Box<Rows>>,
    },
    Images {
        own: Images,
        others: Option<Images>,
        /// Of both, one after the other.
        items: Vec<ImageItem>,
    },
    Prints(Fingerprints),
}

impl Source {
    fn write_page(&mut self, page: Page<'_>, output: &mut Output) -> Result<()> {
        match self {
            Self::Texts { rows, others } => {
                let mut all: Vec<&mut Rows> =
                    [rows].into_iter().chain(others.as_deref_mut()).collect();
                page.write(&mut all, output)
            }
            Self::Images { items, .. } => page.write_images(items, output),
            Self::Prints(_) => unreachable!("a page of fingerprints was refused"),
        }
    }

    /// The file that is this item; those from `own` on are of the others.
    fn file(&self, item: u32, own: u32) -> Option<SeenFile<'_>> {
        match self {
            Self::Texts { rows, others } => match item.checked_sub(own) {
                Some(beyond) => others.as_ref()?.seen(beyond),
                None => rows.seen(item),
            },
            Self::Images { own: images, others, items } => {
                let images = if item < own { images } else { others.as_ref()? };
                Some(images.seen(items.get(item as usize)?))
            }
            Self::Prints(_) => None,
        }
    }

    /// How a file is read again, to see whether it still says what it said.
    fn reread(&self) -> Reread<'static> {
        match self {
            Self::Texts { .. } => &|path| Digest::of_text(path).map_err(Bad::error),
            Self::Images { .. } | Self::Prints(_) => &|path| Ok(Digest::of_file(path)?),
        }
    }

    fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: KeptOutput) -> Result<Kept> {
        match (self, output) {
            (Self::Texts { rows, .. }, output) => rows.write_kept(keep, output),
            (Self::Images { own, .. }, KeptOutput::Folder(folder)) => own.write_kept(keep, folder),
            (Self::Prints(prints), KeptOutput::Records(output)) => prints.write_kept(keep, output),
            (Self::Images { .. }, _) => unreachable!("kept images go to a folder"),
            (Self::Prints(_), _) => unreachable!("kept fingerprints go to one file"),
        }
    }
}

/// What a search found, whatever the items are.
struct Results {
    matches: Matches,
    ids: Ids,
    /// How many items can go; the others follow.
    own: usize,
    items: usize,
    /// Which images must stay.
    originals: Option<Originals>,
    told: Told,
}

/// What decides: pairs, from which groups are made; or groups.
enum Matches {
    Pairs(AlikePairs),
    Grouped(Grouped),
}

impl Default for Matches {
    fn default() -> Self {
        Self::Pairs(AlikePairs::default())
    }
}

/// What there is to tell of a search.
struct Told {
    recipe: String,
    /// When two items are alike.
    alike: String,
    /// How pairs were found.
    how: String,
    figures: Vec<Figure>,
    levels: Levels,
    scale: Scale,
    /// Whether a page can show the items.
    shown: bool,
}

/// All that is known once the search is done.
struct Outcome {
    results: Results,
    /// The pairs, if they were listed: all, or with `--against` those that cross over.
    pairs: Result<AlikePairs, FindPairs>,
    /// How many pairs, by level.
    tally: Option<Tally>,
    decision: Decision,
    looser: Option<Groups>,
    lost: Option<LostWords>,
}

impl Outcome {
    fn new(mut results: Results, preference: &Preference, args: &DedupArgs) -> Result<Self> {
        let own = results.own;
        let levels = results.told.levels;
        let pairs = match std::mem::take(&mut results.matches) {
            Matches::Grouped(Grouped { groups, spared, looser, lost, pairs }) => {
                let decision = Decision::new(own, groups, args.group, levels, spared);
                let tally = pairs.as_ref().ok().map(|pairs| Tally::of_pairs(pairs, levels));
                let tally = tally.transpose()?;
                return Ok(Self { results, pairs, tally, decision, looser, lost });
            }
            Matches::Pairs(pairs) if args.against.is_some() => pairs.crossing(own)?,
            Matches::Pairs(pairs) => pairs,
        };
        let order = match args.against {
            Some(_) => (own as u32..results.items as u32).chain(0..own as u32).collect(),
            None => preference.order()?,
        };
        let originals = results.originals.as_ref();
        let decision = Decision::of_pairs(own, &order, &pairs, args.group, levels, originals)?;
        let tally = Some(Tally::of_pairs(&pairs, levels)?);
        Ok(Self { results, pairs: Ok(pairs), tally, decision, looser: None, lost: None })
    }

    fn page(&self, args: &DedupArgs, preference: &Preference, skipped: &Skipped) -> Page<'_> {
        let Told { recipe, alike, how, scale, .. } = &self.results.told;
        let names: Vec<_> = args.inputs.iter().map(|path| path.display().to_string()).collect();
        let mut facts = vec![
            ("recipe".to_owned(), recipe.clone()),
            ("alike".to_owned(), alike.clone()),
            ("found".to_owned(), how.clone()),
        ];
        if let Some(tally) = &self.tally {
            facts.push(("pairs".to_owned(), pairs_words(tally)));
        }
        if let [Figure { words: Some(words), .. }, _] = self.looser_figures() {
            facts.push(("less alike".to_owned(), words));
        }
        if let Some(other) = &args.against {
            let skipped = Figure::against(skipped).words;
            let skipped = skipped.map_or_else(String::new, |words| format!(" ({words})"));
            facts.insert(0, ("against".to_owned(), format!("{}{skipped}", other.display())));
        }
        if skipped.total() > 0 {
            facts.push(("skipped".to_owned(), counted(skipped.total(), "item")));
        }
        let why = match args.against {
            Some(_) => "in the other set".to_owned(),
            None => preference.why(),
        };
        Page {
            title: names.join(", "),
            items: self.results.own as u64,
            facts,
            why,
            scale: scale.clone(),
            groups: Shown::all(&self.decision.groups, self.looser.as_ref()),
            ids: &self.results.ids,
        }
    }

    /// What stays beside a keeper that it is less alike: null if nobody looked for it.
    fn looser_figures(&self) -> [Figure; 2] {
        let levels = self.results.told.levels;
        let tally = self.looser.as_ref().map(|groups| Tally::of_members(groups, levels));
        let words = tally.filter(|tally| tally.total > 0).map(|tally| {
            let does = if tally.total == 1 {
                "1 more matches a kept item less closely, and stays".to_owned()
            } else {
                format!("{} more match a kept item less closely, and stay", grouped(tally.total))
            };
            format!("{does}: {}", tally.words())
        });
        let [total, levels] = [tally.map(|tally| json!(tally.total)), tally.as_ref().map(by_level)];
        [
            Figure { name: "looser", value: json!(total), words },
            Figure { name: "looser_by_level", value: json!(levels), words: None },
        ]
    }

    /// Which share of the removed words no kept item has: null where no words are compared.
    fn lost_figures(&self) -> [Figure; 2] {
        let share = self.lost.map(|LostWords { removed, lost }| {
            (lost as f64 / removed.max(1) as f64 * 1e4).round() / 1e4
        });
        let warning = share.filter(|&share| share > MUCH_LOST).map(|share| {
            format!(
                "{:.1} % of the removed words occur in no kept item: look at --report, or ask for \
                 --level copy",
                100.0 * share
            )
        });
        [
            Figure { name: "lost_words", value: json!(share), words: None },
            Figure { name: "warning", value: json!(warning), words: warning },
        ]
    }

    /// `goes`: what is removed was left out of what was written, or acted on.
    fn figures(&self, output: Option<&Path>, kept: Option<Kept>, goes: bool) -> Vec<Figure> {
        let Self { results: Results { told: searched, own, .. }, tally, decision, .. } = self;
        let (items, removed) = (*own as u64, decision.tally.total);
        let (largest, least) = decision.extremes();
        let part = 100.0 * removed as f64 / items.max(1) as f64;
        let would = if goes { "" } else { "would remove " };
        let removed_words = match decision.tally.words() {
            levels if levels.is_empty() => format!("{would}{} ({part:.1} %)", grouped(removed)),
            levels => format!("{would}{} ({part:.1} %): {levels}", grouped(removed)),
        };
        let groups = decision.groups.len() as u64;
        let groups_words = match largest {
            0 => "none".to_owned(),
            _ => format!("{}, the largest of {}", grouped(groups), counted(largest, "item")),
        };
        let told = |name, value, words| Figure { name, value, words: Some(words) };
        let silent = |name, value| Figure { name, value, words: None };
        let others = kept.map_or(0, |kept| kept.others);
        let also = if others == 0 {
            String::new()
        } else {
            format!(" and {} that could not be read", counted(others, "record"))
        };
        let target = match (output, kept) {
            (Some(path), Some(_)) if path == Path::new("-") => " to standard output".to_owned(),
            (Some(path), Some(_)) => format!(" to {}", path.display()),
            _ => String::new(),
        };
        let pairs = tally.as_ref();
        let mut figures = vec![
            Figure {
                name: "pairs",
                value: json!(pairs.map(|tally| tally.total)),
                words: pairs.map(pairs_words),
            },
            silent("pairs_by_level", json!(pairs.map(by_level))),
            told("groups", json!(groups), groups_words),
            silent("largest_group", json!(largest)),
            silent("least_similarity", json!(least)),
            told("removed", json!(removed), removed_words),
            silent("duplicate_ids", json!(self.results.ids.repeated().0)),
            silent("removed_by_level", by_level(&decision.tally)),
            told(
                "kept",
                json!(items - removed),
                format!("{}{also}{target}", grouped(items - removed)),
            ),
        ];
        figures.extend(self.looser_figures());
        figures.extend(self.lost_figures());
        let spared = decision.spared;
        figures.push(Figure {
            name: "raw",
            value: json!(spared.raw + spared.beside),
            words: spared.words(),
        });
        figures.extend(searched.figures.iter().cloned());
        figures
    }
}

/// From this share on, the summary warns.
const MUCH_LOST: f64 = 0.1;

fn pairs_words(tally: &Tally) -> String {
    match tally.words() {
        levels if levels.is_empty() => grouped(tally.total),
        levels => format!("{}: {levels}", grouped(tally.total)),
    }
}

fn how_words(found: &TextFound) -> String {
    let mut words = texts::how_words(found);
    if found.short > 0 {
        words += &format!(
            "; {} too short, compared by exact content",
            counted(found.short.into(), "text")
        );
    }
    if found.empty > 0 {
        words += &format!("; {}, never matched", counted(found.empty.into(), "empty text"));
    }
    words
}

fn text_figures(found: &TextFound, seconds: f64) -> Vec<Figure> {
    let silent = |name, value| Figure { name, value, words: None };
    let mut figures = texts::figures(found, seconds);
    figures.push(Figure { words: Some(how_words(found)), ..silent("found", json!(found.plan)) });
    figures.push(silent("spilled_bytes", json!(found.spilled)));
    figures
}

fn by_level(tally: &Tally) -> Value {
    tally.levels().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}
