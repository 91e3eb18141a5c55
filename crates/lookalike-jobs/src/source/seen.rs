//! The state of each file when it was read, which is checked again before acting on it.

use std::path::{Path, PathBuf};

use lookalike::hash;

use super::{
    Bad, Rows,
    origin::{Origin, Source},
    reader,
    stamp::Stamp,
};
use crate::args::Format;

/// A 128-bit hash of a file's content, to detect changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u64; 2]);

/// The state of an item's file when it was read.
pub struct Seen {
    pub input: usize,
    pub stamp: Stamp,
    pub content: ContentHash,
}

/// A file with all its names, in its state when it was read.
#[derive(Clone, Copy)]
pub struct SeenFile<'a> {
    pub path: &'a Path,
    /// Its path within the searched folder.
    pub relative: &'a Path,
    /// Other names of the same file.
    pub links: &'a [PathBuf],
    pub stamp: Stamp,
    pub content: ContentHash,
}

impl ContentHash {
    pub fn of(content: &[u8]) -> Self {
        Self(hash::content(content))
    }

    /// The hash of a file's present bytes.
    pub fn of_file(path: &Path) -> std::io::Result<Self> {
        Ok(Self::of(&std::fs::read(path)?))
    }

    /// The hash of a text file's present content, after decompression.
    pub fn of_text(path: &Path) -> Result<Self, Bad> {
        let content = reader::read_text(&Origin::file(path, None), &super::path_text(path))?;
        Ok(Self::of(&content))
    }
}

impl Rows {
    /// The name of the first input that contains rows or is a stream, so that its items are not files.
    pub fn no_file(&self) -> Option<&str> {
        let is_file = |format, origin: &Origin| {
            format == Format::Text && matches!(origin.source, Source::File(_))
        };
        let other = self.inputs.iter().find(|input| !is_file(input.format, &input.origin));
        other.map(|input| input.name.as_str())
    }

    /// The file of this item. Every item has one if all inputs are files and have been read with
    /// [`watch`](super::RowOptions::watch).
    pub fn seen(&self, item: u32) -> Option<SeenFile<'_>> {
        let seen = self.seen.get(item as usize)?;
        let input = &self.inputs[seen.input];
        let Source::File(path) = &input.origin.source else { return None };
        Some(SeenFile {
            path,
            relative: &input.relative,
            links: &input.links,
            stamp: seen.stamp,
            content: seen.content,
        })
    }
}
