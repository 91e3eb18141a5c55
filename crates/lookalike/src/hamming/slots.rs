//! Which items of buckets near each other agree, judged by a few bits of each?
//!
//! Items lie in buckets by a key of theirs. [`Slots`] hold a check of up to eight items of each bucket,
//! and list the others; so the items of one bucket are compared all at once, and those of two whose keys
//! are one bit apart. What agrees is verified elsewhere.

use std::ops::Range;

use super::{
    Kernel,
    late::{self, Late, LateItems},
    prefetch,
};

/// The checks of the first items of one bucket, and [`EMPTY`] in the slots that are left.
pub(crate) type Bucket = [u16; WIDTH];

/// Slots of a bucket.
pub(crate) const WIDTH: usize = 8;
/// The bits of a check. There are two above them, so that no check is a bit apart from an empty slot
/// unless all its bits are zero.
pub(crate) const CHECK_BITS: u32 = 14;
/// Stands where no item is.
pub(crate) const EMPTY: u16 = 0x8000;

/// How a record tells its bucket and its check.
#[derive(Clone, Copy)]
pub(crate) struct Keying {
    /// The bucket's number is what is above these bits, as far as there are buckets.
    pub bucket_shift: u32,
    /// The check is what is above these bits and in this mask.
    pub check_shift: u32,
    pub check_mask: u16,
}

impl Keying {
    #[inline(always)]
    fn check(self, record: u64) -> u16 {
        (record >> self.check_shift) as u16 & self.check_mask
    }
}

/// What is known of the items of some buckets.
pub(crate) struct Tables<'a> {
    pub checks: &'a mut [Bucket],
    /// For each slot that is taken, where the record lies.
    pub places: &'a mut [Bucket],
}

/// Buckets while they are filled: one store for a check and its place. Kept from fill to fill.
#[derive(Default)]
pub(crate) struct Cells {
    /// How many records came to each bucket.
    taken: Vec<u32>,
    cells: Vec<[u32; WIDTH]>,
    /// Records for which there is no slot, in the order of their places.
    late: Vec<Late>,
}

impl Cells {
    /// Puts records into the next slot of their bucket, with their place, counted over all `runs`; tells
    /// those that find none, or whose place is too large for a slot, by bucket and place.
    pub fn fill(
        &mut self,
        kernel: Kernel,
        runs: &[&[u64]],
        keying: Keying,
        tables: &mut Tables<'_>,
        late: &mut Vec<Late>,
    ) {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx2() => super::slots_avx2::fill(self, runs, keying, tables, late),
            _ => self.fill_with(runs, keying, tables, late),
        }
    }

    /// Inlined into each kernel.
    #[inline(always)]
    pub(super) fn fill_with(
        &mut self,
        runs: &[&[u64]],
        keying: Keying,
        tables: &mut Tables<'_>,
        late: &mut Vec<Late>,
    ) {
        let Tables { checks, places } = tables;
        assert!(checks.len().is_power_of_two() && checks.len() == places.len());
        self.late.clear();
        self.taken.clear();
        self.taken.resize(checks.len(), 0);
        self.cells.clear();
        self.cells.resize(checks.len(), [u32::from(EMPTY) << 16; WIDTH]);
        let mask = checks.len() - 1;
        let (taken, cells) = (&mut self.taken[..=mask], &mut self.cells[..=mask]);
        let mut before = 0;
        for run in runs {
            let (near, far) = run.split_at(run.len().min(MOST_PLACES.saturating_sub(before)));
            for (at, &record) in (before as u32..).zip(near) {
                let bucket = (record >> keying.bucket_shift) as usize & mask;
                let check = keying.check(record);
                let slot = taken[bucket] as usize;
                taken[bucket] += 1;
                if slot < WIDTH {
                    cells[bucket][slot] = u32::from(check) << 16 | at;
                } else {
                    self.late.push(Late { bucket: bucket as u32, at, check });
                }
            }
            for (at, &record) in ((before + near.len()) as u32..).zip(far) {
                let bucket = (record >> keying.bucket_shift) as usize & mask;
                taken[bucket] = taken[bucket].max(WIDTH as u32) + 1;
                self.late.push(Late { bucket: bucket as u32, at, check: keying.check(record) });
            }
            before += run.len();
        }
        for ((checks, places), cells) in checks.iter_mut().zip(places.iter_mut()).zip(cells) {
            *checks = cells.map(|cell| (cell >> 16) as u16);
            *places = cells.map(|cell| cell as u16);
        }
        late.clear();
        if self.late.is_empty() {
            return;
        }
        // Where the late ones of each bucket begin takes the place of how many came.
        let mut total = 0;
        for taken in &mut *taken {
            total += std::mem::replace(taken, total).saturating_sub(WIDTH as u32);
        }
        late.resize(total as usize, Late { bucket: 0, at: 0, check: 0 });
        for &item in &self.late {
            let next = &mut taken[item.bucket as usize];
            late[*next as usize] = item;
            *next += 1;
        }
    }
}

/// Places that a slot can tell.
const MOST_PLACES: usize = 1 << u16::BITS;

/// Two items: each in a slot, as `WIDTH * bucket + slot`, or late, as its number after all slots.
pub(crate) type Hit = (u32, u32);

/// Hits on their way to whoever asked, so many at a time: uneven buckets may have very many.
pub(crate) struct Hits<'a> {
    pub waiting: &'a mut Vec<Hit>,
    pub on_hits: &'a mut dyn FnMut(&[Hit]),
}

impl Hits<'_> {
    const ENOUGH: usize = 256;

    /// Passes on what waits, if it is enough.
    #[inline(always)]
    fn pass_on(&mut self) {
        if self.waiting.len() >= Self::ENOUGH {
            self.finish();
        }
    }

    #[inline(never)]
    fn finish(&mut self) {
        (self.on_hits)(self.waiting);
        self.waiting.clear();
    }
}

/// A bucket for every key of so many bits.
pub(crate) struct Slots<'a> {
    pub(super) buckets: &'a [Bucket],
    pub(super) key_bits: u32,
    late: LateItems,
}

/// Buckets whose numbers differ in the lowest bits only. What they are compared with lies among themselves,
/// or in another block in the same order.
pub(super) const BLOCK: usize = 1 << BLOCK_BITS;
/// Keys have at least so many bits. One word tells which buckets of a block have late items.
pub(crate) const BLOCK_BITS: u32 = late::ROW_BITS;
/// The most bits of a key.
const MOST_KEY_BITS: u32 = 28;
/// The most bits that lead from a block to others.
#[cfg(target_arch = "x86_64")]
pub(super) const MOST_LEADS: usize = (MOST_KEY_BITS - BLOCK_BITS).div_ceil(2) as usize;

impl<'a> Slots<'a> {
    /// As many buckets as there are keys of some number of bits, and the items that found no slot, by
    /// bucket.
    pub fn new(buckets: &'a [Bucket], late: Vec<Late>) -> Self {
        assert!(buckets.len().is_power_of_two());
        let key_bits = buckets.len().ilog2();
        assert!((BLOCK_BITS..=MOST_KEY_BITS).contains(&key_bits));
        Self { buckets, key_bits, late: LateItems::new(buckets.len(), late) }
    }

    #[inline]
    pub(super) fn bucket(&self, number: u32) -> &'a Bucket {
        &self.buckets[number as usize]
    }

    /// The buckets one bit apart.
    pub fn beside(&self, bucket: u32) -> impl Iterator<Item = u32> + use<> {
        (0..self.key_bits).map(move |bit| bucket ^ 1 << bit)
    }

    /// The items of a bucket, as hits tell them.
    pub fn items(&self, bucket: u32) -> impl Iterator<Item = u32> {
        let taken = items_of(self.bucket(bucket)) as u32;
        let early = item(bucket, 0)..item(bucket, taken);
        early.chain(self.late.of(bucket).map(|(number, _)| self.late_item(number)))
    }

    /// How hits tell a late item.
    #[inline]
    fn late_item(&self, number: u32) -> u32 {
        (WIDTH * self.buckets.len()) as u32 + number
    }

    /// What a hit tells, if it is a late item.
    #[inline]
    pub fn late(&self, item: u32) -> Option<&Late> {
        let number = item.checked_sub((WIDTH * self.buckets.len()) as u32)?;
        Some(self.late.item(number))
    }

    /// Finds the items that share one of these buckets and whose checks differ in at most `errors` bits
    /// (0 or 1). If one error is allowed, also those in two buckets one bit apart whose checks are equal;
    /// of two such buckets, one [leads](leads_to) to the other and must be in the range, which is one of
    /// whole blocks.
    pub fn hits(&self, kernel: Kernel, buckets: Range<u32>, errors: u32, mut hits: Hits<'_>) {
        let whole = |bucket: u32| bucket.is_multiple_of(BLOCK as u32);
        assert!(buckets.end as usize <= self.buckets.len());
        assert!(whole(buckets.start) && whole(buckets.end));
        let hits = &mut hits;
        match kernel {
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx512() && errors > 0 => {
                super::slots_avx512::hits(self, buckets, hits);
            }
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx2() => super::slots_avx2::hits(self, buckets, errors, hits),
            _ => {
                let all = !(u32::MAX << self.key_bits);
                let sweep = |first, hits: &mut _| self.sweep(first, errors, hits);
                let beside =
                    |number, checks: &_, hits: &mut _| self.meet(number, checks, all, hits);
                self.hits_with(buckets, errors, hits, sweep, beside);
            }
        }
        hits.finish();
    }

    /// `sweep` finds the hits of a block, but for its late items. `beside` finds the items in slots of all
    /// buckets one bit apart from one whose checks equal one of these, which stand for its own slots.
    /// Inlined into each kernel.
    #[inline(always)]
    pub(super) fn hits_with(
        &self,
        buckets: Range<u32>,
        errors: u32,
        hits: &mut Hits<'_>,
        sweep: impl Fn(u32, &mut Vec<Hit>),
        beside: impl Fn(u32, &Bucket, &mut Vec<Hit>),
    ) {
        for first in buckets.clone().step_by(BLOCK) {
            let next = first + BLOCK as u32;
            if errors > 0 {
                self.ask_for(first, next..buckets.end);
            }
            sweep(first, hits.waiting);
            hits.pass_on();
            for bucket in self.late.buckets(first) {
                self.late_inside(bucket, errors, hits.waiting);
                if errors > 0 {
                    self.late_beside(bucket, hits.waiting, &beside);
                }
                hits.pass_on();
            }
            if errors > 0 {
                self.late_with_late(first, hits);
            }
        }
    }

    /// Asks for what the late items of a block meet in others, which lies all over the memory, and for what
    /// the next block leads to.
    #[inline(always)]
    fn ask_for(&self, block: u32, next: Range<u32>) {
        const LINE: usize = 64 / size_of::<Bucket>();
        for bucket in self.late.buckets(block) {
            for bit in BLOCK_BITS..self.key_bits {
                prefetch(Some(self.bucket(bucket ^ 1 << bit)));
            }
        }
        if next.is_empty() {
            return;
        }
        let leads = leads_to(next.start, self.key_bits);
        for bit in (BLOCK_BITS..self.key_bits).filter(|bit| leads >> bit & 1 == 1) {
            let other = (next.start ^ 1 << bit) as usize;
            for line in self.buckets[other..other + BLOCK].chunks_exact(LINE) {
                prefetch(line.first());
            }
        }
    }

    /// The hits of a block, but for its late items.
    fn sweep(&self, first: u32, errors: u32, hits: &mut Vec<Hit>) {
        for number in first..first + BLOCK as u32 {
            let bucket = self.bucket(number);
            let base = item(number, 0);
            for (two, check) in (0..).zip(&bucket[..items_of(bucket)]) {
                let earlier = (0..two).zip(bucket);
                let near = earlier.filter(|(_, other)| (check ^ *other).count_ones() <= errors);
                hits.extend(near.map(|(one, _)| (base + one, base + two)));
            }
            if errors > 0 {
                self.meet(number, bucket, leads_to(number, self.key_bits), hits);
            }
        }
    }

    /// Compares these checks, which stand for the slots of a bucket, with those of the buckets one of these
    /// bits apart.
    fn meet(&self, number: u32, checks: &Bucket, bits: u32, hits: &mut Vec<Hit>) {
        let items = &checks[..items_of(checks)];
        for bit in (0..self.key_bits).filter(|bit| bits >> bit & 1 == 1) {
            let other = number ^ 1 << bit;
            for (one, check) in (item(number, 0)..).zip(items) {
                let others = (item(other, 0)..).zip(self.bucket(other));
                let equal = others.filter(|(_, other)| *other == check);
                hits.extend(equal.map(|(two, _)| (one, two)));
            }
        }
    }

    /// Compares late items with those of their own bucket.
    #[inline(always)]
    fn late_inside(&self, number: u32, errors: u32, hits: &mut Vec<Hit>) {
        let bucket = self.bucket(number);
        let near = |one: u16, two: u16| (one ^ two).count_ones() <= errors;
        for (two, late) in self.late.of(number) {
            for (one, &check) in (item(number, 0)..).zip(bucket) {
                if near(check, late.check) && check != EMPTY {
                    hits.push((one, self.late_item(two)));
                }
            }
            let earlier = self.late.of(number).take_while(|(one, _)| *one < two);
            let earlier = earlier.filter(|(_, other)| near(other.check, late.check));
            hits.extend(earlier.map(|(one, _)| (self.late_item(one), self.late_item(two))));
        }
    }

    /// Compares late items with those in slots of the buckets one bit apart.
    #[inline(always)]
    fn late_beside(
        &self,
        number: u32,
        hits: &mut Vec<Hit>,
        beside: impl Fn(u32, &Bucket, &mut Vec<Hit>),
    ) {
        let mut late = self.late.of(number).peekable();
        while let Some(&(first, _)) = late.peek() {
            let mut checks = [EMPTY; WIDTH];
            checks.iter_mut().zip(&mut late).for_each(|(check, (_, item))| *check = item.check);
            let before = hits.len();
            beside(number, &checks, hits);
            for hit in &mut hits[before..] {
                hit.0 = self.late_item(first + hit.0 % WIDTH as u32);
            }
        }
    }

    /// Compares the late items of a block with those of buckets one bit apart.
    #[inline(always)]
    fn late_with_late(&self, first: u32, hits: &mut Hits<'_>) {
        self.late.for_each_one_bit_apart(first, self.key_bits, |one, two| {
            for (a, item) in self.late.of(one) {
                let equal = self.late.of(two).filter(|(_, other)| other.check == item.check);
                hits.waiting.extend(equal.map(|(b, _)| (self.late_item(a), self.late_item(b))));
            }
            hits.pass_on();
        });
    }
}

/// The blocks that the one with this first bucket leads to, each with the bit that is turned; and how many
/// they are.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn blocks_beside<T>(
    blocks: &[T],
    first: u32,
    key_bits: u32,
) -> ([(u32, &T); MOST_LEADS], usize) {
    let mut leads = leads_to(first, key_bits) & (u32::MAX << BLOCK_BITS);
    let count = leads.count_ones() as usize;
    let mut beside = [(0, &blocks[first as usize / BLOCK]); MOST_LEADS];
    for beside in &mut beside[..count] {
        let bit = lowest(leads);
        leads ^= bit;
        *beside = (bit, &blocks[(first ^ bit) as usize / BLOCK]);
    }
    (beside, count)
}

/// The lowest bit that is set.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) const fn lowest(bits: u32) -> u32 {
    bits & bits.wrapping_neg()
}

/// How hits tell the item in a slot.
#[inline(always)]
pub(super) const fn item(bucket: u32, slot: u32) -> u32 {
    WIDTH as u32 * bucket + slot
}

/// The hit, if it is one, of a slot that is near the one it meets when its bucket is turned by so many slots.
/// Turned by four, two slots meet twice. An empty slot may pass for the check 0.
#[cfg(target_arch = "x86_64")]
pub(super) fn met_inside(number: u32, bucket: &Bucket, slot: u32, turn: u32) -> Option<Hit> {
    let other = (slot + turn) % WIDTH as u32;
    let again = turn == WIDTH as u32 / 2 && slot > other;
    let empty = [slot, other].iter().any(|&slot| bucket[slot as usize] == EMPTY);
    (!again && !empty).then(|| (item(number, slot), item(number, other)))
}

/// How many slots are taken.
fn items_of(bucket: &Bucket) -> usize {
    bucket.iter().take_while(|&&check| check != EMPTY).count()
}

/// The bits that lead from this bucket to another, if turned: of any two buckets one bit apart, exactly
/// one leads to the other.
///
/// Bits are taken in pairs. Of a pair, the lower one leads on if both are equal, else the upper one: 00
/// leads to 01, that to 11, that to 10, and that to 00. So every bucket leads to equally many others, and
/// a loop over them needs no guess where it ends. A last bit without a partner leads from 0 to 1.
pub(super) const fn leads_to(bucket: u32, key_bits: u32) -> u32 {
    let paired = !(u32::MAX << (key_bits & !1));
    let lower = 0x5555_5555 & paired;
    let unequal = (bucket ^ bucket >> 1) & lower;
    let last = !(u32::MAX << key_bits) & !paired;
    lower & !unequal | unequal << 1 | last & !bucket
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_two_buckets_one_bit_apart_exactly_one_leads_to_the_other() {
        for key_bits in 0..=9 {
            let all = 1u32 << key_bits;
            for (bucket, bit) in (0..all).flat_map(|one| (0..key_bits).map(move |bit| (one, bit))) {
                let leads = |from: u32| leads_to(from, key_bits) >> bit & 1;
                assert_eq!(leads(bucket) + leads(bucket ^ 1 << bit), 1, "{bucket:b} {bit}");
            }
            let degrees: Vec<u32> =
                (0..all).map(|one| leads_to(one, key_bits).count_ones()).collect();
            assert!(degrees.iter().all(|&degree| degree.abs_diff(key_bits / 2) <= key_bits % 2));
        }
    }

    /// Buckets of some more items than have slots, with few different checks.
    fn buckets(key_bits: u32) -> impl Strategy<Value = Vec<Vec<u16>>> {
        let check = prop_oneof![0u16..3, 0u16..1 << CHECK_BITS, Just(1 << (CHECK_BITS - 1))];
        let sizes = prop_oneof![3 => 0..4usize, 1 => 0..WIDTH + 5];
        let bucket =
            sizes.prop_flat_map(move |size| proptest::collection::vec(check.clone(), size));
        proptest::collection::vec(bucket, 1 << key_bits)
    }

    /// The first checks of each bucket, and the others.
    fn filled(buckets: &[Vec<u16>]) -> (Vec<Bucket>, Vec<Late>) {
        let filled = |items: &Vec<u16>| {
            let mut bucket = [EMPTY; WIDTH];
            bucket.iter_mut().zip(items).for_each(|(slot, &check)| *slot = check);
            bucket
        };
        let late = |(bucket, items): (u32, &Vec<u16>)| {
            let late = items.iter().skip(WIDTH).map(move |&check| Late { bucket, at: 0, check });
            late.collect::<Vec<_>>()
        };
        (buckets.iter().map(filled).collect(), (0..).zip(buckets).flat_map(late).collect())
    }

    /// Each pair of items with each, straight from the definition, as bucket and place in it.
    fn defined(buckets: &[Vec<u16>], errors: u32) -> Vec<[(u32, u32); 2]> {
        let items = |bucket: u32| (0u32..).zip(&buckets[bucket as usize]);
        let all = 0..buckets.len() as u32;
        let mut hits = Vec::new();
        for (one, two) in all.clone().flat_map(|one| (one..all.end).map(move |two| (one, two))) {
            let apart = (one ^ two).count_ones();
            for (a, first) in items(one).filter(|_| apart <= errors) {
                for (b, second) in items(two).filter(|&(b, _)| one < two || a < b) {
                    if apart + (first ^ second).count_ones() <= errors {
                        hits.push([(one, a), (two, b)]);
                    }
                }
            }
        }
        hits.sort_unstable();
        hits
    }

    proptest! {
        #[test]
        fn every_kernel_fills_slots_in_order_and_tells_who_is_late(
            records in proptest::collection::vec(any::<u64>(), 0..200),
            (key_bits, cut, beyond) in (0u32..6, 0usize..200, any::<bool>()),
        ) {
            let keying = Keying { bucket_shift: 7, check_shift: 20, check_mask: 0x0fff };
            // So many that slots cannot tell the places of those that follow.
            let many = vec![0; if beyond { MOST_PLACES - 10 } else { 0 }];
            let (first, second) = records.split_at(cut.min(records.len()));
            let runs = [&many, first, second];
            let all = many.iter().chain(&records).copied();
            let mut slots = vec![Vec::new(); 1 << key_bits];
            let mut late = Vec::new();
            for (at, record) in (0u32..).zip(all) {
                let bucket = (record >> 7) as u32 & !(u32::MAX << key_bits);
                let check = (record >> 20) as u16 & 0x0fff;
                let taken: &mut Vec<(u16, u16)> = &mut slots[bucket as usize];
                match u16::try_from(at) {
                    Ok(place) if taken.len() < WIDTH => taken.push((check, place)),
                    _ => late.push(Late { bucket, at, check }),
                }
            }
            late.sort_by_key(|late: &Late| late.bucket);
            for kernel in Kernel::available() {
                let mut checks = vec![[7; WIDTH]; 1 << key_bits];
                let mut places = checks.clone();
                let mut tables =
                    Tables { checks: &mut checks, places: &mut places };
                let mut found = Vec::new();
                Cells::default().fill(kernel, &runs, keying, &mut tables, &mut found);
                prop_assert_eq!(&found, &late);
                for (bucket, taken) in slots.iter().enumerate() {
                    let filled = checks[bucket].iter().copied().zip(places[bucket]);
                    let filled: Vec<_> = filled.take_while(|slot| slot.0 != EMPTY).collect();
                    prop_assert_eq!(&filled, taken);
                    prop_assert!(checks[bucket][taken.len()..].iter().all(|&check| check == EMPTY));
                }
            }
        }

        #[test]
        fn every_kernel_finds_what_the_definition_does(
            (buckets, cut) in (BLOCK_BITS..11)
                .prop_flat_map(|bits| (buckets(bits), 0..=1u32 << (bits - BLOCK_BITS))),
        ) {
            let (checks, late) = filled(&buckets);
            let slots = Slots::new(&checks, late);
            let (cut, all) = (cut * BLOCK as u32, buckets.len() as u32);
            let place = |bucket: u32, item: u32| {
                let before = slots.items(bucket).position(|other| other == item);
                (bucket, before.unwrap() as u32)
            };
            let bucket = |item: u32| slots.late(item).map_or(item / WIDTH as u32, |late| late.bucket);
            for errors in 0..=1 {
                let expected = defined(&buckets, errors);
                for kernel in Kernel::available() {
                    let mut hits = Vec::new();
                    for range in [0..cut, cut..all] {
                        let on_hits = &mut |some: &[Hit]| hits.extend_from_slice(some);
                        slots.hits(kernel, range, errors, Hits { waiting: &mut Vec::new(), on_hits });
                    }
                    let told = hits.iter().map(|&(one, two)| {
                        let mut told = [one, two].map(|item| place(bucket(item), item));
                        told.sort_unstable();
                        told
                    });
                    let mut told: Vec<_> = told.collect();
                    told.sort_unstable();
                    prop_assert_eq!(&told, &expected, "{:?} {}", kernel, errors);
                }
            }
        }
    }
}
