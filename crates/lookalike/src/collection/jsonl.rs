//! How does a collection become text, and text a collection?
//!
//! One JSON object a line and item: `id`, `fingerprint` (a list where there are several),
//! `sequence`, `inserted`, `payload`. The first line also says whose fingerprints they are.

use std::{
    io::{self, BufRead, Write},
    ops::ControlFlow,
};

use serde_json::{Map, Value, json};

use super::{Added, Collection, CollectionError, NewItem, StoredItem};
use crate::{Fingerprint, Width};

/// Lines that are read before they are stored.
const LINES: usize = 8192;

/// What became of the lines of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Items that were stored.
    pub stored: u64,
    /// Items whose id was there already.
    pub existing: u64,
    /// Lines that could not be read.
    pub refused: u64,
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
    pub fn export(&self, mut output: impl Write) -> Result<(), CollectionError> {
        let about = self.about();
        let mut failed = None;
        let mut first = true;
        self.for_each(|item| {
            let mut line = line(&item, about.width);
            if std::mem::take(&mut first) {
                line.insert("maker".into(), about.maker.to_string().into());
                line.insert("bits".into(), about.width.bits().into());
            }
            match writeln!(output, "{}", in_order(&line)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed.map_or(Ok(()), |source| Err(self.io("writing the export", source)))
    }

    /// Stores the items of an export, after those that are there; sequence numbers are given anew.
    /// A line that cannot be read is told to `on_refused` and left out.
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
                    Ok(item) => items.push(item),
                    Err(Refused::Maker(error)) => return Err(error),
                    Err(Refused::Line(what)) => {
                        imported.refused += 1;
                        on_refused(CollectionError::Line { line: number, what });
                    }
                }
            }
            if items.len() == LINES {
                self.store(&mut items, &mut imported)?;
            }
        }
        self.store(&mut items, &mut imported)?;
        Ok(imported)
    }

    fn store(
        &self,
        items: &mut Vec<StoredItem>,
        imported: &mut Imported,
    ) -> Result<(), CollectionError> {
        let new: Vec<NewItem<'_>> = items.iter().map(as_new).collect();
        for added in self.insert_many(&new)? {
            match added {
                Added::Exists { .. } => imported.existing += 1,
                _ => imported.stored += 1,
            }
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
        let item = item(&value, about.width).map_err(Refused::Line)?;
        super::record::check(&as_new(&item), about.width.bits()).map_err(Refused::Line)?;
        Ok(item)
    }

    fn io(&self, action: &'static str, source: io::Error) -> CollectionError {
        CollectionError::Io { path: self.folder().into(), action, source }
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
