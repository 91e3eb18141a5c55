//! `lookalike index search`: finds the stored items that match queries.

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

use super::{
    check_any_read, closeness_fields, figure, finish, new_collection, open_to_read, summary,
};
use crate::{
    args::IndexSearchArgs,
    config::Work,
    host::{Console, Host},
    kinds::SelectedKind,
    report::{Output, check_places, counted, grouped, id_text, json_line},
    source::{Bad, Inputs, Items, Reading, Reason, Skipped},
};

/// The greatest width of a table column.
const MAX_COLUMN: usize = 60;

pub fn run(args: IndexSearchArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::new(host, args.messages);
    let work = Work::new(args.work.clone(), host)?;
    let start = Instant::now();
    let inputs = args.inputs.iter().map(PathBuf::as_path);
    check_places([args.output.path()], inputs.chain([args.folder.as_path()]))?;
    let collection = open_to_read(&args.folder, registry, console)?;
    let selected = SelectedKind::of_collection(
        registry,
        &collection,
        args.verify,
        args.images,
        args.distance,
    )?;
    let by = selected.criteria(Purpose::List)?;
    let mut skipped = Skipped::unless(args.rows.strict);
    let as_table = args.output.file().is_none() && console.is_interactive();
    let mut run = SearchRun {
        collection: &collection,
        by: &by,
        limit: args.limit.unwrap_or(usize::MAX),
        output: BufWriter::new(Output::create(&args.output, console)?),
        as_table,
        queries: 0,
        matches: 0,
        unmatched: 0,
        unfit: Vec::new(),
    };
    work.on_threads(|| match inline_query(&args, &selected)? {
        Some((name, digest)) => run.search(&[name], &[digest]),
        None => read(&args, &selected, &work, console, (&mut run, &mut skipped)),
    })?;
    let SearchRun { output, queries, matches, unmatched, unfit, .. } = run;
    finish(output)?;
    for name in &unfit {
        let what = "nothing to compare, so it has no fingerprint";
        skipped.note(Bad::item(name, Reason::NoFeatures, what), 1);
    }
    let recall = collection.recall(&by)?;
    let words = format!("{} with {}, {recall}", matches_words(matches), selected.kind.words(&by));
    let figures = vec![
        figure("matches", json!(matches), words),
        figure(
            "without",
            json!(unmatched),
            format!("{} without a match", counted(unmatched, "item")),
        ),
    ];
    summary(queries, &skipped, start, figures).say(console);
    check_any_read(queries, &skipped)?;
    Ok(ExitCode::SUCCESS)
}

fn read(
    args: &IndexSearchArgs,
    selected: &SelectedKind,
    work: &Work,
    console: Console<'_>,
    (run, skipped): (&mut SearchRun<'_>, &mut Skipped),
) -> Result<()> {
    let reads = selected.registration.reads;
    let mut options = new_collection::input_options(reads, &args.rows, work);
    options.prints.bits = Some(selected.kind.shape().width);
    options.expect(&*selected.kind);
    let mut inputs = Inputs::open(&args.inputs, reads, &options, skipped)?;
    console.note(&format!("reading {}", inputs.what()));
    let progress = console.progress();
    let reading = Reading {
        kind: &*selected.kind,
        make: None,
        is_other: false,
        on_progress: &|| {},
        progress: &progress,
    };
    inputs.read(&reading, skipped, &mut |items| run.search_items(items))?;
    progress.clear();
    console.notes(inputs.notes());
    Ok(())
}

fn matches_words(matches: u64) -> String {
    if matches == 1 { "1 match".to_owned() } else { format!("{} matches", grouped(matches)) }
}

/// The query given by `--text` or `--fingerprint`.
fn inline_query(
    args: &IndexSearchArgs,
    selected: &SelectedKind,
) -> Result<Option<(String, Digest)>> {
    let kind = &selected.kind;
    let (name, input) = match (&args.text, &args.fingerprint) {
        (Some(text), _) => (text, Input::Text(text)),
        (_, Some(bits)) => {
            let shape = kind.shape();
            ensure!(
                selected.criteria(Purpose::List)?.similarity.is_none(),
                "--fingerprint: this collection compares the content of {}; search with --text or name \
                 files",
                selected.registration.items
            );
            let print = Fingerprint::parse(bits, shape.width).context("--fingerprint")?;
            if selected.registration.reads != Reads::Prints {
                return Ok(Some((bits.clone(), Digest::of_print(print))));
            }
            (bits, Input::Print(print))
        }
        _ => return Ok(None),
    };
    let (digest, _) = kind.digester().digest(input).map_err(|unfit| {
        anyhow!("--text: the collection holds {}: {unfit}", selected.registration.items)
    })?;
    Ok(Some((name.clone(), digest)))
}

struct SearchRun<'a> {
    collection: &'a Collection,
    by: &'a Criteria,
    limit: usize,
    output: BufWriter<Output>,
    as_table: bool,
    queries: u64,
    matches: u64,
    /// Queries without a match.
    unmatched: u64,
    /// Names of queries without a fingerprint.
    unfit: Vec<String>,
}

impl SearchRun<'_> {
    fn search_items(&mut self, items: Items<'_>) -> Result<()> {
        let (mut names, mut digests) = (Vec::new(), Vec::new());
        for (number, item) in (items.first..).zip(items.items) {
            let name = id_text(items.ids.at(number)).into_owned();
            if item.digest.is_empty() {
                self.unfit.push(name);
            } else {
                names.push(name);
                digests.push(item.digest);
            }
        }
        self.search(&names, &digests)
    }

    fn search(&mut self, names: &[String], digests: &[Digest]) -> Result<()> {
        // Few at a time: each may have very many matches.
        for (names, digests) in names.chunks(BATCH).zip(digests.chunks(BATCH)) {
            let results = self.collection.search(digests, self.by, self.limit)?;
            for (name, matches) in names.iter().zip(results) {
                self.queries += 1;
                self.matches += matches.len() as u64;
                self.unmatched += u64::from(matches.is_empty());
                if self.as_table {
                    self.write_table(name, &matches)?;
                } else {
                    self.write_lines(name, &matches)?;
                }
            }
        }
        Ok(())
    }

    fn write_lines(&mut self, query: &str, matches: &[Match]) -> Result<()> {
        for result in matches {
            let mut fields = vec![("query", json!(query)), ("match", json!(result.id))];
            fields.extend(closeness_fields(result));
            fields.extend(location_fields(self.collection, &result.id));
            writeln!(self.output, "{}", json_line(&fields))?;
        }
        Ok(())
    }

    fn write_table(&mut self, query: &str, matches: &[Match]) -> Result<()> {
        let query = short(query);
        if matches.is_empty() {
            writeln!(self.output, "{query}\n     no match")?;
        } else {
            writeln!(self.output, "{query}")?;
        }
        for result in matches {
            let lookalike::Closeness { distance, similarity, level } = result.closeness;
            let distance = distance.map_or_else(|| "-".to_owned(), |distance| distance.to_string());
            let similarity = similarity.map_or_else(String::new, |share| format!("{share:.2}"));
            let level = level.map_or("", Level::name);
            let location = location_fields(self.collection, &result.id);
            let word =
                |(_, it): &(_, Value)| it.as_str().map_or_else(|| it.to_string(), String::from);
            let location = location.iter().map(word).collect::<Vec<_>>().join(":");
            let line = format!(
                "{distance:>4} {similarity:>4} {level:<7} {}  {}",
                short(&result.id),
                short(&location)
            );
            writeln!(self.output, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The number of queries searched together.
const BATCH: usize = 64;

/// Where a stored item was read, if it is named by its content: the fields `file` and `line`. Empty
/// if its record cannot be read.
fn location_fields(collection: &Collection, id: &str) -> Vec<(&'static str, Value)> {
    if !id.starts_with("b3-") && !id.starts_with("0x") {
        return Vec::new();
    }
    let payload = collection.get(id).ok().flatten().and_then(|item| item.payload);
    let payload: Value = payload.and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default();
    let field = |name: &'static str| Some((name, payload.get(name)?.clone()));
    ["file", "line"].into_iter().filter_map(field).collect()
}

/// A name cut to the column width, without control characters.
fn short(name: &str) -> String {
    let shown: String =
        name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_COLUMN + 1).collect();
    match shown.char_indices().nth(MAX_COLUMN) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}
