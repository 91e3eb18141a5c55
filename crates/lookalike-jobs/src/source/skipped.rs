//! Counts and lists input that cannot be read, or stops the run.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Result, anyhow, ensure};

use crate::host::Console;
use crate::report::{SkippedRow, SkippedWriter, counted, visible};

/// An input or record that cannot be used, with the reason and a remedy.
#[derive(Debug)]
pub struct Bad {
    reason: Reason,
    name: String,
    line: Option<u64>,
    what: String,
}

/// Why a record was skipped, by the names in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    NotANumber,
    NoDirection,
    OtherDimensions,
    TooWide,
    OtherWidth,
    TooLong,
    NotAPair,
    NoFeatures,
    NoField,
    WrongType,
    Broken,
    NotText,
    NotAnImage,
    NotRead,
    Empty,
    TooLarge,
    Missing,
    NotThere,
    Taken,
    Unfit,
    Input,
}

impl Reason {
    const ALL: [Self; 21] = [
        Self::NotANumber,
        Self::NoDirection,
        Self::OtherDimensions,
        Self::TooWide,
        Self::OtherWidth,
        Self::TooLong,
        Self::NotAPair,
        Self::NoFeatures,
        Self::NoField,
        Self::WrongType,
        Self::Broken,
        Self::NotText,
        Self::NotAnImage,
        Self::NotRead,
        Self::Empty,
        Self::TooLarge,
        Self::Missing,
        Self::NotThere,
        Self::Taken,
        Self::Unfit,
        Self::Input,
    ];

    /// The reason with this name, which a kind has given.
    pub fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|reason| reason.name() == name).unwrap_or(Self::Unfit)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::NotANumber => "not a number",
            Self::NoDirection => "without a direction",
            Self::OtherDimensions => "of other dimensions",
            Self::TooWide => "too wide",
            Self::OtherWidth => "other width",
            Self::TooLong => "too long",
            Self::NotAPair => "not a pair",
            Self::NoFeatures => "no features",
            Self::NoField => "without the field",
            Self::WrongType => "of another type",
            Self::Broken => "broken",
            Self::NotText => "not text",
            Self::NotAnImage => "not an image",
            Self::NotRead => "of a format that is not read",
            Self::Empty => "empty",
            Self::TooLarge => "too large",
            Self::Missing => "missing rows",
            Self::NotThere => "not there",
            Self::Taken => "id taken",
            Self::Unfit => "unfit",
            Self::Input => "unreadable input",
        }
    }
}

impl Bad {
    /// An input that cannot be read to its end.
    pub fn input(name: &str, what: impl std::fmt::Display) -> Self {
        Self::item(name, Reason::Input, what)
    }

    /// An input that can be read, but is not an item.
    pub fn item(name: &str, reason: Reason, what: impl std::fmt::Display) -> Self {
        Self { reason, name: name.to_owned(), line: None, what: what.to_string() }
    }

    /// Whether the input cannot be read.
    pub fn is_damage(&self) -> bool {
        self.reason == Reason::Input
    }

    /// The message as an error that stops the run.
    pub fn error(self) -> anyhow::Error {
        anyhow!(self.message())
    }

    fn message(&self) -> String {
        let Self { name, what, .. } = self;
        match self.line {
            Some(line) => format!("{name}:{line}: {what}"),
            None => format!("{name}: {what}"),
        }
    }

    /// One line of an input.
    pub fn line(name: &str, line: u64, reason: Reason, what: impl std::fmt::Display) -> Self {
        Self { line: Some(line), ..Self::item(name, reason, what) }
    }
}

/// All skipped records are counted; the first ones are listed.
pub struct Skipped {
    /// A hint after the message of the first skipped record, if the run stops there.
    stop: Option<&'static str>,
    counts: BTreeMap<Reason, u64>,
    /// The counts for `--against`.
    others: BTreeMap<Reason, u64>,
    listed: Vec<String>,
    listable: u64,
    list: List,
}

/// Where all skipped records are listed.
enum List {
    /// Nowhere, and the command has no option for it.
    None,
    /// Nowhere, but the option can be suggested.
    Offered,
    File(Box<SkippedWriter>),
}

impl Skipped {
    /// How many skipped records are listed in messages.
    pub const LISTED: usize = 20;

    /// With `strict`, the first record to skip stops the run.
    pub fn unless(strict: bool) -> Self {
        let stop = strict.then_some("--strict stops here; without it, this is skipped");
        let (counts, others) = (BTreeMap::new(), BTreeMap::new());
        Self { stop, counts, others, listed: Vec::new(), listable: 0, list: List::None }
    }

    /// Lists everything in the file of `--skipped`; without one, messages suggest the option.
    pub fn listed_in(self, file: Option<&Path>, force: bool, console: Console<'_>) -> Result<Self> {
        let list = match file {
            Some(file) => List::File(Box::new(SkippedWriter::create(file, force, console)?)),
            None => List::Offered,
        };
        Ok(Self { list, ..self })
    }

    /// Completes the file of `--skipped`.
    pub fn finish_list(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.list, List::None) {
            List::File(writer) => writer.finish(),
            list => {
                self.list = list;
                Ok(())
            }
        }
    }

    /// Counts separately what is skipped while `work` reads `--against`.
    pub fn of_others<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.counts, &mut self.others);
        let result = work(self);
        std::mem::swap(&mut self.counts, &mut self.others);
        result
    }

    /// Skips one record, or fails with `--strict`.
    pub fn add(&mut self, bad: Bad) -> Result<()> {
        self.add_many(bad, 1)
    }

    /// Like [`add`](Self::add), for one cause that costs several items.
    pub fn add_many(&mut self, bad: Bad, items: u64) -> Result<()> {
        if let Some(hint) = self.stop {
            return Err(anyhow!("{} ({hint})", bad.message()));
        }
        self.note(bad, items);
        Ok(())
    }

    /// Counts what is skipped even with `--strict`.
    pub fn note(&mut self, bad: Bad, items: u64) {
        *self.counts.entry(bad.reason).or_default() += items;
        self.listable += 1;
        if self.listed.len() < Self::LISTED {
            self.listed.push(visible(&bad.message()).into_owned());
        }
        if let List::File(writer) = &mut self.list {
            let Bad { reason, name, line, what } = &bad;
            let (file, reason) = (name, reason.name());
            writer.write(SkippedRow { file, line: *line, items, reason, message: what });
        }
    }

    /// Counts further cases without listing them.
    pub fn note_more(&mut self, reason: Reason, items: u64) {
        if items > 0 {
            *self.counts.entry(reason).or_default() += items;
            self.listable += items;
        }
    }

    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The count for one reason.
    pub fn count(&self, reason: Reason) -> u64 {
        self.counts.get(&reason).copied().unwrap_or(0)
    }

    pub fn counts(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.counts.iter().map(|(&reason, &count)| (reason, count))
    }

    /// Like [`counts`](Self::counts), for `--against`.
    pub fn counts_of_others(&self) -> impl Iterator<Item = (Reason, u64)> {
        self.others.iter().map(|(&reason, &count)| (reason, count))
    }

    /// Fails if there are no items because all records were skipped. `before` is the total before
    /// reading.
    pub fn check_some(&self, items: u64, before: u64) -> Result<()> {
        let skipped = self.total() - before;
        ensure!(
            items > 0 || skipped == 0,
            "nothing could be read: {} skipped; first: {}",
            counted(skipped, "record"),
            self.listed.first().map_or("", String::as_str)
        );
        Ok(())
    }

    /// A line for each of the first cases, and for the number of others.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let more = self.listable - self.listed.len() as u64;
        let hint =
            if matches!(self.list, List::Offered) { "; list all with --skipped FILE" } else { "" };
        let rest = (more > 0).then(|| format!("and {more} more{hint}"));
        self.listed.iter().map(|message| format!("skipped {message}")).chain(rest)
    }
}
