//! The AVX2 kernels of [`Slots`]. Their portable twins are in the file that calls them.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::{arch::x86_64::*, ops::Range};

use super::{
    late::Late,
    slots::{
        BLOCK, BLOCK_BITS, Bucket, Cells, Hit, Hits, Keying, Slots, Tables, WIDTH, blocks_beside,
        item, leads_to, lowest, met_inside,
    },
};

/// See [`Cells::fill`].
pub(super) fn fill(
    cells: &mut Cells,
    runs: &[&[u64]],
    keying: Keying,
    tables: &mut Tables<'_>,
    late: &mut Vec<Late>,
) {
    // SAFETY: the caller has asked `Kernel::is_avx2`.
    unsafe { fill_cells(cells, runs, keying, tables, late) }
}

#[target_feature(enable = "avx2,bmi2")]
fn fill_cells(
    cells: &mut Cells,
    runs: &[&[u64]],
    keying: Keying,
    tables: &mut Tables<'_>,
    late: &mut Vec<Late>,
) {
    cells.fill_with(runs, keying, tables, late);
}

/// See [`Slots::hits`].
pub(super) fn hits(slots: &Slots<'_>, buckets: Range<u32>, errors: u32, hits: &mut Hits<'_>) {
    // SAFETY: the caller has asked `Kernel::is_avx2`.
    unsafe { hits_avx2(slots, buckets, errors, hits) }
}

#[target_feature(enable = "avx2,bmi1,popcnt")]
fn hits_avx2(slots: &Slots<'_>, buckets: Range<u32>, errors: u32, hits: &mut Hits<'_>) {
    let beside = |number, checks: &_, hits: &mut _| meet_all(slots, number, checks, hits);
    match errors {
        0 => {
            slots.hits_with(buckets, 0, hits, |first, hits| sweep_alone(slots, first, hits), beside)
        }
        _ => slots.hits_with(buckets, 1, hits, |first, hits| sweep(slots, first, hits), beside),
    }
}

/// Compares buckets with themselves only.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn sweep_alone(slots: &Slots<'_>, first: u32, hits: &mut Vec<Hit>) {
    for number in first..first + BLOCK as u32 {
        report_own::<0>(number, slots.bucket(number), hits);
    }
}

/// Compares these checks, which stand for the slots of a bucket, with all that are one bit apart.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
pub(super) fn meet_all(slots: &Slots<'_>, number: u32, checks: &Bucket, hits: &mut Vec<Hit>) {
    let turned = Turned::new(twice(checks));
    for bit in (0..slots.key_bits).map(|bit| 1 << bit) {
        if any(turned.any_equal(slots.bucket(number ^ bit))) {
            turned.report(slots, number, [bit], hits);
        }
    }
}

/// Compares the buckets of a block with themselves and with those they lead to.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn sweep(slots: &Slots<'_>, first: u32, hits: &mut Vec<Hit>) {
    let (blocks, _) = slots.buckets.as_chunks::<BLOCK>();
    let own = &blocks[first as usize / BLOCK];
    let (beside, count) = blocks_beside(blocks, first, slots.key_bits);
    let (threes, rest) = beside[..count].as_chunks::<3>();
    for (at, (number, bucket)) in (first..).zip(own).enumerate() {
        let turned = report_own::<1>(number, bucket, hits);
        let low = LOW_LEADS[at];
        let met = low.map(|bit| &own[(at ^ usize::from(bit)) % BLOCK]);
        if any(turned.any_equal_of(met)) {
            turned.report(slots, number, low.map(u32::from), hits);
        }
        for three in threes {
            if any(turned.any_equal_of(three.map(|(_, block)| &block[at]))) {
                turned.report(slots, number, three.map(|(bit, _)| bit), hits);
            }
        }
        for (bit, block) in rest {
            if any(turned.any_equal(&block[at])) {
                turned.report(slots, number, [*bit], hits);
            }
        }
    }
}

/// For each bucket of a block, the three bits that lead from it to others of the block.
static LOW_LEADS: [[u8; 3]; BLOCK] = {
    let mut all = [[0; 3]; BLOCK];
    let mut number = 0;
    while number < BLOCK {
        let mut leads = leads_to(number as u32, BLOCK_BITS);
        let mut count = 0;
        while leads != 0 {
            all[number][count] = lowest(leads) as u8;
            leads &= leads - 1;
            count += 1;
        }
        number += 1;
    }
    all
};

/// Reports what is near in a bucket itself, and turns it.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn report_own<const ERRORS: u32>(number: u32, bucket: &Bucket, hits: &mut Vec<Hit>) -> Turned {
    let own = twice(bucket);
    let turned = Turned::new(own);
    let [near, far] = turned.inside::<ERRORS>(own);
    if any(_mm256_or_si256(near, far)) {
        report_inside([near, far], number, bucket, hits);
    }
    turned
}

/// A bucket in both halves of a register.
#[target_feature(enable = "avx2")]
#[inline]
fn twice(bucket: &Bucket) -> __m256i {
    // SAFETY: a bucket has as many bytes as are read, in any alignment.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bucket.as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
#[inline]
fn any(slots: __m256i) -> bool {
    _mm256_movemask_epi8(slots) != 0
}

/// A bucket turned by every number of slots: register `n` by `n` slots in its lower half, by `n + 4` in
/// its upper one. Slot `i` of a half that is turned by `n` holds the check of slot `i + n`.
struct Turned([__m256i; 4]);

impl Turned {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn new(own: __m256i) -> Self {
        // An empty slot is made unlike those of all other buckets, in more than one bit.
        let empty = _mm256_srai_epi16::<15>(own);
        let own = _mm256_or_si256(own, _mm256_and_si256(empty, _mm256_set1_epi16(0x6000)));
        // Both halves hold all of it: the upper one swaps its quarters.
        let first = _mm256_permute4x64_epi64::<0b10_11_01_00>(own);
        Self([
            first,
            _mm256_alignr_epi8::<2>(first, first),
            _mm256_alignr_epi8::<4>(first, first),
            _mm256_alignr_epi8::<6>(first, first),
        ])
    }

    /// Which slots of the bucket itself are within `ERRORS` bits of the one they meet, if it is turned by
    /// 1 and 2, and by 3 and 4: so every two of them meet.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn inside<const ERRORS: u32>(&self, own: __m256i) -> [__m256i; 2] {
        let [by_0_4, by_1_5, by_2_6, by_3_7] = self.0;
        let near = _mm256_permute2x128_si256::<0x20>(by_1_5, by_2_6);
        let far = _mm256_permute2x128_si256::<0x30>(by_3_7, by_0_4);
        [within::<ERRORS>(near, own), within::<ERRORS>(far, own)]
    }

    /// Which slots of one of three buckets equal one that they meet, in any turn.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn any_equal_of(&self, [a, b, c]: [&Bucket; 3]) -> __m256i {
        let two = _mm256_or_si256(self.any_equal(a), self.any_equal(b));
        _mm256_or_si256(two, self.any_equal(c))
    }

    /// Which slots of another bucket equal one that they meet, in any turn.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn any_equal(&self, other: &Bucket) -> __m256i {
        let [a, b, c, d] = self.equal(other);
        _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d))
    }

    /// Which slots of another bucket equal the one they meet, for each turn.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn equal(&self, other: &Bucket) -> [__m256i; 4] {
        let other = twice(other);
        let [a, b, c, d] = self.0;
        [
            _mm256_cmpeq_epi16(a, other),
            _mm256_cmpeq_epi16(b, other),
            _mm256_cmpeq_epi16(c, other),
            _mm256_cmpeq_epi16(d, other),
        ]
    }

    /// Reports what is equal in the buckets one of these bits apart.
    #[target_feature(enable = "avx2,bmi1")]
    #[cold]
    fn report<const COUNT: usize>(
        &self,
        slots: &Slots<'_>,
        number: u32,
        bits: [u32; COUNT],
        hits: &mut Vec<Hit>,
    ) {
        let mut met = [0; COUNT];
        for (met, bit) in met.iter_mut().zip(bits) {
            *met = every_slot(self.equal(slots.bucket(number ^ bit)));
        }
        // One hit is the rule, in any of the buckets: which one it is is worked out without a branch, that
        // would be mispredicted.
        loop {
            let (mut at, mut before) = (0, 0);
            for met in met {
                before |= met;
                at += usize::from(before == 0);
            }
            if before == 0 {
                return;
            }
            let at = at % COUNT;
            let (own, slot) = met_slots(met[at].trailing_zeros());
            met[at] &= met[at] - 1;
            hits.push((item(number, own), item(number ^ bits[at], slot)));
        }
    }
}

/// A bit for every slot that is set, in any of four turns.
#[target_feature(enable = "avx2")]
#[inline]
fn every_slot([a, b, c, d]: [__m256i; 4]) -> u64 {
    let low = _mm256_movemask_epi8(_mm256_packs_epi16(a, b)) as u32;
    let high = _mm256_movemask_epi8(_mm256_packs_epi16(c, d)) as u32;
    u64::from(high) << 32 | u64::from(low)
}

/// The slots that a bit of [`every_slot`] stands for: of the bucket that was turned, and of the other one.
#[inline(always)]
fn met_slots(bit: u32) -> (u32, u32) {
    // Packed two by two, registers lie half by half.
    let (slot, half, turned) = (bit & 7, bit >> 4 & 1, (bit >> 3 & 1) + 2 * (bit >> 5));
    ((slot + turned + 4 * half) % WIDTH as u32, slot)
}

/// Which slots differ in at most `ERRORS` bits.
#[target_feature(enable = "avx2")]
#[inline]
fn within<const ERRORS: u32>(one: __m256i, two: __m256i) -> __m256i {
    let mut xor = _mm256_xor_si256(one, two);
    if ERRORS == 1 {
        // All but the lowest bit that is set.
        xor = _mm256_and_si256(xor, _mm256_add_epi16(xor, _mm256_set1_epi16(-1)));
    }
    _mm256_cmpeq_epi16(xor, _mm256_setzero_si256())
}

/// Reports the slots that are set, of a bucket that met itself turned by 1 and 2, and by 3 and 4.
#[target_feature(enable = "avx2,bmi1")]
#[cold]
fn report_inside(met: [__m256i; 2], number: u32, bucket: &Bucket, hits: &mut Vec<Hit>) {
    for (slots, turned) in met.into_iter().zip([1, 3]) {
        for_each_slot(slots, |half, slot| {
            hits.extend(met_inside(number, bucket, slot, turned + half))
        });
    }
}

/// Visits the slots that are set in each half (0 and 1).
#[target_feature(enable = "avx2,bmi1")]
#[inline]
fn for_each_slot(slots: __m256i, mut visit: impl FnMut(u32, u32)) {
    // One bit of every slot.
    let mut bits = _mm256_movemask_epi8(slots) as u32 & 0x5555_5555;
    while bits != 0 {
        let slot = bits.trailing_zeros() / 2;
        bits &= bits - 1;
        visit(slot / WIDTH as u32, slot % WIDTH as u32);
    }
}
