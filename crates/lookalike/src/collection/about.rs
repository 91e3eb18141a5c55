//! The documents about a whole collection.
//!
//! [`About`] never changes after creation; [`State`] changes with every commit; [`Saved`] lists the
//! runs that were written to files. All three are JSON documents in the store.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    Criteria, Fingerprint, Radius,
    fragments::Background,
    kind::{Reach, RecipeText},
    verify::Similarity,
};

/// The only format that this version reads and writes.
pub const FORMAT: u64 = 2;

/// What a collection contains. Set when it is created.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The recipe of its items; its model is stored as a separate document.
    pub recipe: RecipeText,
    /// The widest criteria of any search.
    pub widest: Criteria,
    /// Identifies the collection, and seeds the hashes of ids.
    pub token: u64,
}

impl About {
    /// The stored form.
    pub fn to_json(&self) -> Value {
        let Self { recipe: RecipeText { kind, digest, usual, .. }, widest, token } = self;
        json!({
            "format": FORMAT,
            "token": token,
            "kind": kind,
            "digest": digest,
            "usual": usual,
            "widest": criteria_to_json(widest),
        })
    }

    /// Reads the result of [`to_json`](Self::to_json); `None` if it is something else.
    pub fn from_json(value: &Value, model: Option<Vec<u8>>) -> Option<Self> {
        let recipe = RecipeText {
            kind: value.get("kind")?.as_str()?.to_owned(),
            digest: value.get("digest")?.clone(),
            usual: value.get("usual")?.clone(),
            model,
        };
        let widest = criteria_from_json(value.get("widest")?)?;
        Some(Self { recipe, widest, token: value.get("token")?.as_u64()? })
    }
}

/// Stores what limits all searches; `reach` and `kernel` are up to each search.
fn criteria_to_json(by: &Criteria) -> Value {
    let Criteria { similarity, distance, turned, parts, background, .. } = by;
    json!({
        "similarity": similarity.map(Similarity::get),
        "distance": distance.map(Radius::bits),
        "turned": turned,
        "parts": parts,
        "background": background.prints().map(|print| print.0[0]).collect::<Vec<_>>(),
    })
}

fn criteria_from_json(value: &Value) -> Option<Criteria> {
    let field = |name: &str| value.get(name).filter(|value| !value.is_null());
    let similarity = match field("similarity") {
        Some(share) => Some(Similarity::new(share.as_f64()? as f32)?),
        None => None,
    };
    let distance = match field("distance") {
        Some(bits) => Some(Radius::new(bits.as_u64()?.try_into().ok()?)),
        None => None,
    };
    let print = |bits: &Value| Some(Fingerprint([bits.as_u64()?]));
    let background = field("background")?.as_array()?;
    let background: Vec<_> = background.iter().map(print).collect::<Option<_>>()?;
    Some(Criteria {
        similarity,
        distance,
        turned: field("turned")?.as_bool()?,
        parts: field("parts")?.as_bool()?,
        reach: Reach::Declared,
        background: Arc::new(Background::new(background)),
        ..Criteria::default()
    })
}

/// The state of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The number of commits.
    pub commits: u64,
    /// The sequence number of the next item.
    pub next: u64,
    /// The number of items.
    pub items: u64,
    /// The sum of the checksums of their records, which shows missing and surplus records.
    pub ledger: u64,
}

impl State {
    pub fn to_json(self) -> Value {
        let Self { commits, next, items, ledger } = self;
        json!({ "commits": commits, "next": next, "items": items, "ledger": ledger })
    }

    pub fn from_json(value: &Value) -> Option<Self> {
        let number = |name: &str| value.get(name)?.as_u64();
        Some(Self {
            commits: number("commits")?,
            next: number("next")?,
            items: number("items")?,
            ledger: number("ledger")?,
        })
    }
}

/// A run that is saved in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRun {
    /// Its number, which names the files.
    pub number: u64,
    /// The sum of the checksums of its items' records.
    pub ledger: u64,
    /// One more than the sequence number of its last item.
    pub end: u64,
    /// The checksums of the headers of its files: the names first, then the indexes in the order of
    /// their tables. Each header contains the checksums of the rest of its file.
    pub files: Vec<u64>,
}

/// The runs that are saved in files, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The last number given to a run.
    pub next: u64,
    pub runs: Vec<SavedRun>,
}

impl Saved {
    /// Items with smaller sequence numbers are in files, or are removed.
    pub fn end(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end)
    }

    pub fn to_json(&self) -> Value {
        let run = |run: &SavedRun| {
            let SavedRun { number, ledger, end, files } = run;
            json!({ "number": number, "ledger": ledger, "end": end, "files": files })
        };
        json!({ "next": self.next, "runs": self.runs.iter().map(run).collect::<Vec<_>>() })
    }

    pub fn from_json(value: &Value) -> Option<Self> {
        let run = |run: &Value| {
            let number = |name: &str| run.get(name)?.as_u64();
            Some(SavedRun {
                number: number("number")?,
                ledger: number("ledger")?,
                end: number("end")?,
                files: run
                    .get("files")?
                    .as_array()?
                    .iter()
                    .map(Value::as_u64)
                    .collect::<Option<_>>()?,
            })
        };
        let runs = value.get("runs")?.as_array()?;
        Some(Self {
            next: value.get("next")?.as_u64()?,
            runs: runs.iter().map(run).collect::<Option<_>>()?,
        })
    }
}
