//! Which items found no slot in their bucket?
//!
//! A few of them in a hundred, so they lie in one list. Whether a bucket has any is asked often, and
//! answered by a bit.

/// A record for which there is no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Late {
    pub bucket: u32,
    /// Where the record lies.
    pub at: u32,
    pub check: u16,
}

/// The items that found no slot, by bucket.
pub(crate) struct LateItems {
    items: Vec<Late>,
    rows: Vec<Row>,
    /// Where in `items` those of each bucket that has any begin; the last one ends with them.
    starts: Vec<u32>,
}

/// As many buckets in a row as a word has bits.
#[derive(Clone, Copy, Default)]
struct Row {
    /// A bit for each that has late items.
    bits: u64,
    /// How many buckets before these have any.
    before: u32,
}

/// The buckets of a row.
const ROW: u32 = 1 << ROW_BITS;
pub(super) const ROW_BITS: u32 = u64::BITS.ilog2();

impl LateItems {
    /// Takes items by bucket, of so many buckets.
    pub fn new(buckets: usize, items: Vec<Late>) -> Self {
        let mut rows = vec![Row::default(); buckets.div_ceil(ROW as usize)];
        let mut starts = vec![items.len() as u32; items.len() + 1];
        let (mut last, mut count) = (None, 0);
        for (at, late) in (0..).zip(&items) {
            rows[(late.bucket / ROW) as usize].bits |= 1 << (late.bucket % ROW);
            // Every second one begins a bucket, and nobody foresees which: it is written either way.
            count += usize::from(last.replace(late.bucket) != Some(late.bucket));
            starts[count - 1] = starts[count - 1].min(at);
        }
        starts.truncate(count + 1);
        let mut before = 0;
        for row in &mut rows {
            row.before = before;
            before += row.bits.count_ones();
        }
        Self { items, rows, starts }
    }

    /// Those buckets of the row that begins with this one that have late items.
    #[inline(always)]
    pub fn buckets(&self, first: u32) -> impl Iterator<Item = u32> + use<> {
        ones(self.row(first)).map(move |at| first + at)
    }

    /// The late items of one bucket, each with its number.
    #[inline(always)]
    pub fn of(&self, bucket: u32) -> impl Iterator<Item = (u32, &Late)> {
        let Row { bits, before } = self.rows[(bucket / ROW) as usize];
        let bit = 1 << (bucket % ROW);
        let rank = before + (bits & (bit - 1)).count_ones();
        let last = rank + u32::from(bits & bit != 0);
        let [start, end] = [rank, last].map(|rank| self.starts[rank as usize]);
        (start..end).zip(&self.items[start as usize..end as usize])
    }

    /// The late item of this number.
    #[inline(always)]
    pub fn item(&self, number: u32) -> &Late {
        &self.items[number as usize]
    }

    /// Tells two buckets one bit apart that both have late items: the one is in the row that begins with
    /// `first`, the other one has a higher number.
    #[inline(always)]
    pub fn for_each_one_bit_apart(
        &self,
        first: u32,
        key_bits: u32,
        mut on_pair: impl FnMut(u32, u32),
    ) {
        let own = self.row(first);
        if own == 0 {
            return;
        }
        let mut tell =
            |bit: u32, both| ones(both).for_each(|at| on_pair(first + at, (first + at) ^ bit));
        for (bit, without) in (0..ROW_BITS).zip(WITHOUT) {
            tell(1 << bit, own & own >> (1 << bit) & without);
        }
        for bit in (ROW_BITS..key_bits).map(|bit| 1 << bit).filter(|bit| first & bit == 0) {
            tell(bit, own & self.row(first ^ bit));
        }
    }

    #[inline(always)]
    fn row(&self, first: u32) -> u64 {
        self.rows[(first / ROW) as usize].bits
    }
}

/// For each bit of a bucket's place in its row, the places that do not have it.
const WITHOUT: [u64; ROW_BITS as usize] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
    0x0000_0000_ffff_ffff,
];

/// The places of the bits that are set.
#[inline(always)]
fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let at = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_late_item_is_found_in_its_bucket_and_in_no_other() {
        let buckets = [0, 0, 5, 63, 64, 64, 64, 127, 191, 255];
        let late = |(at, &bucket): (usize, &u32)| Late { bucket, at: at as u32, check: 7 };
        let items: Vec<Late> = buckets.iter().enumerate().map(late).collect();
        let all = LateItems::new(256, items.clone());
        for bucket in 0..256 {
            let expected: Vec<_> =
                (0..).zip(&items).filter(|(_, late)| late.bucket == bucket).collect();
            assert_eq!(all.of(bucket).collect::<Vec<_>>(), expected);
        }
        assert_eq!(all.buckets(64).collect::<Vec<_>>(), [64, 127]);
        assert_eq!(all.item(3), &items[3]);
        assert_eq!(LateItems::new(64, Vec::new()).of(9).count(), 0);
        let rows = (0..256).step_by(ROW as usize);
        let mut apart = Vec::new();
        rows.for_each(|first| {
            all.for_each_one_bit_apart(first, 8, |one, two| apart.push((one, two)))
        });
        apart.sort_unstable();
        assert_eq!(apart, [(0, 64), (63, 127), (63, 191), (127, 255), (191, 255)]);
    }
}
