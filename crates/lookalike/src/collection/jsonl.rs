//! How does a collection become text, and text a collection?
//!
//! One JSON object a line and item: `id`, `fingerprint` (a list where there are several),
//! `sequence`, `inserted`, `payload`. The first line also says whose fingerprints they are.

use std::{
    io::{self, BufRead, Write},
    ops::ControlFlow,
    path::Path,
};

use serde_json::{Map, Value, json};

use super::{
    About, Added, Collection, CollectionError, NewItem, StoredItem,
    head::Head,
    lock::Lock,
    store::truth_file,
    truth::{Documents, Truth},
};
use crate::{Fingerprint, Width};

/// Lines that are read before they are stored.
const LINES: usize = 8192;

/// What became of the lines of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Items that were stored.
    pub stored: u64,
    /// Items that were there already, with the same fingerprints.
    pub present: u64,
    /// Items whose id is taken by an item with other fingerprints, which stays.
    pub taken: u64,
    /// Lines that cannot be read, or hold no item that can be stored.
    pub refused: u64,
}

/// What became of the records of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Items that were written.
    pub written: u64,
    /// Records that are there, but differ from their checksums.
    pub damaged: u64,
    /// Records that should be there and are not.
    pub missing: u64,
}

impl Collection {
    /// Writes a line for every item, in order of insertion.
    ///
    /// ```
    /// # use lookalike::{About, Collection, Fingerprint, NewItem, Radius, Width};
    /// # let folder = tempfile::tempdir()?;
    /// # let collection = Collection::create(folder.path(), About::given(Width::Bits64, Radius::new(3)))?;
    /// # let print = Fingerprint([255]).resize();
    /// collection.insert(NewItem { inserted: Some(1000), ..NewItem::new("a", &[print]) })?;
    /// let mut lines = Vec::new();
    /// collection.export(&mut lines)?;
    /// let line = r#"{"id":"a","fingerprint":"0x00000000000000ff","sequence":0,"inserted":1000,"payload":null,"maker":"given","bits":64}"#;
    /// assert_eq!(String::from_utf8(lines)?, format!("{line}\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn export(&self, output: impl Write) -> Result<(), CollectionError> {
        let mut lines = Lines { output, about: self.about(), written: 0 };
        let mut failed = None;
        self.for_each(|item| match lines.write(&item) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(()), |source| Err(self.io("writing the export", source)))
    }

    /// Writes a line for every record of a folder that can be read, in order of insertion. One that
    /// differs from its checksum is reported to `on_damaged` and left out. Search tables are not
    /// needed, and not looked at: this also reads a collection that cannot be opened.
    pub fn salvage(
        folder: impl AsRef<Path>,
        output: impl Write,
        mut on_damaged: impl FnMut(CollectionError),
    ) -> Result<Exported, CollectionError> {
        let folder = folder.as_ref();
        let file = super::existing(folder)?;
        let lock = Lock::shared(folder)?;
        let (truth, lock) = match Truth::open_read_only(&file) {
            Err(CollectionError::NotClosed { .. }) => {
                drop(lock);
                let lock = Lock::exclusive(folder)?;
                (Truth::open(&file)?, Some(lock))
            }
            opened => (opened?, lock),
        };
        let Documents { about, state, .. } = truth.documents()?;
        if let Err(lost) = Head::check(folder, &truth_file(folder), state) {
            on_damaged(lost);
        }
        let mut lines = Lines { output, about: &about, written: 0 };
        let mut damaged = 0;
        truth.for_each_readable(
            about.width.words(),
            &mut |sequence, record| match lines.write(&record.to_item(sequence)) {
                Ok(()) => Ok(ControlFlow::Continue(())),
                Err(source) => {
                    let action = "writing the export";
                    Err(CollectionError::Io { path: folder.into(), action, source })
                }
            },
            &mut |error| {
                damaged += 1;
                on_damaged(error);
            },
        )?;
        drop(lock);
        let written = lines.written;
        let missing = state.items.saturating_sub(written + damaged);
        Ok(Exported { written, damaged, missing })
    }

    /// Stores the items of an export, after those that are there; sequence numbers are given anew.
    /// A line that cannot be read, and an item whose id is taken, is reported to `on_refused` and
    /// left out.
    pub fn import(
        &self,
        input: impl BufRead,
        mut on_refused: impl FnMut(CollectionError),
    ) -> Result<Imported, CollectionError> {
        let mut imported = Imported::default();
        let mut items = Vec::new();
        for (number, line) in (1..).zip(input.lines()) {
            let line = line.map_err(|source| self.io("reading the import", source))?;
            if !line.trim().is_empty() {
                match self.item(&line) {
                    Ok(item) => items.push((number, item)),
                    Err(Refused::Maker(error)) => return Err(error),
                    Err(Refused::Line(what)) => {
                        imported.refused += 1;
                        on_refused(CollectionError::Line { line: number, what });
                    }
                }
            }
            if items.len() == LINES {
                self.store(&mut items, &mut imported, &mut on_refused)?;
            }
        }
        self.store(&mut items, &mut imported, &mut on_refused)?;
        Ok(imported)
    }

    fn store(
        &self,
        items: &mut Vec<(u64, StoredItem)>,
        imported: &mut Imported,
        on_refused: &mut impl FnMut(CollectionError),
    ) -> Result<(), CollectionError> {
        let new: Vec<NewItem<'_>> = items.iter().map(|(_, item)| as_new(item)).collect();
        for ((line, item), added) in items.iter().zip(self.insert_many(&new)?) {
            let what = match added {
                Added::Present { .. } => {
                    imported.present += 1;
                    continue;
                }
                Added::Taken { .. } => {
                    imported.taken += 1;
                    format!("the id {} is taken by an item with another fingerprint", item.id)
                }
                Added::Unfit { why } => {
                    imported.refused += 1;
                    why
                }
                Added::New { .. } | Added::Replaced { .. } | Added::Near { .. } => {
                    imported.stored += 1;
                    continue;
                }
            };
            on_refused(CollectionError::Line { line: *line, what });
        }
        items.clear();
        Ok(())
    }

    fn item(&self, line: &str) -> Result<StoredItem, Refused> {
        let about = self.about();
        let value: Value = serde_json::from_str(line)
            .map_err(|error| Refused::Line(format!("not a JSON object: {error}")))?;
        if let Some(maker) = value.get("maker").and_then(Value::as_str) {
            let own = about.maker.to_string();
            if maker != own {
                let (collection, given) = (own, maker.to_owned());
                return Err(Refused::Maker(CollectionError::Recipe { collection, given }));
            }
        }
        item(&value, about.width).map_err(Refused::Line)
    }

    fn io(&self, action: &'static str, source: io::Error) -> CollectionError {
        CollectionError::Io { path: self.folder().into(), action, source }
    }
}

/// An export that is being written.
struct Lines<'a, W> {
    output: W,
    about: &'a About,
    written: u64,
}

impl<W: Write> Lines<'_, W> {
    fn write(&mut self, item: &StoredItem) -> io::Result<()> {
        let Self { output, about, written } = self;
        let mut line = line(item, about.width);
        if *written == 0 {
            line.insert("maker".into(), about.maker.to_string().into());
            line.insert("bits".into(), about.width.bits().into());
        }
        *written += 1;
        writeln!(output, "{}", in_order(&line))
    }
}

/// Why a line is not stored: for itself, or because none of them can be.
enum Refused {
    Line(String),
    Maker(CollectionError),
}

fn as_new(item: &StoredItem) -> NewItem<'_> {
    NewItem {
        id: &item.id,
        fingerprints: &item.fingerprints,
        payload: item.payload.as_deref(),
        inserted: Some(item.inserted),
    }
}

fn line(item: &StoredItem, width: Width) -> Map<String, Value> {
    let prints: Vec<Value> =
        item.fingerprints.iter().map(|print| print.to_hex(width).into()).collect();
    let mut line = Map::new();
    line.insert("id".into(), item.id.as_str().into());
    line.insert(
        "fingerprint".into(),
        match prints.as_slice() {
            [print] => print.clone(),
            _ => prints.into(),
        },
    );
    line.insert("sequence".into(), item.sequence.into());
    line.insert("inserted".into(), item.inserted.into());
    let payload = item.payload.as_deref().and_then(|payload| serde_json::from_str(payload).ok());
    line.insert("payload".into(), payload.unwrap_or(Value::Null));
    line
}

/// The line as text, its fields in the order people look for them.
fn in_order(line: &Map<String, Value>) -> String {
    let names = ["id", "fingerprint", "sequence", "inserted", "payload", "maker", "bits"];
    let fields: Vec<String> = names
        .iter()
        .filter_map(|&name| Some(format!("{}:{}", json!(name), line.get(name)?)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

fn item(value: &Value, width: Width) -> Result<StoredItem, String> {
    let id = match value.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => return Err("there is no \"id\"".to_owned()),
    };
    let print = |value: &Value| -> Result<Fingerprint<4>, String> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Err("a \"fingerprint\" is a text such as \"0xff\"".to_owned()),
        };
        Fingerprint::parse(&text, width).map_err(|error| error.to_string())
    };
    let fingerprints = match value.get("fingerprint") {
        None => return Err("there is no \"fingerprint\"".to_owned()),
        Some(Value::Array(prints)) => prints.iter().map(print).collect::<Result<_, _>>()?,
        Some(one) => vec![print(one)?],
    };
    let payload = value.get("payload").filter(|payload| !payload.is_null());
    Ok(StoredItem {
        id,
        sequence: 0,
        inserted: value.get("inserted").and_then(Value::as_u64).unwrap_or(0),
        fingerprints,
        payload: payload.map(Value::to_string),
    })
}
