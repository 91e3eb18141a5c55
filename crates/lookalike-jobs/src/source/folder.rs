//! Walks folders. Files are listed in the order of their paths, without hidden files, and each file
//! only once even if it has several names.

use std::{
    collections::HashMap,
    fs::Metadata,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use walkdir::{DirEntry, WalkDir};

use super::{
    Bad, Skipped,
    path::path_text,
    stamp::{FileId, Stamp},
};
use crate::report::{counted, grouped};

/// Walks folders one after another.
#[derive(Default)]
pub struct Walk {
    /// Whether symbolic links are followed; otherwise they are ignored.
    follow: bool,
    /// All files listed so far, with their position in the list.
    seen: HashMap<FileId, usize>,
    ignored: Ignored,
}

/// The files of one folder.
#[derive(Default)]
pub struct Walked {
    /// The position of the first file in the list.
    first: usize,
    pub files: Vec<PathBuf>,
    /// The metadata of each file.
    pub metadata: Vec<Metadata>,
    /// Further names of listed files: the position of the file in the list, and the name.
    pub links: Vec<(usize, PathBuf)>,
}

/// How many entries of a folder were ignored.
#[derive(Default)]
struct Ignored {
    hidden: u64,
    hard_links: u64,
    symbolic_links: u64,
    /// Pipes, sockets and devices: reading them might never end.
    special: u64,
}

impl Walk {
    pub fn new(follow: bool) -> Self {
        Self { follow, ..Self::default() }
    }

    /// Lists a file at this position, or returns the position where it is listed already.
    pub fn list(&mut self, file: Option<FileId>, position: usize) -> Option<usize> {
        let first = *self.seen.entry(file?).or_insert(position);
        (first != position).then_some(first)
    }

    /// Walks a folder, whose files are listed from position `first`. What cannot be opened is skipped,
    /// as are links that lead back to a folder above.
    pub fn folder(
        &mut self,
        folder: &Path,
        first: usize,
        skipped: &mut Skipped,
    ) -> anyhow::Result<Walked> {
        let entries = self.entries(folder, skipped)?;
        // Reading metadata takes far longer than listing names.
        let metadata: Vec<_> = entries.par_iter().map(DirEntry::metadata).collect();
        let mut walked = Walked { first, ..Walked::default() };
        for (entry, metadata) in entries.into_iter().zip(metadata) {
            match metadata {
                Ok(metadata) => self.add(entry, metadata, &mut walked),
                Err(error) => skipped.add(refused(&error, entry.path()))?,
            }
        }
        Ok(walked)
    }

    /// All files in a folder that may be items.
    fn entries(&mut self, folder: &Path, skipped: &mut Skipped) -> anyhow::Result<Vec<DirEntry>> {
        let mut found = Vec::new();
        self.ignored = Ignored::default();
        let walk = WalkDir::new(folder).follow_links(self.follow).sort_by_file_name();
        let mut entries = walk.into_iter();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    skipped.add(refused(&error, folder))?;
                    continue;
                }
            };
            if entry.depth() > 0 && is_hidden(&entry) {
                self.ignored.hidden += 1;
                if entry.file_type().is_dir() {
                    entries.skip_current_dir();
                }
            } else if entry.file_type().is_file() {
                found.push(entry);
            } else if entry.file_type().is_symlink() {
                self.ignored.symbolic_links += 1;
            } else if !entry.file_type().is_dir() {
                self.ignored.special += 1;
            }
        }
        Ok(found)
    }

    fn add(&mut self, entry: DirEntry, metadata: Metadata, walked: &mut Walked) {
        match self.list(Stamp::of(&metadata).file, walked.first + walked.files.len()) {
            None => {
                walked.files.push(entry.into_path());
                walked.metadata.push(metadata);
            }
            Some(first) => {
                self.ignored.hard_links += 1;
                walked.links.push((first, entry.into_path()));
            }
        }
    }

    /// A list of what was ignored in the last folder, for messages.
    pub fn note(&self) -> Option<String> {
        let Ignored { hidden, hard_links, symbolic_links, special } = self.ignored;
        let counts: Vec<_> = [
            (hidden, format!("{} hidden", grouped(hidden))),
            (symbolic_links, counted(symbolic_links, "symbolic link")),
            (special, counted(special, "special file")),
            (hard_links, format!("{} to files already listed", counted(hard_links, "hard link"))),
        ]
        .into_iter()
        .filter_map(|(number, count)| (number > 0).then_some(count))
        .collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }
}

/// Checks the first byte, because a name need not be UTF-8.
fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// The message for an entry that cannot be read.
fn refused(error: &walkdir::Error, folder: &Path) -> Bad {
    let name = path_text(error.path().unwrap_or(folder));
    match (error.loop_ancestor(), error.io_error()) {
        (Some(ancestor), _) => {
            Bad::input(&name, format!("is a link that leads back to {}", path_text(ancestor)))
        }
        (None, Some(cause)) => Bad::input(&name, format!("cannot be opened: {cause}")),
        (None, None) => Bad::input(&name, "cannot be opened"),
    }
}

/// Up to `limit` files of a folder in the order of [`Walk`], to detect what it contains.
pub fn first_files(folder: &Path, limit: usize) -> Vec<PathBuf> {
    let is_shown = |entry: &DirEntry| entry.depth() == 0 || !is_hidden(entry);
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    let files =
        entries.filter_entry(is_shown).flatten().filter(|entry| entry.file_type().is_file());
    files.take(limit).map(DirEntry::into_path).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn walked(folder: &Path) -> (Walked, Option<String>) {
        let mut walk = Walk::new(false);
        let walked = walk.folder(folder, 0, &mut Skipped::unless(true)).unwrap();
        (walked, walk.note())
    }

    #[test]
    fn lists_files_in_path_order_and_counts_hidden_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b", "a/x", ".git/y"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        for name in ["c.txt", "b/2", "b/1", "a/x/z", ".hidden", ".git/config", ".git/y/z"] {
            fs::write(path(name), name).unwrap();
        }
        let (walked, note) = walked(folder.path());
        assert_eq!(walked.files, ["a/x/z", "b/1", "b/2", "c.txt"].map(path));
        assert_eq!(note.as_deref(), Some("2 hidden"));
    }

    #[test]
    #[cfg(unix)]
    fn lists_a_file_with_several_names_once_over_all_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("a/1"), "one").unwrap();
        fs::write(path("a/2"), "one").unwrap();
        fs::hard_link(path("a/2"), path("a/3")).unwrap();
        fs::hard_link(path("a/1"), path("b/4")).unwrap();
        let mut walk = Walk::new(false);
        let mut skipped = Skipped::unless(true);
        let first = walk.folder(&path("a"), 0, &mut skipped).unwrap();
        assert_eq!(
            (first.files, first.links),
            (["a/1", "a/2"].map(path).to_vec(), vec![(1, path("a/3"))])
        );
        let note = walk.note().unwrap();
        assert_eq!(note, "1 hard link to files already listed");
        let second = walk.folder(&path("b"), 2, &mut skipped).unwrap();
        assert_eq!((second.files, second.links), (vec![], vec![(0, path("b/4"))]));
    }

    #[test]
    #[cfg(unix)]
    fn follows_links_only_if_asked_and_stops_at_cycles() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("in")).unwrap();
        fs::write(path("in/file"), "one").unwrap();
        std::os::unix::fs::symlink("..", path("in/up")).unwrap();
        std::os::unix::fs::symlink("in/file", path("twin")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("void")).unwrap();
        let (plain, note) = walked(folder.path());
        assert_eq!(plain.files, [path("in/file")]);
        assert_eq!(note.as_deref(), Some("3 symbolic links"));
        let mut walk = Walk::new(true);
        let mut skipped = Skipped::unless(false);
        let followed = walk.folder(folder.path(), 0, &mut skipped).unwrap();
        assert_eq!(followed.files, [path("in/file")]);
        assert_eq!(followed.links, [(0, path("twin"))]);
        let lines: Vec<_> = skipped.lines().collect();
        assert!(lines[0].contains("in/up: is a link that leads back to"), "{lines:?}");
        assert!(lines[1].contains("void: cannot be opened"), "{lines:?}");
    }
}
