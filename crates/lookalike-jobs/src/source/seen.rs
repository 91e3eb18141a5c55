//! How was each file when it was read? What acting on files needs to know of them later.

use std::path::{Path, PathBuf};

use lookalike::hash;

use super::{
    Bad, Rows,
    origin::{Origin, Place},
    reader,
    stamp::Stamp,
};
use crate::args::Format;

/// What a file said, in 128 bits: enough to see that it says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub [u64; 2]);

/// One file that is an item, as it was when it was read.
pub struct Seen {
    pub input: usize,
    pub stamp: Stamp,
    pub digest: Digest,
}

/// The same, with all its names.
#[derive(Clone, Copy)]
pub struct SeenFile<'a> {
    pub path: &'a Path,
    /// Where it was found in the folder that was given.
    pub relative: &'a Path,
    /// Other names of the same file that were found.
    pub links: &'a [PathBuf],
    pub stamp: Stamp,
    pub digest: Digest,
}

impl Digest {
    pub fn of(content: &[u8]) -> Self {
        Self(hash::content(content))
    }

    /// What a file says now, byte by byte.
    pub fn of_file(path: &Path) -> std::io::Result<Self> {
        Ok(Self::of(&std::fs::read(path)?))
    }

    /// What a file says now, read as it was read when it became an item.
    pub fn of_text(path: &Path) -> Result<Self, Bad> {
        let content = reader::read_text(&Origin::file(path, None), &super::path_text(path))?;
        Ok(Self::of(&content))
    }
}

impl Rows {
    /// The first input that is no file of its own, if there is one: it holds rows, or is a stream.
    pub fn no_file(&self) -> Option<&str> {
        let is_file = |format, origin: &Origin| {
            format == Format::Text && matches!(origin.place, Place::File(_))
        };
        let other = self.inputs.iter().find(|input| !is_file(input.format, &input.origin));
        other.map(|input| input.name.as_str())
    }

    /// The file that is this item. There is one for every item if all inputs are files, they were
    /// to be watched, and have been read.
    pub fn seen(&self, item: u32) -> Option<SeenFile<'_>> {
        let seen = self.seen.get(item as usize)?;
        let input = &self.inputs[seen.input];
        let Place::File(path) = &input.origin.place else { return None };
        Some(SeenFile {
            path,
            relative: &input.relative,
            links: &input.links,
            stamp: seen.stamp,
            digest: seen.digest,
        })
    }
}
