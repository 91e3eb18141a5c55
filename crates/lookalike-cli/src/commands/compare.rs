//! `lookalike compare`: are these two alike?

use std::{io::Write, path::Path, process::ExitCode};

use anyhow::{Context, Result, anyhow, ensure};
use lookalike::{Fingerprint, Radius, Recipe, Width};
use rayon::prelude::*;
use serde_json::json;

use crate::{
    args::{CompareArgs, Kind, OutputArgs},
    config::{Making, check_radius},
    report::{Output, counted, json_line, say},
    source::{
        Bad, LineText, LineTexts, Reason, Refusal, Skipped, is_number, parse_within, read_text,
    },
};

/// The radius for fingerprints of which nothing else is known.
const USUAL: Radius = Radius::new(3);

pub fn run(args: CompareArgs) -> Result<ExitCode> {
    match (&args.a, &args.b) {
        (Some(a), Some(b)) => compare_two(a, b, &args),
        _ => compare_lines(&args),
    }
}

/// How two items become a distance, and which distance is alike.
struct Comparison {
    /// None for items that are fingerprints already.
    recipe: Option<Recipe>,
    width: Width,
    radius: Radius,
}

impl Comparison {
    fn new(kind: Kind, args: &CompareArgs) -> Result<Self> {
        if kind == Kind::Text {
            let Making { recipe, radius } = Making::new(&args.recipe, args.distance)?;
            return Ok(Self { width: recipe.width, recipe: Some(recipe), radius });
        }
        let width = args.recipe.bits.unwrap_or(Width::Bits64);
        let radius = args.distance.unwrap_or(USUAL);
        check_radius(radius, width)?;
        Ok(Self { recipe: None, width, radius })
    }

    fn distance(&self, a: &str, b: &str) -> Result<u32, Refusal> {
        Ok(self.fingerprint(a)?.distance(&self.fingerprint(b)?))
    }

    fn fingerprint(&self, item: &str) -> Result<Fingerprint<4>, Refusal> {
        let Some(recipe) = &self.recipe else { return parse_within(item, self.width) };
        recipe.fingerprint_any(item).ok_or_else(|| {
            let what = format!("a text without {} has no fingerprint", recipe.features);
            (Reason::NoFeatures, what)
        })
    }

    const fn verdict(&self, distance: u32) -> &'static str {
        if self.radius.contains(distance) { "alike" } else { "different" }
    }
}

fn compare_two(a: &str, b: &str, args: &CompareArgs) -> Result<ExitCode> {
    let kind = args.kind.unwrap_or_else(|| guess([a, b].into_iter()));
    let comparison = Comparison::new(kind, args)?;
    let files = kind == Kind::Text && are_files(a, b)?;
    if args.kind.is_none() && !args.quiet {
        say(&format!("comparing {}", if files { "the texts of two files" } else { name(kind) }));
    }
    let distance = if files {
        let [a, b] = [a, b].map(|name| read_text(Path::new(name)).map_err(|bad| bad.error()));
        comparison.distance(&a?, &b?)
    } else {
        comparison.distance(a, b)
    };
    let distance = distance.map_err(|(_, what)| anyhow!(what))?;
    Output::print(&if args.json { comparison.json(distance) } else { comparison.text(distance) })?;
    let alike = comparison.radius.contains(distance);
    Ok(if alike { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Comparison {
    fn text(&self, distance: u32) -> String {
        format!(
            "distance    {distance} of {} bits\nsimilarity  not verified\nverdict     {} (within {} is alike)\n",
            self.width.bits(),
            self.verdict(distance),
            self.radius,
        )
    }

    fn json(&self, distance: u32) -> String {
        let fields = [
            ("distance", json!(distance)),
            ("similarity", json!(null)),
            ("verdict", json!(self.verdict(distance))),
            ("bits", json!(self.width.bits())),
            ("radius", json!(self.radius.bits())),
        ];
        json_line(&fields) + "\n"
    }
}

/// Compares the two columns of every line; each line gets its answer.
fn compare_lines(args: &CompareArgs) -> Result<ExitCode> {
    let mut output = Output::create(&OutputArgs { output: None, force: false })?;
    let mut skipped = Skipped::new(args.skip_bad);
    let mut lines = LineTexts::open(Path::new("-")).map_err(Bad::error)?;
    let mut piece = lines.next_piece();
    let kind = args.kind.unwrap_or_else(|| guess(columns(&piece)));
    let comparison = Comparison::new(kind, args)?;
    if args.kind.is_none() && !args.quiet && !piece.is_empty() {
        say(&format!("comparing {}", name(kind)));
    }
    while !piece.is_empty() {
        let answers: Vec<_> =
            piece.par_iter().map(|item| compare_line(item, &comparison)).collect();
        for (LineText { number, text }, answer) in piece.into_iter().zip(answers) {
            let line = match (text, answer) {
                (Err(bad), _) => skipped.add(bad).map(|()| skipped_line()),
                (Ok(_), Err((reason, what))) => {
                    skipped.add(lines.bad(number, reason, what)).map(|()| skipped_line())
                }
                (Ok(_), Ok(line)) => Ok(line),
            };
            output.write_all(line?.as_bytes()).context("cannot write the answers")?;
        }
        piece = lines.next_piece();
    }
    output.finish()?;
    if !args.quiet && skipped.total() > 0 {
        skipped.lines().for_each(|line| say(&line));
        say(&format!("{} skipped", counted(skipped.total(), "line")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps the answers in step with the lines.
fn skipped_line() -> String {
    "-\tskipped\n".to_owned()
}

fn compare_line(line: &LineText, comparison: &Comparison) -> Result<String, Refusal> {
    let line = line.text.as_ref().map_or("", |text| text);
    let columns: Vec<_> = line.split('\t').collect();
    let &[a, b] = columns.as_slice() else {
        let count = columns.len();
        let what = format!("{count} columns; write two items with one tab between them");
        return Err((Reason::NotAPair, what));
    };
    let distance = comparison.distance(a, b)?;
    Ok(format!("{distance}\t{}\n", comparison.verdict(distance)))
}

fn columns(piece: &[LineText]) -> impl Iterator<Item = &str> {
    let lines = piece.iter().take(20).filter_map(|line| line.text.as_ref().ok());
    lines.flat_map(|line| line.split('\t'))
}

/// Fingerprints if most items can be read as such.
fn guess<'a>(items: impl Iterator<Item = &'a str>) -> Kind {
    let (numbers, others): (Vec<_>, Vec<_>) = items.partition(|item| is_number(item));
    if numbers.len() > others.len() { Kind::Hash } else { Kind::Text }
}

/// Whether two texts are given by file names. One file and one text is more likely a slip.
fn are_files(a: &str, b: &str) -> Result<bool> {
    let [is_a, is_b] = [a, b].map(|name| Path::new(name).is_file());
    ensure!(
        is_a == is_b,
        "{} is a file, but there is no file {}; name two files, or give two texts",
        if is_a { a } else { b },
        if is_a { b } else { a },
    );
    Ok(is_a)
}

const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Hash => "fingerprints",
        Kind::Text => "texts",
    }
}
