//! `lookalike compare`: are these two alike?

use std::{io::Write, path::Path, process::ExitCode};

use anyhow::{Context, Result, anyhow, ensure};
use lookalike::{Item, Level, Radius, TextCloseness, TextSearch, Width};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::{
    args::{CompareArgs, Kind, OutputArgs, WorkArgs},
    config::{Alike, ImagesAlike, USUAL_RADIUS, Work, check_radius},
    report::{Output, counted, json_line, say, share_value},
    source::{
        Bad, LineText, LineTexts, Reason, Refusal, Skipped, are_images, common_binary_width,
        is_number, looks_like_path, parse_within, read_image, read_text,
    },
};

pub fn run(args: CompareArgs) -> Result<ExitCode> {
    match (&args.a, &args.b) {
        (Some(a), Some(b)) => compare_two(a, b, &args),
        _ => compare_lines(&args),
    }
}

/// How two items are compared, and what is alike.
enum Comparison {
    Fingerprints { width: Width, radius: Radius },
    Texts(Box<Texts>),
}

struct Texts {
    alike: Alike,
    search: TextSearch,
}

impl Comparison {
    fn new(kind: Kind, args: &CompareArgs) -> Result<Self> {
        if kind == Kind::Text {
            let alike = Alike::new(&args.recipe, args.distance, &args.verify)?;
            return Ok(Self::Texts(Box::new(Texts { search: alike.search(), alike })));
        }
        let binary = common_binary_width(args.a.as_deref().into_iter().chain(args.b.as_deref()));
        let width = args.recipe.bits.or(binary).unwrap_or(Width::Bits64);
        let radius = args.distance.unwrap_or(USUAL_RADIUS);
        check_radius(radius, width)?;
        Ok(Self::Fingerprints { width, radius })
    }

    fn compare(&self, a: &str, b: &str) -> Result<TextCloseness, Refusal> {
        match self {
            Self::Fingerprints { width, radius } => {
                let distance = parse_within(a, *width)?.distance(&parse_within(b, *width)?);
                let alike = radius.contains(distance);
                Ok(TextCloseness { distance: Some(distance), similarity: None, alike })
            }
            Self::Texts(texts) => texts
                .search
                .compare(&Item::Text(a), &Item::Text(b))
                .ok_or_else(|| (Reason::NoFeatures, "an empty text has no fingerprint".to_owned())),
        }
    }

    fn bits(&self) -> u32 {
        match self {
            Self::Fingerprints { width, .. } => width.bits(),
            Self::Texts(texts) => texts.alike.recipe.width.bits(),
        }
    }

    /// What is alike, in words.
    fn rule(&self) -> String {
        match self {
            Self::Fingerprints { radius, .. } => format!("within {radius} is alike"),
            Self::Texts(texts) => format!("{} is alike", texts.alike.words()),
        }
    }
}

const fn verdict(closeness: TextCloseness) -> &'static str {
    if closeness.alike { "alike" } else { "different" }
}

/// The name of the level of a similarity.
fn level(closeness: TextCloseness) -> Option<&'static str> {
    closeness.similarity.and_then(Level::of).map(Level::name)
}

/// Compares two images by their names.
fn compare_images(a: &str, b: &str, args: &CompareArgs) -> Result<ExitCode> {
    let alike = ImagesAlike::new(&args.recipe, args.distance, &args.verify, args.images)?;
    if args.kind.is_none() && !args.quiet {
        say("comparing two images");
    }
    let search = alike.search(&Work::new(WorkArgs::default())?);
    let digest = |name: &str| match read_image(Path::new(name), &search) {
        Ok((_, digest)) => Ok(digest),
        Err(bad) => Err(bad.error()),
    };
    let (one, two) = (digest(a)?, digest(b)?);
    let closeness = search.compare(&one, &two);
    let levels = alike.preset.levels.iter().zip(Level::WHOLE);
    let bits = alike.preset.recipe.width.bits();
    let level = closeness.and_then(|closeness| {
        levels.clone().find(|(radius, _)| radius.contains(closeness.distance))
    });
    let is_alike = search.are_alike(&one, &two);
    let part = (is_alike && closeness.is_some()).then_some(Level::Part.name());
    let level = level.map(|(_, level)| level.name()).or(part);
    let verdict = if is_alike { "alike" } else { "different" };
    let orientation = closeness.map(|closeness| closeness.orientation.name());
    Output::print(&if args.json {
        let fields = [
            ("distance", json!(closeness.map(|closeness| closeness.distance))),
            // Images have no other measure than the distance.
            ("similarity", Value::Null),
            ("orientation", json!(orientation)),
            ("level", json!(level)),
            ("verdict", json!(verdict)),
            ("bits", json!(bits)),
            ("radius", json!(alike.radius.bits())),
        ];
        json_line(&fields) + "\n"
    } else {
        let distance = closeness.map_or_else(
            || "none: too flat or too small for a fingerprint, and not the same bytes".to_owned(),
            |closeness| format!("{} of {bits} bits", closeness.distance),
        );
        let level = level.map_or_else(String::new, |level| format!("level       {level}\n"));
        let turned = match orientation {
            Some(name) if args.images.orientations => format!("orientation {name}\n"),
            _ => String::new(),
        };
        let rule = alike.words();
        format!("distance    {distance}\n{level}{turned}verdict     {verdict} ({rule} is alike)\n")
    })?;
    Ok(if is_alike { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn compare_two(a: &str, b: &str, args: &CompareArgs) -> Result<ExitCode> {
    let are_some_there = [a, b].iter().any(|name| Path::new(name).exists());
    if args.kind != Some(Kind::Hash) && !are_some_there {
        [a, b].into_iter().try_for_each(check_there)?;
    }
    let kind = args.kind.unwrap_or_else(|| match are_images(&[a.into(), b.into()]) {
        true => Kind::Image,
        false => guess([a, b].into_iter()),
    });
    if kind == Kind::Image {
        return compare_images(a, b, args);
    }
    let comparison = Comparison::new(kind, args)?;
    let files = kind == Kind::Text && are_files(a, b)?;
    if args.kind.is_none() && !args.quiet {
        say(&format!("comparing {}", if files { "the texts of two files" } else { name(kind) }));
    }
    let closeness = if files {
        let read = |name| read_text(Path::new(name), args.html, args.markup);
        let [a, b] = [a, b].map(|name| read(name).map_err(Bad::error));
        comparison.compare(&a?, &b?)
    } else {
        comparison.compare(a, b)
    };
    let closeness = closeness.map_err(|(_, what)| anyhow!(what))?;
    Output::print(&if args.json {
        comparison.json(closeness)
    } else {
        comparison.text(closeness)
    })?;
    Ok(if closeness.alike { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Comparison {
    fn text(&self, closeness: TextCloseness) -> String {
        let TextCloseness { distance, similarity, .. } = closeness;
        let distance = distance
            .map_or("none: a text without words has no fingerprint".to_owned(), |distance| {
                format!("{distance} of {} bits", self.bits())
            });
        let similarity =
            similarity.map_or("not verified".to_owned(), |similarity| format!("{similarity:.4}"));
        let level =
            level(closeness).map_or_else(String::new, |level| format!("level       {level}\n"));
        format!(
            "distance    {distance}\nsimilarity  {similarity}\n{level}verdict     {} ({})\n",
            verdict(closeness),
            self.rule(),
        )
    }

    fn json(&self, closeness: TextCloseness) -> String {
        let (radius, verify) = match self {
            Self::Fingerprints { radius, .. } => (Some(*radius), None),
            Self::Texts(texts) => (texts.alike.likeness.radius, texts.alike.likeness.verify),
        };
        let fields = [
            ("distance", json!(closeness.distance)),
            ("similarity", share_value(closeness.similarity)),
            ("level", json!(level(closeness))),
            ("verdict", json!(verdict(closeness))),
            ("bits", json!(self.bits())),
            ("radius", json!(radius.map(Radius::bits))),
            ("verify", json!(verify.map(|verify| verify.to_string()))),
        ];
        json_line(&fields) + "\n"
    }
}

/// Compares the two columns of every line; each line gets its answer.
fn compare_lines(args: &CompareArgs) -> Result<ExitCode> {
    let mut output = Output::create(&OutputArgs { output: None, force: false })?;
    let mut skipped = Skipped::unless(args.strict);
    let mut lines = LineTexts::open(Path::new("-")).map_err(Bad::error)?;
    let mut piece = lines.next_piece();
    let kind = args.kind.unwrap_or_else(|| guess(columns(&piece)));
    ensure!(kind != Kind::Image, "--stdin is for texts and fingerprints; name two images");
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
    let closeness = comparison.compare(a, b)?;
    let distance = closeness.distance.map_or("-".to_owned(), |distance| distance.to_string());
    Ok(format!("{distance}\t{}\n", verdict(closeness)))
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

/// Refuses the name of a file that is not there: it is no text.
fn check_there(name: &str) -> Result<()> {
    ensure!(
        !looks_like_path(name),
        "{name}: no such file; check the name, or compare it as a text with --stdin"
    );
    Ok(())
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
        Kind::Image => "images",
    }
}
