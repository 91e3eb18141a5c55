//! The rows of the table, in its order; one file for each kind of work.

mod collection;
pub mod memory;
mod pairs;
mod queries;
mod scan;
mod skew;
mod sort;
mod texts;
mod votes;

use std::path::Path;

use anyhow::{Context, Result};
use lookalike_bench::turn::Turn;

use crate::{options::Options, table::Row};

/// A benchmark, with one or several rows of the table.
pub struct Work {
    /// The name for `--only`.
    pub name: &'static str,
    /// What it measures.
    pub about: &'static str,
    /// Measures it.
    pub run: fn(&Options) -> Result<Vec<Row>>,
}

/// All benchmarks. The largest come last, so that a failure costs little.
pub const ROWS: &[Work] = &[
    Work {
        name: "pairs-1m",
        about: "1M pairs, k=3, against all-pairs-hamming",
        run: pairs::million,
    },
    Work {
        name: "pairs-10m",
        about: "10M pairs, k=3, against all-pairs-hamming",
        run: pairs::ten_million,
    },
    Work { name: "sort-10m", about: "10M pairs, k=3, against sorting", run: sort::run },
    Work {
        name: "threads-10m",
        about: "10M pairs, k=3, two threads against one",
        run: pairs::threads,
    },
    Work {
        name: "radius6-1m",
        about: "1M pairs, k=6, against all-pairs-hamming",
        run: pairs::radius_six,
    },
    Work {
        name: "wide-1m",
        about: "1M pairs, 256 bit, k=31, against faiss flat",
        run: pairs::wide,
    },
    Work {
        name: "queries-10m",
        about: "10M, k=3, batch queries, against faiss MultiHash",
        run: queries::run,
    },
    Work { name: "gaoya-1m", about: "1M pairs, k=3, against gaoya", run: pairs::gaoya },
    Work { name: "skew-1m", about: "skewed fingerprints against random ones", run: skew::made },
    Work {
        name: "real-text",
        about: "fingerprints of real text against random ones",
        run: skew::text,
    },
    Work { name: "equal-1m", about: "equal fingerprints against random ones", run: skew::equal },
    Work { name: "scan-128", about: "exhaustive scan, 128 bit, k=32", run: scan::run },
    Work { name: "votes", about: "voting kernels against the plain loop", run: votes::run },
    Work { name: "texts", about: "texts to fingerprints, against gaoya", run: texts::run },
    Work {
        name: "collection-10m",
        about: "10M in a durable collection, k=3, against faiss MultiHash",
        run: collection::ten_million,
    },
    Work {
        name: "collection-wide",
        about: "1M in a collection, 256 bit, k=31, against faiss flat",
        run: collection::wide,
    },
    Work {
        name: "collection-texts",
        about: "1M texts in a collection, one query at a time, by keys",
        run: collection::texts,
    },
    Work {
        name: "dense",
        about: "many near-identical items, against graph indexes",
        run: collection::dense,
    },
    Work {
        name: "memory-100m",
        about: "100M pairs, k=3: peak memory",
        run: memory::hundred_million,
    },
    Work { name: "billion", about: "1G pairs, k=3, two threads", run: memory::billion },
];

/// `None` if both answers are equal, otherwise the difference.
fn disagreement(ours: Turn, theirs: Turn) -> Option<String> {
    (ours.answer != theirs.answer)
        .then(|| format!("answers differ: ours {:?}, theirs {:?}", ours.answer, theirs.answer))
}

/// A path as an argument of a peer.
fn argument(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{}: not a path in UTF-8", path.display()))
}
