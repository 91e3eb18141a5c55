//! Have I seen this before? A durable collection in a folder.

use std::{
    borrow::Cow,
    ops::ControlFlow,
    path::PathBuf,
    sync::{PoisonError, RwLock},
};

use lookalike::{About, Added, Fingerprint, Found, Maker, NewItem, Radius, collection::content_id};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyString};
use rayon::prelude::*;

use crate::{
    error::OrRaise,
    number::{Bits, Distance, Limit, Threads},
    prints::{from_int, to_int, width},
    recipe::Recipe,
    work,
};

/// A collection, until it is closed.
#[pyclass(frozen, module = "lookalike._native")]
pub struct Collection(RwLock<Option<lookalike::Collection>>);

/// What becomes of items.
#[derive(Clone, Copy)]
enum Way {
    Insert,
    Upsert,
    UnlessNear(Radius),
}

/// What is known of an item while the interpreter's lock is held.
enum Unread<'a> {
    Text(Cow<'a, str>),
    Print(Option<Fingerprint<4>>),
}

/// A thread takes at least so many texts.
const SHARE: usize = 16;

/// An item: its id, if it has one; its fingerprint (an int) or text; and JSON to remember with it.
type Given<'py> = (Option<String>, Bound<'py, PyAny>, Option<String>);

/// An item that is there: its fingerprint, its JSON, and when it came.
type Item<'py> = (Bound<'py, PyAny>, Option<String>, u64);

/// What became of an item: its id, in a word, what was near, and why it cannot be stored.
type Stored = (String, &'static str, Vec<(String, u32)>, Option<String>);

#[pymethods]
impl Collection {
    /// Makes a new one: of texts by a recipe, or of fingerprints of so many bits.
    #[staticmethod]
    #[pyo3(signature = (folder, recipe, bits, distance))]
    fn create(
        py: Python<'_>,
        folder: PathBuf,
        recipe: Option<&Bound<'_, Recipe>>,
        bits: Bits,
        distance: Distance,
    ) -> PyResult<Self> {
        let radius = Radius::new(distance.0);
        let about = match recipe {
            Some(recipe) => About::texts(recipe.get().inner.clone(), radius),
            None => About::given(width(bits.0)?, radius),
        };
        py.detach(|| lookalike::Collection::create(folder, about)).or_raise().map(Self::new)
    }

    /// Opens one that is there.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf, read_only: bool) -> PyResult<Self> {
        let open = || match read_only {
            true => lookalike::Collection::open_read_only(folder),
            false => lookalike::Collection::open(folder),
        };
        py.detach(open).or_raise().map(Self::new)
    }

    /// Whether there is one.
    #[staticmethod]
    fn is_at(folder: PathBuf) -> bool {
        lookalike::Collection::is_at(folder)
    }

    /// Refuses to be used with another recipe.
    fn check_recipe(&self, py: Python<'_>, recipe: &Bound<'_, Recipe>) -> PyResult<()> {
        let recipe = recipe.get().inner.clone();
        let width = recipe.width;
        self.with(py, |inner| inner.check_maker(&Maker::Text(recipe), width))?.or_raise()
    }

    /// Bits of a fingerprint, the widest distance, and how fingerprints are made.
    fn about(&self, py: Python<'_>) -> PyResult<(u32, u32, String)> {
        self.with(py, |inner| {
            let about = inner.about();
            (about.width.bits(), about.max_radius.bits(), about.maker.to_string())
        })
    }

    fn insert(&self, py: Python<'_>, items: Vec<Given<'_>>) -> PyResult<Vec<Stored>> {
        self.store(py, &items, Way::Insert)
    }

    fn upsert(&self, py: Python<'_>, items: Vec<Given<'_>>) -> PyResult<Vec<Stored>> {
        self.store(py, &items, Way::Upsert)
    }

    fn check_and_insert(
        &self,
        py: Python<'_>,
        items: Vec<Given<'_>>,
        distance: Distance,
    ) -> PyResult<Vec<Stored>> {
        self.store(py, &items, Way::UnlessNear(Radius::new(distance.0)))
    }

    /// Removes items; says of each whether it was there.
    fn remove(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<Vec<bool>> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.with(py, |inner| inner.remove_many(&ids))?.or_raise()
    }

    /// An item: its fingerprint, payload, and when it was inserted, in milliseconds since 1970.
    fn get<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Item<'py>>> {
        let Some(item) = self.with(py, |inner| inner.get(id))?.or_raise()? else { return Ok(None) };
        let print = item.fingerprints.first().copied().unwrap_or_default();
        Ok(Some((to_int(py, print)?, item.payload, item.inserted)))
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

    /// What is near each of these fingerprints or texts, nearest first: ids and distances.
    #[pyo3(signature = (queries, distance, limit, threads=None))]
    fn search(
        &self,
        py: Python<'_>,
        queries: Vec<Bound<'_, PyAny>>,
        distance: Distance,
        limit: Limit,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Vec<(String, u32)>>> {
        let pool = work::pool(threads)?;
        let prints = self.prints(py, queries.iter())?;
        let known: Vec<Fingerprint<4>> = prints.iter().flatten().copied().collect();
        let search = |inner: &lookalike::Collection| {
            pool.install(|| inner.search_many(&known, Radius::new(distance.0), limit.0))
        };
        let mut found = self.with(py, search)?.or_raise()?.into_iter();
        let answer = |print: &Option<Fingerprint<4>>| match print {
            Some(_) => found.next().map_or_else(Vec::new, named),
            None => Vec::new(),
        };
        Ok(prints.iter().map(answer).collect())
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

    /// Lets others open it.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.write().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl Collection {
    fn new(inner: lookalike::Collection) -> Self {
        Self(RwLock::new(Some(inner)))
    }

    /// Works on the collection, with the other Python threads going on; not once it is closed.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&lookalike::Collection) -> T + Send,
    ) -> PyResult<T> {
        let done =
            py.detach(|| self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(work));
        done.ok_or_else(|| PyValueError::new_err("the collection is closed"))
    }

    /// The fingerprints of texts, by the recipe of the collection, or those that are given.
    fn prints<'a, 'py: 'a>(
        &self,
        py: Python<'py>,
        items: impl Iterator<Item = &'a Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Option<Fingerprint<4>>>> {
        let (maker, width) =
            self.with(py, |inner| (inner.about().maker.clone(), inner.about().width))?;
        let read = |item: &'a Bound<'py, PyAny>| match (item.cast::<PyString>(), &maker) {
            (Ok(text), Maker::Text(_)) => Ok(Unread::Text(text.to_string_lossy())),
            (Ok(_), maker) => Err(PyValueError::new_err(format!(
                "a collection of {maker} fingerprints knows no texts; give ints"
            ))),
            (Err(_), _) if item.is_none() => Ok(Unread::Print(None)),
            (Err(_), _) => from_int(item, width).map(|print| Unread::Print(Some(print))),
        };
        let unread: Vec<Unread<'_>> = items.map(read).collect::<PyResult<_>>()?;
        let print = |item: &Unread<'_>| match (item, &maker) {
            (Unread::Text(text), Maker::Text(recipe)) => recipe.fingerprint_any(text),
            (Unread::Text(_), _) => unreachable!("refused above"),
            (Unread::Print(print), _) => *print,
        };
        let pool = work::pool(None)?;
        Ok(work::on_pool(py, &pool, || unread.par_iter().with_min_len(SHARE).map(print).collect()))
    }

    fn store(&self, py: Python<'_>, items: &[Given<'_>], way: Way) -> PyResult<Vec<Stored>> {
        let prints = self.prints(py, items.iter().map(|(_, item, _)| item))?;
        let width = self.with(py, |inner| inner.about().width)?;
        let id = |((id, item, _), print): (&Given<'_>, &Option<Fingerprint<4>>)| {
            id.clone().unwrap_or_else(|| match (item.cast::<PyString>(), print) {
                (Ok(text), _) => content_id(text.to_string_lossy().as_bytes()),
                (Err(_), Some(print)) => print.to_hex(width),
                (Err(_), None) => "without an id".to_owned(),
            })
        };
        let ids: Vec<String> = items.iter().zip(&prints).map(id).collect();
        let new = items.iter().zip(&ids).zip(&prints).map(|(((_, _, payload), id), print)| {
            NewItem { payload: payload.as_deref(), ..NewItem::new(id, print.as_slice()) }
        });
        let new: Vec<NewItem<'_>> = new.collect();
        let change = |inner: &lookalike::Collection| match way {
            Way::Insert => inner.insert_many(&new),
            Way::Upsert => inner.upsert_many(&new),
            Way::UnlessNear(radius) => inner.check_and_insert_many(&new, radius),
        };
        let added = self.with(py, change)?.or_raise()?;
        Ok(ids.into_iter().zip(added).map(|(id, added)| stored(id, added)).collect())
    }
}

fn stored(id: String, added: Added) -> Stored {
    let (mut matches, mut reason) = (Vec::new(), None);
    let status = match added {
        Added::New { .. } => "added",
        Added::Replaced { .. } => "replaced",
        Added::Present { .. } => "present",
        Added::Taken { .. } => {
            reason = Some("this id is taken by an item with another fingerprint".to_owned());
            "taken"
        }
        Added::Near { matches: near } => {
            matches = named(near);
            "near"
        }
        Added::Unfit { why } => {
            reason = Some(why);
            "unfit"
        }
        other => {
            reason = Some(format!("{other:?}"));
            "unfit"
        }
    };
    (id, status, matches, reason)
}

fn named(found: Vec<Found>) -> Vec<(String, u32)> {
    found.into_iter().map(|found| (found.id, found.distance)).collect()
}
