//! How are candidates found, and what will that cost?

use std::fmt;

use super::{Candidates, How, TextSearch, scanned::Window, store::Store};
use crate::{AllPairs, PairsError, Verify, keys::Keys, verify::Measure};

/// How candidates are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Exactly, by a cover of the bits.
    Join,
    /// Exactly, by comparing each with each.
    Scan,
    /// By keys, with a known recall.
    Keys(Keys),
}

/// 42 bands of 3 find 99.6 % of what is similar by half, and 98.6 % at .46.
const KEYS: Keys = Keys { bands: 42, rows: 3 };

/// Nanoseconds of one core that missing nothing is worth.
const EXACT_IS_WORTH: f64 = 20e9;

/// How many entries stand for all of them.
const SAMPLE: usize = 1500;

impl Way {
    /// The way that was asked for, or the cheapest.
    pub fn choose<const WORDS: usize>(
        search: &TextSearch,
        verify: Verify,
        store: &Store<WORDS>,
    ) -> Result<Self, PairsError> {
        let has_keys = verify.measure != Measure::Containment;
        if search.candidates == Candidates::Keys && has_keys {
            return Ok(Self::Keys(KEYS));
        }
        if !AllPairs::new(search.radius).scans(&store.prints)? {
            return Ok(Self::Join);
        }
        let keys = Self::Keys(KEYS);
        let scan = scan_price(search, verify, store);
        let by_keys = search.candidates == Candidates::Cheapest
            && has_keys
            && scan > EXACT_IS_WORTH
            && scan > keys_price(&KEYS, store);
        Ok(if by_keys { keys } else { Self::Scan })
    }

    /// Begins to count what was found this way.
    pub fn tally(&self) -> Tally<'_> {
        let keys = match self {
            Self::Join | Self::Scan => None,
            Self::Keys(keys) => Some(keys),
        };
        Tally { keys, found: 0, expected: 0.0 }
    }
}

/// How many pairs were found, and how many there should be.
pub(super) struct Tally<'a> {
    keys: Option<&'a Keys>,
    found: u64,
    expected: f64,
}

impl Tally<'_> {
    /// Each found pair stands for as many as it takes to find one of its similarity.
    pub fn add(&mut self, similarity: Option<f32>) {
        if let Some(keys) = self.keys {
            self.found += 1;
            self.expected += 1.0 / keys.recall(similarity.unwrap_or(1.0).into());
        }
    }

    /// Whether some may be missing.
    pub fn how(&self) -> How {
        match self.keys {
            None => How::Exact,
            Some(_) if self.found == 0 => How::Recall(1.0),
            Some(_) => How::Recall(self.found as f64 / self.expected),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join => f.write_str("cover of the bits"),
            Self::Scan => f.write_str("exhaustive scan"),
            Self::Keys(Keys { bands, rows }) => write!(f, "{bands} keys of {rows} least features"),
        }
    }
}

/// Nanoseconds of one core to compare each with each, and to look closer at what is near.
fn scan_price<const WORDS: usize>(
    search: &TextSearch,
    verify: Verify,
    store: &Store<WORDS>,
) -> f64 {
    const COMPARE: f64 = 0.2;
    const CANDIDATE: f64 = 12.0;
    let window = Window::new(verify, &store.weights);
    let step = (window.order.len() / SAMPLE).max(1);
    let places: Vec<usize> = (0..window.order.len()).step_by(step).collect();
    let (mut looked, mut near) = (0u64, 0u64);
    let print = |place: usize| &store.prints[window.order[place] as usize];
    for (rank, &place) in places.iter().enumerate() {
        let others = places[rank + 1..].iter();
        for &other in others.take_while(|&&other| other < window.ends[place] as usize) {
            looked += 1;
            near += u64::from(search.radius.contains(print(place).distance(print(other))));
        }
    }
    let share = near as f64 / looked.max(1) as f64;
    window.compares() as f64 * (COMPARE * WORDS as f64 + CANDIDATE * share)
}

/// Nanoseconds of one core to make keys, to sort by them, and to look at buckets.
fn keys_price<const WORDS: usize>(keys: &Keys, store: &Store<WORDS>) -> f64 {
    const FEATURE: f64 = 0.1;
    const ENTRY: f64 = 120.0;
    let orders = (keys.bands * keys.rows) as f64;
    let made = store.sets.features() as f64 * orders * FEATURE;
    made + (store.prints.len() * keys.bands) as f64 * ENTRY
}
