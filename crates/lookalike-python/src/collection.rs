//! Durable collections in a folder.

use std::{
    borrow::Cow,
    ops::ControlFlow,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use lookalike::{
    Criteria, Digest, Kind, Level, Preset, Radius,
    collection::{AddRule, Added, Match, NewItem, content_id},
    kind::{Asked, Input, Purpose, UsageError, hash::HashKind, text::TextKind},
    verify::{Similarity, Verify},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyString};
use rayon::prelude::*;

use crate::{
    error::OrRaise,
    number::{Bits, Distance, Limit, Threads},
    prints::{from_int, to_int, width},
    recipe::Recipe,
    work,
};

/// A collection; none after it is closed.
#[pyclass(frozen, module = "lookalike._native")]
pub struct Collection(RwLock<Option<lookalike::Collection>>);

/// An item as extracted while the interpreter's lock is held.
enum Unread<'a> {
    Text(Cow<'a, str>),
    Digest(Digest),
}

/// The minimum number of texts per thread.
const SHARE: usize = 16;

/// An item: its id, if it has one; its fingerprint (an int) or text; and its payload as JSON.
type Given<'py> = (Option<String>, Bound<'py, PyAny>, Option<String>);

/// A stored item: its fingerprint, if it has one, its payload, and the time of insertion.
type Item<'py> = (Option<Bound<'py, PyAny>>, Option<String>, u64);

/// The result of storing an item: id, status, matches, and why it cannot be stored.
type Stored = (String, &'static str, Vec<Close>, Option<String>);

/// A match: id, distance, similarity and level.
type Close = (String, Option<u32>, Option<f32>, Option<&'static str>);

/// The criteria: distance, similarity, level.
type Within = (Option<Distance>, Option<f32>, Option<String>);

#[pymethods]
impl Collection {
    /// Creates a collection of texts with a recipe, or of fingerprints with this many bits.
    #[staticmethod]
    #[pyo3(signature = (folder, recipe, bits, distance))]
    fn create(
        py: Python<'_>,
        folder: PathBuf,
        recipe: Option<&Bound<'_, Recipe>>,
        bits: Bits,
        distance: Option<Distance>,
    ) -> PyResult<Self> {
        let kind: Arc<dyn Kind> = match recipe {
            Some(recipe) => Arc::new(text_kind(&recipe.get().inner).or_raise()?),
            None => Arc::new(HashKind::new(width(bits.0)?)),
        };
        let distance = distance.map(|distance| Radius::new(distance.0));
        let asked = Asked { distance, ..Asked::default() };
        let widest = kind.criteria(&asked, Purpose::Look).map_err(|error| usage(&error))?;
        py.detach(|| lookalike::Collection::create(folder, kind, &widest)).or_raise().map(Self::new)
    }

    /// Opens an existing collection.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf, read_only: bool) -> PyResult<Self> {
        let open = || match read_only {
            true => lookalike::Collection::open_read_only(folder),
            false => lookalike::Collection::open(folder),
        };
        py.detach(open).or_raise().map(Self::new)
    }

    /// Whether a collection exists at this path.
    #[staticmethod]
    fn is_at(folder: PathBuf) -> bool {
        lookalike::Collection::is_at(folder)
    }

    /// Fails if the collection has another recipe.
    fn check_recipe(&self, py: Python<'_>, recipe: &Bound<'_, Recipe>) -> PyResult<()> {
        let kind = text_kind(&recipe.get().inner).or_raise()?;
        self.with(py, |inner| inner.check_kind(&kind))?.or_raise()
    }

    /// The bits of a fingerprint, the maximum distance, and the recipe.
    fn about(&self, py: Python<'_>) -> PyResult<(u32, Option<u32>, String)> {
        self.with(py, |inner| {
            let widest = inner.widest().distance.map(Radius::bits);
            (inner.kind().shape().width.bits(), widest, inner.kind().recipe())
        })
    }

    fn insert(&self, py: Python<'_>, items: Vec<Given<'_>>) -> PyResult<Vec<Stored>> {
        self.store(py, &items, AddRule::Insert)
    }

    fn upsert(&self, py: Python<'_>, items: Vec<Given<'_>>) -> PyResult<Vec<Stored>> {
        self.store(py, &items, AddRule::Replace)
    }

    fn check_and_insert(
        &self,
        py: Python<'_>,
        items: Vec<Given<'_>>,
        within: Within,
    ) -> PyResult<Vec<Stored>> {
        let by = self.criteria(py, within, Purpose::Act)?;
        self.store(py, &items, AddRule::UnlessAlike(by))
    }

    /// Removes items; returns for each whether it existed.
    fn remove(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<Vec<bool>> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.with(py, |inner| inner.remove_many(&ids))?.or_raise()
    }

    /// An item: its fingerprint, payload, and when it was inserted, in milliseconds since 1970.
    fn get<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Item<'py>>> {
        let Some(item) = self.with(py, |inner| inner.get(id))?.or_raise()? else { return Ok(None) };
        let print = item.digest.print().map(|print| to_int(py, print)).transpose()?;
        Ok(Some((print, item.payload, item.inserted)))
    }

    fn contains(&self, py: Python<'_>, id: &str) -> PyResult<bool> {
        self.with(py, |inner| inner.contains(id))
    }

    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| inner.len())
    }

    /// All ids, in order of insertion.
    fn ids(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut ids = Vec::new();
        let each = |inner: &lookalike::Collection| {
            inner.for_each(|item| {
                ids.push(item.id);
                ControlFlow::Continue(())
            })
        };
        self.with(py, each)?.or_raise()?;
        Ok(ids)
    }

    /// The matches of each of these fingerprints or texts, closest first.
    #[pyo3(signature = (queries, within, limit, threads=None))]
    fn search(
        &self,
        py: Python<'_>,
        queries: Vec<Bound<'_, PyAny>>,
        within: Within,
        limit: Limit,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Vec<Close>>> {
        let pool = work::pool(threads)?;
        let by = self.criteria(py, within, Purpose::List)?;
        let digests = self.digests(py, queries.iter())?;
        let search =
            |inner: &lookalike::Collection| pool.install(|| inner.search(&digests, &by, limit.0));
        let found = self.with(py, search)?.or_raise()?;
        Ok(found.into_iter().map(named).collect())
    }

    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |inner| inner.compact())?.or_raise()
    }

    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |inner| inner.verify())?.or_raise()
    }

    fn backup(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        self.with(py, |inner| inner.backup(folder))?.or_raise()
    }

    /// Closes the collection, so that other processes can open it.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.write().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl Collection {
    fn new(inner: lookalike::Collection) -> Self {
        Self(RwLock::new(Some(inner)))
    }

    /// Works on the open collection without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&lookalike::Collection) -> T + Send,
    ) -> PyResult<T> {
        let done =
            py.detach(|| self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(work));
        done.ok_or_else(|| PyValueError::new_err("the collection is closed"))
    }

    /// The criteria of a match.
    fn criteria(&self, py: Python<'_>, within: Within, purpose: Purpose) -> PyResult<Criteria> {
        let (distance, similarity, level) = within;
        let wrong = |_| PyValueError::new_err("similarity must be a number from 0 to 1");
        let similarity = similarity.map(|share| Similarity::new(share).ok_or(())).transpose();
        let level = level.map(|level| level.parse::<Level>()).transpose();
        let asked = Asked {
            distance: distance.map(|distance| Radius::new(distance.0)),
            similarity: similarity.map_err(wrong)?,
            level: level.map_err(|error| PyValueError::new_err(error.to_string()))?,
            ..Asked::default()
        };
        let made = self.with(py, |inner| inner.kind().criteria(&asked, purpose))?;
        made.map_err(|error| usage(&error))
    }

    /// The digests of texts, with the recipe of the collection, or of fingerprints.
    fn digests<'a, 'py: 'a>(
        &self,
        py: Python<'py>,
        items: impl Iterator<Item = &'a Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Digest>> {
        let kind = self.with(py, lookalike::Collection::shared_kind)?;
        let (is_text, width) = (kind.name() == "text", kind.shape().width);
        let read = |item: &'a Bound<'py, PyAny>| match item.cast::<PyString>() {
            Ok(text) if is_text => Ok(Unread::Text(text.to_string_lossy())),
            Ok(_) => Err(PyValueError::new_err(
                "this is a collection of fingerprints, not of texts; pass ints",
            )),
            Err(_) if item.is_none() => Ok(Unread::Digest(Digest::default())),
            Err(_) => from_int(item, width).map(|print| Unread::Digest(Digest::of_print(print))),
        };
        let unread: Vec<Unread<'_>> = items.map(read).collect::<PyResult<_>>()?;
        let digest = |digester: &mut Box<dyn lookalike::kind::Digester + '_>, item: &Unread<'_>| {
            match item {
                Unread::Text(text) => {
                    digester.digest(Input::Text(text)).map(|(digest, _)| digest).unwrap_or_default()
                }
                Unread::Digest(digest) => digest.clone(),
            }
        };
        let pool = work::pool(None)?;
        Ok(work::on_pool(py, &pool, || {
            let unread = unread.par_iter().with_min_len(SHARE);
            unread.map_init(|| kind.digester(), digest).collect()
        }))
    }

    fn store(&self, py: Python<'_>, items: &[Given<'_>], rule: AddRule) -> PyResult<Vec<Stored>> {
        let digests = self.digests(py, items.iter().map(|(_, item, _)| item))?;
        let width = self.with(py, |inner| inner.kind().shape().width)?;
        let id = |((id, item, _), digest): (&Given<'_>, &Digest)| {
            id.clone().unwrap_or_else(|| match (item.cast::<PyString>(), digest.print()) {
                (Ok(text), _) => content_id(text.to_string_lossy().as_bytes()),
                (Err(_), Some(print)) => print.to_hex(width),
                (Err(_), None) => "without an id".to_owned(),
            })
        };
        let ids: Vec<String> = items.iter().zip(&digests).map(id).collect();
        let new = items.iter().zip(&ids).zip(&digests).map(|(((_, _, payload), id), digest)| {
            NewItem { payload: payload.as_deref(), ..NewItem::new(id, digest) }
        });
        let new: Vec<NewItem<'_>> = new.collect();
        let added = self.with(py, |inner| inner.add(&new, rule))?.or_raise()?;
        Ok(ids.into_iter().zip(added).map(|(id, added)| stored(id, added)).collect())
    }
}

/// The kind for texts with a recipe: compared as in its preset, or by words and word pairs.
fn text_kind(recipe: &lookalike::Recipe) -> Result<TextKind, lookalike::recipe::RecipeError> {
    let preset = Preset::ALL.iter().find(|preset| preset.recipe.name == recipe.name);
    let verify = preset.map_or(Some(Verify::DEFAULT), |preset| preset.verify);
    let (radius, bits) =
        preset.map_or((Radius::new(32), 128), |one| (one.radius, one.recipe.width.bits()));
    let radius = Radius::new(radius.bits() * recipe.width.bits() / bits);
    TextKind::new(recipe.clone(), verify, radius)
}

/// A usage error of a kind, with options in Python's spelling.
fn usage(error: &UsageError) -> PyErr {
    let UsageError { option, message } = error;
    PyValueError::new_err(format!("{option}{message}"))
}

fn stored(id: String, added: Added) -> Stored {
    let status = added.status();
    let (matches, reason) = match added {
        Added::Conflict { .. } => {
            (Vec::new(), Some("an item with other content has this id".to_owned()))
        }
        Added::Near { matches } => (named(matches), None),
        Added::Unfit { reason } => (Vec::new(), Some(reason)),
        _ => (Vec::new(), None),
    };
    (id, status, matches, reason)
}

fn named(found: Vec<Match>) -> Vec<Close> {
    let close = |found: Match| {
        let lookalike::Closeness { distance, similarity, level } = found.closeness;
        (found.id, distance, similarity, level.map(Level::name))
    };
    found.into_iter().map(close).collect()
}
