//! The index that is built at once.
//!
//! All its parts lie in one stretch of memory, laid out as in its file: saving writes that memory,
//! opening maps the file, and a search cannot tell the two apart.

use std::{
    ops::{ControlFlow, Range},
    path::{Path, PathBuf},
};

use memmap2::{Mmap, MmapMut};
use rayon::prelude::*;

use super::{
    IndexError, LinearIndex, Match, Search,
    batch::{Batch, Buckets},
    build::{TableMut, fill},
    check_radius,
    choose::{Sample, Storage, choose},
    file::{self, ALIGNMENT, About, Content, Header, Kind},
    map::{map_file, map_memory},
    plan::Plan,
    plan_bytes,
};
use crate::{
    Fingerprint, Kernel, Radius,
    hamming::{
        filter::Filter,
        lanes::{LANES, Lanes},
    },
};

/// Fingerprints that do not change, with tables to search them. The id of an item is its position.
///
/// Tables are chosen by a sample of the fingerprints, the radius and their number; together with
/// the fingerprints they take at most some eight times the fingerprints' own bytes. An index of
/// few items, or for a radius too wide for tables, holds the fingerprints only and scans them.
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

    /// [`build`](Self::build) with a forced kernel. The index is the same.
    pub fn build_with(
        prints: &[Fingerprint<WORDS>],
        max_radius: Radius,
        kernel: Kernel,
    ) -> Result<Self, IndexError> {
        if prints.len() > u32::MAX as usize {
            return Err(IndexError::TooMany { items: prints.len() });
        }
        let sample = Sample::draw(prints.len(), |index| prints[index]);
        let plan = choose(&sample, &storage(prints.len()), max_radius.bits());
        Self::with_plan(plan, prints, max_radius, kernel)
    }

    /// Builds what the plan says; it must cover the radius, or have no tables.
    pub(super) fn with_plan(
        plan: Plan<WORDS>,
        prints: &[Fingerprint<WORDS>],
        max_radius: Radius,
        kernel: Kernel,
    ) -> Result<Self, IndexError> {
        let layout = Layout::new(&plan, prints.len());
        let mut map = map_memory(layout.words * size_of::<u32>())?;
        layout.fill(&plan, prints, kernel, bytemuck::cast_slice_mut(&mut map[..layout.words * 4]));
        Ok(Self { plan, layout, body: Body::Built(map), max_radius, kernel, origin: None })
    }

    /// Forces a kernel for searches. The answer is the same.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// How many items there are.
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

    /// How many bytes the fingerprints and tables take, in memory or in the mapped file.
    pub fn memory_bytes(&self) -> usize {
        self.layout.words * size_of::<u32>()
    }

    /// How a search is done, for people.
    pub fn plan(&self) -> String {
        self.plan.to_string()
    }

    /// Writes the index to a file, under a temporary name until it is whole.
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

    /// Opens a saved index after comparing every byte with its checksum. The file is mapped, not
    /// read: what searches do not touch takes no memory.
    ///
    /// The file must not be cut short while it is open; replace it by another instead, as
    /// [`save`](Self::save) does.
    ///
    /// ```no_run
    /// use lookalike::index::{Search, StaticIndex};
    ///
    /// let index = StaticIndex::<1>::open("photos.index")?;
    /// println!("{} items, to be searched within {}", index.len(), index.max_radius());
    /// # Ok::<(), lookalike::index::IndexError>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, IndexError> {
        let index = Self::open_unverified(path)?;
        index.verify()?;
        Ok(index)
    }

    /// [`open`](Self::open) without reading the fingerprints and tables, so in milliseconds at any
    /// size. Header, plan and structure are checked. Damage elsewhere can lose matches, but no more;
    /// [`verify`](Self::verify) finds it.
    pub fn open_unverified(path: impl AsRef<Path>) -> Result<Self, IndexError> {
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
        let layout = Layout::new(&plan, items as usize);
        let start =
            layout.start(&header).ok_or_else(|| damaged("the sections do not fit the plan"))?;
        let max_radius = Radius::new(header.about.max_radius);
        let body = Body::Opened { map, start };
        let origin = Some((path.into(), header));
        Ok(Self { plan, layout, body, max_radius, kernel: Kernel::detect(), origin })
    }

    /// Compares every byte of an opened file with its checksum; an index built in memory is as it is.
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
        let buckets =
            Tables { words: bytemuck::cast_slice(self.body.bytes()), layout: &self.layout };
        let prints = self.prints();
        let plan = &self.plan;
        let on_match = &mut on_match;
        let _ =
            self.kernel.run(Batch { plan, buckets: &buckets, prints, queries, radius, on_match });
        Ok(())
    }
}

/// What tables for `items` items may take: together with the fingerprints eight times their bytes.
fn storage(items: usize) -> Storage {
    let bits = items.max(1).ilog2();
    let directory_bits = [4, 3, 2].map(|fewer| bits.saturating_sub(fewer));
    Storage { items: items as u64, directory_bits, slack: 1.0, most: 7.0 }
}

/// Where everything lies in an index's memory, in units of 32 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    items: usize,
    prints: Range<usize>,
    tables: Vec<TablePlace>,
    words: usize,
}

/// Where one table lies.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TablePlace {
    directory: Range<usize>,
    /// Empty if the table has no checks; else followed by room for a vector to reach beyond.
    checks: Range<usize>,
    ids: Range<usize>,
}

impl Layout {
    fn new<const WORDS: usize>(plan: &Plan<WORDS>, items: usize) -> Self {
        let mut words = 0;
        let mut place = |count: usize| {
            let start = words;
            words = (start + count).next_multiple_of(ALIGNMENT as usize / 4);
            start..start + count
        };
        let prints = place(items * 2 * WORDS);
        let tables = plan.tables.iter().map(|table| TablePlace {
            directory: place(table.buckets() + 1),
            checks: place(if table.check.len() > 0 { items + LANES } else { 0 }),
            ids: place(items),
        });
        let tables = tables.collect();
        Self { items, prints, tables, words }
    }

    /// Every section but the plan, as it stands in the file.
    fn sections(&self) -> impl Iterator<Item = (Content, Range<usize>)> {
        let tables = (0u32..).zip(&self.tables).flat_map(|(number, table)| {
            let checks =
                (!table.checks.is_empty()).then(|| (Content::Checks(number), table.checks.clone()));
            [(Content::Directory(number), table.directory.clone())]
                .into_iter()
                .chain(checks)
                .chain([(Content::Ids(number), table.ids.clone())])
        });
        std::iter::once((Content::Fingerprints, self.prints.clone())).chain(tables)
    }

    /// Where this layout starts in a file with these sections; `None` if they are others.
    fn start(&self, header: &Header) -> Option<usize> {
        let (plan, parts) = header.sections.split_first()?;
        let sizes = self.sections().map(|(_, range)| 4 * range.len() as u64);
        let (starts, end) = file::starts(std::iter::once(plan.bytes).chain(sizes));
        let fits = plan.content == Content::Plan
            && plan.start == starts[0]
            && parts.len() + 1 == starts.len()
            && parts.iter().zip(self.sections()).zip(&starts[1..]).all(
                |((part, (content, range)), &start)| {
                    part.content == content
                        && part.bytes == 4 * range.len() as u64
                        && part.start == start
                },
            );
        let last = parts.last()?;
        (fits && last.start + last.bytes == end).then_some(starts[1] as usize)
    }

    /// Copies the fingerprints and sorts them into all tables.
    fn fill<const WORDS: usize>(
        &self,
        plan: &Plan<WORDS>,
        prints: &[Fingerprint<WORDS>],
        kernel: Kernel,
        words: &mut [u32],
    ) {
        let mut rest = Rest { words, at: 0 };
        rest.take(&self.prints).copy_from_slice(bytemuck::cast_slice(prints));
        let targets: Vec<TableMut<'_>> = self
            .tables
            .iter()
            .map(|place| TableMut {
                directory: rest.take(&place.directory),
                checks: rest.take(
                    &(place.checks.start
                        ..place.checks.end.saturating_sub(LANES).max(place.checks.start)),
                ),
                ids: rest.take(&place.ids),
            })
            .collect();
        let tables = plan.tables.par_iter().zip(targets);
        tables.for_each(|(table, target)| fill(table, prints, kernel, target));
    }
}

/// Memory from position `at` on, to be handed out front to back.
struct Rest<'a> {
    words: &'a mut [u32],
    at: usize,
}

impl<'a> Rest<'a> {
    fn take(&mut self, range: &Range<usize>) -> &'a mut [u32] {
        let words = std::mem::take(&mut self.words);
        let (_, words) = words.split_at_mut(range.start - self.at);
        let (taken, rest) = words.split_at_mut(range.len());
        (self.words, self.at) = (rest, range.end);
        taken
    }
}

/// The tables as a search sees them.
struct Tables<'a> {
    words: &'a [u32],
    layout: &'a Layout,
}

impl Buckets for Tables<'_> {
    /// The first entry and the one after the last.
    type Place = (u32, u32);

    #[inline(always)]
    fn touch<L: Lanes>(&self, lanes: L, table: usize, bucket: u32) {
        lanes.prefetch(self.words.get(self.layout.tables[table].directory.start + bucket as usize));
    }

    #[inline(always)]
    fn locate<L: Lanes>(&self, lanes: L, table: usize, bucket: u32) -> (u32, u32) {
        let place = &self.layout.tables[table];
        let at = place.directory.start + bucket as usize;
        // A damaged file may hold any offset: they are forced into the table, and into order.
        let items = self.layout.items as u32;
        let end = self.words[at + 1].min(items);
        let start = self.words[at].min(end);
        if start < end {
            let entries = if place.checks.is_empty() { &place.ids } else { &place.checks };
            lanes.prefetch(self.words.get(entries.start + start as usize));
            lanes.prefetch(self.words.get(entries.start + end as usize - 1));
        }
        (start, end)
    }

    #[inline(always)]
    fn scan<L: Lanes>(
        &self,
        lanes: L,
        table: usize,
        (start, end): (u32, u32),
        test: Option<(Filter, u32)>,
        mut hit: impl FnMut(u32),
    ) {
        let place = &self.layout.tables[table];
        let Some((filter, check)) = test else { return (start..end).for_each(hit) };
        let checks = &self.words[place.checks.clone()];
        let mut at = start;
        while at < end {
            // The section goes on for LANES elements behind the last entry.
            let Some(chunk) = checks[at as usize..].first_chunk::<LANES>() else { return };
            let left = u32::MAX >> (32 - (end - at).min(32));
            let mut near = lanes.near(filter, check, chunk) & left;
            while near != 0 {
                let position = at + near.trailing_zeros();
                lanes.prefetch(self.words.get(place.ids.start + position as usize));
                hit(position);
                near &= near - 1;
            }
            at += LANES as u32;
        }
    }

    #[inline(always)]
    fn id(&self, table: usize, position: u32) -> u32 {
        self.words[self.layout.tables[table].ids.start + position as usize]
    }
}
