//! `lookalike dedup`: groups near-duplicates, keeps one item of each group, and writes or acts on
//! the rest.

mod actions;
mod decision;
mod group_search;
mod keep;
mod outputs;
mod page;
mod plainness;
mod raw;
mod result;
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
    figures::{completeness, figure, hidden, search_figures},
    index::{new_collection, open_to_read},
    read::{ReadItems, Sources, remaining},
};
use crate::{
    args::{DedupArgs, Grouping, KeepRules},
    config::{NO_PROGRESS, Work, input_options},
    host::{Console, Host},
    kinds::{CompareOptions, SelectedKind},
    report::{Figure, Output, Summary, counted, grouped, id_value, share_value},
    source::{Ids, InputOptions, Inputs, Items, Kept, SeenFile, Skipped, guess_kind},
};
use actions::{ActionReport, InputLock, PendingAction, requested_action};
use decision::{Decision, Tally};
use group_search::{GroupSearch, GroupSearchResult};
use keep::Preference;
use outputs::Outputs;
use page::{Page, PageGroup};
use raw::RawFiles;
pub use result::{CallerOptions, DedupResult, Id};

pub fn run(args: DedupArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let run = DedupRun::new(args, CallerOptions::default(), console, registry)?;
    run.print(console);
    match run.allowed {
        Err(error) if run.args.output.is_some() || requested_action(&run.args.act).is_some() => {
            Err(error)
        }
        Err(error) => {
            console.note(&format!("note: {error}"));
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            run.acted.as_ref().map_or(Ok(()), ActionReport::check)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A finished run, before its summary is printed.
struct DedupRun {
    args: DedupArgs,
    outcome: Outcome,
    skipped: Skipped,
    /// What was written to `-o`, if given.
    kept: Option<Kept>,
    /// What was done to the files, if requested.
    acted: Option<ActionReport>,
    /// Whether anything was written at all.
    written: bool,
    /// An error if more than `--max-remove` would be removed.
    allowed: Result<()>,
    work: Work,
    seconds: f64,
}

/// The inputs, and the set of `--against`.
struct DedupInputs {
    own: Inputs,
    others: Option<AgainstSet>,
}

enum AgainstSet {
    Inputs(Inputs),
    Collection(Box<Collection>),
}

impl AgainstSet {
    /// The name of an input that is not a file, if there is one.
    fn no_file(&self) -> Option<String> {
        match self {
            Self::Inputs(inputs) => inputs.no_file(),
            Self::Collection(collection) => Some(collection.folder().display().to_string()),
        }
    }
}

impl DedupRun {
    fn new(
        mut args: DedupArgs,
        mut caller: CallerOptions<'_>,
        console: Console<'_>,
        registry: &Registry,
    ) -> Result<Self> {
        let start = Instant::now();
        let name = args.kind.clone().unwrap_or_else(|| match caller.rows {
            Some(_) => "text".to_owned(),
            None => guess_kind(&args.inputs, &args.rows, "text").to_owned(),
        });
        ensure!(
            args.against.is_none() || args.group == Grouping::Star,
            "--group connected cannot be combined with --against, which removes only what matches an \
             item in OTHER; omit --group"
        );
        let collection = args.against.as_deref().filter(|path| Collection::is_at(path));
        let selected = match collection {
            Some(folder) => {
                let is_custom = caller.custom_digester.is_some();
                select_from_collection(&args, (folder, &name), is_custom, console, registry)?
            }
            None => select(&args, &name, registry)?,
        };
        let lock = InputLock::take(&args, console)?;
        let work = Work::new(std::mem::take(&mut args.work), console.host)?;
        outputs::check(&args)?;
        let skipped = Skipped::unless(args.rows.strict);
        let list = args.skipped.as_deref().filter(|_| !args.dry_run);
        let mut skipped = skipped.listed_in(list, args.force, console)?;
        let (rows, against) = (caller.rows.take(), caller.against.take());
        let has_rows = rows.is_some();
        let context = DedupContext { args: &args, work: &work, console, registry, has_rows };
        let mut inputs = context.open(&selected, rows, against, &mut skipped)?;
        let selected =
            selected.of_width(inputs.own.width())?.of_dimensions(inputs.own.dimensions())?;
        let mut outputs =
            Outputs::open(&args, |output| inputs.own.open_kept(output, console), console)?;
        let no_files = [inputs.own.no_file(), inputs.others.as_ref().and_then(AgainstSet::no_file)];
        let action =
            PendingAction::open(&args, no_files.each_ref().map(Option::as_deref), console.host)?;
        let (outcome, preference) = context.search(selected, &mut inputs, &mut skipped, &caller)?;
        let allowed = outcome.decision.check(args.max_remove, &outcome.ids, outcome.has_report());
        if allowed.is_err() {
            outputs.discard_kept();
        }
        let mut page = outputs.page.take();
        if let Some(page) = &mut page {
            let (own, others, collection) = inputs.split();
            let content = outcome.page(&args, &preference, &skipped, collection);
            let mut inputs: Vec<_> = [own].into_iter().chain(others).collect();
            work.on_threads(|| content.write(&mut inputs, page))?;
        }
        let written = !outputs.are_none() || args.report.is_some() || args.skipped.is_some();
        let write_kept = |keep: &dyn Fn(u32) -> bool, kept| inputs.own.write_kept(keep, kept);
        let kept = work.on_threads(|| {
            outputs.write(&write_kept, outcome.pairs.as_ref(), &outcome.decision, &outcome.ids)
        })?;
        page.map(Output::finish).transpose()?;
        skipped.finish_list()?;
        let acted = match action {
            Some(action) if allowed.is_ok() => Some(act(action, lock, &inputs, &outcome, console)?),
            _ => None,
        };
        let seconds = start.elapsed().as_secs_f64();
        Ok(Self { args, outcome, skipped, kept, acted, written, allowed, work, seconds })
    }

    fn summary(&self) -> Summary<'_> {
        let acts = |report: &ActionReport| !report.dry_run;
        let is_removed = self.kept.is_some() || self.acted.as_ref().is_some_and(acts);
        let against = self.args.against.as_ref().map(|_| Figure::against(&self.skipped));
        let mut figures: Vec<_> = against.into_iter().collect();
        figures.extend(self.outcome.figures(self.args.output.as_deref(), self.kept, is_removed));
        figures.extend(self.acted.iter().flat_map(ActionReport::figures));
        figures.push(hidden("refused", self.refused()));
        Summary {
            items: self.outcome.own as u64,
            skipped: &self.skipped,
            seconds: self.seconds,
            figures,
            plan: None,
        }
    }

    /// The largest group, if more than `--max-remove` would be removed.
    fn refused(&self) -> Value {
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
        let Self { args, written, acted, .. } = self;
        acted.iter().for_each(|acted| acted.list_not_done(console));
        self.summary().say_labelled(console);
        let is_idle = !written && acted.is_none() && self.allowed.is_ok();
        if is_idle && !args.dry_run {
            let hint = match self.outcome.has_report() {
                true => "--report FILE.html to see the groups",
                false => "--groups FILE to list the groups",
            };
            console.note(&format!("nothing written; use -o KEPT to write what is kept, {hint}"));
        }
    }
}

fn select(args: &DedupArgs, name: &str, registry: &Registry) -> Result<SelectedKind> {
    let compare = CompareOptions {
        recipe: &args.recipe,
        verify: args.verify,
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
    SelectedKind::new(registry, name, compare, &others)
}

/// The kind of the collection of `--against`, which fixes how items are compared.
fn select_from_collection(
    args: &DedupArgs,
    (folder, name): (&Path, &str),
    is_custom: bool,
    console: Console<'_>,
    registry: &Registry,
) -> Result<SelectedKind> {
    ensure!(
        !is_custom,
        "--against {}: the collection fixes how items are compared; custom functions do not apply",
        folder.display()
    );
    let selected = {
        let collection = open_to_read(folder, registry, Console { quiet: true, ..console })?;
        new_collection::check_recipe(
            &args.recipe,
            None,
            args.verify.no_verify,
            &collection,
            registry,
        )?;
        SelectedKind::of_collection(registry, &collection, args.verify, args.images, args.distance)?
    };
    let items = selected.registration.items;
    ensure!(
        selected.registration.name == name,
        "{}: the collection holds {items}, but the input holds {name} items",
        folder.display()
    );
    Ok(selected)
}

fn act(
    action: PendingAction,
    lock: Option<InputLock>,
    inputs: &DedupInputs,
    outcome: &Outcome,
    console: Console<'_>,
) -> Result<ActionReport> {
    let own = outcome.own as u32;
    let file = |item| inputs.file(item, own);
    let have_sidecars = matches!(inputs.own, Inputs::Files(_));
    let groups = &outcome.decision.groups;
    let mut acted = action.run(groups, &file, inputs.own.reread(), have_sidecars, console)?;
    lock.into_iter().for_each(|lock| acted.add_not_done(lock));
    Ok(acted)
}

/// What every step of a run needs.
struct DedupContext<'a> {
    args: &'a DedupArgs,
    console: Console<'a>,
    work: &'a Work,
    registry: &'a Registry,
    /// Whether the caller passed rows instead of input files.
    has_rows: bool,
}

impl DedupContext<'_> {
    fn open(
        &self,
        selected: &SelectedKind,
        rows: Option<Vec<RecordBatch>>,
        against: Option<Vec<RecordBatch>>,
        skipped: &mut Skipped,
    ) -> Result<DedupInputs> {
        let options = self.options(selected);
        let own = self.open_one(&self.args.inputs, rows, selected, &options, skipped)?;
        let others = match &self.args.against {
            None => None,
            Some(folder) if Collection::is_at(folder) => {
                let collection = open_to_read(folder, self.registry, self.console)?;
                Some(AgainstSet::Collection(Box::new(collection)))
            }
            Some(path) => {
                let paths = std::slice::from_ref(path);
                let others = skipped.of_others(|skipped| {
                    self.open_one(paths, against, selected, &options, skipped)
                })?;
                check_widths(path, &own, &others)?;
                Some(AgainstSet::Inputs(others))
            }
        };
        Ok(DedupInputs { own, others })
    }

    /// The inputs at these paths; or rows passed by the caller, named by the first path.
    fn open_one(
        &self,
        paths: &[PathBuf],
        rows: Option<Vec<RecordBatch>>,
        selected: &SelectedKind,
        options: &InputOptions,
        skipped: &mut Skipped,
    ) -> Result<Inputs> {
        let reads = selected.registration.reads;
        match rows {
            None => Inputs::open(paths, reads, options, skipped),
            Some(rows) => {
                let name =
                    paths.first().map_or_else(String::new, |path| path.display().to_string());
                Inputs::in_memory(name, rows, reads, options)
            }
        }
    }

    fn options(&self, selected: &SelectedKind) -> InputOptions {
        let args = self.args;
        let again = !args.dry_run && (args.output.is_some() || args.report.is_some());
        let reads = selected.registration.reads;
        let mut options = input_options(reads, &args.rows, &args.cache, self.work);
        options.rows.keys = args.keep.as_ref().map_or_else(Vec::new, KeepRules::fields);
        options.rows.again = again;
        options.rows.watch = requested_action(&args.act).is_some();
        options.prints.again = again;
        options.prints.kind = args.kind.clone();
        options.prints.bits = args.recipe.bits;
        options.expect(&*selected.kind);
        options
    }

    /// Reads everything and decides which items to remove.
    fn search(
        &self,
        selected: SelectedKind,
        inputs: &mut DedupInputs,
        skipped: &mut Skipped,
        caller: &CallerOptions<'_>,
    ) -> Result<(Outcome, Preference)> {
        let Self { args, work, .. } = *self;
        ensure!(
            caller.custom_digester.is_none() || selected.registration.reads == Reads::Records,
            "custom functions accept only texts; the input holds {}",
            selected.registration.items
        );
        let [acting, looking] =
            [Purpose::Act, Purpose::Look].map(|purpose| selected.criteria(purpose));
        let (acting, looking) = (acting?, looking?);
        let mut preference = Preference::new(args, &selected.registration)?;
        let mut rows = Vec::new();
        let mut on_items = |items: &Items<'_>| {
            for (number, item) in (items.first..).zip(&items.items) {
                if self.has_rows {
                    rows.push(item.line().saturating_sub(1) as u32);
                }
                preference.record(item, items.ids.at(number))?;
            }
            Ok(())
        };
        let resources = work.resources(NO_PROGRESS);
        let (own, others, collection) = inputs.split();
        let sources = Sources {
            own,
            others,
            collection,
            skipped,
            console: self.console,
            on_progress: caller.on_progress,
            custom_digester: caller.custom_digester,
        };
        let read =
            work.on_threads(|| sources.read(&selected, &acting, &resources, work, &mut on_items))?;
        let ReadItems { digests, ids, own } = read;
        preference.set_items(own);
        let raw = RawFiles::of(inputs, &ids, own);
        let search = GroupSearch {
            selected: &selected,
            digests: &digests,
            acting: &acting,
            looking: &looking,
            own,
            preference: &preference,
            raw: raw.as_ref(),
            args,
            console: self.console,
            work: &remaining(work, &digests),
            on_progress: caller.on_progress,
        };
        let GroupSearchResult { groups, spared, looser, lost, pairs, stats, seconds } =
            work.on_threads(|| search.run())?;
        let decision = Decision::new(own, groups, args.group, spared);
        let tally = pairs.as_ref().map(Tally::of_pairs).transpose()?;
        let is_custom = caller.custom_digester.is_some();
        let outcome = Outcome {
            selected,
            acting,
            looking,
            digests,
            ids,
            own,
            rows,
            is_custom,
            pairs,
            tally,
            decision,
            looser,
            lost,
            stats,
            seconds,
        };
        Ok((outcome, preference))
    }
}

/// Fingerprints of different widths cannot be compared, nor vectors of different dimensions.
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
            "--against {} has {}-bit fingerprints, the input {}-bit; set --bits",
            path.display(),
            other.bits(),
            own.bits()
        );
    }
    Ok(())
}

impl DedupInputs {
    /// The inputs, and the set that they are compared with: other inputs or a collection.
    fn split(&mut self) -> (&mut Inputs, Option<&mut Inputs>, Option<&Collection>) {
        let (others, collection) = match &mut self.others {
            Some(AgainstSet::Inputs(others)) => (Some(others), None),
            Some(AgainstSet::Collection(collection)) => (None, Some(&**collection)),
            None => (None, None),
        };
        (&mut self.own, others, collection)
    }

    /// The file of this item; items from `own` on belong to the others.
    fn file(&self, item: u32, own: u32) -> Option<SeenFile<'_>> {
        match (item.checked_sub(own), &self.others) {
            (None, _) => self.own.file(item),
            (Some(beyond), Some(AgainstSet::Inputs(others))) => others.file(beyond),
            _ => None,
        }
    }
}

/// The result of the search and the decision.
struct Outcome {
    selected: SelectedKind,
    acting: Criteria,
    looking: Criteria,
    digests: Digests,
    ids: Ids,
    /// The number of items that may be removed; those of `--against` follow.
    own: usize,
    /// The row of each item, from 0, if the caller passed rows.
    rows: Vec<u32>,
    /// Whether a custom digester was used.
    is_custom: bool,
    /// The pairs, if they were listed; with `--against`, those of an item and one of the others.
    pairs: Option<AlikePairs>,
    /// The number of pairs by level.
    tally: Option<Tally>,
    decision: Decision,
    looser: Option<Groups>,
    lost: Option<LostWords>,
    stats: SearchStats,
    seconds: f64,
}

impl Outcome {
    /// Whether a report can show the items.
    fn has_report(&self) -> bool {
        self.selected.registration.options.contains(&"report")
    }

    fn recipe(&self) -> String {
        let custom = if self.is_custom { ", custom functions" } else { "" };
        format!("{}{custom}", self.selected.kind.recipe())
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
            ("alike".to_owned(), self.selected.kind.words(&self.acting)),
            ("found".to_owned(), completeness(&self.selected, &self.stats)),
        ];
        if let Some(tally) = &self.tally {
            facts.push(("pairs".to_owned(), pairs_words(tally)));
        }
        if let [Figure { words: Some(words), .. }, _] = self.looser_figures() {
            facts.push(("looser".to_owned(), words));
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
            scale: self.selected.kind.scale(&self.acting, &self.looking).into(),
            groups: PageGroup::all(&self.decision.groups, self.looser.as_ref()),
            ids: &self.ids,
            collection,
        }
    }

    /// Items that stay although they match a kept one less closely: null if not searched for.
    fn looser_figures(&self) -> [Figure; 2] {
        let tally = self.looser.as_ref().map(Tally::of_members);
        let words = tally.filter(|tally| tally.total > 0).map(|tally| {
            let what = if tally.total == 1 {
                "1 item matches a kept one less closely, and stays".to_owned()
            } else {
                format!("{} items match a kept one less closely, and stay", grouped(tally.total))
            };
            format!("{what}: {}", tally.words())
        });
        let [total, levels] = [tally.map(|tally| json!(tally.total)), tally.as_ref().map(by_level)];
        [
            Figure { name: "looser", value: json!(total), words },
            Figure { name: "looser_by_level", value: json!(levels), words: None },
        ]
    }

    /// The fraction of the removed words that no kept item has: null where no words are compared.
    fn lost_figures(&self) -> [Figure; 2] {
        let share = self.lost.map(|LostWords { removed, lost }| {
            (lost as f64 / removed.max(1) as f64 * 1e4).round() / 1e4
        });
        let warning = share.filter(|&share| share > MAX_LOST).map(|share| {
            format!(
                "{:.1} % of the removed words occur in no kept item; check with --report, or use \
                 --level copy",
                100.0 * share
            )
        });
        [
            Figure { name: "lost_words", value: json!(share), words: None },
            Figure { name: "warning", value: json!(warning), words: warning },
        ]
    }

    /// `is_removed`: removed items were left out of the output or acted on.
    fn figures(&self, output: Option<&Path>, kept: Option<Kept>, is_removed: bool) -> Vec<Figure> {
        let Self { own, tally, decision, .. } = self;
        let (items, removed) = (*own as u64, decision.tally.total);
        let (largest, least) = decision.extremes();
        let percent = 100.0 * removed as f64 / items.max(1) as f64;
        let would = if is_removed { "" } else { "would remove " };
        let removed_words = match decision.tally.words() {
            levels if levels.is_empty() => format!("{would}{} ({percent:.1} %)", grouped(removed)),
            levels => format!("{would}{} ({percent:.1} %): {levels}", grouped(removed)),
        };
        let groups = decision.groups.len() as u64;
        let groups_words = match largest {
            0 => "none".to_owned(),
            _ => format!("{}, the largest of {}", grouped(groups), counted(largest, "item")),
        };
        let others = kept.map_or(0, |kept| kept.others);
        let unread = match others {
            0 => String::new(),
            _ => format!(" and {} that could not be read", counted(others, "record")),
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
            hidden("pairs_by_level", json!(pairs.map(by_level))),
            figure("groups", json!(groups), groups_words),
            hidden("largest_group", json!(largest)),
            hidden("least_similarity", share_value(least)),
            figure("removed", json!(removed), removed_words),
            hidden("duplicate_ids", json!(self.ids.repeated().0)),
            hidden("removed_by_level", by_level(&decision.tally)),
            figure(
                "kept",
                json!(items - removed),
                format!("{}{unread}{target}", grouped(items - removed)),
            ),
        ];
        figures.extend(self.looser_figures());
        figures.extend(self.lost_figures());
        let spared = decision.spared;
        figures.push(Figure {
            name: "raw",
            value: json!(spared.raw + spared.paired),
            words: spared.words(),
        });
        let search = search_figures(&self.selected, &self.acting, &self.stats, self.seconds);
        figures.extend(search.into_iter().map(|searched| match searched.name {
            "found" => {
                Figure { words: Some(completeness(&self.selected, &self.stats)), ..searched }
            }
            "recipe" => Figure { value: json!(self.recipe()), ..searched },
            _ => searched,
        }));
        figures.push(hidden("exact", json!(self.stats.is_exact())));
        figures
    }
}

/// Above this fraction of lost words, the summary warns.
const MAX_LOST: f64 = 0.1;

fn pairs_words(tally: &Tally) -> String {
    match tally.words() {
        levels if levels.is_empty() => grouped(tally.total),
        levels => format!("{}: {levels}", grouped(tally.total)),
    }
}

fn by_level(tally: &Tally) -> Value {
    tally.levels().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}
