//! All inputs of one command: records, files or fingerprints.

use std::{borrow::Cow, path::PathBuf};

use anyhow::{Result, bail};
use arrow_array::RecordBatch;
use lookalike::{
    Digest, Facts, Kind, Resources, Unfit, Width,
    collection::content_hash,
    digest::{Digests, Identity},
    kind::{Input, Reads},
};
use rayon::prelude::*;

use super::{
    Bad, Content, FileItem, FileReading, Files, Fingerprints, Id, Ids, Kept, KeptOutput, Key,
    PrintOptions, Reason, Row, RowOptions, Rows, SeenFile, Skipped, rows::Batch, seen,
};
use crate::{
    act::Reread,
    args::OutputArgs,
    host::{Console, Progress},
    report::id_text,
};

/// The open inputs of a command.
pub enum Inputs {
    Records(Box<Rows>),
    Files(Box<Files>),
    Prints(Box<Fingerprints>),
}

/// How to read each form of inputs.
#[derive(Clone)]
pub struct InputOptions {
    pub rows: RowOptions,
    pub files: FileReading,
    pub prints: PrintOptions,
}

impl InputOptions {
    /// Expects items of this kind, as far as rows tell.
    pub fn expect(&mut self, kind: &dyn Kind) {
        if let Some(vectors) = &mut self.rows.vectors {
            vectors.dimensions = kind.dimensions();
        }
    }
}

/// How items become digests.
pub struct Reading<'a> {
    pub kind: &'a dyn Kind,
    /// Extracts features from texts instead of the kind.
    pub make: Option<CustomDigester<'a>>,
    /// Whether the items are those of `--against`.
    pub is_other: bool,
    /// Called regularly, from any thread; may unwind to stop the run.
    pub on_progress: &'a (dyn Fn() + Sync),
    pub progress: &'a Progress<'a>,
}

/// Turns a text into input for the digester, with a hash, tokenizer or extractor of the caller. Called
/// for one text after another, in order.
pub type CustomDigester<'a> = &'a (dyn for<'t> Fn(RawText<'t>) -> Result<Input<'t>> + Sync);

/// A text for [`CustomDigester`].
#[derive(Clone, Debug)]
pub struct RawText<'t> {
    /// The text.
    pub text: &'t str,
    /// Its id, for messages.
    pub name: Cow<'t, str>,
    /// Its row or line, from 0.
    pub row: usize,
    /// Whether it belongs to `--against`.
    pub is_other: bool,
}

/// An item with its digest.
pub struct Item<'a> {
    pub digest: Digest,
    described: Described<'a>,
}

enum Described<'a> {
    Row { row: &'a Row<'a>, place: Option<(&'a str, Option<u64>)> },
    File(&'a FileItem),
    Print { place: Option<(String, u64)> },
}

/// Consecutive items.
pub struct Items<'a> {
    pub items: Vec<Item<'a>>,
    /// The number of the first item.
    pub first: u32,
    /// The ids of all items so far.
    pub ids: &'a Ids,
}

/// Receives items as they are read.
pub type OnItems<'a> = &'a mut (dyn FnMut(Items<'_>) -> Result<()> + Send);

impl Item<'_> {
    /// What describes it.
    pub fn facts(&self, id: Id<'_>) -> Cow<'_, Facts> {
        match &self.described {
            Described::Row { row, .. } => Cow::Owned(Facts {
                name: id_text(id).into_owned(),
                bytes: row.bytes,
                modified: row.modified,
                characters: Some(row.text().chars().count() as u64),
                ..Facts::default()
            }),
            Described::File(file) => Cow::Borrowed(&file.facts),
            Described::Print { .. } => Cow::Owned(Facts::default()),
        }
    }

    /// The values of the fields to order by; none where one is missing.
    pub fn keys(&self) -> impl Iterator<Item = Option<Key>> {
        let keys = match &self.described {
            Described::Row { row, .. } => row.keys.as_slice(),
            _ => &[],
        };
        keys.iter().cloned()
    }

    /// Its line or row in the input, from 1; 0 if it is the whole input.
    pub fn line(&self) -> u64 {
        match &self.described {
            Described::Row { row, .. } => row.line(),
            _ => 0,
        }
    }

    /// The bytes of the text or the numbers of a row.
    pub fn row_bytes(&self) -> Option<Cow<'_, [u8]>> {
        match &self.described {
            Described::Row { row: Row { content: Content::Text(text), .. }, .. } => {
                Some(Cow::Borrowed(text.as_bytes()))
            }
            Described::Row { row: Row { content: Content::Vector(numbers), .. }, .. } => {
                Some(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
            }
            _ => None,
        }
    }

    /// The facts of a file.
    pub fn file_facts(&self) -> Option<&Facts> {
        match &self.described {
            Described::File(file) => Some(&file.facts),
            _ => None,
        }
    }

    /// A hash of its content; none for a fingerprint.
    pub fn content_hash(&self) -> Option<Identity> {
        match &self.described {
            Described::Row { .. } => Some(content_hash(&self.row_bytes()?)),
            Described::File(file) => Some(file.content_hash()),
            Described::Print { .. } => None,
        }
    }

    /// The input and line of an item without an id.
    pub fn place(&self) -> Option<(&str, Option<u64>)> {
        match &self.described {
            Described::Row { place, .. } => *place,
            Described::File(_) => None,
            Described::Print { place } => {
                place.as_ref().map(|(file, line)| (file.as_str(), Some(*line)))
            }
        }
    }
}

impl Items<'_> {
    /// The name of an item in messages: its id, or its input and line.
    pub fn name(&self, number: u32, item: &Item<'_>) -> String {
        match item.place() {
            Some((file, Some(line))) => format!("{file}:{line}"),
            _ => id_text(self.ids.at(number)).into_owned(),
        }
    }
}

impl Inputs {
    /// Opens all inputs, so that a wrong name fails before any work is done.
    pub fn open(
        paths: &[PathBuf],
        reads: Reads,
        options: &InputOptions,
        skipped: &mut Skipped,
    ) -> Result<Self> {
        Ok(match reads {
            Reads::Records | Reads::Vectors => {
                Self::Records(Box::new(Rows::open(paths, options.rows.clone(), skipped)?))
            }
            Reads::Files => Self::Files(Box::new(Files::open(paths, &options.files, skipped)?)),
            Reads::Prints => {
                Self::Prints(Box::new(Fingerprints::open(paths, &options.prints, skipped)?))
            }
        })
    }

    /// Rows in memory, with a name for messages.
    pub fn in_memory(
        name: String,
        batches: Vec<RecordBatch>,
        reads: Reads,
        options: &InputOptions,
    ) -> Result<Self> {
        match reads {
            Reads::Records | Reads::Vectors => {
                let rows = Rows::in_memory(name, batches, options.rows.clone())?;
                Ok(Self::Records(Box::new(rows)))
            }
            Reads::Files => bail!("images cannot be read from rows; name files or folders"),
            Reads::Prints => bail!("fingerprints cannot be read from rows; name files"),
        }
    }

    /// The width, if the inputs contain fingerprints.
    pub fn width(&self) -> Option<Width> {
        match self {
            Self::Prints(prints) => Some(prints.width),
            _ => None,
        }
    }

    /// The number of dimensions of the vectors, if that is what they hold.
    pub fn dimensions(&self) -> Option<u32> {
        match self {
            Self::Records(rows) => rows.dimensions(),
            _ => None,
        }
    }

    /// A description of the inputs, for messages.
    pub fn what(&self) -> String {
        match self {
            Self::Records(rows) => rows.what(),
            Self::Files(files) => files.what(),
            Self::Prints(prints) => prints.what(),
        }
    }

    /// Notes for the user on what was guessed, ignored or repaired.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Records(rows) => rows.notes(),
            Self::Files(files) => files.notes(),
            Self::Prints(_) => &[],
        }
    }

    /// Reads and digests every item, in order.
    pub fn read(
        &mut self,
        reading: &Reading<'_>,
        skipped: &mut Skipped,
        on_items: OnItems<'_>,
    ) -> Result<Ids> {
        match self {
            Self::Records(rows) => {
                rows.read(skipped, &mut |batch| reading.digest_rows(batch, on_items))
            }
            Self::Files(files) => {
                let on_file = || {
                    (reading.on_progress)();
                    reading.progress.read(1);
                };
                files.read(reading.kind, skipped, &on_file, &mut |ids, file, digest| {
                    let items = vec![Item { digest, described: Described::File(file) }];
                    on_items(Items { items, first: ids.len() as u32 - 1, ids })
                })
            }
            Self::Prints(prints) => match prints.width {
                Width::Bits32 | Width::Bits64 => {
                    reading.read_prints::<1>(prints, skipped, on_items)
                }
                Width::Bits128 => reading.read_prints::<2>(prints, skipped, on_items),
                Width::Bits256 => reading.read_prints::<4>(prints, skipped, on_items),
            },
        }
    }

    /// Reads everything into columns. Calls `on_items` unless the items are fingerprints.
    pub fn collect(
        &mut self,
        reading: &Reading<'_>,
        digests: &mut Digests,
        resources: &Resources<'_>,
        skipped: &mut Skipped,
        on_items: &mut (dyn FnMut(&Items<'_>) -> Result<bool> + Send),
    ) -> Result<Ids> {
        let Self::Prints(prints) = self else {
            return self.read(reading, skipped, &mut |items| {
                if on_items(&items)? {
                    items.items.iter().try_for_each(|item| digests.push(&item.digest))?;
                }
                Ok(())
            });
        };
        match prints.width {
            Width::Bits32 | Width::Bits64 => {
                reading.collect_prints::<1>(prints, digests, resources, skipped)
            }
            Width::Bits128 => reading.collect_prints::<2>(prints, digests, resources, skipped),
            Width::Bits256 => reading.collect_prints::<4>(prints, digests, resources, skipped),
        }
    }

    /// Opens the output for kept items before work starts, so that an unwritable path fails early.
    pub fn open_kept(&self, output: &OutputArgs, console: Console<'_>) -> Result<KeptOutput> {
        match self {
            Self::Records(rows) => rows.open_kept(output, console),
            Self::Files(files) => {
                Ok(KeptOutput::Folder(files.open_kept(output.file(), &console.host.partials)?))
            }
            Self::Prints(prints) => prints.open_kept(output, console),
        }
    }

    /// Writes all items for which `keep` is true, and all records that are not items.
    pub fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: KeptOutput) -> Result<Kept> {
        match (self, output) {
            (Self::Records(rows), output) => rows.write_kept(keep, output),
            (Self::Files(files), KeptOutput::Folder(folder)) => files.write_kept(keep, folder),
            (Self::Prints(prints), KeptOutput::Records(output)) => prints.write_kept(keep, output),
            _ => unreachable!("open_kept returns an output that fits the inputs"),
        }
    }

    /// The name of the first input whose items are not files, if any.
    pub fn no_file(&self) -> Option<String> {
        match self {
            Self::Records(rows) => rows.no_file().map(str::to_owned),
            Self::Files(_) => None,
            Self::Prints(prints) => Some(prints.name().to_owned()),
        }
    }

    /// The file of this item, in its state when it was read.
    pub fn file(&self, item: u32) -> Option<SeenFile<'_>> {
        match self {
            Self::Records(rows) => rows.seen(item),
            Self::Files(files) => files.seen(item),
            Self::Prints(_) => None,
        }
    }

    /// The files, if every item is one; empty for records and fingerprints.
    pub fn file_items(&self) -> &[FileItem] {
        match self {
            Self::Files(files) => files.items(),
            _ => &[],
        }
    }

    /// Reads a file again in the same way, to check whether its content has changed.
    pub fn reread(&self) -> Reread<'static> {
        match self {
            Self::Records(_) => &|path| seen::ContentHash::of_text(path).map_err(Bad::error),
            Self::Files(_) | Self::Prints(_) => &|path| Ok(seen::ContentHash::of_file(path)?),
        }
    }
}

impl Reading<'_> {
    /// Digests rows, on all threads unless the caller does it.
    fn digest_rows(&self, mut batch: Batch<'_>, on_items: OnItems<'_>) -> Result<()> {
        (self.on_progress)();
        self.progress.read(batch.rows.len());
        let results: Vec<Result<Digest, Unfit>> = match self.make {
            None => batch.rows.par_iter().map_init(|| self.kind.digester(), digest_row).collect(),
            Some(make) => self.digest_custom(&batch, make)?,
        };
        let mut digests = Vec::with_capacity(results.len());
        for (number, digest) in results.into_iter().enumerate() {
            digests.push(digest.unwrap_or_else(|Unfit { reason, message }| {
                batch.refuse(number, Reason::named(reason), message);
                Digest::default()
            }));
        }
        let Batch { rows, first, ids, .. } = &batch;
        let item = |(digest, row)| {
            let place = batch.location_without_id(row);
            Item { digest, described: Described::Row { row, place } }
        };
        let items = digests.into_iter().zip(rows).map(item).collect();
        on_items(Items { items, first: *first, ids })
    }

    fn digest_custom(
        &self,
        batch: &Batch<'_>,
        make: CustomDigester<'_>,
    ) -> Result<Vec<Result<Digest, Unfit>>> {
        let mut inputs = Vec::with_capacity(batch.rows.len());
        for (number, row) in (batch.first..).zip(&batch.rows) {
            (self.on_progress)();
            let (name, line) = (id_text(batch.ids.at(number)), row.line().saturating_sub(1));
            let Content::Text(text) = &row.content else {
                bail!("{name}: has features, but custom functions accept only text")
            };
            let (row, is_other) = (line as usize, self.is_other);
            inputs.push(make(RawText { text, name, row, is_other })?);
        }
        let digest = |digester: &mut Box<dyn lookalike::kind::Digester + '_>, input: Input<'_>| {
            digester.digest(input).map(|(digest, _)| digest)
        };
        Ok(inputs.into_par_iter().map_init(|| self.kind.digester(), digest).collect())
    }

    fn read_prints<const WORDS: usize>(
        &self,
        prints: &mut Fingerprints,
        skipped: &mut Skipped,
        on_items: OnItems<'_>,
    ) -> Result<Ids> {
        // The ids of fingerprints are complete once all are read.
        let mut all = Vec::new();
        let ids = prints.read::<WORDS>(skipped, &mut |piece| {
            (self.on_progress)();
            self.progress.read(piece.len());
            all.extend_from_slice(piece);
            Ok(())
        })?;
        for (piece, prints) in all.chunks(PIECE).enumerate() {
            let first = (piece * PIECE) as u32;
            let item = |(number, print): (u32, &lookalike::Fingerprint<WORDS>)| {
                let place = ids.own(number).err().map(|(file, line)| (file.to_owned(), line));
                let digest = Digest::of_print(print.resize());
                Item { digest, described: Described::Print { place } }
            };
            let items = (first..).zip(prints).map(item).collect();
            on_items(Items { items, first, ids: &ids })?;
        }
        Ok(ids)
    }

    fn collect_prints<const WORDS: usize>(
        &self,
        prints: &mut Fingerprints,
        digests: &mut Digests,
        resources: &Resources<'_>,
        skipped: &mut Skipped,
    ) -> Result<Ids> {
        prints.read::<WORDS>(skipped, &mut |piece| {
            (self.on_progress)();
            self.progress.read(piece.len());
            Ok(digests.push_prints(piece, resources)?)
        })
    }
}

/// How many fingerprints are passed on together.
const PIECE: usize = 1 << 14;

fn digest_row(
    digester: &mut Box<dyn lookalike::kind::Digester + '_>,
    row: &Row<'_>,
) -> Result<Digest, Unfit> {
    row.digest_by(&mut **digester)
}
