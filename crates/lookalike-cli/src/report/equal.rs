//! Which pairs are listed when many items are equal?

use anyhow::Result;
use lookalike::AlikePairs;

use super::{counted, grouped};
use crate::args::Equal;

/// Groups of more equal items than this are not spread unless asked for.
const LARGEST_SPREAD: usize = 10_000;

/// Which groups of equal items are spread: listed with every pair.
#[derive(Clone, Copy)]
pub struct EqualPolicy {
    /// Of larger groups, all are listed with the first only.
    pub largest_spread: usize,
}

impl From<Equal> for EqualPolicy {
    fn from(equal: Equal) -> Self {
        let largest_spread = match equal {
            Equal::All => usize::MAX,
            Equal::First => 0,
            Equal::Auto => LARGEST_SPREAD,
        };
        Self { largest_spread }
    }
}

impl EqualPolicy {
    /// What the user should know about pairs that are held back without being asked for.
    pub fn note(self, pairs: &AlikePairs) -> Result<Option<String>> {
        let large = pairs.equal_groups().filter(|group| group.len() > self.largest_spread);
        let (groups, items) =
            large.fold((0, 0), |(groups, items), group| (groups + 1, items + group.len() as u64));
        if self.largest_spread != LARGEST_SPREAD || groups == 0 {
            return Ok(None);
        }
        Ok(Some(format!(
            "note: {} in {} of more than {} equal ones are listed only with the \
             first of their group; --equal all lists every pair ({})",
            counted(items, "item"),
            counted(groups, "group"),
            grouped(LARGEST_SPREAD as u64),
            grouped(pairs.count()?),
        )))
    }
}
