//! `lookalike compare`: compares two items.

use std::{io::Write, path::Path, process::ExitCode};

use anyhow::{Context, Result, anyhow, ensure};
use lookalike::{
    Criteria, Digest, Level, Radius, Resources, Search, Unfit,
    kind::{Digester, Input, Purpose, Reads, Registry},
    search::Compared,
};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::{
    args::{CompareArgs, OutputArgs},
    host::{Console, Host},
    kinds::{CompareOptions, SelectedKind},
    report::{Output, counted, json_line, share_value},
    source::{
        Bad, LineText, LineTexts, Reason, Refusal, Skipped, are_images, are_vectors,
        common_binary_width, is_number, looks_like_path, parse_within, read_file, read_text,
        read_vector,
    },
};

pub fn run(args: CompareArgs, host: &Host, registry: &Registry) -> Result<ExitCode> {
    let console = Console::plain(host, args.quiet);
    match (&args.a, &args.b) {
        (Some(a), Some(b)) => compare_two([a, b], &args, console, registry),
        _ => compare_lines(&args, console, registry),
    }
}

/// How two items are compared.
struct Comparison {
    selected: SelectedKind,
    by: Criteria,
    resources: Resources<'static>,
}

impl Comparison {
    fn new(kind: &str, args: &CompareArgs, registry: &Registry) -> Result<Self> {
        let compare = CompareOptions {
            recipe: &args.recipe,
            verify: args.verify,
            images: args.images,
            distance: args.distance,
            blocks: None,
        };
        let others = [("html", args.html), ("markup", args.markup)];
        let selected = SelectedKind::new(registry, kind, compare, &others)?;
        let binary = || common_binary_width(args.a.as_deref().into_iter().chain(args.b.as_deref()));
        let width = match selected.registration.reads {
            Reads::Prints => args.recipe.bits.or_else(binary),
            _ => None,
        };
        let selected = selected.of_width(width)?;
        let by = selected.criteria(Purpose::List)?;
        Ok(Self { selected, by, resources: Resources::new() })
    }

    fn search(&self) -> Search<'_> {
        Search::new(&*self.selected.kind, &self.by, &self.resources)
    }

    /// The digest of an item given as text, not as a file.
    fn digest(&self, item: &str, digester: &mut dyn Digester) -> Result<Digest, Refusal> {
        let input = match self.selected.registration.reads {
            Reads::Prints => Input::Print(parse_within(item, self.selected.kind.shape().width)?),
            Reads::Records | Reads::Files | Reads::Vectors => Input::Text(item),
        };
        let (digest, _) = digester
            .digest(input)
            .map_err(|Unfit { reason, message }| (Reason::named(reason), message))?;
        if digest.is_empty() {
            return Err((Reason::NoFeatures, "an empty text has no fingerprint".to_owned()));
        }
        Ok(digest)
    }

    fn compare(&self, a: &str, b: &str) -> Result<Compared, Refusal> {
        let mut digester = self.selected.kind.digester();
        let (a, b) = (self.digest(a, &mut *digester)?, self.digest(b, &mut *digester)?);
        Ok(self.search().compare(&a, &b))
    }

    fn bits(&self) -> u32 {
        self.selected.kind.shape().width.bits()
    }
}

const fn verdict(compared: Compared) -> &'static str {
    if compared.alike { "alike" } else { "different" }
}

/// Compares two files, two fingerprints, or two texts.
fn compare_two(
    [a, b]: [&str; 2],
    args: &CompareArgs,
    console: Console<'_>,
    registry: &Registry,
) -> Result<ExitCode> {
    let any_exists = [a, b].iter().any(|name| Path::new(name).exists());
    if args.kind.as_deref() != Some("hash") && !any_exists {
        [a, b].into_iter().try_for_each(check_is_text)?;
    }
    let paths = [a.into(), b.into()];
    let kind = args.kind.clone().unwrap_or_else(|| match are_images(&paths) {
        true => "image".to_owned(),
        false if are_vectors(&paths) => "vector".to_owned(),
        false => guess([a, b].into_iter()).to_owned(),
    });
    let comparison = Comparison::new(&kind, args, registry)?;
    let reads = comparison.selected.registration.reads;
    let files = match reads {
        Reads::Files => true,
        Reads::Records | Reads::Vectors => are_files(a, b)?,
        Reads::Prints => false,
    };
    if args.kind.is_none() {
        let items = comparison.selected.registration.items;
        match reads {
            Reads::Files => console.note(&format!("comparing two {items}")),
            _ if files => console.note(&format!("comparing the {items} of two files")),
            _ => console.note(&format!("comparing {items}")),
        }
    }
    let (compared, details) = comparison.compare_named([a, b], files, args)?;
    console.print(&match args.json {
        true => comparison.json(compared, &details),
        false => comparison.text(compared, &details),
    })?;
    Ok(if compared.alike { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Further lines of the result, by name.
type Details = Vec<(&'static str, String)>;

impl Comparison {
    fn compare_named(
        &self,
        names: [&str; 2],
        files: bool,
        args: &CompareArgs,
    ) -> Result<(Compared, Details)> {
        let mut digester = self.selected.kind.digester();
        let mut digest = |name: &str| -> Result<Digest> {
            let path = Path::new(name);
            match self.selected.registration.reads {
                Reads::Files => Ok(read_file(path, &*self.selected.kind).map_err(Bad::error)?.1),
                Reads::Vectors if files => read_vector(path, &*self.selected.kind),
                Reads::Records if files => {
                    let text = read_text(path, args.html, args.markup).map_err(Bad::error)?;
                    self.digest(&text, &mut *digester).map_err(|(_, what)| anyhow!(what))
                }
                _ => self.digest(name, &mut *digester).map_err(|(_, what)| anyhow!(what)),
            }
        };
        let (a, b) = (digest(names[0])?, digest(names[1])?);
        Ok((self.search().compare(&a, &b), self.search().details(&a, &b)))
    }

    fn text(&self, compared: Compared, details: &Details) -> String {
        let closeness = compared.closeness.unwrap_or_default();
        let distance =
            closeness.distance.map_or("none: an item has no fingerprint".to_owned(), |distance| {
                format!("{distance} of {} bits", self.bits())
            });
        let line = |(name, value): (&str, String)| format!("{name:<12}{value}\n");
        // Where only contents are kept, there are no bits to differ.
        let has_distance = self.selected.kind.shape().prints > 0;
        let similarity = match closeness.similarity {
            None if !has_distance => {
                Some(("similarity", "none: they cannot be compared".to_owned()))
            }
            share => share.map(|share| ("similarity", format!("{share:.4}"))),
        };
        let level = closeness.level.map(|level| ("level", level.name().to_owned()));
        let details = details.iter().map(|(name, value)| (*name, value.clone()));
        let verdict = ("verdict", verdict(compared).to_owned());
        let criterion = ("criterion", self.selected.kind.words(&self.by));
        let distance = has_distance.then_some(("distance", distance));
        let lines = distance.into_iter().chain(similarity).chain(level);
        lines.chain(details).chain([verdict, criterion]).map(line).collect()
    }

    fn json(&self, compared: Compared, details: &Details) -> String {
        let closeness = compared.closeness.unwrap_or_default();
        let verify = self.by.similarity.map(|_| self.selected.kind.words(&self.by));
        let mut fields = vec![
            ("distance", json!(closeness.distance)),
            ("similarity", share_value(closeness.similarity)),
            ("level", json!(closeness.level.map(Level::name))),
            ("verdict", json!(verdict(compared))),
            ("bits", json!(self.bits())),
            ("radius", json!(self.by.distance.map(Radius::bits))),
            ("verify", json!(verify)),
        ];
        let details = details.iter().map(|(name, value)| (*name, Value::from(value.as_str())));
        fields.extend(details);
        json_line(&fields) + "\n"
    }
}

/// Compares the two fields of every line, and prints one result per line.
fn compare_lines(
    args: &CompareArgs,
    console: Console<'_>,
    registry: &Registry,
) -> Result<ExitCode> {
    let mut output = Output::create(&OutputArgs { output: None, force: false }, console)?;
    let mut skipped = Skipped::unless(args.strict);
    let mut lines = LineTexts::open(Path::new("-")).map_err(Bad::error)?;
    let mut piece = lines.next_piece();
    let kind = args.kind.clone().unwrap_or_else(|| guess(columns(&piece)).to_owned());
    let comparison = Comparison::new(&kind, args, registry)?;
    let registration = &comparison.selected.registration;
    ensure!(
        registration.reads != Reads::Files,
        "--stdin compares texts and fingerprints; name two {} instead",
        registration.items
    );
    if args.kind.is_none() && !piece.is_empty() {
        console.note(&format!("comparing {}", registration.items));
    }
    while !piece.is_empty() {
        let results: Vec<_> =
            piece.par_iter().map(|item| compare_line(item, &comparison)).collect();
        for (LineText { number, text }, result) in piece.into_iter().zip(results) {
            let line = match (text, result) {
                (Err(bad), _) => skipped.add(bad).map(|()| SKIPPED_LINE.to_owned()),
                (Ok(_), Err((reason, what))) => {
                    skipped.add(lines.bad(number, reason, what)).map(|()| SKIPPED_LINE.to_owned())
                }
                (Ok(_), Ok(line)) => Ok(line),
            };
            output.write_all(line?.as_bytes()).context("cannot write the results")?;
        }
        piece = lines.next_piece();
    }
    output.finish()?;
    if skipped.total() > 0 {
        skipped.lines().for_each(|line| console.note(&line));
        console.note(&format!("{} skipped", counted(skipped.total(), "line")));
    }
    Ok(ExitCode::SUCCESS)
}

/// The result of a line that cannot be read, so that every line has one.
const SKIPPED_LINE: &str = "-\tskipped\n";

fn compare_line(line: &LineText, comparison: &Comparison) -> Result<String, Refusal> {
    let line = line.text.as_ref().map_or("", |text| text);
    let fields: Vec<_> = fields(line).collect();
    let &[a, b] = fields.as_slice() else {
        let what = match fields.len() {
            1 => "one field; separate two items with a tab or a space".to_owned(),
            count => format!("{count} fields; separate two items with a tab"),
        };
        return Err((Reason::NotAPair, what));
    };
    let compared = comparison.compare(a, b)?;
    let distance = compared.closeness.and_then(|closeness| closeness.distance);
    let distance = distance.map_or("-".to_owned(), |distance| distance.to_string());
    Ok(format!("{distance}\t{}\n", verdict(compared)))
}

fn columns(piece: &[LineText]) -> impl Iterator<Item = &str> {
    let lines = piece.iter().take(20).filter_map(|line| line.text.as_ref().ok());
    lines.flat_map(|line| fields(line))
}

/// The fields of a line, separated by tabs if it has any, otherwise by spaces.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let separator = if line.contains('\t') { '\t' } else { ' ' };
    line.split(separator)
}

/// Fingerprints if most items can be parsed as numbers.
fn guess<'a>(items: impl Iterator<Item = &'a str>) -> &'static str {
    let (numbers, others): (Vec<_>, Vec<_>) = items.partition(|item| is_number(item));
    if numbers.len() > others.len() { "hash" } else { "text" }
}

/// Fails for the path of a missing file, which is not meant as a text.
fn check_is_text(name: &str) -> Result<()> {
    ensure!(
        !looks_like_path(name),
        "{name}: no such file; check the path, or use --stdin to compare it as text"
    );
    Ok(())
}

/// Whether both texts are files. A file and a text are more likely a mistake.
fn are_files(a: &str, b: &str) -> Result<bool> {
    let [is_a, is_b] = [a, b].map(|name| Path::new(name).is_file());
    ensure!(
        is_a == is_b,
        "{} is a file, but {} is not; name two files or two texts",
        if is_a { a } else { b },
        if is_a { b } else { a },
    );
    Ok(is_a)
}
