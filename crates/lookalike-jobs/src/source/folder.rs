//! Which files are in a folder? All of them and of the folders inside, in the order of their
//! paths, but no hidden ones, and each file once, whatever it is called.

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

/// Walks folders, one after the other.
#[derive(Default)]
pub struct Walk {
    /// Whether symbolic links are followed; else they are left out.
    follow: bool,
    /// Everything listed so far, by its place in the list.
    seen: HashMap<FileId, usize>,
    left_out: LeftOut,
}

/// What a walk found in one folder.
#[derive(Default)]
pub struct Walked {
    place: usize,
    pub files: Vec<PathBuf>,
    /// What the file system says of each of them.
    pub facts: Vec<Metadata>,
    /// More names of files listed here or before: the place of the file in the list, and the name.
    pub links: Vec<(usize, PathBuf)>,
}

/// What was seen in a folder and is no item.
#[derive(Default)]
struct LeftOut {
    hidden: u64,
    hard_links: u64,
    symbolic_links: u64,
    /// Pipes, sockets, devices: reading one might never end.
    special: u64,
}

impl Walk {
    pub fn new(follow: bool) -> Self {
        Self { follow, ..Self::default() }
    }

    /// Lists a file at this place; or tells the place where it is listed already.
    pub fn list(&mut self, file: Option<FileId>, place: usize) -> Option<usize> {
        let first = *self.seen.entry(file?).or_insert(place);
        (first != place).then_some(first)
    }

    /// Walks a folder; its files are listed from this place on. What cannot be opened is skipped, and
    /// circles of links end.
    pub fn folder(
        &mut self,
        folder: &Path,
        place: usize,
        skipped: &mut Skipped,
    ) -> anyhow::Result<Walked> {
        let found = self.names(folder, skipped)?;
        // To ask for the facts of a file takes far longer than to list its name.
        let facts: Vec<_> = found.par_iter().map(DirEntry::metadata).collect();
        let mut walked = Walked { place, ..Walked::default() };
        for (entry, facts) in found.into_iter().zip(facts) {
            match facts {
                Ok(facts) => self.take(entry, facts, &mut walked),
                Err(error) => skipped.add(refused(&error, entry.path()))?,
            }
        }
        Ok(walked)
    }

    /// All files of a folder that may be items.
    fn names(&mut self, folder: &Path, skipped: &mut Skipped) -> anyhow::Result<Vec<DirEntry>> {
        let mut found = Vec::new();
        self.left_out = LeftOut::default();
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
                self.left_out.hidden += 1;
                if entry.file_type().is_dir() {
                    entries.skip_current_dir();
                }
            } else if entry.file_type().is_file() {
                found.push(entry);
            } else if entry.file_type().is_symlink() {
                self.left_out.symbolic_links += 1;
            } else if !entry.file_type().is_dir() {
                self.left_out.special += 1;
            }
        }
        Ok(found)
    }

    fn take(&mut self, entry: DirEntry, facts: Metadata, walked: &mut Walked) {
        match self.list(Stamp::of(&facts).file, walked.place + walked.files.len()) {
            None => {
                walked.files.push(entry.into_path());
                walked.facts.push(facts);
            }
            Some(first) => {
                self.left_out.hard_links += 1;
                walked.links.push((first, entry.into_path()));
            }
        }
    }

    /// What was left out of the folder last walked, in words.
    pub fn note(&self) -> Option<String> {
        let LeftOut { hidden, hard_links, symbolic_links, special } = self.left_out;
        let words: Vec<_> = [
            (hidden, format!("{} hidden", grouped(hidden))),
            (symbolic_links, counted(symbolic_links, "symbolic link")),
            (special, counted(special, "special file")),
            (hard_links, format!("{} of files listed already", counted(hard_links, "hard link"))),
        ]
        .into_iter()
        .filter_map(|(number, words)| (number > 0).then_some(words))
        .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// By its first byte: a name need not be text.
fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// Why something cannot be looked at, and its name.
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

/// The first files of a folder, at most so many, in the order of [`Walk`]: enough to tell what it
/// holds.
pub fn first_files(folder: &Path, most: usize) -> Vec<PathBuf> {
    let is_shown = |entry: &DirEntry| entry.depth() == 0 || !is_hidden(entry);
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    let files =
        entries.filter_entry(is_shown).flatten().filter(|entry| entry.file_type().is_file());
    files.take(most).map(DirEntry::into_path).collect()
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
    fn files_come_in_the_order_of_their_paths_and_hidden_ones_are_counted() {
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
    fn a_file_with_two_names_is_listed_once_over_all_folders() {
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
        assert_eq!(note, "1 hard link of files listed already");
        let second = walk.folder(&path("b"), 2, &mut skipped).unwrap();
        assert_eq!((second.files, second.links), (vec![], vec![(0, path("b/4"))]));
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_only_if_asked_and_circles_end() {
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
