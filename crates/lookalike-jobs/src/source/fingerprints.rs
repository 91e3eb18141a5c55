//! Fingerprints as inputs: lines or NumPy arrays, all of one width.

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

/// The maximum number of fingerprints that are passed on together.
pub const PIECE: usize = 1 << 14;

/// Receives fingerprints as they are read.
pub type OnPiece<'a, const WORDS: usize> = &'a mut dyn FnMut(&[Fingerprint<WORDS>]) -> Result<()>;

/// Inputs with fingerprints of one width.
pub struct Fingerprints {
    /// To read the inputs again when kept items are written.
    pub(super) inputs: Vec<Input>,
    /// The content of each input until it is read. Locked, because readers are not `Sync`.
    contents: Mutex<Vec<Content>>,
    pub width: Width,
    /// The header of the first input, if it is an array.
    pub(super) array: Option<Header>,
    /// Which lines or rows read so far are items.
    pub(super) items: Items,
}

/// An open input.
struct Opened {
    input: Input,
    content: Content,
}

enum Content {
    Lines(HashLines),
    Npy(NpyRows),
}

/// What the user said about the inputs, and how they are read.
#[derive(Clone, Default)]
pub struct PrintOptions {
    /// The kind that the user named. With `hash`, lines that look like text are accepted.
    pub kind: Option<String>,
    pub bits: Option<Width>,
    /// Whether everything will be read a second time, to write kept items.
    pub again: bool,
    /// The folder for temporary files; the system's if none.
    pub temp: Option<PathBuf>,
    pub memory: Option<u64>,
}

impl Fingerprints {
    /// Opens all inputs, so that a wrong name fails before any work is done.
    pub fn open(paths: &[PathBuf], options: &PrintOptions, skipped: &mut Skipped) -> Result<Self> {
        let mut opened = Vec::new();
        check_streams(paths)?;
        for path in paths {
            match Opened::new(path, options) {
                Ok(input) => opened.push(input),
                // A wrong name is an error; an existing but damaged input is skipped.
                Err(bad) if paths.len() > 1 && (path.exists() || is_stream(path)) => {
                    skipped.add(bad)?;
                }
                Err(bad) => return Err(bad.error()),
            }
        }
        Self::of(opened, options, skipped)
    }

    /// Fingerprints in memory, in the format of a file.
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

    /// A description of the inputs, for messages.
    pub fn what(&self) -> String {
        format!("{}-bit fingerprints", self.width.bits())
    }

    /// An input whose format differs from the first: an array among lines, or lines among arrays.
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

/// Guesses the kind of inputs from the first one: images and fingerprints by their content, and
/// `otherwise` if it gives no hint. A named pipe is never inspected.
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
    /// The width of its fingerprints, if it is stated.
    fn width(&self) -> Option<Width> {
        match self {
            Self::Lines(lines) => lines.width,
            Self::Npy(rows) => Some(rows.width),
        }
    }

    /// The header of an array.
    fn array(&self) -> Option<&Header> {
        match self {
            Self::Lines(_) => None,
            Self::Npy(rows) => Some(&rows.header),
        }
    }
}

/// The common width of all inputs: the user's, otherwise one stated by an input, otherwise 64 bits.
fn common_width(
    inputs: &mut Vec<Opened>,
    named: Option<Width>,
    skipped: &mut Skipped,
) -> Result<Width> {
    let mut common = named.map(|width| (width, "--bits".to_owned()));
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
    let remedy = if by == "--bits" { "omit --bits" } else { "search each width separately" };
    Bad::input(
        name,
        format!(
            "has {}-bit fingerprints, but {by} has {} bits; {remedy}",
            here.bits(),
            there.bits()
        ),
    )
}
