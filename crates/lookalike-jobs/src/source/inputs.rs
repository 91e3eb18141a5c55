//! All inputs of one command, whatever form their items have: records, files or fingerprints.

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

/// The inputs of a command, open.
pub enum Inputs {
    Records(Box<Rows>),
    Files(Box<Files>),
    Prints(Box<Fingerprints>),
}

/// What is read of inputs, by their form.
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
    /// Takes texts apart in the kind's stead.
    pub make: Option<Make<'a>>,
    /// Whether the items are those that others are held against.
    pub is_other: bool,
    /// Called now and then, from any thread. If it unwinds, so does the reading.
    pub on_beat: &'a (dyn Fn() + Sync),
    pub progress: &'a Progress<'a>,
}

/// Takes a text apart. Texts are handed over one after the other, in order.
pub type Make<'a> = &'a (dyn for<'t> Fn(RawText<'t>) -> Result<Input<'t>> + Sync);

/// A text that a program takes apart.
#[derive(Clone, Debug)]
pub struct RawText<'t> {
    /// What it says.
    pub text: &'t str,
    /// Its name, for messages.
    pub name: Cow<'t, str>,
    /// Its row, from 0, if rows were handed over; else its line.
    pub row: usize,
    /// Whether it is of `--against`.
    pub is_other: bool,
}

/// An item that was read.
pub struct Item<'a> {
    pub digest: Digest,
    described: Described<'a>,
}

enum Described<'a> {
    Row { row: &'a Row<'a>, place: Option<(&'a str, Option<u64>)> },
    File(&'a FileItem),
    Print { place: Option<(String, u64)> },
}

/// Items that follow each other.
pub struct Items<'a> {
    pub items: Vec<Item<'a>>,
    /// The number of the first.
    pub first: u32,
    /// The names of all items so far.
    pub ids: &'a Ids,
}

/// Takes items as they are read.
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

    /// The values of the fields to order by, as far as it has them.
    pub fn keys(&self) -> impl Iterator<Item = Option<Key>> {
        let keys = match &self.described {
            Described::Row { row, .. } => row.keys.as_slice(),
            _ => &[],
        };
        keys.iter().cloned()
    }

    /// Which line or row of its input it is, from 1; 0 if it is all of it.
    pub fn line(&self) -> u64 {
        match &self.described {
            Described::Row { row, .. } => row.line(),
            _ => 0,
        }
    }

    /// What a row says, if it is a text.
    pub fn text(&self) -> Option<&str> {
        match &self.described {
            Described::Row { row: Row { content: Content::Text(text), .. }, .. } => Some(text),
            _ => None,
        }
    }

    /// What describes its file, if it is one.
    pub fn file_facts(&self) -> Option<&Facts> {
        match &self.described {
            Described::File(file) => Some(&file.facts),
            _ => None,
        }
    }

    /// A hash of all of its content, if more is known of it than its digest.
    pub fn content_hash(&self) -> Option<Identity> {
        match &self.described {
            Described::Row { .. } => Some(content_hash(self.text()?.as_bytes())),
            Described::File(file) => Some(file.content_hash()),
            Described::Print { .. } => None,
        }
    }

    /// The input and the line where it stands, if it has no name of its own.
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
    /// What an item is called in messages: by its id, or by the input and line where it stands.
    pub fn name(&self, number: u32, item: &Item<'_>) -> String {
        match item.place() {
            Some((file, Some(line))) => format!("{file}:{line}"),
            _ => id_text(self.ids.at(number)).into_owned(),
        }
    }
}

impl Inputs {
    /// Opens all inputs, so that a wrong name is noticed before any work is done.
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

    /// Rows that a program holds, under a name for messages.
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
            Reads::Files => bail!("images are read from files and folders, not from rows"),
            Reads::Prints => bail!("fingerprints are read from files, not from rows"),
        }
    }

    /// The width of the fingerprints, if that is what they hold.
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

    /// What is read, in words.
    pub fn what(&self) -> String {
        match self {
            Self::Records(rows) => rows.what(),
            Self::Files(files) => files.what(),
            Self::Prints(prints) => prints.what(),
        }
    }

    /// What the user should know of what was guessed, left out or repaired.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Records(rows) => rows.notes(),
            Self::Files(files) => files.notes(),
            Self::Prints(_) => &[],
        }
    }

    /// Reads every item in order and takes it apart.
    pub fn read(
        &mut self,
        how: &Reading<'_>,
        skipped: &mut Skipped,
        on_items: OnItems<'_>,
    ) -> Result<Ids> {
        match self {
            Self::Records(rows) => rows.read(skipped, &mut |batch| how.take(batch, on_items)),
            Self::Files(files) => {
                let on_file = || {
                    (how.on_beat)();
                    how.progress.read(1);
                };
                files.read(how.kind, skipped, &on_file, &mut |ids, file, digest| {
                    let items = vec![Item { digest, described: Described::File(file) }];
                    on_items(Items { items, first: ids.len() as u32 - 1, ids })
                })
            }
            Self::Prints(prints) => match prints.width {
                Width::Bits32 | Width::Bits64 => how.read_prints::<1>(prints, skipped, on_items),
                Width::Bits128 => how.read_prints::<2>(prints, skipped, on_items),
                Width::Bits256 => how.read_prints::<4>(prints, skipped, on_items),
            },
        }
    }

    /// Reads everything into columns, showing each item to `on_items` unless it is a mere fingerprint.
    pub fn collect(
        &mut self,
        how: &Reading<'_>,
        digests: &mut Digests,
        resources: &Resources<'_>,
        skipped: &mut Skipped,
        on_items: &mut (dyn FnMut(&Items<'_>) -> Result<bool> + Send),
    ) -> Result<Ids> {
        let Self::Prints(prints) = self else {
            return self.read(how, skipped, &mut |items| {
                if on_items(&items)? {
                    items.items.iter().try_for_each(|item| digests.push(&item.digest))?;
                }
                Ok(())
            });
        };
        match prints.width {
            Width::Bits32 | Width::Bits64 => {
                how.collect_prints::<1>(prints, digests, resources, skipped)
            }
            Width::Bits128 => how.collect_prints::<2>(prints, digests, resources, skipped),
            Width::Bits256 => how.collect_prints::<4>(prints, digests, resources, skipped),
        }
    }

    /// Opens the place for what is kept before work starts, so that what cannot be written costs no
    /// time.
    pub fn open_kept(&self, output: &OutputArgs, console: Console<'_>) -> Result<KeptOutput> {
        match self {
            Self::Records(rows) => rows.open_kept(output, console),
            Self::Files(files) => {
                Ok(KeptOutput::Folder(files.open_kept(output.file(), &console.host.partials)?))
            }
            Self::Prints(prints) => prints.open_kept(output, console),
        }
    }

    /// Writes all items for which `keep` is true, and all records that are no items.
    pub fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: KeptOutput) -> Result<Kept> {
        match (self, output) {
            (Self::Records(rows), output) => rows.write_kept(keep, output),
            (Self::Files(files), KeptOutput::Folder(folder)) => files.write_kept(keep, folder),
            (Self::Prints(prints), KeptOutput::Records(output)) => prints.write_kept(keep, output),
            _ => unreachable!("open_kept opened what fits"),
        }
    }

    /// The first input that is no file of its own, if there is one.
    pub fn no_file(&self) -> Option<String> {
        match self {
            Self::Records(rows) => rows.no_file().map(str::to_owned),
            Self::Files(_) => None,
            Self::Prints(prints) => Some(prints.name().to_owned()),
        }
    }

    /// The file that is this item, as it was when it was read.
    pub fn file(&self, item: u32) -> Option<SeenFile<'_>> {
        match self {
            Self::Records(rows) => rows.seen(item),
            Self::Files(files) => files.seen(item),
            Self::Prints(_) => None,
        }
    }

    /// What is known of the files, if every item is one: nothing for records.
    pub fn file_items(&self) -> &[FileItem] {
        match self {
            Self::Files(files) => files.items(),
            _ => &[],
        }
    }

    /// How a file is read again, to see whether it still says what it said.
    pub fn reread(&self) -> Reread<'static> {
        match self {
            Self::Records(_) => &|path| seen::Digest::of_text(path).map_err(Bad::error),
            Self::Files(_) | Self::Prints(_) => &|path| Ok(seen::Digest::of_file(path)?),
        }
    }
}

impl Reading<'_> {
    /// Takes rows apart, on all threads unless a program does it.
    fn take(&self, mut batch: Batch<'_>, on_items: OnItems<'_>) -> Result<()> {
        (self.on_beat)();
        self.progress.read(batch.rows.len());
        let made = match self.make {
            None => batch.rows.par_iter().map_init(|| self.kind.digester(), digest_row).collect(),
            Some(make) => self.make_all(&batch, make)?,
        };
        let made: Vec<Result<Digest, Unfit>> = made;
        let mut digests = Vec::with_capacity(made.len());
        for (number, digest) in made.into_iter().enumerate() {
            digests.push(digest.unwrap_or_else(|Unfit { reason, message }| {
                batch.refuse(number, Reason::named(reason), message);
                Digest::default()
            }));
        }
        let Batch { rows, first, ids, .. } = &batch;
        let item = |(digest, row)| {
            let place = batch.place_of_unnamed(row);
            Item { digest, described: Described::Row { row, place } }
        };
        let items = digests.into_iter().zip(rows).map(item).collect();
        on_items(Items { items, first: *first, ids })
    }

    fn make_all(&self, batch: &Batch<'_>, make: Make<'_>) -> Result<Vec<Result<Digest, Unfit>>> {
        let mut inputs = Vec::with_capacity(batch.rows.len());
        for (number, row) in (batch.first..).zip(&batch.rows) {
            (self.on_beat)();
            let (name, line) = (id_text(batch.ids.at(number)), row.line().saturating_sub(1));
            let Content::Text(text) = &row.content else {
                bail!("{name}: has features; functions of your own take texts")
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
        // The names of fingerprints are known once all are read.
        let mut all = Vec::new();
        let ids = prints.read::<WORDS>(skipped, &mut |piece| {
            (self.on_beat)();
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
            (self.on_beat)();
            self.progress.read(piece.len());
            Ok(digests.push_prints(piece, resources)?)
        })
    }
}

/// Fingerprints that are handed on at once.
const PIECE: usize = 1 << 14;

fn digest_row(
    digester: &mut Box<dyn lookalike::kind::Digester + '_>,
    row: &Row<'_>,
) -> Result<Digest, Unfit> {
    row.digest_by(&mut **digester)
}
