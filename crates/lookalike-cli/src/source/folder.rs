//! Which files are in a folder? All of them and of the folders inside, in the order of their
//! paths, but no hidden ones.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::{Bad, Skipped};

/// What a walk found.
#[derive(Default)]
pub struct Walked {
    /// Paths that start with the folder's.
    pub files: Vec<PathBuf>,
    /// Hidden files and folders that were left out.
    pub hidden: u64,
}

/// Walks a folder. What cannot be opened is skipped; links are followed, circles noticed.
pub fn walk(folder: &Path, skipped: &mut Skipped) -> anyhow::Result<Walked> {
    let mut walked = Walked::default();
    let mut entries = WalkDir::new(folder).follow_links(true).sort_by_file_name().into_iter();
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(folder).display().to_string();
                skipped.add(Bad::input(&path, format!("cannot be opened: {error}")))?;
                continue;
            }
        };
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.depth() > 0 && hidden {
            walked.hidden += 1;
            if entry.file_type().is_dir() {
                entries.skip_current_dir();
            }
        } else if entry.file_type().is_file() {
            walked.files.push(entry.into_path());
        }
    }
    Ok(walked)
}

/// The first files of a folder, at most so many, in the order of [`walk`]: enough to tell what it
/// holds.
pub fn first_files(folder: &Path, most: usize) -> Vec<PathBuf> {
    let is_shown = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.')
    };
    let entries = WalkDir::new(folder).follow_links(true).sort_by_file_name().into_iter();
    let files =
        entries.filter_entry(is_shown).flatten().filter(|entry| entry.file_type().is_file());
    files.take(most).map(walkdir::DirEntry::into_path).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        let walked = walk(folder.path(), &mut Skipped::unless(true)).unwrap();
        assert_eq!(walked.files, ["a/x/z", "b/1", "b/2", "c.txt"].map(path));
        assert_eq!(walked.hidden, 2);
    }
}
