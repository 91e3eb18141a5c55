//! The test of a tile of pairs, and the choice of the number of coordinates.

use super::{
    Codes, PANEL, Panels, Vector,
    basis::Basis,
    codes::{BIAS, Panel, PanelBounds, SLACK, STEP, TOGETHER},
};
use crate::hamming::Kernel;

/// The number of rows that are compared with a panel at once.
pub const ROWS: usize = 12;

/// The kernel of the test, chosen once per search.
#[derive(Clone, Copy)]
pub enum Test {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(crate::hamming::Avx2),
    #[cfg(target_arch = "x86_64")]
    Vnni(super::vnni::Vnni),
}

impl Test {
    pub fn of(kernel: Kernel) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(vnni) = super::vnni::Vnni::of(kernel) {
                return Self::Vnni(vnni);
            }
            if let Some(avx2) = kernel.avx2() {
                return Self::Avx2(avx2);
            }
        }
        let _ = kernel;
        Self::Portable
    }

    /// For each row, a bit mask of the columns of the panel that cannot be refused.
    #[inline]
    pub fn passed(self, tile: &Tile, panel: Panel<'_>) -> [u32; ROWS] {
        let thresholds = tile.thresholds(panel.error);
        match self {
            Self::Portable => portable(tile, panel, &thresholds),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => super::avx2::passed(avx2, tile, panel, &thresholds),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(vnni) => super::vnni::passed(vnni, tile, panel, &thresholds),
        }
    }
}

/// Up to [`ROWS`] rows in the layout of the kernels.
#[derive(Default)]
pub struct Tile {
    /// For each step, [`TOGETHER`] codes of each row in a word; the first code is the lowest byte.
    pub words: Vec<[i32; ROWS]>,
    /// The contribution of the panels' bias to each dot product, negated.
    pub unbias: [i32; ROWS],
    /// The rest of each row, divided by its scale.
    pub rests: [f32; ROWS],
    /// The threshold before the error of a panel is subtracted, and the factor of that error.
    bases: [f32; ROWS],
    per_scale: [f32; ROWS],
}

impl Tile {
    /// Takes up to [`ROWS`] rows from `first` on.
    pub fn take(&mut self, codes: &Codes, first: usize, least: f32) {
        self.words.clear();
        self.words.resize(codes.depth() / TOGETHER, [0; ROWS]);
        self.unbias = [0; ROWS];
        self.rests = [0.0; ROWS];
        // Unused rows never pass.
        self.bases = [f32::INFINITY; ROWS];
        self.per_scale = [0.0; ROWS];
        for (at, row) in (first..codes.len().min(first + ROWS)).enumerate() {
            let (codes, bound) = codes.row(row);
            let mut sum = 0;
            for (words, codes) in self.words.iter_mut().zip(codes.as_chunks::<TOGETHER>().0) {
                words[at] = i32::from_le_bytes(codes.map(|code| code as u8));
                sum += codes.iter().map(|&code| i32::from(code)).sum::<i32>();
            }
            self.unbias[at] = -sum * i32::from(BIAS);
            self.rests[at] = bound.rest / bound.scale;
            self.bases[at] = (least - bound.error - SLACK) / bound.scale;
            self.per_scale[at] = 1.0 / bound.scale;
        }
    }

    fn thresholds(&self, error: f32) -> [f32; ROWS] {
        std::array::from_fn(|row| self.bases[row] - error * self.per_scale[row])
    }
}

/// The definition of the test.
fn portable(tile: &Tile, panel: Panel<'_>, thresholds: &[f32; ROWS]) -> [u32; ROWS] {
    std::array::from_fn(|row| {
        let mut sums = [tile.unbias[row]; PANEL];
        for (words, codes) in tile.words.iter().zip(panel.codes.as_chunks::<STEP>().0) {
            let [one, two, three, four] =
                words[row].to_le_bytes().map(|code| i32::from(code as i8));
            for (sum, codes) in sums.iter_mut().zip(codes.as_chunks::<TOGETHER>().0) {
                let [a, b, c, d] = codes.map(i32::from);
                *sum += one * a + two * b + three * c + four * d;
            }
        }
        let columns = sums.iter().zip(panel.scales).zip(panel.rests).enumerate();
        columns.fold(0, |passed, (column, ((&sum, scale), rest))| {
            let bound = sum as f32 * scale + tile.rests[row] * rest;
            passed | u32::from(bound >= thresholds[row]) << column
        })
    })
}

/// How vectors are coded: in which basis, and with how many coordinates.
pub struct Filter {
    basis: Option<Basis>,
    dimensions: usize,
    least: u32,
}

/// Fewer vectors than this are compared in all dimensions, as a basis would cost more than it saves.
const FEW: usize = if cfg!(test) { 64 } else { 3000 };

/// The number of vectors that a basis is learned from.
const LEARNED_FROM: usize = 2048;

/// The number of vectors whose pairs are tested to choose the number of coordinates.
const TRIED: usize = 1024;

/// The numbers of coordinates to choose from, besides all dimensions.
const DEPTHS: [usize; 7] = [16, 32, 48, 64, 96, 128, 192];

/// Costs in nanoseconds: per coordinate of a pair, per test of a pair, per verified pair (fixed, and per
/// dimension), and per coordinate and dimension of a vector. They are the same for all kernels, so that
/// the choice is, too.
const COORDINATE: f64 = 0.008;
const TESTED: f64 = 0.1;
const VERIFIED: (f64, f64) = (30.0, 0.08);
const ROTATED: f64 = 0.06;

impl Filter {
    /// The cheapest filter for `pairs` pairs among `len` vectors of equal dimensions.
    pub fn new<'v>(
        len: usize,
        at: &(impl Fn(usize) -> Vector<'v> + Sync + ?Sized),
        pairs: f64,
        least: u32,
        kernel: Kernel,
    ) -> Self {
        let dimensions = if len == 0 { 0 } else { at(0).dimensions() };
        let all = Self { basis: None, dimensions, least };
        let depths: Vec<usize> =
            DEPTHS.into_iter().filter(|&depth| depth * 4 <= dimensions * 3).collect();
        let Some(&deepest) = depths.last().filter(|_| len >= FEW) else { return all };
        let step = len.div_ceil(LEARNED_FROM);
        let sample: Vec<Vector<'v>> = (0..len).step_by(step).map(at).collect();
        let basis = Basis::learn(&sample, deepest, kernel);
        let step = len.div_ceil(TRIED);
        let tried: Vec<Vector<'v>> = (0..len).step_by(step).map(at).collect();
        let among = (tried.len() * (tried.len() - 1) / 2).max(1) as f64;
        let cost = |depth: usize, passing: f64| {
            let verified = VERIFIED.0 + VERIFIED.1 * dimensions as f64;
            pairs * (COORDINATE * depth as f64 + TESTED + passing * verified)
                + len as f64 * ROTATED * (depth * dimensions) as f64
        };
        let mut best = (cost(dimensions, 0.0), all);
        for depth in depths {
            let filter = Self { basis: Some(basis.first(depth, kernel)), dimensions, least };
            let codes = filter.codes(tried.len(), &|number| tried[number], kernel);
            let passed = super::join::count_among(&codes, filter.threshold(), kernel);
            let passing = passed as f64 / among;
            let price = cost(depth, passing);
            if price < best.0 {
                best = (price, filter);
            }
        }
        best.1
    }

    /// A filter that uses all dimensions.
    pub fn whole(dimensions: usize, least: u32) -> Self {
        Self { basis: None, dimensions, least }
    }

    /// A filter that uses this number of coordinates.
    #[cfg(test)]
    pub fn of_depth(vectors: &[Vector<'_>], depth: usize, least: u32) -> Self {
        let basis = Basis::learn(vectors, depth, Kernel::Portable);
        let dimensions = vectors[0].dimensions();
        Self { basis: Some(basis), dimensions, least }
    }

    /// The codes of vectors.
    pub fn codes<'v>(
        &self,
        len: usize,
        at: &(impl Fn(usize) -> Vector<'v> + Sync + ?Sized),
        kernel: Kernel,
    ) -> Codes {
        Codes::of(len, at, self.basis.as_ref(), kernel)
    }

    /// The smallest cosine of a match.
    pub fn threshold(&self) -> f32 {
        super::vector::shown(self.least)
    }

    /// In words: `64 of 384 dimensions`.
    pub fn plan(&self) -> String {
        let Self { dimensions, .. } = self;
        match &self.basis {
            Some(basis) => format!("cosine of {} of {dimensions} dimensions first", basis.depth()),
            None => format!("cosine of all {dimensions} dimensions"),
        }
    }
}

/// Panels and their bounds, owned.
pub struct Columns {
    depth: usize,
    codes: super::codes::PanelCodes,
    bounds: PanelBounds,
}

impl Columns {
    pub fn of(codes: &Codes) -> Self {
        Self {
            depth: codes.depth(),
            codes: codes.panels(),
            bounds: PanelBounds::new(codes.bounds()),
        }
    }

    pub fn panels(&self) -> Panels<'_> {
        Panels { depth: self.depth, codes: self.codes.codes(), bounds: &self.bounds }
    }
}
