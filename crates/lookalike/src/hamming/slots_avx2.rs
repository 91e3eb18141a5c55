//! The AVX2 kernels of [`Slots`]. Their portable twins are in the file that calls them.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::{arch::x86_64::*, ops::Range};

use super::slots::{Bucket, Cells, EMPTY, Hit, Keying, Late, Slots, WIDTH, leads_to};

/// See [`Cells::fill`].
pub(super) fn fill(
    cells: &mut Cells,
    runs: &[&[u64]],
    keying: Keying,
    tables: [&mut [Bucket]; 2],
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
    tables: [&mut [Bucket]; 2],
    late: &mut Vec<Late>,
) {
    cells.fill_with(runs, keying, tables, late);
}

/// See [`Slots::hits`].
pub(super) fn hits(slots: Slots<'_>, range: Range<u32>, errors: u32, hits: &mut Vec<Hit>) {
    // SAFETY: the caller has asked `Kernel::is_avx2`.
    unsafe {
        match errors {
            0 => sweep::<0>(slots, range, hits),
            _ => sweep::<1>(slots, range, hits),
        }
    }
}

/// See [`Slots::hits_beside`].
pub(super) fn hits_beside(slots: Slots<'_>, number: u32, checks: &Bucket, hits: &mut Vec<Hit>) {
    // SAFETY: the caller has asked `Kernel::is_avx2`.
    unsafe { meet_all(slots, number, checks, hits) }
}

#[target_feature(enable = "avx2,bmi1,popcnt")]
fn meet_all(slots: Slots<'_>, number: u32, checks: &Bucket, hits: &mut Vec<Hit>) {
    let all = !(u32::MAX << slots.key_bits);
    Turned::new(twice(checks)).meet(slots, number, all, hits);
}

#[target_feature(enable = "avx2,bmi1,popcnt")]
fn sweep<const ERRORS: u32>(slots: Slots<'_>, range: Range<u32>, hits: &mut Vec<Hit>) {
    let (blocks, rest) = slots.buckets.as_chunks::<BLOCK>();
    if ERRORS == 1 && rest.is_empty() {
        let firsts = (range.start & !LOW..range.end).step_by(BLOCK);
        for first in firsts {
            let numbers = range.start.max(first)..range.end.min(first + BLOCK as u32);
            sweep_block(slots, blocks, numbers, hits);
        }
        return;
    }
    for number in range {
        let turned = report_own::<ERRORS>(number, slots.bucket(number), hits);
        if ERRORS == 1 {
            let leads = leads_to(number, slots.key_bits);
            turned.meet(slots, number, leads, hits);
        }
    }
}

/// Buckets that differ in the lowest bits of their numbers only. What they are compared with lies among
/// themselves, or in another block in the same order.
const BLOCK: usize = 1 << BLOCK_BITS;
/// An even number: of every two bits one leads on.
const BLOCK_BITS: u32 = 6;
const LOW: u32 = BLOCK as u32 - 1;
/// The most bits that lead to other blocks.
const MOST_BITS: usize = 16;

/// Buckets of one block.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn sweep_block(
    slots: Slots<'_>,
    blocks: &[[Bucket; BLOCK]],
    numbers: Range<u32>,
    hits: &mut Vec<Hit>,
) {
    let first = numbers.start & !LOW;
    let own = &blocks[first as usize / BLOCK];
    let mut leads = leads_to(first, slots.key_bits) & !LOW;
    let mut beside = [(0, own); MOST_BITS];
    let count = leads.count_ones() as usize;
    for beside in &mut beside[..count] {
        let bit = lowest(leads);
        leads ^= bit;
        *beside = (bit, &blocks[(first ^ bit) as usize / BLOCK]);
    }
    let (threes, rest) = beside[..count].as_chunks::<3>();
    for number in numbers {
        let at = (number & LOW) as usize;
        let turned = report_own::<1>(number, &own[at], hits);
        let low = LOW_LEADS[at];
        let met = low.map(|bit| &own[(at ^ usize::from(bit)) % BLOCK]);
        if any(turned.any_equal_of(met)) {
            turned.report(slots, number, low.iter().map(|&bit| u32::from(bit)).sum(), hits);
        }
        for three in threes {
            if any(turned.any_equal_of(three.map(|(_, block)| &block[at]))) {
                turned.report(slots, number, three[0].0 | three[1].0 | three[2].0, hits);
            }
        }
        for (bit, block) in rest {
            if any(turned.any_equal(&block[at])) {
                turned.report(slots, number, *bit, hits);
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

    /// Compares this bucket, of this number, with those one of these bits apart; reports what is equal.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    #[inline]
    fn meet(&self, slots: Slots<'_>, number: u32, mut bits: u32, hits: &mut Vec<Hit>) {
        while bits != 0 {
            let bit = lowest(bits);
            bits ^= bit;
            if any(self.any_equal(slots.bucket(number ^ bit))) {
                self.report(slots, number, bit, hits);
            }
        }
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
    fn report(&self, slots: Slots<'_>, number: u32, mut bits: u32, hits: &mut Vec<Hit>) {
        while bits != 0 {
            let other = number ^ lowest(bits);
            bits &= bits - 1;
            for (met, turned) in self.equal(slots.bucket(other)).into_iter().zip(0..) {
                for_each_slot(met, |half, slot| {
                    let own = (slot + turned + 4 * half) % WIDTH as u32;
                    hits.push((WIDTH as u32 * number + own, WIDTH as u32 * other + slot));
                });
            }
        }
    }
}

/// The lowest bit that is set.
#[inline(always)]
const fn lowest(bits: u32) -> u32 {
    bits & bits.wrapping_neg()
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
    let base = WIDTH as u32 * number;
    for (slots, turned) in met.into_iter().zip([1, 3]) {
        for_each_slot(slots, |half, slot| {
            let other = (slot + turned + half) % WIDTH as u32;
            // Turned by four, two slots meet twice. An empty slot may pass for the check 0.
            let again = turned + half == 4 && slot > other;
            let empty = [slot, other].iter().any(|&slot| bucket[slot as usize] == EMPTY);
            if !again && !empty {
                hits.push((base + slot, base + other));
            }
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
