//! The index in memory.

use std::{
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use lookalike::{
    Fingerprint, MutableIndex, Radius, Width,
    index::{IndexError, Match, Search},
    pairs::PairsError,
};
use pyo3::{prelude::*, types::PyByteArray};

use crate::{
    error::OrRaise,
    number::{Bits, Distance, Id, Threads},
    prints::{from_int, many, to_bytes, to_int, width},
    work::{self, on_pool},
};

/// How many queries are answered between two checks for signals.
const ROUND: usize = 1 << 16;

/// An index of one of the widths. Several threads may search at once; only one may change it.
#[pyclass(frozen, module = "lookalike._native")]
pub struct Index {
    width: Width,
    radius: Radius,
    items: Items,
}

enum Items {
    One(RwLock<MutableIndex<1>>),
    Two(RwLock<MutableIndex<2>>),
    Four(RwLock<MutableIndex<4>>),
}

/// Runs `$body` on the index of any width, without the interpreter's lock.
macro_rules! locked {
    ($self:ident, $py:expr, $lock:ident, $index:ident => $body:expr) => {
        match &$self.items {
            Items::One(items) => $py.detach(|| {
                let $index = items.$lock().unwrap_or_else(PoisonError::into_inner);
                $body
            }),
            Items::Two(items) => $py.detach(|| {
                let $index = items.$lock().unwrap_or_else(PoisonError::into_inner);
                $body
            }),
            Items::Four(items) => $py.detach(|| {
                let $index = items.$lock().unwrap_or_else(PoisonError::into_inner);
                $body
            }),
        }
    };
}

#[pymethods]
impl Index {
    #[new]
    fn new(bits: Bits, distance: Distance) -> PyResult<Self> {
        let (bits, distance) = (bits.0, distance.0);
        let (width, radius) = (width(bits)?, Radius::new(distance));
        if distance > bits {
            return Err(PairsError::Radius { radius: distance, bits }).or_raise();
        }
        let items = match width.words() {
            1 => Items::One(RwLock::new(MutableIndex::new(radius))),
            2 => Items::Two(RwLock::new(MutableIndex::new(radius))),
            _ => Items::Four(RwLock::new(MutableIndex::new(radius))),
        };
        Ok(Self { width, radius, items })
    }

    /// Reads a file written by `save`.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let (words, loaded) = py.detach(|| Self::load_any(&path)).or_raise()?;
        let width = width(64 * words)?;
        Ok(Self { width, radius: loaded.0, items: loaded.1 })
    }

    #[getter]
    fn bits(&self) -> u32 {
        self.width.bits()
    }

    #[getter]
    fn distance(&self) -> u32 {
        self.radius.bits()
    }

    /// Adds a fingerprint and returns its id.
    fn insert(&self, py: Python<'_>, print: &Bound<'_, PyAny>) -> PyResult<u32> {
        macro_rules! insert {
            ($items:expr) => {{
                let print = from_int(print, self.width)?;
                let insert =
                    || $items.write().unwrap_or_else(PoisonError::into_inner).insert(print);
                py.detach(insert).or_raise()
            }};
        }
        match &self.items {
            Items::One(items) => insert!(items),
            Items::Two(items) => insert!(items),
            Items::Four(items) => insert!(items),
        }
    }

    /// Adds many fingerprints and returns their ids as 32-bit numbers.
    fn insert_many<'py>(
        &self,
        py: Python<'py>,
        prints: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        match &self.items {
            Items::One(items) => insert_many(prints, self.width, items),
            Items::Two(items) => insert_many(prints, self.width, items),
            Items::Four(items) => insert_many(prints, self.width, items),
        }
        .and_then(|ids| to_bytes(py, &ids))
    }

    /// Removes an item and returns its fingerprint.
    fn remove<'py>(&self, py: Python<'py>, id: Id) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Id(Some(id)) = id else { return Ok(None) };
        macro_rules! remove {
            ($items:expr) => {{
                let remove = || $items.write().unwrap_or_else(PoisonError::into_inner).remove(id);
                py.detach(remove).map(|print| to_int(py, print)).transpose()
            }};
        }
        match &self.items {
            Items::One(items) => remove!(items),
            Items::Two(items) => remove!(items),
            Items::Four(items) => remove!(items),
        }
    }

    /// The fingerprint of an item.
    fn get<'py>(&self, py: Python<'py>, id: Id) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Id(Some(id)) = id else { return Ok(None) };
        macro_rules! get {
            ($items:expr) => {{
                let print = $items.read().unwrap_or_else(PoisonError::into_inner).print(id);
                print.map(|print| to_int(py, print)).transpose()
            }};
        }
        match &self.items {
            Items::One(items) => get!(items),
            Items::Two(items) => get!(items),
            Items::Four(items) => get!(items),
        }
    }

    fn contains(&self, print: &Bound<'_, PyAny>) -> PyResult<bool> {
        macro_rules! contains {
            ($items:expr) => {{
                let print = from_int(print, self.width)?;
                Ok($items.read().unwrap_or_else(PoisonError::into_inner).contains(&print))
            }};
        }
        match &self.items {
            Items::One(items) => contains!(items),
            Items::Two(items) => contains!(items),
            Items::Four(items) => contains!(items),
        }
    }

    /// The items within a distance, nearest first: id and distance.
    fn search(
        &self,
        py: Python<'_>,
        print: &Bound<'_, PyAny>,
        distance: Distance,
    ) -> PyResult<Vec<(u32, u32)>> {
        let radius = Radius::new(distance.0);
        match &self.items {
            Items::One(items) => search(py, &from_int(print, self.width)?, radius, items),
            Items::Two(items) => search(py, &from_int(print, self.width)?, radius, items),
            Items::Four(items) => search(py, &from_int(print, self.width)?, radius, items),
        }
    }

    /// Searches many: triples of 32-bit numbers (query, id, distance).
    #[pyo3(signature = (prints, distance, threads=None))]
    fn search_many<'py>(
        &self,
        py: Python<'py>,
        prints: &Bound<'py, PyAny>,
        distance: Distance,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let radius = Radius::new(distance.0);
        match &self.items {
            Items::One(items) => search_many(prints, self.width, radius, items, threads),
            Items::Two(items) => search_many(prints, self.width, radius, items, threads),
            Items::Four(items) => search_many(prints, self.width, radius, items, threads),
        }
        .and_then(|found| to_bytes(py, &found))
    }

    /// All ids as 32-bit numbers, and the words of their fingerprints.
    fn items<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
        let (ids, words): (Vec<u32>, Vec<u64>) = locked!(self, py, read, index => {
            let mut words = Vec::with_capacity(index.len());
            let ids = index.iter().map(|(id, print)| {
                words.extend_from_slice(&print.0);
                id
            });
            (ids.collect(), words)
        });
        Ok((to_bytes(py, &ids)?, to_bytes(py, &words)?))
    }

    fn count(&self, py: Python<'_>) -> usize {
        locked!(self, py, read, index => index.len())
    }

    fn clear(&self, py: Python<'_>) {
        locked!(self, py, write, index => {
            let mut index = index;
            index.clear();
        });
    }

    fn memory_bytes(&self, py: Python<'_>) -> usize {
        locked!(self, py, read, index => index.memory_bytes())
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        locked!(self, py, read, index => index.save(&path)).or_raise()
    }
}

impl Index {
    /// An index of the width in the file, and its number of words.
    fn load_any(path: &Path) -> Result<(u32, (Radius, Items)), IndexError> {
        fn loaded<const WORDS: usize>(
            path: &Path,
            items: impl Fn(RwLock<MutableIndex<WORDS>>) -> Items,
        ) -> Result<(u32, (Radius, Items)), IndexError> {
            let index = MutableIndex::load(path)?;
            Ok((WORDS as u32, (index.max_radius(), items(RwLock::new(index)))))
        }
        match loaded(path, Items::One) {
            Err(IndexError::Width { found: 128, .. }) => loaded(path, Items::Two),
            Err(IndexError::Width { found: 256, .. }) => loaded(path, Items::Four),
            loaded => loaded,
        }
    }
}

fn insert_many<const WORDS: usize>(
    prints: &Bound<'_, PyAny>,
    width: Width,
    items: &RwLock<MutableIndex<WORDS>>,
) -> PyResult<Vec<u32>> {
    let py = prints.py();
    let prints = many::<WORDS>(prints, width)?;
    let mut ids = Vec::with_capacity(prints.len());
    for some in prints.chunks(ROUND) {
        let insert = || {
            let mut index = items.write().unwrap_or_else(PoisonError::into_inner);
            for &print in some {
                ids.push(index.insert(print)?);
            }
            Ok::<(), IndexError>(())
        };
        py.detach(insert).or_raise()?;
        py.check_signals()?;
    }
    Ok(ids)
}

fn search<const WORDS: usize>(
    py: Python<'_>,
    print: &Fingerprint<WORDS>,
    radius: Radius,
    items: &RwLock<MutableIndex<WORDS>>,
) -> PyResult<Vec<(u32, u32)>> {
    let found = py.detach(|| {
        let index = items.read().unwrap_or_else(PoisonError::into_inner);
        index.matches(print, radius)
    });
    let mut found: Vec<_> = found.or_raise()?.iter().map(|near| (near.id, near.distance)).collect();
    found.sort_unstable_by_key(|&(id, distance)| (distance, id));
    Ok(found)
}

fn search_many<const WORDS: usize>(
    queries: &Bound<'_, PyAny>,
    width: Width,
    radius: Radius,
    items: &RwLock<MutableIndex<WORDS>>,
    threads: Option<Threads>,
) -> PyResult<Vec<[u32; 3]>> {
    let py = queries.py();
    let queries = many::<WORDS>(queries, width)?;
    let pool = work::pool(threads)?;
    let mut found = Vec::new();
    for (round, some) in queries.chunks(ROUND).enumerate() {
        let first = found.len();
        let on_match = |query: usize, near: Match| {
            found.push([(round * ROUND + query) as u32, near.id, near.distance]);
        };
        let searched = on_pool(py, &pool, || {
            let index = items.read().unwrap_or_else(PoisonError::into_inner);
            index.par_search_batch(some, radius, on_match)
        });
        searched.or_raise()?;
        found[first..].sort_unstable_by_key(|&[query, id, distance]| (query, distance, id));
        py.check_signals()?;
    }
    Ok(found)
}
