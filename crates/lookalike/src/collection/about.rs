//! What is a collection of, and how is that written down?
//!
//! [`About`] never changes after creation; [`State`] changes with every commit; [`Saved`] names the
//! runs that were written to files. All three are JSON documents in the store.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::CollectionError;
use crate::{Model, Radius, Recipe, Width, recipe};

/// The format written here; older ones are read.
pub const FORMAT: u64 = 1;

/// Who makes the fingerprints of a collection?
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Maker {
    /// A recipe for texts.
    Text(Recipe),
    /// Something else, known by its name: an image's fingerprint, another program.
    Named(Cow<'static, str>),
}

impl Maker {
    /// Fingerprints that are given as they are, nobody knows by whom.
    pub const GIVEN: Self = Self::Named(Cow::Borrowed("given"));
}

/// What it is called: fingerprints of makers of different names are never compared.
impl std::fmt::Display for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(recipe) => recipe.fmt(f),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// What a collection is of. Decided when it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Who makes its fingerprints.
    pub maker: Maker,
    /// How many bits they have.
    pub width: Width,
    /// The widest radius that can be searched.
    pub max_radius: Radius,
}

impl About {
    /// A collection of texts.
    pub fn texts(recipe: Recipe, max_radius: Radius) -> Self {
        Self { width: recipe.width, maker: Maker::Text(recipe), max_radius }
    }

    /// A collection of fingerprints that come from elsewhere.
    pub fn given(width: Width, max_radius: Radius) -> Self {
        Self { maker: Maker::GIVEN, width, max_radius }
    }

    /// Refuses a radius wider than the fingerprints, and a recipe that cannot be used.
    pub(super) fn check(&self) -> Result<(), CollectionError> {
        let (radius, bits) = (self.max_radius.bits(), self.width.bits());
        if radius > bits {
            return Err(CollectionError::TooWide { radius, bits });
        }
        if let Maker::Text(recipe) = &self.maker {
            recipe.check()?;
        }
        Ok(())
    }

    /// As it is stored. `token` tells collections apart, and seeds the hashes of ids.
    pub(super) fn to_json(&self, token: u64) -> Value {
        let maker = match &self.maker {
            Maker::Text(recipe) => json!({ "text": recipe::stored::to_json(recipe) }),
            Maker::Named(name) => json!({ "named": name }),
        };
        json!({
            "format": FORMAT,
            "token": token,
            "bits": self.width.bits(),
            "max_radius": self.max_radius.bits(),
            "maker": maker,
        })
    }

    /// The model of the recipe, which is stored beside it.
    pub(super) fn model(&self) -> Option<&Model> {
        match &self.maker {
            Maker::Text(recipe) => recipe.model.as_deref(),
            Maker::Named(_) => None,
        }
    }

    /// Reads what [`to_json`](Self::to_json) made; `None` if it is something else.
    pub(super) fn from_json(value: &Value, model: Option<Model>) -> Option<(Self, u64)> {
        let number = |name: &str| value.get(name)?.as_u64();
        let width = Width::from_bits(number("bits")?.try_into().ok()?).ok()?;
        let max_radius = Radius::new(number("max_radius")?.try_into().ok()?);
        let maker = value.get("maker")?;
        let maker = match (maker.get("text"), maker.get("named")) {
            (Some(text), _) => Maker::Text(recipe::stored::from_json(text, model)?),
            (_, Some(name)) => Maker::Named(name.as_str()?.to_owned().into()),
            _ => return None,
        };
        Some((Self { maker, width, max_radius }, number("token")?))
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedRun {
    /// Its number, which names the files.
    pub number: u64,
    /// The sum of the checksums of the records of its items.
    pub ledger: u64,
    /// The sequence number after its last item's.
    pub end: u64,
    /// Checksums of the two files' headers, which hold those of all else.
    pub index: u64,
    pub names: u64,
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
            let SavedRun { number, ledger, end, index, names } = run;
            json!({
                "number": number, "ledger": ledger, "end": end, "index": index, "names": names,
            })
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
                index: number("index")?,
                names: number("names")?,
            })
        };
        let runs = value.get("runs")?.as_array()?;
        Some(Self {
            next: value.get("next")?.as_u64()?,
            runs: runs.iter().map(run).collect::<Option<_>>()?,
        })
    }
}
