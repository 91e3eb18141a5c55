//! Export to JSON Lines, and import.
//!
//! Each line is a JSON object with one item: `id`, `fingerprint`, `digest` (in base64; omitted if the
//! digest is only a fingerprint), `content`, `sequence`, `inserted`, `payload`. The first line also
//! describes the items: `kind`, `recipe`, `bits`, and, unless digests are only fingerprints,
//! `recipe_id`, a hash of everything that determines digests.

use std::{
    io::{self, BufRead, Write},
    path::Path,
};

use base64::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    AddCounts, AddRule, Added, Collection, CollectionError, StoredItem, go_on,
    head::Head,
    lock::Lock,
    store::truth_file,
    truth::{Documents, Truth},
};
use crate::{
    Digest, Fingerprint, Kind, Width,
    digest::{Identity, Shape},
    kind::Registry,
};

/// The number of lines that are stored in one commit.
const LINES: usize = 8192;

/// The outcome of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The outcomes of the lines that can be read.
    pub counts: AddCounts,
    /// The number of lines that cannot be read.
    pub unreadable: u64,
}

/// The outcome of [`Collection::salvage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The number of items written.
    pub written: u64,
    /// The number of records that differ from their checksums.
    pub damaged: u64,
    /// The number of records that are missing.
    pub missing: u64,
}

impl Collection {
    /// Writes a line for every item, in order of insertion.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use lookalike::collection::AddRule;
    /// # use lookalike::{
    /// #     Collection, Criteria, Digest, Fingerprint, Radius, Width, collection::NewItem,
    /// #     kind::hash::HashKind,
    /// # };
    /// # let folder = tempfile::tempdir()?;
    /// # let by = Criteria { distance: Some(Radius::new(3)), ..Criteria::default() };
    /// # let kind = Arc::new(HashKind::new(Width::Bits64));
    /// # let collection = Collection::create(folder.path(), kind, &by)?;
    /// let digest = Digest::of_print(Fingerprint([255]).resize());
    /// let item = NewItem { inserted: Some(1000), ..NewItem::new("a", &digest) };
    /// collection.add(&[item], AddRule::Insert)?;
    /// let mut lines = Vec::new();
    /// collection.export(&mut lines)?;
    /// let line = r#"{"id":"a","fingerprint":"0x00000000000000ff","sequence":0,"inserted":1000,"payload":null,"kind":"hash","recipe":"hash: 64 bits","bits":64}"#;
    /// assert_eq!(String::from_utf8(lines)?, format!("{line}\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn export(&self, output: impl Write) -> Result<(), CollectionError> {
        let mut lines = Lines::new(output, self.kind());
        let mut written = Ok(());
        self.for_each(|item| {
            written = lines.write(&item);
            go_on(written.is_ok())
        })?;
        written.map_err(|source| self.io("writing the export", source))
    }

    /// Writes a line for every readable record of a folder, in order of insertion. A record that differs
    /// from its checksum is reported to `on_damaged` and left out. Search tables are not read, so this
    /// also works for a collection that cannot be opened.
    pub fn salvage(
        folder: impl AsRef<Path>,
        registry: &Registry,
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
        let unknown = || CollectionError::UnknownKind {
            path: folder.into(),
            kind: about.recipe.kind.clone(),
        };
        let kind = registry.reopen(&about.recipe).ok_or_else(unknown)?;
        let mut lines = Lines::new(output, &*kind);
        let mut damaged = 0;
        let ledger = truth.for_each_readable(
            state.next,
            &mut |item| {
                lines.write(&item).map_err(|source| {
                    let action = "writing the export";
                    CollectionError::Io { path: folder.into(), action, source }
                })
            },
            &mut |error| {
                damaged += u64::from(matches!(error, CollectionError::Record { .. }));
                on_damaged(error);
            },
        )?;
        drop(lock);
        let written = lines.written;
        let mut missing = state.items.saturating_sub(written + damaged);
        if damaged + missing == 0 && ledger != state.ledger {
            // The count is right or too high, but the sum is not: a removed item is back.
            missing = 1;
        }
        Ok(Exported { written, damaged, missing })
    }

    /// Stores the items of an export. They get new sequence numbers, after those of existing items. A
    /// line that cannot be read or stored is reported to `on_refused` and left out; an item that already
    /// exists with the same content is not reported.
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
                    Err(Refused::Recipe(error)) => return Err(error),
                    Err(Refused::Line(what)) => {
                        imported.unreadable += 1;
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
        let new: Vec<_> = items.iter().map(|(_, item)| item.as_new()).collect();
        for ((line, item), added) in items.iter().zip(self.add(&new, AddRule::Insert)?) {
            imported.counts.count(&added);
            let what = match added {
                Added::Conflict { .. } => {
                    format!("the id {} is taken by an item of other content", item.id)
                }
                Added::Unfit { reason } => reason,
                _ => continue,
            };
            on_refused(CollectionError::Line { line: *line, what });
        }
        items.clear();
        Ok(())
    }

    fn item(&self, line: &str) -> Result<StoredItem, Refused> {
        let value: Value = serde_json::from_str(line)
            .map_err(|error| Refused::Line(format!("not a JSON object: {error}")))?;
        if let Some(recipe) = value.get("recipe").and_then(Value::as_str) {
            let collection = self.kind().recipe();
            let given = match value.get("recipe_id").and_then(Value::as_str) {
                Some(id) if recipe == collection && id != self.kind().stored().digest_id() => {
                    Some(format!("{recipe}, with another model or measure"))
                }
                _ => (recipe != collection).then(|| recipe.to_owned()),
            };
            if let Some(given) = given {
                return Err(Refused::Recipe(CollectionError::Recipe { collection, given }));
            }
        }
        item(&value, self.kind().shape()).map_err(Refused::Line)
    }

    fn io(&self, action: &'static str, source: io::Error) -> CollectionError {
        CollectionError::Io { path: self.folder().into(), action, source }
    }
}

/// An export that is being written.
struct Lines<'a, W> {
    output: W,
    kind: &'a dyn Kind,
    shape: Shape,
    written: u64,
}

impl<'a, W: Write> Lines<'a, W> {
    fn new(output: W, kind: &'a dyn Kind) -> Self {
        Self { output, kind, shape: kind.shape(), written: 0 }
    }

    fn write(&mut self, item: &StoredItem) -> io::Result<()> {
        let mut line = line(item, self.shape);
        if self.written == 0 {
            line.insert("kind".into(), self.kind.name().into());
            line.insert("recipe".into(), self.kind.recipe().into());
            line.insert("bits".into(), self.shape.width.bits().into());
            if !self.shape.is_bare {
                line.insert("recipe_id".into(), self.kind.stored().digest_id().into());
            }
        }
        self.written += 1;
        writeln!(self.output, "{}", in_order(&line))
    }
}

/// Why a line is not stored: because of the line itself, or because no line can be.
enum Refused {
    Line(String),
    Recipe(CollectionError),
}

fn line(item: &StoredItem, shape: Shape) -> Map<String, Value> {
    let StoredItem { id, sequence, inserted, digest, content, payload } = item;
    let mut line = Map::new();
    line.insert("id".into(), id.as_str().into());
    let print = digest.print().map(|print| print.to_hex(shape.width));
    line.insert("fingerprint".into(), print.into());
    if !shape.is_bare {
        let bytes = digest.to_bytes(shape.width);
        line.insert("digest".into(), BASE64_STANDARD.encode(bytes).into());
    }
    if let Some(content) = content {
        line.insert("content".into(), BASE64_STANDARD.encode(content).into());
    }
    line.insert("sequence".into(), (*sequence).into());
    line.insert("inserted".into(), (*inserted).into());
    let payload = payload.as_deref().and_then(|payload| serde_json::from_str(payload).ok());
    line.insert("payload".into(), payload.unwrap_or(Value::Null));
    line
}

/// The fields of a line, in the order they are written.
const FIELDS: [&str; 11] = [
    "id",
    "fingerprint",
    "digest",
    "content",
    "sequence",
    "inserted",
    "payload",
    "kind",
    "recipe",
    "bits",
    "recipe_id",
];

fn in_order(line: &Map<String, Value>) -> String {
    let fields: Vec<String> = FIELDS
        .iter()
        .filter_map(|&name| Some(format!("{}:{}", json!(name), line.get(name)?)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

fn item(value: &Value, shape: Shape) -> Result<StoredItem, String> {
    let id = match value.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => return Err("there is no \"id\"".to_owned()),
    };
    let content = match value.get("content") {
        None => None,
        Some(content) => Some(content_of(content).ok_or("\"content\" is not a hash")?),
    };
    let payload = value.get("payload").filter(|payload| !payload.is_null());
    Ok(StoredItem {
        id,
        sequence: 0,
        inserted: value.get("inserted").and_then(Value::as_u64).unwrap_or(0),
        digest: digest(value, shape)?,
        content,
        payload: payload.map(Value::to_string),
    })
}

fn content_of(value: &Value) -> Option<Identity> {
    BASE64_STANDARD.decode(value.as_str()?).ok()?.try_into().ok()
}

fn digest(value: &Value, shape: Shape) -> Result<Digest, String> {
    match (value.get("digest"), value.get("fingerprint")) {
        (Some(digest), _) => {
            let bytes = digest.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
            let digest = bytes.and_then(|bytes| Digest::from_bytes(&bytes));
            digest.ok_or_else(|| "\"digest\" cannot be read".to_owned())
        }
        (None, Some(text)) if shape.is_bare => Ok(Digest::of_print(print(text, shape.width)?)),
        (None, None) if shape.is_bare => Err("there is no \"fingerprint\"".to_owned()),
        (None, _) => Err("there is no \"digest\"".to_owned()),
    }
}

fn print(value: &Value, width: Width) -> Result<Fingerprint<4>, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err("a \"fingerprint\" is a text such as \"0xff\"".to_owned()),
    };
    Fingerprint::parse(&text, width).map_err(|error| error.to_string())
}
