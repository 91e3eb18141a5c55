//! Sets a file aside before it is acted on, so that neither another run nor a crash can lose it. One
//! rename moves it into a folder of this run, next to the file. Only then is its keeper checked. If
//! the keeper is missing or has changed, the file is put back.
//!
//! Two runs that each want to remove the other's keeper cannot both succeed. A run that finds a keeper
//! in place has already set its own file aside. The other run sets that keeper aside later, then looks
//! for its own keeper, does not find it and puts the file back. The same holds for any cycle of runs.
//! Only the folder is shared, so this holds between users and between machines on a network share.
//!
//! A run that is killed leaves the folder behind. The folder contains the file under its own name, so
//! the next acting run and `undo` can restore it.

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

use walkdir::WalkDir;

use super::files;
use crate::{
    report::{Partial, PartialName, Partials},
    source::path_text,
};

const PREFIX: &str = ".lookalike-";
const SUFFIX: &str = ".claim";

/// How often a folder is created again if another run removes it while it is still empty.
const TRIES: usize = 8;

/// Sets files aside for one run. The last folder is kept for the next file, because creating and
/// removing a folder costs far more than renaming a file.
pub struct Claims<'p> {
    id: String,
    partials: &'p Partials,
    last: Option<Rc<Folder>>,
}

/// A file that is set aside.
pub struct Claim {
    file: PathBuf,
    home: PathBuf,
    _folder: Rc<Folder>,
    _held: Partial,
}

/// A folder for files that are set aside. It is removed with the last of them.
struct Folder {
    path: PathBuf,
    /// Locked while this run is alive, where folders can be locked.
    _alive: Option<File>,
    _held: Partial,
}

/// What happened to a file that a stopped run had set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// It was moved back.
    MovedBack,
    /// The same content already exists at its path, so the copy was removed.
    AlreadyInPlace,
    /// Another file has its name, so it stays where it is.
    NameTaken,
}

/// A file of a stopped run, and what happened to it.
pub struct Recovered {
    pub claimed: PathBuf,
    pub home: PathBuf,
    pub result: io::Result<Restored>,
}

impl<'p> Claims<'p> {
    pub fn new(id: &str, partials: &'p Partials) -> Self {
        Self { id: id.to_owned(), partials, last: None }
    }

    /// The name of a file of this run until it is complete.
    pub fn partial(&self, number: u64) -> PartialName<'p> {
        let name = format!(".lookalike-{}-{number}.partial", self.id);
        PartialName { partials: self.partials, name }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sets a file aside.
    pub fn take(&mut self, home: &Path) -> io::Result<Claim> {
        match self.folder_for(home)?.take(home, self.partials) {
            // Where folders cannot be locked, another run may have removed the empty folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound && files::exists(home) => {
                self.last = None;
                self.folder_for(home)?.take(home, self.partials)
            }
            taken => taken,
        }
    }

    fn folder_for(&mut self, home: &Path) -> io::Result<Rc<Folder>> {
        let path = folder_beside(home, &self.id);
        if let Some(last) = self.last.as_ref().filter(|last| last.path == path) {
            return Ok(Rc::clone(last));
        }
        self.last = None;
        let folder = Rc::new(Folder::open(path, self.partials)?);
        self.last = Some(Rc::clone(&folder));
        Ok(folder)
    }
}

impl Folder {
    fn open(path: PathBuf, partials: &Partials) -> io::Result<Self> {
        let (alive, held) = partials.folder(|| create_and_lock(&path), &path)?;
        Ok(Self { path, _alive: alive, _held: held })
    }

    fn take(self: Rc<Self>, home: &Path, partials: &Partials) -> io::Result<Claim> {
        let file = self.path.join(home.file_name().unwrap_or_default());
        // Only this run writes to this folder, so the check and the rename do not race.
        if files::exists(&file) {
            return Err(io::Error::other(format!("{} already exists", file.display())));
        }
        let held = partials.aside(home, &file)?;
        Ok(Claim { file, home: home.to_owned(), _folder: self, _held: held })
    }
}

impl Claim {
    /// Where it is now.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Puts the file back, unless its name is taken by now. Returns the reason, followed by the
    /// present path of the file if it cannot be put back.
    pub fn restore(self, reason: String) -> String {
        match files::rename_new(&self.file, &self.home) {
            // Where folders cannot be locked, another run may have put it back.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                format!("{reason}; the file is now {}: {error}", path_text(&self.file))
            }
            _ => reason,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is not empty stays.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The folder for files that this run sets aside.
fn folder_beside(file: &Path, id: &str) -> PathBuf {
    files::folder_of(file).join(format!("{PREFIX}{id}{SUFFIX}"))
}

/// Creates and locks the folder of this run. The lock shows other runs that this one is alive. Where
/// folders cannot be locked, another run may restore a file in use; that file is then left unchanged.
fn create_and_lock(folder: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let Ok(handle) = File::open(folder) else {
            if cfg!(windows) {
                return Ok(None);
            }
            continue;
        };
        if handle.lock().is_err() {
            return Ok(None);
        }
        if is_same_file(&handle, folder) {
            return Ok(Some(handle));
        }
    }
    Err(io::Error::other(format!(
        "{} was removed by another process {TRIES} times in a row",
        folder.display()
    )))
}

/// Whether the opened file still has this path.
fn is_same_file(handle: &File, path: &Path) -> bool {
    let [opened, named] = [handle.metadata(), path.symlink_metadata()]
        .map(|data| data.ok().map(|data| crate::source::Stamp::of(&data).file));
    named.is_some() && opened == named
}

/// The file that this run set aside and did not put back, if any.
pub fn left_behind(home: &Path, id: &str) -> Option<PathBuf> {
    let file = folder_beside(home, id).join(home.file_name()?);
    files::exists(&file).then_some(file)
}

/// Removes the folder in which this run set files aside, if it is empty.
pub fn remove_empty_folder(home: &Path, id: &str) {
    let _ = fs::remove_dir(folder_beside(home, id));
}

/// Moves a file that was set aside back to its path. If the same content is already there, the action
/// was almost complete, and the file is removed.
pub fn restore(claimed: &Path, home: &Path) -> io::Result<Restored> {
    match files::rename_new(claimed, home) {
        Ok(()) => Ok(Restored::MovedBack),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if files::stamp(home).is_ok() && files::same_content(claimed, home)? {
                fs::remove_file(claimed)?;
                return Ok(Restored::AlreadyInPlace);
            }
            Ok(Restored::NameTaken)
        }
        Err(error) => Err(error),
    }
}

/// Restores what stopped runs had set aside in these folders and in the folders of these files. Files
/// that a live run has set aside are left alone.
pub fn recover(trees: &[PathBuf], follow_links: bool) -> Vec<Recovered> {
    let mut recovered = Vec::new();
    let (folders, files): (Vec<&Path>, Vec<&Path>) =
        trees.iter().map(PathBuf::as_path).partition(|tree| tree.is_dir());
    for folder in folders {
        let mut entries = WalkDir::new(folder).follow_links(follow_links).into_iter();
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else { continue };
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if entry.depth() > 0 && is_hidden && entry.file_type().is_dir() {
                entries.skip_current_dir();
                recover_folder(entry.path(), &mut recovered);
            }
        }
    }
    // Many files may share a folder.
    let parents: BTreeSet<_> = files.into_iter().map(files::folder_of).collect();
    let entries = parents.into_iter().filter_map(|folder| folder.read_dir().ok()).flatten();
    for entry in entries.flatten() {
        recover_folder(&entry.path(), &mut recovered);
    }
    recovered
}

/// Ignores folders that do not belong to a stopped run.
fn recover_folder(folder: &Path, recovered: &mut Vec<Recovered>) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    if !is_ours || !folder.symlink_metadata().is_ok_and(|data| data.is_dir()) {
        return;
    }
    let handle = File::open(folder);
    if let Ok(handle) = &handle
        && matches!(handle.try_lock(), Err(TryLockError::WouldBlock))
    {
        return;
    }
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let claimed = entry.path();
        let home = files::folder_of(folder).join(entry.file_name());
        match restore(&claimed, &home) {
            // Another run restored it first.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => recovered.push(Recovered { claimed, home, result }),
        }
    }
    let _ = fs::remove_dir(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("a.txt");
        fs::write(&home, "one").unwrap();
        (folder, home)
    }

    fn results(recovered: &[Recovered]) -> Vec<&Restored> {
        recovered.iter().map(|file| file.result.as_ref().unwrap()).collect()
    }

    #[test]
    fn restores_a_file_unless_its_name_is_taken() {
        let (_folder, home) = folder();
        let claim = Claims::new("1", &Partials::default()).take(&home).unwrap();
        assert!(!home.exists() && claim.file().exists());
        assert_eq!(claim.restore("why".into()), "why");
        assert_eq!(fs::read_to_string(&home).unwrap(), "one");
        let claim = Claims::new("1", &Partials::default()).take(&home).unwrap();
        let aside = claim.file().to_owned();
        fs::write(&home, "two").unwrap();
        assert!(claim.restore("why".into()).starts_with("why; the file is now "));
        assert_eq!(fs::read_to_string(&home).unwrap(), "two");
        assert_eq!(fs::read_to_string(&aside).unwrap(), "one");
        // An existing file is not replaced.
        assert!(Claims::new("1", &Partials::default()).take(&home).is_err());
        assert_eq!(fs::read_to_string(&aside).unwrap(), "one");
    }

    #[test]
    #[cfg(unix)]
    fn recovers_files_of_stopped_runs_but_not_of_live_ones() {
        let (folder, home) = folder();
        let trees = [folder.path().to_owned()];
        let claim = Claims::new("1", &Partials::default()).take(&home).unwrap();
        assert!(recover(&trees, false).is_empty());
        let aside = claim.file().to_owned();
        drop(claim);
        // Given as a folder, or as the file that is missing.
        assert_eq!(results(&recover(&trees, false)), [&Restored::MovedBack]);
        drop(Claims::new("1", &Partials::default()).take(&home).unwrap());
        assert_eq!(results(&recover(std::slice::from_ref(&home), false)), [&Restored::MovedBack]);
        assert_eq!(fs::read_to_string(&home).unwrap(), "one");
        assert!(!files::folder_of(&aside).exists());
        // The name is taken by another file, or by one with equal content.
        for (content, expected) in [("two", Restored::NameTaken), ("one", Restored::AlreadyInPlace)]
        {
            if !aside.exists() {
                drop(Claims::new("1", &Partials::default()).take(&home).unwrap());
            }
            fs::write(&home, content).unwrap();
            assert_eq!(results(&recover(&trees, false)), [&expected]);
            assert_eq!(fs::read_to_string(&home).unwrap(), content);
            assert_eq!(aside.exists(), expected == Restored::NameTaken);
        }
    }
}
