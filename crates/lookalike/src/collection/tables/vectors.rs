//! Finds vectors whose cosine may be large enough, by 8-bit codes of all their dimensions.
//!
//! The codes of a vector depend on that vector alone, so runs are merged without reading their records.
//! The test is that of a batch, in `cosine/`: it refuses no vector above the threshold.

use std::convert::Infallible;

use super::super::array::{Array, MappedFile};
use crate::{
    Digest,
    cosine::{Bound, Filter, PANEL, PanelBounds, PanelCodes, Panels, Vector, between, codes_at},
    hamming::Kernel,
    index::{IndexError, file::Content},
};

/// The vectors of the items of a run.
pub struct VectorTable {
    /// The number of codes of each item, taken from the first vector.
    depth: usize,
    codes: Array<u8>,
    /// By item.
    bounds: Array<Bound>,
    columns: PanelBounds,
}

/// The bound of items without a vector, or with one of other dimensions: its error is larger than any
/// cosine, so that the test never refuses them.
const NEVER_REFUSED: Bound = Bound { scale: 1e-6, rest: 0.0, error: 4.0 };

impl VectorTable {
    fn new(codes: Array<u8>, bounds: Array<Bound>) -> Self {
        let room = bounds.len().next_multiple_of(PANEL);
        let depth = codes.len().checked_div(room).unwrap_or(0);
        Self { depth, columns: PanelBounds::new(&bounds), codes, bounds }
    }

    /// Calls `on_item` with the position of a query and every item that may match it.
    pub fn search(
        &self,
        queries: &[(u32, Vector<'_>)],
        least: u32,
        kernel: Kernel,
        on_item: &mut (impl FnMut(u32, u32) + Send),
    ) {
        let items = self.bounds.len() as u32;
        let is_coded = |dimensions: usize| PanelCodes::depth_of(dimensions) == self.depth;
        for (query, _) in queries.iter().filter(|(_, vector)| !is_coded(vector.dimensions())) {
            (0..items).for_each(|item| on_item(*query, item));
        }
        let coded: Vec<&(u32, Vector<'_>)> =
            queries.iter().filter(|(_, vector)| is_coded(vector.dimensions())).collect();
        let filter = Filter::whole(self.depth, least);
        let rows = filter.codes(coded.len(), &|at: usize| coded[at].1, kernel);
        let panels = Panels { depth: self.depth, codes: &self.codes, bounds: &self.columns };
        let on_item = std::sync::Mutex::new(on_item);
        let on_candidates = |some: &[(u32, u32)]| {
            let mut on_item = on_item.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            some.iter().for_each(|&(row, item)| on_item(coded[row as usize].0, item));
            Ok::<(), Infallible>(())
        };
        let Ok(()) = between(&rows, panels, filter.threshold(), kernel, &on_candidates);
    }

    /// Whether an item has the codes of this digest.
    pub fn holds(&self, item: u32, digest: &Digest) -> bool {
        let mut rows = VectorRows { depth: Some(self.depth), ..VectorRows::default() };
        rows.push(digest);
        let own = rows.finish();
        self.row(item) == own.row(0)
    }

    fn row(&self, item: u32) -> (Vec<i8>, Bound) {
        let mut codes = Vec::new();
        codes_at(&self.codes, self.depth, item as usize, &mut codes);
        (codes, self.bounds[item as usize])
    }

    pub fn sections(&self) -> [(Content, &[u8]); 2] {
        [(Content::VectorCodes, self.codes.bytes()), (Content::VectorBounds, self.bounds.bytes())]
    }

    pub fn open(file: &MappedFile<'_>, items: usize) -> Result<Self, IndexError> {
        let codes: Array<u8> = file.array(Content::VectorCodes)?;
        let bounds: Array<Bound> = file.array(Content::VectorBounds)?;
        let room = items.next_multiple_of(PANEL);
        let is_whole = room == 0 || codes.len().is_multiple_of(room * 4);
        if bounds.len() != items || !is_whole || room == 0 && !codes.is_empty() {
            return Err(file.damaged("the vectors are not those of the run"));
        }
        Ok(Self::new(codes, bounds))
    }
}

/// Collects the codes of items, in order.
#[derive(Default)]
pub struct VectorRows {
    /// The number of codes, taken from the first vector.
    depth: Option<usize>,
    /// The number of items before the first vector.
    before: usize,
    codes: PanelCodes,
    bounds: Vec<Bound>,
}

impl VectorRows {
    pub fn push(&mut self, digest: &Digest) {
        let vector = Vector::read(&digest.extra);
        let (codes, bound) = match vector {
            Some(vector) => PanelCodes::code(&vector),
            None => (Vec::new(), NEVER_REFUSED),
        };
        self.push_row(&codes, bound);
    }

    fn push_row(&mut self, codes: &[i8], bound: Bound) {
        match self.depth {
            None if codes.is_empty() => {
                self.before += 1;
                return self.bounds.push(bound);
            }
            None => self.depth = Some(codes.len()),
            Some(_) => {}
        }
        let depth = self.depth.unwrap_or_default();
        if self.codes.is_empty() {
            self.codes = PanelCodes::new(depth);
            (0..self.before).for_each(|_| self.codes.push(&[]));
        }
        if codes.len() == depth {
            self.codes.push(codes);
            self.bounds.push(bound);
        } else {
            self.codes.push(&[]);
            self.bounds.push(NEVER_REFUSED);
        }
    }

    /// Adds items of another table as the next ones.
    pub fn extend(&mut self, table: &VectorTable, kept: &[u32]) {
        for &item in kept {
            let (codes, bound) = table.row(item);
            let is_coded = bound != NEVER_REFUSED;
            self.push_row(if is_coded { &codes } else { &[] }, bound);
        }
    }

    pub fn finish(self) -> VectorTable {
        VectorTable::new(Array::Owned(self.codes.into_codes()), Array::Owned(self.bounds))
    }
}
