//! `lookalike index search`: what of a collection is alike these?

use std::{
    io::{BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, anyhow, ensure};
use lookalike::{
    Collection, Criteria, Digest, Fingerprint, Level,
    collection::Match,
    kind::{Input, Purpose, Reads, Registry},
};
use serde_json::{Value, json};

use super::{closeness_fields, figure, finish, make, nothing_read, open_to_read, summary};
use crate::{
    args::IndexSearchArgs,
    config::Work,
    host::{Console, Host},
    kinds::Chosen,
    report::{Output, check_places, grouped, id_text, json_line},
    source::{Bad, Inputs, Items, Reading, Reason, Skipped},
};

/// The widest column of a table.
const WIDEST: usize = 60;

pub fn run(args: IndexSearchArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let work = Work::new(args.work.clone(), host)?;
    let start = Instant::now();
    let inputs = args.inputs.iter().map(PathBuf::as_path);
    check_places([args.output.place()], inputs.chain([args.folder.as_path()]))?;
    let collection = open_to_read(&args.folder, registry, console)?;
    let chosen =
        Chosen::of_collection(registry, &collection, &args.verify, args.images, args.distance)?;
    let by = chosen.criteria(Purpose::List)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let as_table = args.output.file().is_none() && console.is_watched();
    let mut searching = Searching {
        collection: &collection,
        by: &by,
        limit: args.limit.unwrap_or(usize::MAX),
        output: BufWriter::new(Output::create(&args.output, console)?),
        as_table,
        queries: 0,
        matches: 0,
        alone: 0,
        without: Vec::new(),
    };
    work.on_threads(|| match given(&args, &chosen)? {
        Some((name, digest)) => searching.search(&[name], &[digest]),
        None => read(&args, &chosen, &work, console, (&mut searching, &mut skipped)),
    })?;
    let Searching { output, queries, matches, alone, without, .. } = searching;
    finish(output)?;
    for name in &without {
        let what = "nothing to compare in it, so it has no fingerprint";
        skipped.note(Bad::item(name, Reason::NoFeatures, what), 1);
    }
    let how = collection.recall(&by)?;
    let found = format!("{} with {}, {how}", matches_words(matches), chosen.kind.words(&by));
    let figures = vec![
        figure("matches", json!(matches), found),
        figure("without", json!(alone), format!("{} without any", grouped(alone))),
    ];
    summary(queries, &skipped, start, figures).say(console);
    nothing_read(queries, &skipped)?;
    Ok(ExitCode::SUCCESS)
}

fn read(
    args: &IndexSearchArgs,
    chosen: &Chosen,
    work: &Work,
    console: Console<'_>,
    (searching, skipped): (&mut Searching<'_>, &mut Skipped),
) -> Result<()> {
    let reads = chosen.registration.reads;
    let mut options = make::options(reads, &args.rows, work);
    options.prints.bits = Some(chosen.kind.shape().width);
    options.expect(&*chosen.kind);
    let mut inputs = Inputs::open(&args.inputs, reads, &options, skipped)?;
    console.note(&format!("reading {}", inputs.what()));
    let progress = console.progress();
    let how = Reading {
        kind: &*chosen.kind,
        make: None,
        is_other: false,
        on_beat: &|| {},
        progress: &progress,
    };
    inputs.read(&how, skipped, &mut |items| searching.take(items))?;
    progress.clear();
    console.notes(inputs.notes());
    Ok(())
}

fn matches_words(matches: u64) -> String {
    if matches == 1 { "1 match".to_owned() } else { format!("{} matches", grouped(matches)) }
}

/// The query that stands on the command line itself.
fn given(args: &IndexSearchArgs, chosen: &Chosen) -> Result<Option<(String, Digest)>> {
    let kind = &chosen.kind;
    let (name, input) = match (&args.text, &args.fingerprint) {
        (Some(text), _) => (text, Input::Text(text)),
        (_, Some(bits)) => {
            let shape = kind.shape();
            ensure!(
                chosen.criteria(Purpose::List)?.similarity.is_none(),
                "--fingerprint: this collection compares the content of {}; search with --text or \
                 files",
                chosen.registration.items
            );
            let print = Fingerprint::parse(bits, shape.width).context("--fingerprint")?;
            if chosen.registration.reads != Reads::Prints {
                return Ok(Some((bits.clone(), Digest::of_print(print))));
            }
            (bits, Input::Print(print))
        }
        _ => return Ok(None),
    };
    let (digest, _) = kind.digester().digest(input).map_err(|unfit| {
        anyhow!("--text: the collection is of {}: {unfit}", chosen.registration.items)
    })?;
    Ok(Some((name.clone(), digest)))
}

/// A search under way.
struct Searching<'a> {
    collection: &'a Collection,
    by: &'a Criteria,
    limit: usize,
    output: BufWriter<Output>,
    as_table: bool,
    queries: u64,
    matches: u64,
    /// Queries without any match.
    alone: u64,
    /// Items that are alike nothing.
    without: Vec<String>,
}

impl Searching<'_> {
    fn take(&mut self, items: Items<'_>) -> Result<()> {
        let (mut names, mut digests) = (Vec::new(), Vec::new());
        for (number, item) in (items.first..).zip(items.items) {
            let name = id_text(items.ids.at(number)).into_owned();
            if item.digest.is_empty() {
                self.without.push(name);
            } else {
                names.push(name);
                digests.push(item.digest);
            }
        }
        self.search(&names, &digests)
    }

    fn search(&mut self, names: &[String], digests: &[Digest]) -> Result<()> {
        // Few at a time: each may be alike very many.
        for (names, digests) in names.chunks(AT_ONCE).zip(digests.chunks(AT_ONCE)) {
            let found = self.collection.search(digests, self.by, self.limit)?;
            for (name, found) in names.iter().zip(found) {
                self.queries += 1;
                self.matches += found.len() as u64;
                self.alone += u64::from(found.is_empty());
                if self.as_table {
                    self.write_table(name, &found)?;
                } else {
                    self.write_lines(name, &found)?;
                }
            }
        }
        Ok(())
    }

    fn write_lines(&mut self, query: &str, found: &[Match]) -> Result<()> {
        for found in found {
            let mut fields = vec![("query", json!(query)), ("match", json!(found.id))];
            fields.extend(closeness_fields(found));
            fields.extend(place_of(self.collection, &found.id));
            writeln!(self.output, "{}", json_line(&fields))?;
        }
        Ok(())
    }

    fn write_table(&mut self, query: &str, found: &[Match]) -> Result<()> {
        let query = short(query);
        if found.is_empty() {
            writeln!(self.output, "{query}\n     nothing alike")?;
        } else {
            writeln!(self.output, "{query}")?;
        }
        for found in found {
            let lookalike::Closeness { distance, similarity, level } = found.closeness;
            let distance = distance.map_or_else(|| "-".to_owned(), |distance| distance.to_string());
            let similarity = similarity.map_or_else(String::new, |share| format!("{share:.2}"));
            let level = level.map_or("", Level::name);
            let place = place_of(self.collection, &found.id);
            let word =
                |(_, it): &(_, Value)| it.as_str().map_or_else(|| it.to_string(), String::from);
            let place = place.iter().map(word).collect::<Vec<_>>().join(":");
            let line = format!(
                "{distance:>4} {similarity:>4} {level:<7} {}  {}",
                short(&found.id),
                short(&place)
            );
            writeln!(self.output, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Queries that are asked together.
const AT_ONCE: usize = 64;

/// Where a stored item was read, if it goes by its content: the fields `file` and `line`. A match
/// whose record cannot be read is one without them.
pub fn place_of(collection: &Collection, id: &str) -> Vec<(&'static str, Value)> {
    if !id.starts_with("b3-") && !id.starts_with("0x") {
        return Vec::new();
    }
    let payload = collection.get(id).ok().flatten().and_then(|item| item.payload);
    let payload: Value = payload.and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default();
    let field = |name: &'static str| Some((name, payload.get(name)?.clone()));
    ["file", "line"].into_iter().filter_map(field).collect()
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
