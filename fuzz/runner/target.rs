//! The fuzz targets: every input format, with its entry point in `lookalike_jobs::fuzz`.

use lookalike_jobs::fuzz;

use crate::{collection, repair, seeds};

/// A format: its entry point and its seeds.
pub struct Target {
    pub name: &'static str,
    pub entry: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Repairs the checksums of a mutated input.
    pub repair: Option<fn(&mut [u8])>,
    /// Whether panics of third-party code are caught below the entry point.
    pub is_guarded: bool,
}

const fn target(name: &'static str, entry: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, entry, seeds, repair: None, is_guarded: false }
}

pub const TARGETS: &[Target] = &[
    target("jpeg", fuzz::image, seeds::jpeg::seeds),
    target("jpeg-large", fuzz::gray_image, seeds::jpeg::large),
    Target { repair: Some(repair::png), ..target("png", fuzz::image, seeds::images::png) },
    target("gif", fuzz::image, seeds::images::gif),
    target("webp", fuzz::image, seeds::images::webp),
    target("bmp", fuzz::image, seeds::images::bmp),
    target("tiff", fuzz::image, seeds::tiff::seeds),
    target("raw", fuzz::raw_image, seeds::raw::seeds),
    target("npy", fuzz::npy, seeds::tables::npy),
    target("hashes", fuzz::hashes, seeds::tables::hashes),
    target("csv", fuzz::csv, seeds::tables::csv),
    target("tsv", fuzz::tsv, seeds::tables::tsv),
    target("jsonl", fuzz::jsonl, seeds::tables::jsonl),
    Target { is_guarded: true, ..target("parquet", fuzz::parquet, seeds::tables::parquet) },
    target("warc", fuzz::warc, seeds::archives::warc),
    target("html", fuzz::html, seeds::archives::html),
    target("compressed", fuzz::lines, seeds::archives::compressed),
    Target { repair: Some(repair::model), ..target("model", fuzz::model, seeds::tables::model) },
    Target { is_guarded: true, ..target("collection", collection::entry, collection::seeds) },
];
