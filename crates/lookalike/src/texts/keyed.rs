//! Which pairs may be alike, because they have a key in common?
//!
//! One band after the other, entries are sorted by their key. Those that share it are a *bucket*, and
//! are compared each with each, by fingerprint. A bucket that is too large for that is a *crowd*: each
//! is compared with the first few, and the crowd is split by the keys of further bands. What cannot
//! be split are near copies of each other, and each is compared with some of them only.

use rayon::prelude::*;

use super::{
    KEYS, TextSearch,
    check::{Check, Tester},
    store::Store,
};
use crate::{Fingerprint, Kernel, Pair, PairsError, keys::Keys, pairs::Scan};

/// Entries of a bucket that are compared each with each. Few in tests, so that they see crowds.
const LARGEST_BUCKET: usize = if cfg!(test) { 256 } else { 4096 };
/// Bands by which a larger one is split.
const SPLITS: usize = 4;
/// In what stays too large, everyone is compared with the first so many and the last so many before.
const COMPANY: usize = 64;
/// Everyone in a crowd is compared with its first so many.
const LEADERS: usize = 16;
/// So often, at most; later crowds are mostly the same once more.
const MOST_CROWDS: u8 = 4;
/// Buckets from this size on are compared by a kernel.
const MANY: usize = 48;

/// Finds candidates by keys, and hands them on. Returns how many entries were in crowds.
pub(super) fn by_keys<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    keys: &Keys,
    check: &Check<WORDS>,
) -> Result<u32, PairsError> {
    let entries = store.prints.len();
    let mut led = vec![0; entries];
    // If not all keys fit, sets are gone through once for every so many bands.
    let fitting = search.share(KEYS).map_or(keys.bands, |bytes| {
        (bytes as usize / size_of::<u32>() / entries.max(1)).clamp(SPLITS + 1, keys.bands)
    });
    for first in (0..keys.bands).step_by(fitting) {
        let bands = first..keys.bands.min(first + fitting);
        let mut table = Table::new(store, keys, bands.clone(), search.kernel)?;
        table.led = led;
        for band in 0..table.bands {
            let (buckets, crowds) = table.buckets(band);
            candidates(search, store, &table, band, &buckets, check)?;
            with_leaders(search, store, &crowds, check)?;
            (search.progress)((bands.start + band + 1) as f64 / keys.bands as f64);
        }
        led = table.led;
    }
    Ok(led.iter().filter(|&&often| often > 0).count() as u32)
}

/// The keys of all entries in some bands.
struct Table {
    bands: usize,
    /// Entry by entry.
    keys: Vec<u32>,
    /// By entry, how often it was compared with the leaders of a crowd.
    led: Vec<u8>,
}

/// The first entries of a bucket that is too large, and all that are to be compared with them.
struct Crowd {
    leaders: Vec<u32>,
    followers: Vec<u32>,
}

impl Table {
    fn new<const WORDS: usize>(
        store: &Store<WORDS>,
        keys: &Keys,
        bands: std::ops::Range<usize>,
        kernel: Kernel,
    ) -> Result<Self, PairsError> {
        let bands = keys.some(bands);
        let mut all = vec![0; store.prints.len() * bands.len()];
        for range in store.sets.blocks() {
            let block = store.sets.load(range.clone())?;
            let part = &mut all[range.start * bands.len()..range.end * bands.len()];
            part.par_chunks_mut(bands.len()).with_min_len(64).enumerate().for_each(
                |(local, keys)| bands.write(block.set(range.start + local), keys, kernel),
            );
        }
        Ok(Self { bands: bands.len(), keys: all, led: Vec::new() })
    }

    fn of(&self, entry: u32) -> &[u32] {
        &self.keys[entry as usize * self.bands..(entry as usize + 1) * self.bands]
    }

    /// All entries with their keys of a band, in order of key and entry. The keys of buckets that
    /// are too large are made longer, here and in the table: equal keys are always the same bucket.
    fn buckets(&mut self, band: usize) -> (Vec<(u32, u32)>, Vec<Crowd>) {
        let mut entries: Vec<(u32, u32)> = (0..(self.keys.len() / self.bands) as u32)
            .into_par_iter()
            .map(|entry| (self.of(entry)[band], entry))
            .collect();
        entries.par_sort_unstable();
        let crowds = self.crowds(&entries);
        for split in 1..=SPLITS.min(self.bands - 1) {
            if !self.split(&mut entries, band, split) {
                break;
            }
        }
        (entries, crowds)
    }

    /// The buckets that are too large.
    fn crowds(&mut self, entries: &[(u32, u32)]) -> Vec<Crowd> {
        let buckets = entries.chunk_by(|one, two| one.0 == two.0);
        let large = buckets.filter(|bucket| bucket.len() > LARGEST_BUCKET);
        large
            .map(|bucket| {
                let entry = |&(_, entry): &(u32, u32)| entry;
                let often = &mut self.led;
                let followers = bucket[1..].iter().map(entry).filter(|&entry| {
                    let often = &mut often[entry as usize];
                    *often = often.saturating_add(1);
                    *often <= MOST_CROWDS
                });
                let followers = followers.collect();
                Crowd { leaders: bucket[..LEADERS].iter().map(entry).collect(), followers }
            })
            .collect()
    }

    /// Splits the buckets that are too large by another band; whether there were any.
    fn split(&mut self, entries: &mut [(u32, u32)], band: usize, split: usize) -> bool {
        let mut any = false;
        for bucket in entries.chunk_by_mut(|one, two| one.0 == two.0) {
            if bucket.len() <= LARGEST_BUCKET {
                continue;
            }
            any = true;
            for (key, entry) in bucket.iter_mut() {
                let other = self.of(*entry)[(band + split) % self.bands];
                *key = key.rotate_left(11).wrapping_mul(0x9e37_79b1) ^ other;
                self.keys[*entry as usize * self.bands + band] = *key;
            }
        }
        if any {
            entries.par_sort_unstable();
        }
        any
    }
}

/// Takes the candidates of a band that no earlier one has brought.
fn candidates<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    table: &Table,
    band: usize,
    entries: &[(u32, u32)],
    check: &Check<WORDS>,
) -> Result<(), PairsError> {
    let is_new = |a: u32, b: u32| {
        let before = table.of(a)[..band].iter().zip(&table.of(b)[..band]);
        before.fold(true, |new, (one, two)| new & (one != two))
    };
    entries
        .par_chunk_by(|one, two| one.0 == two.0)
        .filter(|bucket| bucket.len() > 1)
        .fold(
            || check.tester(),
            |mut tester, bucket| {
                near(search, &store.prints, bucket, |pair| {
                    if check.can_be(pair.a, pair.b) && is_new(pair.a, pair.b) {
                        tester.push(pair);
                    }
                });
                tester
            },
        )
        .try_for_each(Tester::finish)
}

/// Takes the candidates that crowds make with their leaders.
fn with_leaders<const WORDS: usize>(
    search: &TextSearch,
    store: &Store<WORDS>,
    crowds: &[Crowd],
    check: &Check<WORDS>,
) -> Result<(), PairsError> {
    let pair = |a: u32, b: u32| {
        let distance = store.prints[a as usize].distance(&store.prints[b as usize]);
        let near = search.radius.contains(distance) && check.can_be(a, b);
        near.then_some(Pair { a, b, distance })
    };
    crowds.iter().try_for_each(|crowd| {
        let followers = crowd.followers.par_chunks(1 << 12);
        followers.try_for_each(|followers| {
            let mut tester = check.tester();
            for &b in followers {
                let before = crowd.leaders.iter().take_while(|&&a| a < b);
                before.filter_map(|&a| pair(a, b)).for_each(|pair| tester.push(pair));
            }
            tester.finish()
        })
    })
}

/// Visits the pairs of a bucket that are within the radius.
fn near<const WORDS: usize>(
    search: &TextSearch,
    prints: &[Fingerprint<WORDS>],
    bucket: &[(u32, u32)],
    mut on_pair: impl FnMut(Pair),
) {
    let entry = |place: u32| bucket[place as usize].1;
    if (MANY..=LARGEST_BUCKET).contains(&bucket.len()) {
        let prints: Vec<_> = bucket.iter().map(|&(_, entry)| prints[entry as usize]).collect();
        let scan = Scan::new(&prints, search.radius.bits(), search.kernel);
        for block in 0..scan.blocks() {
            scan.block(
                block,
                |_| prints.len(),
                |pair| {
                    on_pair(Pair { a: entry(pair.a), b: entry(pair.b), ..pair });
                },
            );
        }
        return;
    }
    for (place, &(_, b)) in bucket.iter().enumerate() {
        let before = match bucket.len() {
            ..=LARGEST_BUCKET => 0..0,
            _ => 0..COMPANY.min(place.saturating_sub(COMPANY)),
        };
        let last = if bucket.len() <= LARGEST_BUCKET { 0 } else { place.saturating_sub(COMPANY) };
        for &(_, a) in bucket[before].iter().chain(&bucket[last..place]) {
            let distance = prints[a as usize].distance(&prints[b as usize]);
            if search.radius.contains(distance) {
                on_pair(Pair { a, b, distance });
            }
        }
    }
}
