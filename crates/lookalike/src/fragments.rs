//! Which items share parts?
//!
//! An item may own many short fingerprints, each of a part of it and with the place where the part
//! was found: a [`Fragment`]. Two items share a part if fragments of both are within a radius;
//! chance does that, too. But chance does not put many shared parts in the same places: a [`Shift`]
//! says how places of one item become places of the other, and fragments that agree on it are
//! counted. Nothing here knows what items are: of pictures, places have two coordinates and a scale;
//! of sound, one coordinate would do, the others staying 0.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::{AllPairs, Fingerprint, Kernel, PairsError, Radius};

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
        self.cosine.hypot(self.sine)
    }

    /// How far things are turned, in degrees.
    pub fn degrees(&self) -> f32 {
        self.sine.atan2(self.cosine).to_degrees()
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

/// What two items have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Number of the first item.
    pub a: u32,
    /// Number of the second item, larger than `a`.
    pub b: u32,
    /// How places of the first become places of the second.
    pub shift: Shift,
    /// Fragments that agree on it.
    pub votes: u32,
}

/// How to look for items that share parts.
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
    /// A part that more items than this have says nothing, and is left out.
    pub common: u32,
}

/// By two items, the fragments they share: of the first, of the second.
type Shared = BTreeMap<(u32, u32), Vec<(u32, u32)>>;

/// Fragments of many items, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Fragments {
    prints: Vec<Fingerprint<1>>,
    places: Vec<Place>,
    /// By fragment, the item it is of.
    items: Vec<u32>,
    count: u32,
}

impl Fragments {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the fragments of the next item.
    pub fn push(&mut self, fragments: impl IntoIterator<Item = Fragment>) {
        for fragment in fragments {
            self.prints.push(fragment.print);
            self.places.push(fragment.place);
            self.items.push(self.count);
        }
        self.count += 1;
    }

    /// How many fragments there are.
    pub fn len(&self) -> usize {
        self.prints.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.prints.is_empty()
    }

    /// Every two items of which enough fragments agree on a shift, in order of `(a, b)`.
    pub fn agreeing(
        &self,
        search: &FragmentSearch,
        kernel: Kernel,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Vec<Agreement>, PairsError> {
        let shared = self.shared(search, kernel, progress)?;
        Ok(shared
            .par_iter()
            .filter_map(|(&(a, b), matches)| {
                let places: Vec<(Place, Place)> = matches
                    .iter()
                    .map(|&(one, two)| (self.places[one as usize], self.places[two as usize]))
                    .collect();
                let (shift, votes) = search.vote(&places)?;
                Some(Agreement { a, b, shift, votes })
            })
            .collect())
    }

    /// By two items, the fragments they share.
    fn shared(
        &self,
        search: &FragmentSearch,
        kernel: Kernel,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Shared, PairsError> {
        let found =
            AllPairs::new(search.radius).kernel(kernel).progress(progress).run(&self.prints)?;
        let common = self.common(search, &found);
        let mut shared = Shared::new();
        let mut add = |one: u32, two: u32| {
            let (a, b) = (self.items[one as usize], self.items[two as usize]);
            // Fragments are numbered by item, so that `a` is the earlier one.
            if a != b && !common[one as usize] && !common[two as usize] {
                shared.entry((a, b)).or_default().push((one, two));
            }
        };
        let groups: BTreeMap<u32, &[u32]> =
            found.equal_groups().map(|group| (group[0], group)).collect();
        for group in groups.values().filter(|group| !common[group[0] as usize]) {
            for (at, &one) in group.iter().enumerate() {
                group[at + 1..].iter().for_each(|&two| add(one, two));
            }
        }
        for pair in found.near() {
            let (one, two) = ([pair.a], [pair.b]);
            let ones = groups.get(&pair.a).copied().unwrap_or(&one);
            let twos = groups.get(&pair.b).copied().unwrap_or(&two);
            for &one in ones {
                twos.iter().for_each(|&two| add(one.min(two), one.max(two)));
            }
        }
        Ok(shared)
    }

    /// By fragment, whether too many items have it.
    fn common(&self, search: &FragmentSearch, found: &crate::Pairs) -> Vec<bool> {
        let mut like = vec![0_u32; self.len()];
        let mut size = vec![1_u32; self.len()];
        for group in found.equal_groups() {
            let count = group.len() as u32;
            group.iter().for_each(|&one| {
                like[one as usize] += count - 1;
                size[one as usize] = count;
            });
        }
        for pair in found.near() {
            like[pair.a as usize] += size[pair.b as usize];
            like[pair.b as usize] += size[pair.a as usize];
        }
        let mut common: Vec<bool> = like.iter().map(|&count| count > search.common).collect();
        for group in found.equal_groups() {
            let first = common[group[0] as usize];
            group.iter().for_each(|&one| common[one as usize] = first);
        }
        common
    }
}

impl FragmentSearch {
    /// The shift that most of these matches agree on, and how many do, if they are enough.
    fn vote(&self, matches: &[(Place, Place)]) -> Option<(Shift, u32)> {
        let mut best: Option<(Vec<(Place, Place)>, usize)> = None;
        for hypothesis in matches {
            let agreeing: Vec<_> =
                matches.iter().filter(|other| self.agree(hypothesis, other)).copied().collect();
            let count = distinct(&agreeing, self.tolerance);
            if best.as_ref().is_none_or(|best| count > best.1) {
                best = Some((agreeing, count));
            }
        }
        let (agreeing, votes) = best?;
        if votes < self.votes as usize {
            return None;
        }
        Some((Shift::fit(&agreeing)?, votes as u32))
    }

    /// Whether a second match follows from the scale and the place of the first.
    fn agree(&self, one: &(Place, Place), two: &(Place, Place)) -> bool {
        let grown = one.1.scale - one.0.scale;
        if (two.1.scale - two.0.scale - grown).abs() > self.scale_tolerance {
            return false;
        }
        let factor = grown.exp2();
        let x = one.1.x + factor * (two.0.x - one.0.x);
        let y = one.1.y + factor * (two.0.y - one.0.y);
        // The farther away, the more a small error of the scale moves a place.
        let distance = factor * (two.0.x - one.0.x).hypot(two.0.y - one.0.y);
        (two.1.x - x).hypot(two.1.y - y) <= self.tolerance + 0.15 * distance
    }
}

/// How many of these matches stand in different places of both items.
fn distinct(matches: &[(Place, Place)], tolerance: f32) -> usize {
    let near = |a: Place, b: Place| (a.x - b.x).hypot(a.y - b.y) < tolerance;
    let mut kept: Vec<(Place, Place)> = Vec::new();
    for &(a, b) in matches {
        if !kept.iter().any(|&(c, d)| near(a, c) || near(b, d)) {
            kept.push((a, b));
        }
    }
    kept.len()
}
