//! What is a collection of, and how is that written down?
//!
//! [`About`] never changes after creation; [`State`] changes with every commit; [`Saved`] names the
//! runs that were written to files. All three are JSON documents in the store.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    Criteria, Fingerprint, Radius,
    fragments::Background,
    kind::{Reach, RecipeText},
    verify::Similarity,
};

/// The only format that is read and written here.
pub const FORMAT: u64 = 2;

/// What a collection is of. Decided when it is created.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// What its items are; the model stands beside the document.
    pub recipe: RecipeText,
    /// The least that items may have in common in any search.
    pub widest: Criteria,
    /// Tells collections apart, and seeds the hashes of ids.
    pub token: u64,
}

impl About {
    /// As it is stored.
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

    /// Reads what [`to_json`](Self::to_json) made; `None` if it is something else.
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

/// How candidates are found, and with what they are compared, is up to each search.
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

/// Where the records stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// How often they were changed.
    pub commits: u64,
    /// The sequence number the next item gets.
    pub next: u64,
    /// Items that are there.
    pub items: u64,
    /// The sum of the checksums of their records: what is missing, or too much, shows.
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

/// A run that stands in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRun {
    /// Its number, which names the files.
    pub number: u64,
    /// The sum of the checksums of the records of its items.
    pub ledger: u64,
    /// The sequence number after its last item's.
    pub end: u64,
    /// Checksums of the headers of its files, which hold those of all else: that of the names, and
    /// those of the indexes in the order of their tables.
    pub files: Vec<u64>,
}

/// The runs that stand in files, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// What the next run is called.
    pub next: u64,
    pub runs: Vec<SavedRun>,
}

impl Saved {
    /// Items of smaller sequence numbers stand in files, or are gone.
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
