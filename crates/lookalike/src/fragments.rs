//! Which items share parts?
//!
//! An item may own many short fingerprints, each of a part of it and with the place where the part
//! was found: a [`Fragment`]. Two items share a part if fragments of both are within a radius;
//! chance does that, too. But chance does not put many shared parts in the same places: a [`Shift`]
//! says how places of one item become places of the other, and fragments that agree on it are
//! counted.
//!
//! Finding and counting are apart. [`Fragments`] finds the items that share enough fragments to be
//! worth a vote; [`FragmentSearch::vote`] counts, from the fragments of two items and a
//! [`Background`] alone, so that no other item can change what it says.
//!
//! Nothing here knows what items are: of images, places have two coordinates and a scale; of
//! sound, one coordinate would do, the others staying 0.

use std::{cmp::Reverse, collections::BTreeMap};

use rayon::prelude::*;

use crate::{
    AllPairs, Fingerprint, Kernel, Pairs, PairsError, Radius, Resources, StaticIndex,
    hamming::scan::Columns, index::Search,
};

/// A part of an item: its bits and where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fragment {
    /// What the part is like.
    pub print: Fingerprint<1>,
    /// Where it is.
    pub place: Place,
}

/// Where a part of an item is, in the item's own units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// From left to right, or in time.
    pub x: f32,
    /// From top to bottom.
    pub y: f32,
    /// How large the part is, as the logarithm to base 2.
    pub scale: f32,
}

/// How places of one item become places of another: turned a little, scaled, and moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Scale times the cosine of the angle.
    pub cosine: f32,
    /// Scale times the sine of the angle.
    pub sine: f32,
    /// What is added from left to right.
    pub x: f32,
    /// What is added from top to bottom.
    pub y: f32,
}

impl Shift {
    /// Everything stays where it is.
    pub const NONE: Self = Self { cosine: 1.0, sine: 0.0, x: 0.0, y: 0.0 };

    /// Where a point of the first item is in the second.
    pub fn map(&self, x: f32, y: f32) -> (f32, f32) {
        (self.cosine * x - self.sine * y + self.x, self.sine * x + self.cosine * y + self.y)
    }

    /// From the second item back to the first; `None` if everything became one point.
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

    /// How much larger things are in the second item.
    pub fn scale(&self) -> f32 {
        libm::hypotf(self.cosine, self.sine)
    }

    /// How far things are turned, in degrees.
    pub fn degrees(&self) -> f32 {
        libm::atan2f(self.sine, self.cosine).to_degrees()
    }

    /// The one that maps these places best, in the sense of least squares; `None` if they are all
    /// one.
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

/// Fragments that are everywhere, in a logo or a frame, and say nothing about two items that share
/// them. Empty unless the caller knows such fragments: no search adds any by itself.
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
    /// Fragments with these bits are left out; others that are merely near them are not.
    pub fn new(prints: impl IntoIterator<Item = Fingerprint<1>>) -> Self {
        let mut prints: Vec<u64> = prints.into_iter().map(|print| print.0[0]).collect();
        prints.sort_unstable();
        prints.dedup();
        Self { prints }
    }

    /// The bits of the fragments that are left out, ascending.
    pub fn prints(&self) -> impl Iterator<Item = Fingerprint<1>> {
        self.prints.iter().map(|&print| Fingerprint([print]))
    }

    /// Whether fragments with these bits are left out.
    pub fn contains(&self, print: &Fingerprint<1>) -> bool {
        self.prints.binary_search(&print.0[0]).is_ok()
    }
}

/// How fragments of two items are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FragmentSearch {
    /// Fragments at most this far apart may be the same part.
    pub radius: Radius,
    /// How far a place may be from where it should be, in units of places.
    pub tolerance: f32,
    /// How far scales may be from what they should be, as a logarithm to base 2.
    pub scale_tolerance: f32,
    /// Fragments that must agree.
    pub votes: u32,
}

/// Prints of the fragments of many items, one item after the other.
#[derive(Clone, Debug, Default)]
pub struct Fragments {
    prints: Vec<Fingerprint<1>>,
    /// By item, where its fragments end.
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

    /// How many fragments there are.
    pub fn len(&self) -> usize {
        self.prints.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.prints.is_empty()
    }

    /// What `judge` says of every two items, the earlier one first, that share enough fragments for
    /// a vote to succeed, in order of the later one, then of the earlier one.
    ///
    /// Works on all threads of the current rayon pool. Takes time linear in the number of fragments
    /// that are within the radius, and memory for those with different bits: a fragment that many
    /// items have in the same bits is held once.
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

    /// Items of these and of `others` that share enough fragments for a vote to succeed, in order.
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

/// Which items have fragments near this one? Fragments with the same bits are one kind.
struct Near {
    /// By fragment, its kind.
    kinds: Vec<u32>,
    /// By kind, where its items end, and the items, ascending.
    items: Lists,
    /// By kind, where its neighbours end, and the kinds within the radius, itself included.
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

/// Lists of numbers, one after the other.
struct Lists {
    ends: Vec<usize>,
    numbers: Vec<u32>,
}

impl Lists {
    /// Of pairs of a list and a number, which are asked for twice.
    fn new<I: Iterator<Item = (u32, u32)>>(lists: usize, pairs: impl Fn() -> I) -> Self {
        let mut ends = vec![0; lists];
        pairs().for_each(|(list, _)| ends[list as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // Where the list starts; each number moves it on to where the list ends.
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

/// Counts how many fragments of one item each earlier item shares.
struct Counts {
    /// By item: 0 between two counts.
    of: Vec<u32>,
    seen: Vec<u32>,
}

impl Counts {
    /// Earlier items that share at least this many fragments with the later one, ascending.
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
            // However many of its fragments are near this one, it is one that agrees at most.
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

/// Counts how many fragments of one item each of some others shares.
pub(crate) struct Shared {
    /// By other item: how many, and the last one that was counted.
    of: Vec<(u32, usize)>,
    seen: Vec<u32>,
}

impl Shared {
    /// With so many others.
    pub fn new(others: usize) -> Self {
        Self { of: vec![(0, usize::MAX); others], seen: Vec::new() }
    }

    /// However many fragments of the other item are near this one, it counts once.
    pub fn add(&mut self, other: u32, fragment: usize) {
        let (count, last) = &mut self.of[other as usize];
        if *count == 0 {
            self.seen.push(other);
        }
        if *count == 0 || *last != fragment {
            (*count, *last) = (*count + 1, fragment);
        }
    }

    /// The items with at least this many, ascending; all counts start again.
    pub fn take(&mut self, votes: u32) -> impl Iterator<Item = u32> {
        let mut seen = std::mem::take(&mut self.seen);
        seen.retain(|&other| std::mem::take(&mut self.of[other as usize]).0 >= votes);
        seen.sort_unstable();
        seen.into_iter()
    }
}

/// Matches that are tried as the one all others must follow from, at most: all there are, but for
/// items that are much like themselves.
const HYPOTHESES: usize = 256;

/// Of these, from one bin before the next bin has its turn.
const HYPOTHESES_OF_A_BIN: usize = 8;

/// Two fragments, of two items, that may be the same part.
#[derive(Clone, Copy, Debug)]
struct Match {
    /// Their numbers in the two items.
    one: usize,
    two: usize,
    from: Place,
    to: Place,
    /// How much larger the second one is, as a logarithm to base 2 and as a factor.
    grown: f32,
    factor: f32,
}

impl FragmentSearch {
    /// The shift from `one` to `two` that most fragments agree on, and how many do, if they are
    /// enough. Fragments of the [`Background`] do not count.
    ///
    /// Every fragment of one and every one of the other that are within the radius are a match. A
    /// match says where all others must be: within the tolerance, and within 15 % of the distance
    /// between them. Of those that are, one in each place counts, a place being as wide as the
    /// tolerance. The match with the highest count wins, the first one of several. It is enough to
    /// try 256: bins of about the same scale and shift are filled, and the fullest bins have their
    /// turn first.
    ///
    /// Places are measured in units of `two`: for an answer that does not depend on who is first,
    /// give the two in an order of their own.
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

    /// All matches, by fragment of the first item, then of the second.
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

    /// The matches to try: of every bin in turn a few, the fullest bin first.
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

    /// About how much larger, and about how far to the right and down.
    fn bin(&self, one: &Match) -> [i32; 3] {
        let width = 4.0 * self.tolerance;
        [
            (one.grown / (2.0 * self.scale_tolerance)).round() as i32,
            ((one.to.x - one.factor * one.from.x) / width).round() as i32,
            ((one.to.y - one.factor * one.from.y) / width).round() as i32,
        ]
    }

    /// Whether a second match follows from the scale and the place of the first.
    fn agree(&self, one: &Match, two: &Match) -> bool {
        if (two.grown - one.grown).abs() > self.scale_tolerance {
            return false;
        }
        let (x, y) = (two.from.x - one.from.x, two.from.y - one.from.y);
        let right = two.to.x - (one.to.x + one.factor * x);
        let down = two.to.y - (one.to.y + one.factor * y);
        // The farther away, the more a small error of the scale moves a place.
        length(right, down) <= self.tolerance + 0.15 * one.factor * length(x, y)
    }
}

fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// Counts matches that stand in different places of both items.
struct Places<'a> {
    sides: [&'a [Fragment]; 2],
    tolerance: f32,
    /// By fragment, whether its place is taken.
    taken: [Vec<bool>; 2],
}

impl<'a> Places<'a> {
    fn new(one: &'a [Fragment], two: &'a [Fragment], tolerance: f32) -> Self {
        let taken = [vec![false; one.len()], vec![false; two.len()]];
        Self { sides: [one, two], tolerance, taken }
    }

    /// One after the other, each counts unless an earlier one stands in its place, in either item.
    fn count<'m>(&mut self, matches: impl Iterator<Item = &'m Match>) -> u32 {
        self.taken.iter_mut().for_each(|taken| taken.fill(false));
        let mut count = 0;
        for Match { one, two, from, to, .. } in matches {
            if self.taken[0][*one] || self.taken[1][*two] {
                continue;
            }
            count += 1;
            // A match is dropped for the places of those before it, so marking theirs is enough:
            // every match is looked at once.
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
