//! Items that share parts.
//!
//! An item may have many [`Fragment`]s: short fingerprints of its parts, with their places. Two items
//! share a part if fragments of both are within a radius. Chance also produces such matches, but it
//! does not put many of them in consistent places. A [`Shift`] maps places of one item to places of the
//! other, and the fragments that agree on one shift are counted.
//!
//! [`Fragments`] finds the items that share enough fragments to be candidates.
//! [`FragmentSearch::vote`] counts the agreeing ones, from the fragments of two items and a
//! [`Background`] alone, so no other item affects the result.
//!
//! Nothing here knows what items are. Places in images have two coordinates and a scale; those in audio
//! need one coordinate, and the others are 0.

use std::{cmp::Reverse, collections::BTreeMap};

use rayon::prelude::*;

use crate::{
    AllPairs, Fingerprint, Radius, Resources, StaticIndex,
    hamming::{Kernel, scan::Columns},
    index::Search,
    pairs::{Pairs, PairsError},
};

/// A part of an item: its bits and its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fragment {
    /// The fingerprint of the part.
    pub print: Fingerprint<1>,
    /// Where the part is.
    pub place: Place,
}

/// The place of a part, in units of its item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// The position from left to right, or in time.
    pub x: f32,
    /// The position from top to bottom.
    pub y: f32,
    /// The binary logarithm of the size of the part.
    pub scale: f32,
}

/// Maps places of one item to places of another: a rotation, a scaling, and a translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Scale times the cosine of the angle.
    pub cosine: f32,
    /// Scale times the sine of the angle.
    pub sine: f32,
    /// The translation from left to right.
    pub x: f32,
    /// The translation from top to bottom.
    pub y: f32,
}

impl Shift {
    /// The identity.
    pub const NONE: Self = Self { cosine: 1.0, sine: 0.0, x: 0.0, y: 0.0 };

    /// The point of the second item for a point of the first.
    pub fn map(&self, x: f32, y: f32) -> (f32, f32) {
        (self.cosine * x - self.sine * y + self.x, self.sine * x + self.cosine * y + self.y)
    }

    /// The map from the second item to the first; `None` if all points become one.
    pub fn inverse(&self) -> Option<Self> {
        let square = self.cosine * self.cosine + self.sine * self.sine;
        if square < 1e-6 {
            return None;
        }
        let (cosine, sine) = (self.cosine / square, -self.sine / square);
        let x = -(cosine * self.x - sine * self.y);
        let y = -(sine * self.x + cosine * self.y);
        Some(Self { cosine, sine, x, y })
    }

    /// The scale of the second item relative to the first.
    pub fn scale(&self) -> f32 {
        libm::hypotf(self.cosine, self.sine)
    }

    /// The angle of the rotation, in degrees.
    pub fn degrees(&self) -> f32 {
        libm::atan2f(self.sine, self.cosine).to_degrees()
    }

    /// The least-squares map between these places; `None` if all of them are one.
    fn fit(places: &[(Place, Place)]) -> Option<Self> {
        let count = places.len() as f32;
        let mean =
            |value: &dyn Fn(&(Place, Place)) -> f32| places.iter().map(value).sum::<f32>() / count;
        let (ax, ay) = (mean(&|pair| pair.0.x), mean(&|pair| pair.0.y));
        let (bx, by) = (mean(&|pair| pair.1.x), mean(&|pair| pair.1.y));
        let (mut dot, mut cross, mut square) = (0.0, 0.0, 0.0);
        for (a, b) in places {
            let (px, py, qx, qy) = (a.x - ax, a.y - ay, b.x - bx, b.y - by);
            dot += px * qx + py * qy;
            cross += px * qy - py * qx;
            square += px * px + py * py;
        }
        if square < 1e-3 {
            return None;
        }
        let (cosine, sine) = (dot / square, cross / square);
        Some(Self {
            cosine,
            sine,
            x: bx - (cosine * ax - sine * ay),
            y: by - (sine * ax + cosine * ay),
        })
    }
}

/// Common fragments, such as those of a logo or a frame, which are no evidence that two items are
/// related. Empty unless the caller knows such fragments; no search adds any.
///
/// ```
/// use lookalike::{Fingerprint, fragments::Background};
///
/// let background = Background::new([Fingerprint([7]), Fingerprint([3])]);
/// assert!(background.contains(&Fingerprint([3])) && !background.contains(&Fingerprint([2])));
/// assert!(!Background::default().contains(&Fingerprint([3])));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Background {
    /// In ascending order.
    prints: Vec<u64>,
}

impl Background {
    /// Excludes fragments with exactly these bits.
    pub fn new(prints: impl IntoIterator<Item = Fingerprint<1>>) -> Self {
        let mut prints: Vec<u64> = prints.into_iter().map(|print| print.0[0]).collect();
        prints.sort_unstable();
        prints.dedup();
        Self { prints }
    }

    /// The bits of the excluded fragments, ascending.
    pub fn prints(&self) -> impl Iterator<Item = Fingerprint<1>> {
        self.prints.iter().map(|&print| Fingerprint([print]))
    }

    /// Whether fragments with these bits are excluded.
    pub fn contains(&self, print: &Fingerprint<1>) -> bool {
        self.prints.binary_search(&print.0[0]).is_ok()
    }
}

/// How the fragments of two items are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FragmentSearch {
    /// The maximum distance of fragments that may show the same part.
    pub radius: Radius,
    /// The maximum distance of a place from its expected one, in units of places.
    pub tolerance: f32,
    /// The maximum difference of a scale from its expected one, as a binary logarithm.
    pub scale_tolerance: f32,
    /// The minimum number of agreeing fragments.
    pub votes: u32,
}

/// The fingerprints of the fragments of many items, item by item.
#[derive(Clone, Debug, Default)]
pub struct Fragments {
    prints: Vec<Fingerprint<1>>,
    /// The end of the fragments of each item.
    ends: Vec<usize>,
}

impl Fragments {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the fragments of the next item.
    pub fn push(&mut self, prints: impl IntoIterator<Item = Fingerprint<1>>) {
        self.prints.extend(prints);
        self.ends.push(self.prints.len());
    }

    /// The number of fragments.
    pub fn len(&self) -> usize {
        self.prints.len()
    }

    /// Whether there are no fragments.
    pub fn is_empty(&self) -> bool {
        self.prints.is_empty()
    }

    /// The results of `judge` for all pairs of items that share enough fragments for a vote to
    /// succeed, called with the earlier item first, in order of the later, then of the earlier item.
    ///
    /// Uses all threads of the current rayon pool. Takes time linear in the number of pairs of
    /// fragments within the radius, and memory for such pairs with different bits. Equal fragments of
    /// many items are held once.
    pub fn sharing<T: Send>(
        &self,
        search: &FragmentSearch,
        resources: &Resources<'_>,
        judge: impl Fn(u32, u32) -> Option<T> + Sync,
    ) -> Result<Vec<T>, PairsError> {
        let found = AllPairs::new(search.radius).resources(resources.clone()).run(&self.prints)?;
        let near = Near::new(&found, self);
        let count = || Counts { of: vec![0; self.ends.len()], seen: Vec::new() };
        let judged: Vec<Vec<T>> = (0..self.ends.len())
            .into_par_iter()
            .map_init(count, |counts, later| {
                let earlier = counts.partners(self, &near, later, search.votes);
                earlier.into_iter().filter_map(|earlier| judge(earlier, later as u32)).collect()
            })
            .collect();
        Ok(judged.into_iter().flatten().collect())
    }

    /// Pairs of one of these items and one of `others` that share enough fragments for a vote to
    /// succeed, in order.
    pub fn sharing_with(
        &self,
        others: &Self,
        search: &FragmentSearch,
        resources: &Resources<'_>,
    ) -> Result<Vec<(u32, u32)>, PairsError> {
        let kernel = resources.kernel_to_use();
        let index = StaticIndex::build_with(&others.prints, search.radius, kernel)?;
        let owners: Vec<u32> = (0..)
            .zip(0..others.ends.len())
            .flat_map(|(item, at)| others.of_item(at).map(move |_| item))
            .collect();
        let mut shared = Shared::new(others.ends.len());
        let (mut item, mut pairs) = (0, Vec::new());
        index.par_search_batch(&self.prints, search.radius, |fragment, found| {
            while fragment >= self.ends[item] {
                pairs.extend(shared.take(search.votes).map(|other| (item as u32, other)));
                item += 1;
            }
            shared.add(owners[found.id as usize], fragment);
        })?;
        pairs.extend(shared.take(search.votes).map(|other| (item as u32, other)));
        Ok(pairs)
    }

    fn of_item(&self, item: usize) -> std::ops::Range<usize> {
        let start = item.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[item]
    }
}

/// The items with fragments near a given one. Fragments with the same bits are one kind.
struct Near {
    /// The kind of each fragment.
    kinds: Vec<u32>,
    /// The items of each kind, ascending.
    items: Lists,
    /// The kinds within the radius of each kind, including itself.
    neighbours: Lists,
}

impl Near {
    fn new(found: &Pairs, fragments: &Fragments) -> Self {
        let mut kinds: Vec<u32> = (0..fragments.len() as u32).collect();
        for group in found.equal_groups() {
            group.iter().for_each(|&one| kinds[one as usize] = group[0]);
        }
        let owners = (0..).zip(&fragments.ends).flat_map(|(item, _)| {
            fragments.of_item(item as usize).map(move |fragment| (fragment, item))
        });
        let count = fragments.len();
        let items =
            Lists::new(count, || owners.clone().map(|(fragment, item)| (kinds[fragment], item)));
        let neighbours = Lists::new(count, || {
            let own = (0..count as u32).map(|kind| (kind, kind));
            own.chain(found.near().iter().flat_map(|pair| [(pair.a, pair.b), (pair.b, pair.a)]))
        });
        Self { kinds, items, neighbours }
    }
}

/// Lists of numbers in one buffer.
struct Lists {
    ends: Vec<usize>,
    numbers: Vec<u32>,
}

impl Lists {
    /// From pairs of a list and a number; `pairs` is called twice.
    fn new<I: Iterator<Item = (u32, u32)>>(lists: usize, pairs: impl Fn() -> I) -> Self {
        let mut ends = vec![0; lists];
        pairs().for_each(|(list, _)| ends[list as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // The start of the list. Each number advances it towards the end of the list.
            sum += std::mem::replace(end, sum);
        }
        let mut numbers = vec![0; sum];
        pairs().for_each(|(list, number)| {
            let end = &mut ends[list as usize];
            numbers[*end] = number;
            *end += 1;
        });
        Self { ends, numbers }
    }

    fn of(&self, list: u32) -> &[u32] {
        let list = list as usize;
        let start = list.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.numbers[start..self.ends[list]]
    }
}

/// Counts the fragments of an item that each earlier item shares.
struct Counts {
    /// The count of each item; 0 between uses.
    of: Vec<u32>,
    seen: Vec<u32>,
}

impl Counts {
    /// The earlier items that share at least this many fragments with the later one, ascending.
    fn partners(
        &mut self,
        fragments: &Fragments,
        near: &Near,
        later: usize,
        votes: u32,
    ) -> Vec<u32> {
        let mut shared = Vec::new();
        for fragment in fragments.of_item(later) {
            shared.clear();
            for &kind in near.neighbours.of(near.kinds[fragment]) {
                let items = near.items.of(kind);
                let earlier = items.partition_point(|&item| (item as usize) < later);
                shared.extend(&items[..earlier]);
            }
            // Several fragments of an item near this one count once: at most one of them agrees.
            shared.sort_unstable();
            shared.dedup();
            for &item in &shared {
                let count = &mut self.of[item as usize];
                if *count == 0 {
                    self.seen.push(item);
                }
                *count += 1;
            }
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.retain(|&item| std::mem::take(&mut self.of[item as usize]) >= votes);
        seen.sort_unstable();
        seen
    }
}

/// Counts the fragments of an item that each of some other items shares.
pub(crate) struct Shared {
    /// For each other item, the count and the last fragment that was counted.
    of: Vec<(u32, usize)>,
    seen: Vec<u32>,
}

impl Shared {
    /// For this number of other items.
    pub fn new(others: usize) -> Self {
        Self { of: vec![(0, usize::MAX); others], seen: Vec::new() }
    }

    /// Counts a fragment once, even if several fragments of the other item are near it.
    pub fn add(&mut self, other: u32, fragment: usize) {
        let (count, last) = &mut self.of[other as usize];
        if *count == 0 {
            self.seen.push(other);
        }
        if *count == 0 || *last != fragment {
            (*count, *last) = (*count + 1, fragment);
        }
    }

    /// The items with at least this count, ascending. Resets all counts.
    pub fn take(&mut self, votes: u32) -> impl Iterator<Item = u32> {
        let mut seen = std::mem::take(&mut self.seen);
        seen.retain(|&other| std::mem::take(&mut self.of[other as usize]).0 >= votes);
        seen.sort_unstable();
        seen.into_iter()
    }
}

/// The maximum number of matches that are tried as a reference for the others. Only repetitive items
/// have more.
const HYPOTHESES: usize = 256;

/// The number of matches tried from one bin before the next bin.
const HYPOTHESES_OF_A_BIN: usize = 8;

/// Fragments of two items that may show the same part.
#[derive(Clone, Copy, Debug)]
struct Match {
    /// The numbers of the fragments in their items.
    one: usize,
    two: usize,
    from: Place,
    to: Place,
    /// The relative size of the second one, as a binary logarithm and as a factor.
    grown: f32,
    factor: f32,
}

impl FragmentSearch {
    /// The shift from `one` to `two` that most fragments agree on, and their number; `None` if there
    /// are too few. Fragments of the [`Background`] do not count.
    ///
    /// A match is a fragment of each item, within the radius of each other. A match predicts the
    /// places of all others, up to the tolerance and 15 % of their distance from it. Among those that
    /// are as predicted, one counts in each place, where a place is as wide as the tolerance. The
    /// match with the highest count wins; of equal counts, the first. At most 256 matches are tried,
    /// from bins of about the same scale and shift, the fullest bins first.
    ///
    /// Tolerances are in units of `two`. For a symmetric result, give the items in an order that
    /// depends on their content only.
    pub fn vote(
        &self,
        one: &[Fragment],
        two: &[Fragment],
        background: &Background,
        kernel: Kernel,
    ) -> Option<(Shift, u32)> {
        let matches = self.matches(one, two, background, kernel);
        if matches.len() < self.votes as usize {
            return None;
        }
        let mut places = Places::new(one, two, self.tolerance);
        let (mut best, mut most) = (None, 0);
        for hypothesis in self.hypotheses(&matches) {
            let agreeing =
                || matches.iter().filter(|other| self.agree(&matches[hypothesis], other));
            let count = places.count(agreeing());
            let first = best.is_none_or(|best| hypothesis < best);
            if count > most || count == most && first {
                (best, most) = (Some(hypothesis), count);
            }
        }
        if most < self.votes {
            return None;
        }
        let best = &matches[best?];
        let agreeing = matches.iter().filter(|other| self.agree(best, other));
        let places: Vec<(Place, Place)> = agreeing.map(|one| (one.from, one.to)).collect();
        Some((Shift::fit(&places)?, most))
    }

    /// All matches, ordered by fragment of the first item, then of the second.
    fn matches(
        &self,
        one: &[Fragment],
        two: &[Fragment],
        background: &Background,
        kernel: Kernel,
    ) -> Vec<Match> {
        let prints: Vec<Fingerprint<1>> = two.iter().map(|fragment| fragment.print).collect();
        let columns = Columns::new(&prints, self.radius.bits(), kernel);
        let (mut matches, mut near) = (Vec::new(), Vec::new());
        for (number, fragment) in one.iter().enumerate() {
            if background.contains(&fragment.print) {
                continue;
            }
            near.clear();
            columns.within(&fragment.print, 0..prints.len(), &mut near);
            for &(other, _) in &near {
                let other = other as usize;
                if background.contains(&prints[other]) {
                    continue;
                }
                let (from, to) = (fragment.place, two[other].place);
                let grown = to.scale - from.scale;
                let factor = libm::exp2f(grown);
                matches.push(Match { one: number, two: other, from, to, grown, factor });
            }
        }
        matches
    }

    /// The matches to try: a few of every bin in turn, the fullest bin first.
    fn hypotheses(&self, matches: &[Match]) -> Vec<usize> {
        let mut bins: BTreeMap<[i32; 3], Vec<usize>> = BTreeMap::new();
        for (number, one) in matches.iter().enumerate() {
            bins.entry(self.bin(one)).or_default().push(number);
        }
        let mut turns: Vec<_> = bins
            .values()
            .flat_map(|bin| {
                let turn = |(at, &number)| (at / HYPOTHESES_OF_A_BIN, Reverse(bin.len()), number);
                bin.iter().enumerate().map(turn)
            })
            .collect();
        turns.sort_unstable();
        turns.truncate(HYPOTHESES);
        turns.into_iter().map(|(_, _, number)| number).collect()
    }

    /// The bin of a match: approximate scale and translation.
    fn bin(&self, one: &Match) -> [i32; 3] {
        let width = 4.0 * self.tolerance;
        [
            (one.grown / (2.0 * self.scale_tolerance)).round() as i32,
            ((one.to.x - one.factor * one.from.x) / width).round() as i32,
            ((one.to.y - one.factor * one.from.y) / width).round() as i32,
        ]
    }

    /// Whether the scale and the place of the first match predict the second.
    fn agree(&self, one: &Match, two: &Match) -> bool {
        if (two.grown - one.grown).abs() > self.scale_tolerance {
            return false;
        }
        let (x, y) = (two.from.x - one.from.x, two.from.y - one.from.y);
        let right = two.to.x - (one.to.x + one.factor * x);
        let down = two.to.y - (one.to.y + one.factor * y);
        // A small error of the scale moves distant places more.
        length(right, down) <= self.tolerance + 0.15 * one.factor * length(x, y)
    }
}

fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// Counts matches in distinct places of both items.
struct Places<'a> {
    sides: [&'a [Fragment]; 2],
    tolerance: f32,
    /// Whether the place of each fragment is taken.
    taken: [Vec<bool>; 2],
}

impl<'a> Places<'a> {
    fn new(one: &'a [Fragment], two: &'a [Fragment], tolerance: f32) -> Self {
        let taken = [vec![false; one.len()], vec![false; two.len()]];
        Self { sides: [one, two], tolerance, taken }
    }

    /// Counts each match in order, unless an earlier one has taken its place in either item.
    fn count<'m>(&mut self, matches: impl Iterator<Item = &'m Match>) -> u32 {
        self.taken.iter_mut().for_each(|taken| taken.fill(false));
        let mut count = 0;
        for Match { one, two, from, to, .. } in matches {
            if self.taken[0][*one] || self.taken[1][*two] {
                continue;
            }
            count += 1;
            // Only earlier matches exclude a match, so marking their places is enough and one pass
            // suffices.
            for (place, (fragments, taken)) in
                [from, to].into_iter().zip(self.sides.iter().zip(&mut self.taken))
            {
                for (fragment, taken) in fragments.iter().zip(taken) {
                    let (x, y) = (fragment.place.x - place.x, fragment.place.y - place.y);
                    *taken |= length(x, y) < self.tolerance;
                }
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    const SEARCH: FragmentSearch =
        FragmentSearch { radius: Radius::new(5), tolerance: 6.0, scale_tolerance: 0.4, votes: 2 };

    fn fragment(bits: u64, x: f32, y: f32, scale: f32) -> Fragment {
        Fragment { print: Fingerprint([bits]), place: Place { x, y, scale } }
    }

    fn vote(one: &[Fragment], two: &[Fragment]) -> Option<(Shift, u32)> {
        SEARCH.vote(one, two, &Background::default(), Kernel::detect())
    }

    /// The definition: every match is tried, and each of those that follow from it is compared with
    /// all that count already. No bins, no limit, no table of places.
    fn tried_by_all(one: &[Fragment], two: &[Fragment]) -> Option<(Shift, u32)> {
        let all = one.iter().flat_map(|from| two.iter().map(move |to| (from, to)));
        let near = all.filter(|(from, to)| SEARCH.radius.contains(from.print.distance(&to.print)));
        let matches: Vec<(Place, Place)> = near.map(|(from, to)| (from.place, to.place)).collect();
        let away = |one: Place, two: Place| length(one.x - two.x, one.y - two.y);
        let (mut best, mut most) = (Vec::new(), 0);
        for (from, to) in &matches {
            let grown = to.scale - from.scale;
            let factor = libm::exp2f(grown);
            let follows = |(a, b): &&(Place, Place)| {
                let x = to.x + factor * (a.x - from.x);
                let y = to.y + factor * (a.y - from.y);
                (b.scale - a.scale - grown).abs() <= SEARCH.scale_tolerance
                    && length(b.x - x, b.y - y)
                        <= SEARCH.tolerance + 0.15 * factor * away(*a, *from)
            };
            let agreeing: Vec<_> = matches.iter().filter(follows).copied().collect();
            let mut kept: Vec<(Place, Place)> = Vec::new();
            for &(a, b) in &agreeing {
                let taken = |&(c, d): &(Place, Place)| {
                    away(a, c) < SEARCH.tolerance || away(b, d) < SEARCH.tolerance
                };
                if !kept.iter().any(taken) {
                    kept.push((a, b));
                }
            }
            if kept.len() > most {
                (best, most) = (agreeing, kept.len());
            }
        }
        (most >= SEARCH.votes as usize).then(|| Some((Shift::fit(&best)?, most as u32)))?
    }

    /// Few kinds of bits, so that many fragments match, in whole places, so that many are near.
    fn fragments() -> impl Strategy<Value = Vec<Fragment>> {
        let bits = prop_oneof![Just(0), Just(7), Just(u64::MAX), Just(0xF0F0), any::<u64>()];
        let one = (bits, 0..40_u8, 0..40_u8, 0..6_u8);
        vec(one, 0..16).prop_map(|all| {
            all.into_iter()
                .map(|(bits, x, y, scale)| {
                    let [x, y] = [x, y].map(|at| f32::from(at) * 5.0);
                    fragment(bits, x, y, f32::from(scale) * 0.3)
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn bins_and_tables_change_no_vote(one in fragments(), two in fragments()) {
            // At most 15 x 15 matches: all of them are tried.
            prop_assert_eq!(vote(&one, &two), tried_by_all(&one, &two));
        }

        #[test]
        fn items_that_share_enough_are_judged_once_and_no_vote_is_missed(
            all in vec(fragments(), 0..6)
        ) {
            let mut held = Fragments::new();
            all.iter().for_each(|one| held.push(one.iter().map(|fragment| fragment.print)));
            let judge = |a: u32, b: u32| Some((a, b));
            let judged = held.sharing(&SEARCH, &Resources::new(), judge).unwrap();
            prop_assert!(judged.is_sorted_by(|one, two| (one.1, one.0) < (two.1, two.0)));
            for b in 0..all.len() {
                for a in 0..b {
                    let found = vote(&all[a], &all[b]).or(vote(&all[b], &all[a]));
                    let is_judged = judged.contains(&(a as u32, b as u32));
                    prop_assert!(is_judged || found.is_none(), "{a} {b}");
                }
            }
        }

        #[test]
        fn the_background_is_as_if_its_fragments_were_not_there(
            one in fragments(), two in fragments()
        ) {
            let background = Background::new([Fingerprint([7]), Fingerprint([u64::MAX])]);
            let without = |all: &[Fragment]| -> Vec<Fragment> {
                all.iter().filter(|one| !background.contains(&one.print)).copied().collect()
            };
            prop_assert_eq!(
                SEARCH.vote(&one, &two, &background, Kernel::detect()),
                vote(&without(&one), &without(&two))
            );
        }
    }

    /// 160 fragments of the same bits, 24 apart: 25,600 matches. To try all of them would take 655
    /// million steps, each of them thousands more.
    fn wallpaper(right: f32) -> Vec<Fragment> {
        let at =
            |number: u8| (f32::from(number % 16) * 24.0 + right, f32::from(number / 16) * 24.0);
        (0..160).map(at).map(|(x, y)| fragment(5, x, y, 2.0)).collect()
    }

    #[test]
    fn two_items_that_are_like_themselves_agree_on_all_their_fragments() {
        let (shift, votes) = vote(&wallpaper(0.0), &wallpaper(7.0)).unwrap();
        assert_eq!(votes, 160);
        // Neighbours of the true partners are within the tolerance, too: the fit is a rough one.
        assert!((shift.scale() - 1.0).abs() < 0.1 && shift.degrees().abs() < 1.0, "{shift:?}");
    }

    #[test]
    fn a_fixed_number_of_matches_is_tried() {
        let none = Background::default();
        let (one, two) = (wallpaper(0.0), wallpaper(7.0));
        let matches = SEARCH.matches(&one, &two, &none, Kernel::detect());
        assert_eq!(matches.len(), 160 * 160);
        let mut tried = SEARCH.hypotheses(&matches);
        assert_eq!(tried.len(), HYPOTHESES);
        // Of the fullest bin, which all fragments agree on, the first ones are among them.
        let straight = matches.iter().position(|one| one.one == one.two).unwrap();
        assert!(tried.contains(&straight));
        let few = &matches[..HYPOTHESES];
        tried = SEARCH.hypotheses(few);
        tried.sort_unstable();
        assert_eq!(tried, (0..HYPOTHESES).collect::<Vec<_>>());
    }
}
