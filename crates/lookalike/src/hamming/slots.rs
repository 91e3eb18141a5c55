//! Which items of buckets near each other agree, judged by a few bits of each?
//!
//! Items lie in buckets by a key of theirs. [`Slots`] hold a check of up to eight items of each
//! bucket, so that the items of two buckets can be compared all at once: those of one bucket, and those
//! of two whose keys are one bit apart. What agrees is verified elsewhere.

use std::ops::Range;

use super::Kernel;

/// The checks of the first items of one bucket, and [`EMPTY`] in the slots that are left.
pub(crate) type Bucket = [u16; WIDTH];

/// Slots of a bucket.
pub(crate) const WIDTH: usize = 8;
/// The bits of a check. There are three above them, so that no check is a bit apart from an empty slot.
pub(crate) const CHECK_BITS: u32 = 13;
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

/// A record for which there is no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Late {
    pub bucket: u32,
    /// Where the record lies.
    pub at: u32,
    pub check: u16,
}

/// Buckets while they are filled: one store for a check and its place. Kept from fill to fill.
#[derive(Default)]
pub(crate) struct Cells {
    /// How many records came to each bucket.
    taken: Vec<u32>,
    cells: Vec<[u32; WIDTH]>,
}

impl Cells {
    /// Puts records into the next slot of their bucket, with their place, counted over all `runs`; tells
    /// those that find none, or whose place is too large for a slot, in the order of their places.
    pub fn fill(
        &mut self,
        kernel: Kernel,
        runs: &[&[u64]],
        keying: Keying,
        [checks, places]: [&mut [Bucket]; 2],
        late: &mut Vec<Late>,
    ) {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx2() => {
                super::slots_avx2::fill(self, runs, keying, [checks, places], late)
            }
            _ => self.fill_with(runs, keying, [checks, places], late),
        }
    }

    /// Inlined into each kernel.
    #[inline(always)]
    pub(super) fn fill_with(
        &mut self,
        runs: &[&[u64]],
        keying: Keying,
        [checks, places]: [&mut [Bucket]; 2],
        late: &mut Vec<Late>,
    ) {
        assert!(checks.len().is_power_of_two() && checks.len() == places.len());
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
                    late.push(Late { bucket: bucket as u32, at, check });
                }
            }
            for (at, &record) in ((before + near.len()) as u32..).zip(far) {
                let bucket = (record >> keying.bucket_shift) as u32 & mask as u32;
                late.push(Late { bucket, at, check: keying.check(record) });
            }
            before += run.len();
        }
        for ((checks, places), cells) in checks.iter_mut().zip(places).zip(cells) {
            *checks = cells.map(|cell| (cell >> 16) as u16);
            *places = cells.map(|cell| cell as u16);
        }
    }
}

/// Places that a slot can tell.
const MOST_PLACES: usize = 1 << u16::BITS;

/// Two slots, each as `WIDTH * bucket + slot`.
pub(crate) type Hit = (u32, u32);

/// A bucket for every key of so many bits.
#[derive(Clone, Copy)]
pub(crate) struct Slots<'a> {
    pub(super) buckets: &'a [Bucket],
    pub(super) key_bits: u32,
}

impl<'a> Slots<'a> {
    /// As many buckets as there are keys of some number of bits.
    pub fn new(buckets: &'a [Bucket]) -> Self {
        assert!(buckets.len().is_power_of_two() && buckets.len() <= 1 << 28);
        Self { buckets, key_bits: buckets.len().ilog2() }
    }

    #[inline]
    pub fn bucket(self, bucket: u32) -> &'a Bucket {
        &self.buckets[bucket as usize]
    }

    /// Finds the items that share one of these buckets and whose checks differ in at most `errors` bits
    /// (0 or 1). If one error is allowed, also those in two buckets one bit apart whose checks are equal;
    /// of two such buckets, one [leads](leads_to) to the other and must be in the range.
    pub fn hits(self, kernel: Kernel, buckets: Range<u32>, errors: u32, hits: &mut Vec<Hit>) {
        assert!(buckets.end as usize <= self.buckets.len());
        match kernel {
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx2() => super::slots_avx2::hits(self, buckets, errors, hits),
            _ => self.hits_portable(buckets, errors, hits),
        }
    }

    fn hits_portable(self, buckets: Range<u32>, errors: u32, hits: &mut Vec<Hit>) {
        for number in buckets {
            let bucket = self.bucket(number);
            let items = items_of(bucket);
            let base = WIDTH as u32 * number;
            for (two, check) in (0..).zip(&bucket[..items]) {
                let earlier = (0..two).zip(bucket);
                let near = earlier.filter(|(_, other)| (check ^ *other).count_ones() <= errors);
                hits.extend(near.map(|(one, _)| (base + one, base + two)));
            }
            if errors == 0 {
                continue;
            }
            self.meet(number, bucket, leads_to(number, self.key_bits), hits);
        }
    }

    /// Finds the items of all buckets one bit apart from this one whose checks equal one of these, which
    /// stand for its slots.
    pub fn hits_beside(self, kernel: Kernel, number: u32, checks: &Bucket, hits: &mut Vec<Hit>) {
        assert!((number as usize) < self.buckets.len());
        match kernel {
            #[cfg(target_arch = "x86_64")]
            kernel if kernel.is_avx2() => {
                super::slots_avx2::hits_beside(self, number, checks, hits)
            }
            _ => self.meet(number, checks, !(u32::MAX << self.key_bits), hits),
        }
    }

    /// Compares these checks with those of the buckets one of these bits apart.
    fn meet(self, number: u32, checks: &Bucket, bits: u32, hits: &mut Vec<Hit>) {
        let items = &checks[..items_of(checks)];
        for bit in (0..self.key_bits).filter(|bit| bits >> bit & 1 == 1) {
            let other = number ^ 1 << bit;
            for (one, check) in (WIDTH as u32 * number..).zip(items) {
                let others = (WIDTH as u32 * other..).zip(self.bucket(other));
                let equal = others.filter(|(_, other)| *other == check);
                hits.extend(equal.map(|(two, _)| (one, two)));
            }
        }
    }
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

    /// Buckets of up to `WIDTH` and a few more items, with few different checks.
    fn buckets(key_bits: u32) -> impl Strategy<Value = Vec<Vec<u16>>> {
        let check = prop_oneof![0u16..3, 0u16..1 << CHECK_BITS, Just(1 << (CHECK_BITS - 1))];
        let bucket = proptest::collection::vec(check, 0..WIDTH + 3);
        proptest::collection::vec(bucket, 1 << key_bits)
    }

    fn filled(buckets: &[Vec<u16>]) -> Vec<Bucket> {
        let filled = |items: &Vec<u16>| {
            let mut bucket = [EMPTY; WIDTH];
            bucket.iter_mut().zip(items).for_each(|(slot, &check)| *slot = check);
            bucket
        };
        buckets.iter().map(filled).collect()
    }

    /// Each pair of items with each, straight from the definition.
    fn defined(buckets: &[Vec<u16>], errors: u32) -> Vec<Hit> {
        let items = |bucket: u32| {
            let checks = buckets[bucket as usize].iter().take(WIDTH).copied();
            (WIDTH as u32 * bucket..).zip(checks)
        };
        let all = 0..buckets.len() as u32;
        let mut hits = Vec::new();
        for (one, two) in all.clone().flat_map(|one| all.clone().map(move |two| (one, two))) {
            let apart = (one ^ two).count_ones();
            for (a, first) in items(one) {
                for (b, second) in items(two).filter(|&(b, _)| a < b) {
                    if apart + (first ^ second).count_ones() <= errors {
                        hits.push((a, b));
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
            for kernel in Kernel::available() {
                let mut checks = vec![[7; WIDTH]; 1 << key_bits];
                let mut places = checks.clone();
                let mut found = Vec::new();
                Cells::default().fill(kernel, &runs, keying, [&mut checks, &mut places], &mut found);
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
            (buckets, cut) in (0u32..8).prop_flat_map(|bits| (buckets(bits), 0..=1u32 << bits)),
        ) {
            let slots = filled(&buckets);
            let all = buckets.len() as u32;
            for errors in 0..=1 {
                let expected = defined(&buckets, errors);
                for kernel in Kernel::available() {
                    let mut hits = Vec::new();
                    Slots::new(&slots).hits(kernel, 0..cut, errors, &mut hits);
                    Slots::new(&slots).hits(kernel, cut..all, errors, &mut hits);
                    hits.iter_mut().for_each(|hit| *hit = (hit.0.min(hit.1), hit.0.max(hit.1)));
                    hits.sort_unstable();
                    prop_assert_eq!(&hits, &expected, "{:?} {}", kernel, errors);
                }
            }
        }

        #[test]
        fn what_lies_beside_a_bucket_is_what_is_equal_one_bit_away(
            (buckets, number) in (0u32..8).prop_flat_map(|bits| (buckets(bits), 0..1u32 << bits)),
        ) {
            let slots = filled(&buckets);
            let base = WIDTH as u32 * number;
            let own = base..base + WIDTH as u32;
            let expected: Vec<Hit> = defined(&buckets, 1)
                .into_iter()
                .filter(|(one, two)| own.contains(one) != own.contains(two))
                .map(|(one, two)| if own.contains(&one) { (one, two) } else { (two, one) })
                .collect();
            for kernel in Kernel::available() {
                let mut hits = Vec::new();
                Slots::new(&slots).hits_beside(kernel, number, &slots[number as usize], &mut hits);
                hits.sort_unstable_by_key(|&(one, two)| (one.min(two), one.max(two)));
                prop_assert_eq!(&hits, &expected, "{:?}", kernel);
            }
        }
    }
}
