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
mod thumbnail;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Result, bail, ensure};
use arrow_array::RecordBatch;
use lookalike::{
    Collection, Criteria,
    digest::Digests,
    groups::Groups,
    kind::{LostWords, Purpose, Reads, Registry},
    search::{AlikePairs, SearchStats},
};
use serde_json::{Value, json};

use super::{
    found::{figure, how_words, search_figures, silent},
    index::{make, open_to_read},
    read::{ReadItems, Sources, left},
};
use crate::{
    args::{DedupArgs, Grouping, KeepRules},
    config::{UNWATCHED, Work, input_options},
    host::{Console, Host},
    kinds::{Choice, Chosen},
    report::{Figure, Output, Summary, counted, grouped, id_value},
    source::{Ids, InputOptions, Inputs, Items, Kept, Make, SeenFile, Skipped, guess_kind},
};
use acting::{Acting, Acts, Secured, deed};
pub use answer::{Answer, Given, Id};
use decide::{Decision, Tally};
use keep::Preference;
use matching::{Grouped, Matching};
use originals::Originals;
use outputs::Outputs;
use page::{Page, Shown};

pub fn run(args: DedupArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let done = DedupRun::of(args, Given::default(), console, registry)?;
    done.print(console);
    match done.allowed {
        Err(error) if done.args.output.is_some() || deed(&done.args.act).is_some() => Err(error),
        Err(error) => {
            console.note(&format!("note: {error}"));
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            done.acts.as_ref().map_or(Ok(()), Acts::check)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Everything `dedup` does, but for what it says in the end.
struct DedupRun {
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
    work: Work,
    seconds: f64,
}

/// The inputs, and those they are held against.
struct Both {
    own: Inputs,
    others: Option<Others>,
}

/// What the inputs are held against.
enum Others {
    Inputs(Inputs),
    Collection(Box<Collection>),
}

impl Others {
    /// What is no file, if something is none.
    fn no_file(&self) -> Option<String> {
        match self {
            Self::Inputs(inputs) => inputs.no_file(),
            Self::Collection(collection) => Some(collection.folder().display().to_string()),
        }
    }
}

impl DedupRun {
    fn of(
        mut args: DedupArgs,
        given: Given<'_>,
        console: Console<'_>,
        registry: &Registry,
    ) -> Result<Self> {
        let start = Instant::now();
        let name = args.kind.clone().unwrap_or_else(|| match given.rows {
            Some(_) => "text".to_owned(),
            None => guess_kind(&args.inputs, &args.rows, "text").to_owned(),
        });
        ensure!(
            args.against.is_none() || args.group == Grouping::Star,
            "--against removes what is alike something in OTHER; chains have no part in it: leave \
             --group out"
        );
        let collection = args.against.as_deref().filter(|path| Collection::is_at(path));
        let chosen = match collection {
            Some(folder) => {
                let has_own = given.make.is_some();
                of_collection(&args, (folder, &name), has_own, console, registry)?
            }
            None => choose(&args, &name, registry)?,
        };
        let secured = acting::secure(&args, console)?;
        let work = Work::new(std::mem::take(&mut args.work), console.host)?;
        outputs::check(&args)?;
        let skipped = Skipped::unless(args.rows.strict);
        let list = args.skipped.as_deref().filter(|_| !args.dry_run);
        let mut skipped = skipped.listed_in(list, args.force, console)?;
        let reading = Job { args: &args, work: &work, console, registry };
        let Given { rows, against, on_beat, make } = given;
        let is_given = rows.is_some();
        let mut both = reading.open(&chosen, rows, against, &mut skipped)?;
        let chosen = chosen.of_width(both.own.width())?.of_dimensions(both.own.dimensions())?;
        let mut outputs =
            Outputs::open(&args, |output| both.own.open_kept(output, console), console)?;
        let no_files = [both.own.no_file(), both.others.as_ref().and_then(Others::no_file)];
        let acting = Acting::open(&args, no_files.each_ref().map(Option::as_deref), console.host)?;
        let (outcome, preference) =
            reading.search(chosen, &mut both, &mut skipped, (on_beat, make, is_given))?;
        let allowed = outcome.decision.check(args.max_remove, &outcome.ids, outcome.is_shown());
        if allowed.is_err() {
            outputs.keep_all();
        }
        let mut page = outputs.page.take();
        if let Some(page) = &mut page {
            let Both { own, others } = &mut both;
            let (others, collection) = match others {
                Some(Others::Inputs(others)) => (Some(others), None),
                Some(Others::Collection(collection)) => (None, Some(&**collection)),
                None => (None, None),
            };
            let content = outcome.page(&args, &preference, &skipped, collection);
            let mut inputs: Vec<_> = [own].into_iter().chain(others).collect();
            work.on_threads(|| content.write(&mut inputs, page))?;
        }
        let written = !outputs.are_none() || args.report.is_some() || args.skipped.is_some();
        let write_kept = |keep: &dyn Fn(u32) -> bool, kept| both.own.write_kept(keep, kept);
        let kept = work.on_threads(|| {
            outputs.write(&write_kept, outcome.pairs.as_ref(), &outcome.decision, &outcome.ids)
        })?;
        page.map(Output::finish).transpose()?;
        skipped.finish_list()?;
        let acts = match acting {
            Some(acting) if allowed.is_ok() => {
                Some(act(acting, secured, &both, &outcome, console)?)
            }
            _ => None,
        };
        let seconds = start.elapsed().as_secs_f64();
        Ok(Self { args, outcome, skipped, kept, acts, written, allowed, work, seconds })
    }

    fn summary(&self) -> Summary<'_> {
        let is_gone = self.kept.is_some() || self.acts.is_some();
        let against = self.args.against.as_ref().map(|_| Figure::against(&self.skipped));
        let mut figures: Vec<_> = against.into_iter().collect();
        figures.extend(self.outcome.figures(self.args.output.as_deref(), self.kept, is_gone));
        figures.extend(self.acts.iter().flat_map(Acts::figures));
        figures.push(silent("refused", self.blamed()));
        Summary {
            items: self.outcome.own as u64,
            skipped: &self.skipped,
            seconds: self.seconds,
            figures,
            plan: None,
        }
    }

    /// The group that made it too many, if so many may not be removed.
    fn blamed(&self) -> Value {
        let Outcome { decision, ids, .. } = &self.outcome;
        match decision.largest().filter(|_| self.allowed.is_err()) {
            Some((position, group)) => json!({
                "group": position + 1,
                "keep": id_value(ids.at(group.keep)),
                "items": group.members.len() + 1,
            }),
            None => Value::Null,
        }
    }

    fn print(&self, console: Console<'_>) {
        let Self { args, written, acts, .. } = self;
        acts.iter().for_each(|acts| acts.list_left(console));
        self.summary().say_labelled(console);
        let idle = !written && acts.is_none() && self.allowed.is_ok();
        if idle && !args.dry_run {
            let shown = match self.outcome.is_shown() {
                true => "--report FILE.html shows the groups",
                false => "--groups FILE lists the groups",
            };
            console.note(&format!("nothing was written: -o KEPT writes what is kept, {shown}"));
        }
    }
}

fn choose(args: &DedupArgs, name: &str, registry: &Registry) -> Result<Chosen> {
    let choice = Choice {
        recipe: &args.recipe,
        verify: &args.verify,
        images: args.images,
        distance: args.distance,
        blocks: args.blocks,
    };
    let rows = &args.rows;
    let others = [
        ("report", args.report.is_some()),
        ("cache", args.cache.cache.is_some()),
        ("field", rows.field.is_some()),
        ("id", rows.id.is_some()),
        ("lines", rows.lines),
        ("format", rows.format.is_some()),
        ("html", rows.html),
        ("markup", rows.markup),
        ("follow-links", rows.follow_links),
    ];
    Chosen::new(registry, name, choice, &others)
}

/// The kind of a collection, which decides how items are compared.
fn of_collection(
    args: &DedupArgs,
    (folder, name): (&Path, &str),
    has_own: bool,
    console: Console<'_>,
    registry: &Registry,
) -> Result<Chosen> {
    ensure!(
        !has_own,
        "--against {}: its recipe decides how items are compared, not functions of your own",
        folder.display()
    );
    let chosen = {
        let collection = open_to_read(folder, registry, Console { quiet: true, ..console })?;
        make::check_recipe(&args.recipe, None, args.verify.no_verify, &collection, registry)?;
        Chosen::of_collection(registry, &collection, &args.verify, args.images, args.distance)?
    };
    let items = chosen.registration.items;
    ensure!(
        chosen.registration.name == name,
        "{}: holds {items}, but these are {name} items",
        folder.display()
    );
    Ok(chosen)
}

fn act(
    acting: Acting,
    secured: Option<Secured>,
    both: &Both,
    outcome: &Outcome,
    console: Console<'_>,
) -> Result<Acts> {
    let own = outcome.own as u32;
    let file = |item| both.file(item, own);
    let have_sidecars = matches!(both.own, Inputs::Files(_));
    let groups = &outcome.decision.groups;
    let mut acts = acting.run(groups, &file, both.own.reread(), have_sidecars, console)?;
    secured.into_iter().for_each(|secured| acts.add_left(secured));
    Ok(acts)
}

/// What is to be done, and with what.
struct Job<'a> {
    args: &'a DedupArgs,
    console: Console<'a>,
    work: &'a Work,
    registry: &'a Registry,
}

/// Whom a program hears from while it waits, what takes texts apart for it, and whether it handed rows
/// over.
type Program<'a> = (&'a (dyn Fn() + Sync), Option<Make<'a>>, bool);

impl Job<'_> {
    fn open(
        &self,
        chosen: &Chosen,
        rows: Option<Vec<RecordBatch>>,
        against: Option<Vec<RecordBatch>>,
        skipped: &mut Skipped,
    ) -> Result<Both> {
        let options = self.options(chosen);
        let own = self.open_one(&self.args.inputs, rows, chosen, &options, skipped)?;
        let others = match &self.args.against {
            None => None,
            Some(folder) if Collection::is_at(folder) => {
                let collection = open_to_read(folder, self.registry, self.console)?;
                Some(Others::Collection(Box::new(collection)))
            }
            Some(path) => {
                let paths = std::slice::from_ref(path);
                let others = skipped.of_others(|skipped| {
                    self.open_one(paths, against, chosen, &options, skipped)
                })?;
                check_widths(path, &own, &others)?;
                Some(Others::Inputs(others))
            }
        };
        Ok(Both { own, others })
    }

    /// The inputs of these names; or rows that a program handed over, under the first of them.
    fn open_one(
        &self,
        paths: &[PathBuf],
        given: Option<Vec<RecordBatch>>,
        chosen: &Chosen,
        options: &InputOptions,
        skipped: &mut Skipped,
    ) -> Result<Inputs> {
        let reads = chosen.registration.reads;
        match given {
            None => Inputs::open(paths, reads, options, skipped),
            Some(rows) => {
                let name =
                    paths.first().map_or_else(String::new, |path| path.display().to_string());
                Inputs::in_memory(name, rows, reads, options)
            }
        }
    }

    fn options(&self, chosen: &Chosen) -> InputOptions {
        let args = self.args;
        let again = !args.dry_run && (args.output.is_some() || args.report.is_some());
        let reads = chosen.registration.reads;
        let mut options = input_options(reads, &args.rows, &args.cache, self.work);
        options.rows.keys = args.keep.as_ref().map_or_else(Vec::new, KeepRules::fields);
        options.rows.again = again;
        options.rows.watch = deed(&args.act).is_some();
        options.prints.again = again;
        options.prints.kind = args.kind.clone();
        options.prints.bits = args.recipe.bits;
        options.expect(&*chosen.kind);
        options
    }

    /// Reads everything and decides what goes.
    fn search(
        &self,
        chosen: Chosen,
        both: &mut Both,
        skipped: &mut Skipped,
        (on_beat, make, is_given): Program<'_>,
    ) -> Result<(Outcome, Preference)> {
        let Self { args, work, .. } = *self;
        ensure!(
            make.is_none() || chosen.registration.reads == Reads::Records,
            "functions of your own are for texts; these are {}",
            chosen.registration.items
        );
        let [acting, looking] =
            [Purpose::Act, Purpose::Look].map(|purpose| chosen.criteria(purpose));
        let (acting, looking) = (acting?, looking?);
        let mut preference = Preference::new(args, &chosen.registration)?;
        let mut rows = Vec::new();
        let mut on_items = |items: &Items<'_>| {
            for (number, item) in (items.first..).zip(&items.items) {
                if is_given {
                    rows.push(item.line().saturating_sub(1) as u32);
                }
                preference.note(item, items.ids.at(number))?;
            }
            Ok(())
        };
        let resources = work.resources(UNWATCHED);
        let others = both.others.as_mut();
        let (inputs, collection) = match others {
            Some(Others::Inputs(inputs)) => (Some(inputs), None),
            Some(Others::Collection(collection)) => (None, Some(collection)),
            None => (None, None),
        };
        let sources = Sources {
            own: &mut both.own,
            others: inputs,
            collection: collection.as_deref().map(|collection| &**collection),
            skipped,
            console: self.console,
            on_beat,
            make,
        };
        let read =
            work.on_threads(|| sources.read(&chosen, &acting, &resources, work, &mut on_items))?;
        let ReadItems { digests, ids, own } = read;
        preference.note_rest(own)?;
        let originals = Originals::of(both, &ids, own);
        let matching = Matching {
            chosen: &chosen,
            digests: &digests,
            acting: &acting,
            looking: &looking,
            own,
            preference: &preference,
            originals: originals.as_ref(),
            args,
            console: self.console,
            work: &left(work, &digests),
            on_beat,
        };
        let Grouped { groups, spared, looser, lost, pairs, found, seconds } =
            work.on_threads(|| matching.run())?;
        let decision = Decision::new(own, groups, args.group, spared);
        let tally = pairs.as_ref().map(Tally::of_pairs).transpose()?;
        let has_own = make.is_some();
        let outcome = Outcome {
            chosen,
            acting,
            looking,
            digests,
            ids,
            own,
            rows,
            has_own,
            pairs,
            tally,
            decision,
            looser,
            lost,
            found,
            seconds,
        };
        Ok((outcome, preference))
    }
}

/// Fingerprints of other widths cannot be compared, nor vectors of other dimensions.
fn check_widths(path: &Path, own: &Inputs, others: &Inputs) -> Result<()> {
    if let (Some(own), Some(other)) = (own.dimensions(), others.dimensions())
        && own != other
    {
        bail!("--against {} has vectors of {other} dimensions, the input of {own}", path.display());
    }
    if let (Some(own), Some(other)) = (own.width(), others.width())
        && own != other
    {
        bail!(
            "--against {} has {}-bit fingerprints, the input {}-bit; if lines are as wide, set --bits",
            path.display(),
            other.bits(),
            own.bits()
        );
    }
    Ok(())
}

impl Both {
    /// The file that is this item; those from `own` on are of the others.
    fn file(&self, item: u32, own: u32) -> Option<SeenFile<'_>> {
        match (item.checked_sub(own), &self.others) {
            (None, _) => self.own.file(item),
            (Some(beyond), Some(Others::Inputs(others))) => others.file(beyond),
            _ => None,
        }
    }
}

/// All that is known once the search is done.
struct Outcome {
    chosen: Chosen,
    acting: Criteria,
    looking: Criteria,
    digests: Digests,
    ids: Ids,
    /// How many items can go; the others follow.
    own: usize,
    /// The rows of the items, from 0, if a program handed them over.
    rows: Vec<u32>,
    /// Whether functions of a program's own took texts apart.
    has_own: bool,
    /// The pairs, if they were listed: all, or with `--against` those that cross over.
    pairs: Option<AlikePairs>,
    /// How many pairs, by level.
    tally: Option<Tally>,
    decision: Decision,
    looser: Option<Groups>,
    lost: Option<LostWords>,
    found: SearchStats,
    seconds: f64,
}

impl Outcome {
    /// Whether a page can show the items.
    fn is_shown(&self) -> bool {
        self.chosen.registration.options.contains(&"report")
    }

    fn recipe(&self) -> String {
        let own = if self.has_own { ", own functions" } else { "" };
        format!("{}{own}", self.chosen.kind.recipe())
    }

    fn page<'a>(
        &'a self,
        args: &DedupArgs,
        preference: &Preference,
        skipped: &Skipped,
        collection: Option<&'a Collection>,
    ) -> Page<'a> {
        let names: Vec<_> = args.inputs.iter().map(|path| path.display().to_string()).collect();
        let mut facts = vec![
            ("recipe".to_owned(), self.recipe()),
            ("alike".to_owned(), self.chosen.kind.words(&self.acting)),
            ("found".to_owned(), how_words(&self.chosen, &self.found)),
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
            items: self.own as u64,
            facts,
            why,
            scale: self.chosen.kind.scale(&self.acting, &self.looking).into(),
            groups: Shown::all(&self.decision.groups, self.looser.as_ref()),
            ids: &self.ids,
            collection,
        }
    }

    /// What stays beside a keeper that it is less alike: null if nobody looked for it.
    fn looser_figures(&self) -> [Figure; 2] {
        let tally = self.looser.as_ref().map(Tally::of_members);
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
        let Self { own, tally, decision, .. } = self;
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
            figure("groups", json!(groups), groups_words),
            silent("largest_group", json!(largest)),
            silent("least_similarity", json!(least)),
            figure("removed", json!(removed), removed_words),
            silent("duplicate_ids", json!(self.ids.repeated().0)),
            silent("removed_by_level", by_level(&decision.tally)),
            figure(
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
        let search = search_figures(&self.chosen, &self.acting, &self.found, self.seconds);
        figures.extend(search.into_iter().map(|searched| match searched.name {
            "found" => Figure { words: Some(how_words(&self.chosen, &self.found)), ..searched },
            "recipe" => Figure { value: json!(self.recipe()), ..searched },
            _ => searched,
        }));
        figures.push(silent("exact", json!(self.found.is_exact())));
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

fn by_level(tally: &Tally) -> Value {
    tally.levels().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}
