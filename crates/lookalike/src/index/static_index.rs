//! The index that is built at once.
//!
//! It is one block of memory with the layout of its file: saving writes that memory, opening maps the file.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use memmap2::{Mmap, MmapMut};

use super::{
    IndexError, LinearIndex, Match, Search,
    batch::Batch,
    check_radius,
    choose::{Sample, Storage, choose},
    file::{self, About, Content, Header, Kind},
    layout::Layout,
    map::{map_file, map_memory},
    plan::Plan,
    plan_bytes,
};
use crate::{
    Fingerprint, Radius,
    hamming::{Kernel, assert_width},
};

/// Fingerprints that do not change, with tables to search them. The id of an item is its position.
///
/// Tables are chosen by the number of fingerprints, a sample of them, and the radius. Fingerprints and tables
/// together take at most about eight times the bytes of the fingerprints. With few items, or a radius too
/// wide for tables, the index holds only the fingerprints, and searches compare all of them.
///
/// ```
/// use lookalike::{Fingerprint, Radius, index::{Search, StaticIndex}};
///
/// let prints: Vec<_> = (0..10_000u64).map(|n| Fingerprint([n.wrapping_mul(0x9e37_79b9_7f4a_7c15)])).collect();
/// let index = StaticIndex::build(&prints, Radius::new(3))?;
/// let mut query = prints[77];
/// query.0[0] ^= 0b101;
/// assert_eq!(index.first(&query, Radius::new(2))?.map(|found| found.id), Some(77));
/// assert!(!index.any(&query, Radius::new(1))?);
/// # Ok::<(), lookalike::index::IndexError>(())
/// ```
pub struct StaticIndex<const WORDS: usize> {
    plan: Plan<WORDS>,
    layout: Layout,
    body: Body,
    max_radius: Radius,
    kernel: Kernel,
    /// The file it was opened from.
    origin: Option<(PathBuf, Header)>,
}

/// The memory of an index.
enum Body {
    Built(MmapMut),
    Opened { map: Mmap, start: usize },
}

impl Body {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Built(map) => map,
            Self::Opened { map, start } => &map[*start..],
        }
    }
}

impl<const WORDS: usize> StaticIndex<WORDS> {
    /// An index for searches within up to `max_radius`, built on the current rayon pool.
    pub fn build(prints: &[Fingerprint<WORDS>], max_radius: Radius) -> Result<Self, IndexError> {
        Self::build_with(prints, max_radius, Kernel::detect())
    }

    /// [`build`](Self::build) with this kernel. The index is the same.
    pub fn build_with(
        prints: &[Fingerprint<WORDS>],
        max_radius: Radius,
        kernel: Kernel,
    ) -> Result<Self, IndexError> {
        const { assert_width::<WORDS>() };
        if prints.len() > u32::MAX as usize {
            return Err(IndexError::TooMany { items: prints.len() });
        }
        let sample = Sample::draw(prints.len(), |index| prints[index]);
        let plan = choose(&sample, &storage(prints.len()), max_radius.bits());
        Self::with_plan(plan, prints, max_radius, kernel)
    }

    /// Builds the tables of a plan, which must cover the radius or have no tables.
    pub(super) fn with_plan(
        plan: Plan<WORDS>,
        prints: &[Fingerprint<WORDS>],
        max_radius: Radius,
        kernel: Kernel,
    ) -> Result<Self, IndexError> {
        let layout = Layout::of(&plan, prints, kernel);
        let mut map = map_memory(layout.words * size_of::<u32>())?;
        layout.fill(&plan, prints, kernel, bytemuck::cast_slice_mut(&mut map[..layout.words * 4]));
        Ok(Self { plan, layout, body: Body::Built(map), max_radius, kernel, origin: None })
    }

    /// Searches with this kernel. The answer is the same.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.layout.items
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The fingerprints, by id.
    pub fn prints(&self) -> &[Fingerprint<WORDS>] {
        bytemuck::cast_slice(
            &self.body.bytes()[self.layout.prints.start * 4..self.layout.prints.end * 4],
        )
    }

    /// The number of bytes of fingerprints and tables, in memory or in the mapped file.
    pub fn memory_bytes(&self) -> usize {
        self.layout.words * size_of::<u32>()
    }

    /// Describes how a search works, for people.
    pub fn plan(&self) -> String {
        self.plan.to_string()
    }

    /// Writes the index to a file, which appears under its name when it is complete.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), IndexError> {
        let plan = plan_bytes::encode(&self.plan);
        let body = self.body.bytes();
        let parts = self.layout.sections();
        let parts = parts.map(|(content, range)| (content, &body[range.start * 4..range.end * 4]));
        let contents: Vec<(Content, &[u8])> =
            std::iter::once((Content::Plan, plan.as_slice())).chain(parts).collect();
        let about = About {
            kind: Kind::Static,
            words: WORDS as u32,
            max_radius: self.max_radius.bits(),
            items: self.len() as u64,
        };
        file::write(path.as_ref(), about, &contents)
    }

    /// Opens a saved index and verifies the checksum of every section. The file is mapped: what searches do not
    /// touch takes no memory.
    ///
    /// The file must not be truncated while it is open; replace it instead, as [`save`](Self::save) does.
    ///
    /// ```no_run
    /// use lookalike::index::{Search, StaticIndex};
    ///
    /// let index = StaticIndex::<1>::open("photos.index")?;
    /// println!("{} items, maximum radius {}", index.len(), index.max_radius());
    /// # Ok::<(), lookalike::index::IndexError>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, IndexError> {
        let index = Self::open_unverified(path)?;
        index.verify()?;
        Ok(index)
    }

    /// [`open`](Self::open) without reading fingerprints and tables: takes milliseconds at any size. Header, plan
    /// and structure are verified. Damage elsewhere can lose matches, but nothing worse;
    /// [`verify`](Self::verify) finds it.
    pub fn open_unverified(path: impl AsRef<Path>) -> Result<Self, IndexError> {
        const { assert_width::<WORDS>() };
        let path = path.as_ref();
        let map = map_file(path)?;
        let header = file::read_header(path, &map, Kind::Static, WORDS)?;
        let damaged = |what: &str| IndexError::Damaged { path: path.into(), what: what.into() };
        let section = header.section(path, Content::Plan)?;
        section.verify(path, &map)?;
        let plan = plan_bytes::decode(section.of(path, &map)?, header.about.max_radius)
            .map_err(damaged)?;
        let items =
            u32::try_from(header.about.items).map_err(|_| damaged("more items than ids"))?;
        let (layout, start) = Layout::in_file(&plan, items as usize, &header, map.len())
            .ok_or_else(|| damaged("the sections do not fit the plan"))?;
        let max_radius = Radius::new(header.about.max_radius);
        let body = Body::Opened { map, start };
        let origin = Some((path.into(), header));
        Ok(Self { plan, layout, body, max_radius, kernel: Kernel::detect(), origin })
    }

    /// Verifies the checksum of every section of an opened file. Does nothing for an index built in memory.
    pub fn verify(&self) -> Result<(), IndexError> {
        match (&self.origin, &self.body) {
            (Some((path, header)), Body::Opened { map, .. }) => header.verify(path, map),
            _ => Ok(()),
        }
    }
}

impl<const WORDS: usize> Search<WORDS> for StaticIndex<WORDS> {
    fn max_radius(&self) -> Radius {
        self.max_radius
    }

    fn search_while(
        &self,
        queries: &[Fingerprint<WORDS>],
        radius: Radius,
        mut on_match: impl FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        check_radius(radius, self.max_radius)?;
        if !self.plan.covers(radius.bits()) {
            let all = LinearIndex::new(self.prints()).with_kernel(self.kernel);
            return all.search_while(queries, radius, on_match);
        }
        let words = bytemuck::cast_slice(self.body.bytes());
        let buckets = |table: usize| self.layout.tables[table].table(words);
        let (plan, prints, on_match) = (&self.plan, self.prints(), &mut on_match);
        let _ = self.kernel.run(Batch { plan, buckets, prints, queries, radius, on_match });
        Ok(())
    }
}

/// The limits of tables for `items` items: with the fingerprints, eight times the bytes of these.
fn storage(items: usize) -> Storage {
    let bits = items.max(1).ilog2();
    let directory_bits = [4, 3, 2].map(|fewer| bits.saturating_sub(fewer)).to_vec();
    Storage { items: items as u64, directory_bits, cells: true, slack: 1.0, most: 7.0 }
}
