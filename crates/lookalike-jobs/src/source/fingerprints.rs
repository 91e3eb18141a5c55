//! Which fingerprints do the inputs of a command hold? Lines or arrays, all of one width.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Result;
use lookalike::{Fingerprint, Width};

use super::{
    Bad, Bytes, Ids, Skipped,
    arrays::has_vectors,
    bytes::{check_streams, is_stream, name_of, stdin_ahead},
    files::are_images,
    hashes::{HashLines, looks_like_hashes},
    input::Input,
    npy::{self, Header, NpyRows},
    origin::Origin,
    rows::Items,
};
use crate::args::{Format, RowArgs};

/// Fingerprints are handed on in pieces of at most this many.
pub const PIECE: usize = 1 << 14;

/// Takes fingerprints as they are read.
pub type OnPiece<'a, const WORDS: usize> = &'a mut dyn FnMut(&[Fingerprint<WORDS>]) -> Result<()>;

/// Inputs that hold fingerprints of one width.
pub struct Fingerprints {
    /// Where they are, to be copied after they were read.
    pub(super) inputs: Vec<Input>,
    /// What is in each of them; nothing once it is read. Locked, because readers cannot be shared.
    contents: Mutex<Vec<Content>>,
    pub width: Width,
    /// Of the first input, if it is an array.
    pub(super) array: Option<Header>,
    /// Which lines or rows were items, once they are read.
    pub(super) items: Items,
}

/// An input that can be read.
struct Opened {
    input: Input,
    content: Content,
}

enum Content {
    Lines(HashLines),
    Npy(NpyRows),
}

/// What is expected of the inputs, as far as the user said, and how often they are read.
#[derive(Clone, Default)]
pub struct PrintOptions {
    /// What the user calls them: fingerprints if it is `hash`.
    pub kind: Option<String>,
    pub bits: Option<Width>,
    /// Everything will be read a second time, to write what is kept.
    pub again: bool,
    /// The folder for temporary files, if not the system's.
    pub temp: Option<PathBuf>,
    /// The memory limit, if there is one.
    pub memory: Option<u64>,
}

impl Fingerprints {
    /// Opens all inputs, so that a wrong name is noticed before any work is done.
    pub fn open(paths: &[PathBuf], options: &PrintOptions, skipped: &mut Skipped) -> Result<Self> {
        let mut opened = Vec::new();
        check_streams(paths)?;
        for path in paths {
            match Opened::new(path, options) {
                Ok(input) => opened.push(input),
                // A wrong name is a mistake; what is there but damaged does not stop the others.
                Err(bad) if paths.len() > 1 && (path.exists() || is_stream(path)) => {
                    skipped.add(bad)?;
                }
                Err(bad) => return Err(bad.error()),
            }
        }
        Self::of(opened, options, skipped)
    }

    /// Fingerprints in memory, as they would lie in a file.
    pub fn of_bytes(bytes: &[u8], skipped: &mut Skipped) -> Result<Self> {
        let options = PrintOptions { kind: Some("hash".to_owned()), ..PrintOptions::default() };
        let opened = Opened::of("input".to_owned(), Origin::bytes(bytes), &options);
        Self::of(vec![opened.map_err(Bad::error)?], &options, skipped)
    }

    fn of(mut opened: Vec<Opened>, options: &PrintOptions, skipped: &mut Skipped) -> Result<Self> {
        let width = common_width(&mut opened, options.bits, skipped)?;
        skipped.check_some(opened.len() as u64, 0)?;
        let array = opened.first().and_then(|first| first.content.array()).cloned();
        let (inputs, contents) =
            opened.into_iter().map(|opened| (opened.input, opened.content)).unzip();
        let contents = Mutex::new(contents);
        Ok(Self { inputs, contents, width, array, items: Items::default() })
    }

    /// The name of the first input.
    pub fn name(&self) -> &str {
        self.inputs.first().map_or("", |input| &input.name)
    }

    /// What is read, in words.
    pub fn what(&self) -> String {
        format!("fingerprints of {} bits", self.width.bits())
    }

    /// An input that is an array if the first one is none, or the other way round.
    pub(super) fn other_form(&self) -> Option<&Input> {
        let is_other = |content: &Content| content.array().is_some() != self.array.is_some();
        let contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        self.inputs
            .iter()
            .zip(contents.iter())
            .find_map(|(input, content)| is_other(content).then_some(input))
    }

    /// Reads every item in order. `WORDS` must fit [`width`](Self::width).
    pub fn read<const WORDS: usize>(
        &mut self,
        skipped: &mut Skipped,
        on_piece: OnPiece<'_, WORDS>,
    ) -> Result<Ids> {
        let before = skipped.total();
        let mut ids = Ids::new(self.inputs.iter().map(|input| input.name.clone()).collect());
        let contents = self.contents.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (number, content) in std::mem::take(contents).into_iter().enumerate() {
            ids.start_input(number);
            let items = &mut self.items;
            match content {
                Content::Lines(lines) => {
                    lines.read(self.width, &mut ids, items, skipped, on_piece)?;
                }
                Content::Npy(rows) => rows.read(&mut ids, items, skipped, on_piece)?,
            }
        }
        skipped.check_some(ids.len(), before)?;
        Ok(ids)
    }
}

/// What inputs hold of which the user does not say: images or fingerprints if the first looks like
/// it, and `otherwise` if it does not tell. A pipe given by name never does.
pub fn guess_kind(paths: &[PathBuf], rows: &RowArgs, otherwise: &'static str) -> &'static str {
    let RowArgs { field, id, lines, format, html, .. } = rows;
    if *lines || *html || field.is_some() || id.is_some() || format.is_some() {
        return "text";
    }
    if are_images(paths) {
        return "image";
    }
    match paths.first() {
        Some(path) if path == Path::new("-") => kind_of(stdin_ahead(), otherwise),
        Some(path) if is_stream(path) => otherwise,
        Some(path) if path.is_dir() => "text",
        Some(path) if Format::of_name(path).is_some_and(|format| format != Format::Jsonl) => "text",
        Some(path) => kind_of(Bytes::open(path), otherwise),
        None => otherwise,
    }
}

fn kind_of(bytes: Result<Bytes, Bad>, otherwise: &'static str) -> &'static str {
    match bytes.and_then(Bytes::into_text) {
        Ok(bytes) if npy::is_npy(bytes.start()) => {
            if has_vectors(bytes.start()) {
                "vector"
            } else {
                "hash"
            }
        }
        Ok(bytes) => match looks_like_hashes(bytes.start()) {
            Some(true) => "hash",
            Some(false) => "text",
            None => otherwise,
        },
        Err(_) => otherwise,
    }
}

impl Opened {
    fn new(path: &Path, options: &PrintOptions) -> Result<Self, Bad> {
        let origin = Origin::new(path, options.again, options.temp.as_deref(), options.memory)?;
        Self::of(name_of(path), origin, options)
    }

    fn of(name: String, origin: Origin, options: &PrintOptions) -> Result<Self, Bad> {
        let bytes = origin.open_text(&name)?;
        let content = if npy::is_npy(bytes.start()) {
            Content::Npy(NpyRows::open(bytes)?)
        } else {
            Content::Lines(HashLines::open(bytes, options.kind.as_deref() == Some("hash"))?)
        };
        Ok(Self { input: Input::lines(name, origin), content })
    }
}

impl Content {
    /// The width of its fingerprints, if it tells.
    fn width(&self) -> Option<Width> {
        match self {
            Self::Lines(lines) => lines.width,
            Self::Npy(rows) => Some(rows.width),
        }
    }

    /// What the array looks like, if it is one.
    fn array(&self) -> Option<&Header> {
        match self {
            Self::Lines(_) => None,
            Self::Npy(rows) => Some(&rows.header),
        }
    }
}

/// The width all inputs have: what the user said, else what an input tells, else 64 bits.
fn common_width(
    inputs: &mut Vec<Opened>,
    said: Option<Width>,
    skipped: &mut Skipped,
) -> Result<Width> {
    let mut common = said.map(|width| (width, "--bits".to_owned()));
    let mut kept = Vec::new();
    for input in inputs.drain(..) {
        match (input.content.width(), &common) {
            (Some(here), Some((width, by))) if here != *width => {
                skipped.add(mixed_widths(&input.input.name, here, *width, by))?;
                continue;
            }
            (Some(here), None) => common = Some((here, input.input.name.clone())),
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
