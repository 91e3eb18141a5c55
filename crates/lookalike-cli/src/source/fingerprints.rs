//! Which fingerprints do the inputs of a command hold? Lines or arrays, all of one width.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use lookalike::{Fingerprint, Width};

use super::{
    Bad, Bytes, Ids, Skipped,
    hashes::{HashLines, looks_like_hashes},
    npy,
    npy::NpyRows,
    pictures::are_pictures,
};
use crate::args::{Format, Kind, RowArgs};

/// Fingerprints are handed on in pieces of at most this many.
pub const PIECE: usize = 1 << 14;

/// Takes fingerprints as they are read.
pub type OnPiece<'a, const WORDS: usize> = &'a mut dyn FnMut(&[Fingerprint<WORDS>]) -> Result<()>;

/// Inputs that hold fingerprints of one width.
pub struct Fingerprints {
    inputs: Vec<Input>,
    pub width: Width,
}

struct Input {
    name: String,
    content: Content,
}

enum Content {
    Lines(HashLines),
    Npy(NpyRows),
}

/// What items are expected to be, as far as the user said.
#[derive(Clone, Copy)]
pub struct Expected {
    pub kind: Option<Kind>,
    pub bits: Option<Width>,
}

impl Fingerprints {
    /// Opens all inputs, so that a wrong name is noticed before any work is done.
    pub fn open(paths: &[PathBuf], expected: Expected, skipped: &mut Skipped) -> Result<Self> {
        let mut inputs = Vec::new();
        for path in paths {
            if path == Path::new("-") && paths.iter().filter(|other| *other == path).count() > 1 {
                bail!("-: standard input can be read once only; give - once");
            }
            match Input::open(path, expected.kind) {
                Ok(input) => inputs.push(input),
                Err(bad) if paths.len() == 1 => return Err(bad.error()),
                Err(bad) => skipped.add(bad)?,
            }
        }
        if inputs.is_empty() {
            bail!("none of the inputs can be read");
        }
        let width = common_width(&mut inputs, expected.bits, skipped)?;
        Ok(Self { inputs, width })
    }

    /// Reads every item in order. `WORDS` must fit [`width`](Self::width).
    pub fn read<const WORDS: usize>(
        self,
        skipped: &mut Skipped,
        on_piece: OnPiece<'_, WORDS>,
    ) -> Result<Ids> {
        let mut ids = Ids::new(self.inputs.iter().map(|input| input.name.clone()).collect());
        for (number, input) in self.inputs.into_iter().enumerate() {
            ids.start_input(number);
            match input.content {
                Content::Lines(lines) => lines.read(self.width, &mut ids, skipped, on_piece)?,
                Content::Npy(rows) => rows.read(&mut ids, skipped, on_piece)?,
            }
        }
        Ok(ids)
    }
}

/// What inputs hold of which the user does not say: pictures or fingerprints if the first looks like
/// it. Of standard input, the options tell.
pub fn guess_kind(paths: &[PathBuf], rows: &RowArgs) -> Kind {
    let RowArgs { field, id, lines, format, html, .. } = rows;
    if *lines || *html || field.is_some() || id.is_some() || format.is_some() {
        return Kind::Text;
    }
    if are_pictures(paths) {
        return Kind::Image;
    }
    match paths.first() {
        Some(path) if path == Path::new("-") => Kind::Hash,
        Some(path) if path.is_dir() => Kind::Text,
        Some(path) if Format::of_name(path).is_some_and(|format| format != Format::Jsonl) => {
            Kind::Text
        }
        Some(path) => match Bytes::open(path) {
            Ok(bytes) if !npy::is_npy(bytes.start()) && !looks_like_hashes(bytes.start()) => {
                Kind::Text
            }
            _ => Kind::Hash,
        },
        None => Kind::Hash,
    }
}

impl Input {
    fn open(path: &Path, kind: Option<Kind>) -> Result<Self, Bad> {
        let bytes = Bytes::open(path)?;
        let name = bytes.name().to_owned();
        let content = if npy::is_npy(bytes.start()) {
            Content::Npy(NpyRows::open(bytes)?)
        } else {
            Content::Lines(HashLines::open(bytes, kind)?)
        };
        Ok(Self { name, content })
    }

    /// The width of its fingerprints, if it tells.
    fn width(&self) -> Option<Width> {
        match &self.content {
            Content::Lines(lines) => lines.width,
            Content::Npy(rows) => Some(rows.width),
        }
    }
}

/// The width all inputs have: what the user said, else what an input tells, else 64 bits.
fn common_width(
    inputs: &mut Vec<Input>,
    said: Option<Width>,
    skipped: &mut Skipped,
) -> Result<Width> {
    let mut common = said.map(|width| (width, "--bits".to_owned()));
    let mut kept = Vec::new();
    for input in inputs.drain(..) {
        match (input.width(), &common) {
            (Some(here), Some((width, by))) if here != *width => {
                skipped.add(mixed_widths(&input.name, here, *width, by))?;
                continue;
            }
            (Some(here), None) => common = Some((here, input.name.clone())),
            _ => {}
        }
        kept.push(input);
    }
    *inputs = kept;
    Ok(common.map_or(Width::Bits64, |(width, _)| width))
}

fn mixed_widths(name: &str, here: Width, there: Width, by: &str) -> Bad {
    let remedy = if by == "--bits" { "leave --bits out" } else { "search each width by itself" };
    Bad::input(
        name,
        format!(
            "holds fingerprints of {} bits, but {by} has {}; {remedy}",
            here.bits(),
            there.bits()
        ),
    )
}
