//! The AVX-512 kernel of [`Slots`]: four buckets fill a register, and meet four others in it.
#![expect(unsafe_code, reason = "vector loads take pointers; calls need the CPU features checked")]

use std::{arch::x86_64::*, ops::Range};

use super::{
    slots::{
        BLOCK, Bucket, Hit, Hits, Slots, WIDTH, blocks_beside, item, leads_to, lowest, met_inside,
    },
    slots_avx2::meet_all,
};

/// See [`Slots::hits`], for one error.
pub(super) fn hits(slots: &Slots<'_>, buckets: Range<u32>, hits: &mut Hits<'_>) {
    // SAFETY: the caller has asked `Kernel::is_avx512`.
    unsafe { hits_avx512(slots, buckets, hits) }
}

#[target_feature(enable = "avx2,avx512f,avx512bw,bmi1,popcnt")]
fn hits_avx512(slots: &Slots<'_>, buckets: Range<u32>, hits: &mut Hits<'_>) {
    let sweep = |first, hits: &mut _| sweep(slots, first, hits);
    let beside = |number, checks: &_, hits: &mut _| meet_all(slots, number, checks, hits);
    slots.hits_with(buckets, 1, hits, sweep, beside);
}

/// As many buckets as a register holds. Their numbers differ in the two lowest bits.
type Row = [Bucket; ROW];

const ROW: usize = 4;
/// The rows of a block.
const ROWS: usize = BLOCK / ROW;

/// Compares the buckets of a block with themselves and with those they lead to, row by row: the buckets of
/// a row lead to each other, and to rows of the same block or of others.
#[target_feature(enable = "avx512f,avx512bw,bmi1,popcnt")]
#[inline]
fn sweep(slots: &Slots<'_>, first: u32, hits: &mut Vec<Hit>) {
    let rows: &[Row] = slots.buckets.as_chunks().0;
    let (blocks, _) = rows.as_chunks::<ROWS>();
    let own = &blocks[first as usize / BLOCK];
    let (beside, count) = blocks_beside(blocks, first, slots.key_bits);
    let (threes, rest) = beside[..count].as_chunks::<3>();
    for (at, (number, row)) in (first..).step_by(ROW).zip(own).enumerate() {
        let turned = Turned::new(load(row));
        let low = LOW_LEADS[at].map(|row| &own[usize::from(row) % ROWS]);
        let near = turned.inside(load(row));
        let far = turned.unequal([load(low[0]), load(low[1]), in_cycle(load(row))]);
        if near != 0 || far != !0 {
            turned.report_own(number, row, hits);
            for (row, other) in low.into_iter().zip(LOW_LEADS[at]) {
                turned.report(number, first + ROW as u32 * u32::from(other), row, hits);
            }
        }
        for three in threes {
            if turned.unequal(three.map(|(_, block)| load(&block[at]))) != !0 {
                for (bit, block) in three {
                    turned.report(number, number ^ bit, &block[at], hits);
                }
            }
        }
        for (bit, block) in rest {
            if turned.unequal([load(&block[at])]) != !0 {
                turned.report(number, number ^ bit, &block[at], hits);
            }
        }
    }
}

/// For each row of a block, the two others of the block that it leads to.
static LOW_LEADS: [[u8; 2]; ROWS] = {
    let mut all = [[0; 2]; ROWS];
    let mut row = 0;
    while row < ROWS {
        let leads = leads_to(row as u32, ROWS.ilog2());
        let first = lowest(leads);
        all[row] = [(row as u32 ^ first) as u8, (row as u32 ^ leads ^ first) as u8];
        row += 1;
    }
    all
};

#[target_feature(enable = "avx512f")]
#[inline]
fn load(row: &Row) -> __m512i {
    // SAFETY: a row has as many bytes as are read, in any alignment.
    unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
}

/// A row with each bucket in the place of the one that leads to it: 00 to 01, that to 11, that to 10, and
/// that to 00.
#[target_feature(enable = "avx512f")]
#[inline]
fn in_cycle(row: __m512i) -> __m512i {
    _mm512_shuffle_i64x2::<0b10_00_11_01>(row, row)
}

/// Where each bucket of a row leads to in it.
const CYCLE: [u32; ROW] = [1, 3, 0, 2];

/// A row with its buckets turned by every number of slots: in register `n`, slot `i` of a bucket holds the
/// check of slot `i + n`.
struct Turned([__m512i; WIDTH]);

impl Turned {
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn new(row: __m512i) -> Self {
        // An empty slot is made unlike those of all other rows, in more than one bit.
        let empty = _mm512_srai_epi16::<15>(row);
        let row = _mm512_or_si512(row, _mm512_and_si512(empty, _mm512_set1_epi16(0x6000)));
        Self([
            row,
            _mm512_alignr_epi8::<2>(row, row),
            _mm512_alignr_epi8::<4>(row, row),
            _mm512_alignr_epi8::<6>(row, row),
            _mm512_alignr_epi8::<8>(row, row),
            _mm512_alignr_epi8::<10>(row, row),
            _mm512_alignr_epi8::<12>(row, row),
            _mm512_alignr_epi8::<14>(row, row),
        ])
    }

    /// Which slots are within one bit of one that they meet in their own bucket, turned by 1 to 4: so every
    /// two of them meet.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn inside(&self, own: __m512i) -> __mmask32 {
        let [_, a, b, c, d, ..] = self.0;
        let [a, b, c, d] = [a, b, c, d].map(|turned| within_one(turned, own));
        a | b | c | d
    }

    /// Which slots of some rows equal none that they meet, in any turn.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn unequal<const COUNT: usize>(&self, others: [__m512i; COUNT]) -> __mmask32 {
        // Processors compare into masks in one place, and do other things in another: with as much for
        // either, both are busy.
        let [a, b, c, d, e, rest @ ..] = self.0;
        let mut unequal = !0;
        let mut least = _mm512_set1_epi16(-1);
        for other in others {
            for turned in [a, b, c, d, e] {
                unequal = _mm512_mask_cmpneq_epi16_mask(unequal, turned, other);
            }
            for turned in rest {
                least = _mm512_min_epu16(least, _mm512_xor_si512(turned, other));
            }
        }
        _mm512_mask_test_epi16_mask(unequal, least, least)
    }

    /// Reports what is near inside of the buckets of this row, and equal where one leads to another.
    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    #[cold]
    fn report_own(&self, first: u32, row: &Row, hits: &mut Vec<Hit>) {
        for turn in 1..=4 {
            for_each_slot(within_one(self.0[turn as usize], load(row)), |bucket, slot| {
                hits.extend(met_inside(first + bucket, &row[bucket as usize], slot, turn));
            });
        }
        self.for_each_equal(in_cycle(load(row)), |bucket, own, other| {
            let met = CYCLE[bucket as usize];
            hits.push((item(first + bucket, own), item(first + met, other)));
        });
    }

    /// Reports what is equal in another row, whose first bucket has this number.
    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    #[cold]
    fn report(&self, first: u32, other: u32, row: &Row, hits: &mut Vec<Hit>) {
        self.for_each_equal(load(row), |bucket, one, two| {
            hits.push((item(first + bucket, one), item(other + bucket, two)));
        });
    }

    /// Tells what is equal: the bucket in the row, and the slots here and there.
    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    #[inline]
    fn for_each_equal(&self, other: __m512i, mut on_equal: impl FnMut(u32, u32, u32)) {
        for (turned, turn) in self.0.into_iter().zip(0..) {
            for_each_slot(_mm512_cmpeq_epi16_mask(turned, other), |bucket, slot| {
                on_equal(bucket, (slot + turn) % WIDTH as u32, slot);
            });
        }
    }
}

/// Which slots differ in at most one bit.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn within_one(one: __m512i, two: __m512i) -> __mmask32 {
    let xor = _mm512_xor_si512(one, two);
    // All but the lowest bit that is set.
    _mm512_testn_epi16_mask(xor, _mm512_add_epi16(xor, _mm512_set1_epi16(-1)))
}

/// Visits the slots that are set: the bucket in its row, and the slot in it.
#[target_feature(enable = "bmi1")]
#[inline]
fn for_each_slot(mut slots: __mmask32, mut visit: impl FnMut(u32, u32)) {
    while slots != 0 {
        let slot = slots.trailing_zeros();
        slots &= slots - 1;
        visit(slot / WIDTH as u32, slot % WIDTH as u32);
    }
}
