//! The command line options.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

/// Compares lookalike with its peers and prints one table of ratios.
#[derive(Parser)]
pub struct Options {
    /// Only rows whose name contains this; repeat for several (see --list).
    #[arg(long, value_name = "ROW")]
    pub only: Vec<String>,

    /// Only list the rows.
    #[arg(long)]
    pub list: bool,

    /// A tenth of every size and no large rows: checks that everything works, not how fast it is.
    #[arg(long)]
    pub quick: bool,

    /// Divide every size by this.
    #[arg(long, value_name = "N")]
    pub divide: Option<u64>,

    /// Run the row with a billion items (true) or not (false); by default if 20 GiB of memory are free.
    #[arg(long)]
    pub billion: Option<bool>,

    /// Folder of .jsonl or .jsonl.xz files with a "text" field, for the row on real text.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,

    /// Write the machine and the table here.
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,

    /// The peers, built for this processor.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("target/peers/release/lookalike-bench-peers"))]
    pub peers: PathBuf,

    /// The peers as their users build them.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("target/usual-peers/release/lookalike-bench-peers"))]
    pub usual_peers: PathBuf,

    /// A Python that can import faiss and numpy.
    #[arg(long, value_name = "FILE", default_value_os_t = beside(".venv/bin/python"))]
    pub python: PathBuf,

    #[command(subcommand)]
    pub child: Option<Child>,
}

impl Options {
    /// A size of the full benchmark, scaled for this run.
    pub fn size(&self, full: u64) -> u64 {
        let divisor = self.divide.unwrap_or(if self.quick { 10 } else { 1 });
        (full / divisor).max(100)
    }

    /// Whether sizes are those of the targets.
    pub fn is_full(&self) -> bool {
        !self.quick && self.divide.is_none()
    }
}

/// Work in a separate process, to measure its peak memory.
#[derive(Subcommand)]
pub enum Child {
    /// All pairs of synthetic fingerprints; prints a report as one JSON line.
    AllPairs {
        #[arg(long)]
        items: u64,
        #[arg(long)]
        threads: usize,
    },
}

/// A path beside this package's manifest.
pub fn beside(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
