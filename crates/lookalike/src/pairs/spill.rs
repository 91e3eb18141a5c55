//! How are pairs found among more fingerprints than memory holds?
//!
//! The input goes to a temporary file. For each trunk of the cover, one pass over it writes every
//! item to its partition; partitions are then loaded one by one and joined by the very code that
//! joins in memory. The files have no name: whatever ends the process, the system removes them.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use bytemuck::Pod;

use super::{
    AllPairs, PairsError, Plan, Workspace,
    find::Strategy,
    join::{Found, Join},
    plan::{self, Sample},
};
use crate::{Fingerprint, cover::Cover, hamming::bits::BitSet};

/// Items moved at a time between a file and the code.
const CHUNK: usize = 1 << 14;

/// Fingerprints on disk, in the order they came.
pub(super) struct Spill<const WORDS: usize> {
    input: SpillFile,
    items: usize,
}

impl<const WORDS: usize> Spill<WORDS> {
    pub fn create(folder: PathBuf) -> Result<Self, PairsError> {
        Ok(Self { input: SpillFile::create(folder)?, items: 0 })
    }

    pub fn push(&mut self, prints: &[Fingerprint<WORDS>]) -> Result<(), PairsError> {
        self.items += prints.len();
        self.input.append(prints)
    }

    pub fn items(&self) -> usize {
        self.items
    }

    /// Finds all pairs within the memory limit of `options`.
    pub fn find(&self, options: &AllPairs, limit: u64) -> Result<(Found, Plan, u64), PairsError> {
        let sample = Sample::new(&self.some_prints()?, self.items);
        let strategy = options.strategy_for(&sample)?;
        let plan = Plan::new(&strategy, &sample, options.radius.bits()).within(limit);
        let cover = match strategy {
            Strategy::Join(cover) => cover,
            // Too wide for a plan: partitions by one block still divide the work.
            Strategy::Scan => plan::widest(&sample, options.radius.bits()),
        };
        let mut join = SpillJoin::new(self, &cover, options, limit)?;
        join.run()?;
        let SpillJoin { found, written, .. } = join;
        Ok((found, plan, written + self.input.written))
    }

    /// Fingerprints from all over the input, to plan with.
    fn some_prints(&self) -> Result<Vec<Fingerprint<WORDS>>, PairsError> {
        let step = self.items.div_ceil(plan::SAMPLE).max(1);
        let mut sample = Vec::new();
        self.for_each_chunk(|first, prints| {
            let skip = first.next_multiple_of(step) - first;
            sample.extend(prints.iter().skip(skip).step_by(step));
            Ok(())
        })?;
        Ok(sample)
    }

    /// Reads the input once; `on_chunk` gets the position of the first item and the items.
    fn for_each_chunk(
        &self,
        mut on_chunk: impl FnMut(usize, &[Fingerprint<WORDS>]) -> Result<(), PairsError>,
    ) -> Result<(), PairsError> {
        let mut chunk = vec![Fingerprint::ZERO; CHUNK.min(self.items)];
        for first in (0..self.items).step_by(CHUNK) {
            let chunk = &mut chunk[..CHUNK.min(self.items - first)];
            self.input.read(first, chunk)?;
            on_chunk(first, chunk)?;
        }
        Ok(())
    }
}

/// A join whose partitions lie on disk.
struct SpillJoin<'a, const WORDS: usize> {
    spill: &'a Spill<WORDS>,
    cover: &'a Cover<WORDS>,
    options: &'a AllPairs<'a>,
    limit: u64,
    found: Found,
    /// Items that equal an earlier one, a bit each, once the first trunk has found them.
    copies: Vec<u64>,
    workspace: Workspace,
    written: u64,
}

impl<'a, const WORDS: usize> SpillJoin<'a, WORDS> {
    fn new(
        spill: &'a Spill<WORDS>,
        cover: &'a Cover<WORDS>,
        options: &'a AllPairs<'a>,
        limit: u64,
    ) -> Result<Self, PairsError> {
        Ok(Self {
            spill,
            cover,
            options,
            limit,
            found: Found::default(),
            copies: Vec::new(),
            workspace: Workspace::default(),
            written: 0,
        })
    }

    fn run(&mut self) -> Result<(), PairsError> {
        let trunks: Vec<(usize, usize)> = self.cover.trunk_numbers().collect();
        for (done, &trunk) in trunks.iter().enumerate() {
            self.trunk(trunk, done as f64 / trunks.len() as f64, 1.0 / trunks.len() as f64)?;
            if done == 0 {
                self.copies = self.found.copies(self.spill.items);
            }
        }
        Ok(())
    }

    /// Partitions all items by the upper bits of one trunk, then joins each partition.
    fn trunk(&mut self, trunk: (usize, usize), done: f64, share: f64) -> Result<(), PairsError> {
        let block = &self.cover.trunks[trunk.0][trunk.1].block;
        let key = self.partition_key(block);
        let mut partitions = self.partition(&key)?;
        self.written += partitions.prints.written + partitions.ids.written;
        let count = partitions.ends.len();
        for partition in 0..count {
            self.join_partition(trunk, &mut partitions, partition)?;
            self.options.resources.report(done + share * (partition + 1) as f64 / count as f64);
        }
        Ok(())
    }

    /// The bits that make partitions small enough. They are the upper ones of the block: the join
    /// in memory goes on with the lower ones.
    fn partition_key(&self, block: &BitSet<WORDS>) -> BitSet<WORDS> {
        let wanted =
            self.spill.items.div_ceil(self.partition_items()).next_power_of_two().ilog2() + 1;
        let bits = wanted.min(block.len()).min(MOST_PARTITION_BITS);
        block.without(&block.lowest(block.len() - bits))
    }

    /// How many items may be joined at a time: fingerprint, position, record, and as much again for
    /// the buckets of the largest partitions inside.
    fn partition_items(&self) -> usize {
        let each = 8 * WORDS as u64 + 4 + 8 + 16;
        (self.limit / 2 / each).max(1) as usize
    }

    fn partition(&self, key: &BitSet<WORDS>) -> Result<Partitions<WORDS>, PairsError> {
        let key: Vec<u32> = key.positions().collect();
        let mut counts = vec![0u64; 1 << key.len()];
        self.for_each_live(|_, print| {
            counts[key_of(&key, print)] += 1;
            Ok(())
        })?;
        let folder = &self.spill.input.folder;
        let buffer = self.limit as usize / 4 / counts.len() / (8 * WORDS + 4);
        let mut partitions = Partitions::new(folder.clone(), &counts, buffer.clamp(64, CHUNK))?;
        self.for_each_live(|position, print| {
            partitions.push(key_of(&key, print), print, position)
        })?;
        partitions.flush()?;
        Ok(partitions)
    }

    /// Reads all items but known copies.
    fn for_each_live(
        &self,
        mut on_item: impl FnMut(u32, &Fingerprint<WORDS>) -> Result<(), PairsError>,
    ) -> Result<(), PairsError> {
        self.spill.for_each_chunk(|first, prints| {
            for (position, print) in (first..).zip(prints) {
                let copy = self
                    .copies
                    .get(position / 64)
                    .is_some_and(|word| word >> (position % 64) & 1 == 1);
                if !copy {
                    on_item(position as u32, print)?;
                }
            }
            Ok(())
        })
    }

    fn join_partition(
        &mut self,
        trunk: (usize, usize),
        partitions: &mut Partitions<WORDS>,
        partition: usize,
    ) -> Result<(), PairsError> {
        let (prints, ids) = partitions.load(partition)?;
        let AllPairs { radius, resources, .. } = self.options;
        let (radius, kernel) = (*radius, resources.kernel_to_use());
        let join = Join::new(&prints, self.cover, radius.bits(), kernel, &self.workspace);
        let found = Join { at_once: prints.len(), ..join }.run_trunks(&[trunk]);
        let position = |local: u32| ids[local as usize];
        self.found.near.extend(found.near.into_iter().map(|pair| pair.map(position)));
        self.found
            .equal
            .extend(found.equal.into_iter().map(|(one, copy)| (position(one), position(copy))));
        Ok(())
    }
}

/// More partitions than this would leave each a buffer too small to write in one go.
const MOST_PARTITION_BITS: u32 = 10;

/// The bits of a fingerprint at `positions`, as a number.
fn key_of<const WORDS: usize>(positions: &[u32], print: &Fingerprint<WORDS>) -> usize {
    positions.iter().fold(0, |key, &position| key << 1 | usize::from(print.bit(position)))
}

/// All items in one file for their fingerprints and one for their positions, a stretch of each
/// for every partition.
struct Partitions<const WORDS: usize> {
    prints: SpillFile,
    ids: SpillFile,
    starts: Vec<usize>,
    ends: Vec<usize>,
    buffers: Vec<(Vec<Fingerprint<WORDS>>, Vec<u32>)>,
    buffer: usize,
}

impl<const WORDS: usize> Partitions<WORDS> {
    fn new(folder: PathBuf, counts: &[u64], buffer: usize) -> Result<Self, PairsError> {
        let mut total = 0;
        let starts: Vec<usize> = counts
            .iter()
            .map(|&count| {
                total += count as usize;
                total - count as usize
            })
            .collect();
        Ok(Self {
            prints: SpillFile::create(folder.clone())?,
            ids: SpillFile::create(folder)?,
            ends: starts.clone(),
            starts,
            buffers: vec![Default::default(); counts.len()],
            buffer,
        })
    }

    fn push(
        &mut self,
        partition: usize,
        print: &Fingerprint<WORDS>,
        id: u32,
    ) -> Result<(), PairsError> {
        let (prints, ids) = &mut self.buffers[partition];
        prints.push(*print);
        ids.push(id);
        if ids.len() >= self.buffer { self.write(partition) } else { Ok(()) }
    }

    /// Writes what is buffered and gives the buffers back.
    fn flush(&mut self) -> Result<(), PairsError> {
        (0..self.ends.len()).try_for_each(|partition| self.write(partition))?;
        self.buffers = Vec::new();
        Ok(())
    }

    fn write(&mut self, partition: usize) -> Result<(), PairsError> {
        let (prints, ids) = &mut self.buffers[partition];
        self.prints.write(self.ends[partition], prints)?;
        self.ids.write(self.ends[partition], ids)?;
        self.ends[partition] += ids.len();
        prints.clear();
        ids.clear();
        Ok(())
    }

    fn load(&self, partition: usize) -> Result<(Vec<Fingerprint<WORDS>>, Vec<u32>), PairsError> {
        let (start, end) = (self.starts[partition], self.ends[partition]);
        let mut prints = vec![Fingerprint::ZERO; end - start];
        let mut ids = vec![0; end - start];
        self.prints.read(start, &mut prints)?;
        self.ids.read(start, &mut ids)?;
        Ok((prints, ids))
    }
}

/// A temporary file without a name, addressed in elements.
pub(crate) struct SpillFile {
    /// Whoever moves to a place in it and reads there must not be disturbed.
    file: Mutex<File>,
    folder: PathBuf,
    written: u64,
}

impl SpillFile {
    pub fn create(folder: PathBuf) -> Result<Self, PairsError> {
        match tempfile::tempfile_in(&folder) {
            Ok(file) => Ok(Self { file: Mutex::new(file), folder, written: 0 }),
            Err(source) => {
                Err(PairsError::Spill { action: "making a temporary file", folder, source })
            }
        }
    }

    pub fn append<T: Pod>(&mut self, elements: &[T]) -> Result<(), PairsError> {
        self.write_at(self.written, bytemuck::cast_slice(elements))
    }

    fn write<T: Pod>(&mut self, at: usize, elements: &[T]) -> Result<(), PairsError> {
        self.write_at((at * size_of::<T>()) as u64, bytemuck::cast_slice(elements))
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), PairsError> {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let seek = file.seek(SeekFrom::Start(offset));
        seek.and_then(|_| file.write_all(bytes))
            .map_err(|source| self.error("writing a temporary file", source))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    pub fn read<T: Pod>(&self, at: usize, elements: &mut [T]) -> Result<(), PairsError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let seek = file.seek(SeekFrom::Start((at * size_of::<T>()) as u64));
        seek.and_then(|_| file.read_exact(bytemuck::cast_slice_mut(elements)))
            .map_err(|source| self.error("reading a temporary file", source))
    }

    /// How many bytes were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    fn error(&self, action: &'static str, source: io::Error) -> PairsError {
        PairsError::Spill { action, folder: self.folder.clone(), source }
    }
}
