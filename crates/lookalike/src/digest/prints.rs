//! The column of fingerprints, of any width.

use crate::{
    Fingerprint, Resources, Width,
    pairs::{PairsError, StoredPrints},
};

/// Fingerprints of one width; those of an item are consecutive.
pub(crate) enum PrintColumn {
    W1(StoredPrints<1>),
    W2(StoredPrints<2>),
    W4(StoredPrints<4>),
}

/// Evaluates code for a column of any width, in which `$prints` has the type of that width. Searches
/// choose their width only here.
macro_rules! with_prints {
    ($column:expr, |$prints:ident| $body:expr) => {
        match $column {
            $crate::digest::PrintColumn::W1($prints) => $body,
            $crate::digest::PrintColumn::W2($prints) => $body,
            $crate::digest::PrintColumn::W4($prints) => $body,
        }
    };
}
pub(crate) use with_prints;

impl PrintColumn {
    pub fn new(width: Width) -> Self {
        match width {
            Width::Bits32 | Width::Bits64 => Self::W1(StoredPrints::default()),
            Width::Bits128 => Self::W2(StoredPrints::default()),
            Width::Bits256 => Self::W4(StoredPrints::default()),
        }
    }

    /// The number of words of a fingerprint.
    pub fn words(&self) -> usize {
        match self {
            Self::W1(_) => 1,
            Self::W2(_) => 2,
            Self::W4(_) => 4,
        }
    }

    /// Adds fingerprints, which stay in memory.
    pub fn push(&mut self, prints: &[Fingerprint<4>]) {
        with_prints!(self, |held| prints.iter().for_each(|print| held.keep(print.resize())));
    }

    /// Adds fingerprints, which go to a temporary file beyond the memory limit.
    pub fn push_bare<const WORDS: usize>(
        &mut self,
        prints: &[Fingerprint<WORDS>],
        resources: &Resources<'_>,
    ) -> Result<(), PairsError> {
        let fits = WORDS == self.words();
        with_prints!(self, |held| {
            if fits {
                return held.push(bytemuck::cast_slice(prints), resources);
            }
            let prints: Vec<_> = prints.iter().map(|print| print.resize()).collect();
            held.push(&prints, resources)
        })
    }

    /// The words of all fingerprints; none if they are in a file.
    pub fn all_words(&self) -> &[u64] {
        with_prints!(self, |held| bytemuck::cast_slice(held.in_memory().unwrap_or_default()))
    }
}
