//! How does a file leave its place so that no other run, and no crash, can lose it? It is put aside
//! first: one rename takes it into a folder of this run's own beside it. Only then is its keeper
//! looked at, and only if that is in place is anything done; otherwise the file goes back.
//!
//! Two runs that each want to remove the other's keeper cannot both succeed: a run that finds a keeper
//! in place has put its own file aside before, so the other run, which puts that keeper aside later
//! and then looks, finds nothing and gives it back. The same holds around any circle of runs. This
//! needs nothing shared but the folder: it holds between users, and between machines on a network
//! share.
//!
//! A run that is killed leaves the folder behind. It holds the file under its own name, so the next
//! acting run and `undo` can put it back without knowing more.

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

/// Puts files aside in the name of a run. The folder last used is kept for the next file: to make and
/// remove one costs far more than to rename a file.
pub struct Claims<'p> {
    id: String,
    partials: &'p Partials,
    last: Option<Rc<Folder>>,
}

/// A file that was put aside.
pub struct Claim {
    file: PathBuf,
    home: PathBuf,
    _folder: Rc<Folder>,
    _held: Partial,
}

/// A folder for files that are put aside, for as long as it is used.
struct Folder {
    path: PathBuf,
    /// Locked for as long as this run lives, where folders can be locked.
    _alive: Option<File>,
    _held: Partial,
}

/// What became of a file that a stopped run had put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is in its place again.
    Back,
    /// What the run was about was all but done: the same content is in its place.
    Done,
    /// Another file has its name: it stays where it is.
    Taken,
}

/// A file of a stopped run, and what became of it.
pub struct Recovered {
    pub claimed: PathBuf,
    pub home: PathBuf,
    pub settled: io::Result<Settled>,
}

impl<'p> Claims<'p> {
    pub fn new(id: &str, partials: &'p Partials) -> Self {
        Self { id: id.to_owned(), partials, last: None }
    }

    /// What a file of this run is called until it is complete.
    pub fn partial(&self, number: u64) -> PartialName<'p> {
        let name = format!(".lookalike-{}-{number}.partial", self.id);
        PartialName { partials: self.partials, name }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Puts a file aside.
    pub fn take(&mut self, home: &Path) -> io::Result<Claim> {
        match self.folder_for(home)?.take(home, self.partials) {
            // Where folders cannot be locked, another run may have removed it, as it was empty.
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
        let made = Rc::new(Folder::open(path, self.partials)?);
        self.last = Some(Rc::clone(&made));
        Ok(made)
    }
}

impl Folder {
    fn open(path: PathBuf, partials: &Partials) -> io::Result<Self> {
        let make = || open_own(&path);
        let (alive, held) = partials.of_folder(make, &path)?;
        Ok(Self { path, _alive: alive, _held: held })
    }

    fn take(self: Rc<Self>, home: &Path, partials: &Partials) -> io::Result<Claim> {
        let file = self.path.join(home.file_name().unwrap_or_default());
        // Nobody else puts anything there, so nobody can come in between.
        if files::exists(&file) {
            return Err(io::Error::other(format!("{} is in the way", file.display())));
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

    /// Puts it back in its place, unless somebody took its name, and tells why; and where it is, if
    /// it cannot go back.
    pub fn give_back_because(self, why: String) -> String {
        match files::rename_new(&self.file, &self.home) {
            // Where folders cannot be locked, another run may have put it back.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                format!("{why}; it is now {}: {error}", path_text(&self.file))
            }
            _ => why,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It stays if there is something in it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Where this run puts the files of a folder.
fn folder_beside(file: &Path, id: &str) -> PathBuf {
    files::folder_of(file).join(format!("{PREFIX}{id}{SUFFIX}"))
}

/// Makes and locks a folder of our own. The lock tells others that its run is alive; where there are
/// no such locks, they may put a file back that is being worked on, which is then left as it is.
fn open_own(folder: &Path) -> io::Result<Option<File>> {
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
        if is_still(&handle, folder) {
            return Ok(Some(handle));
        }
    }
    Err(io::Error::other(format!("{} vanishes again and again", folder.display())))
}

/// Whether what was opened is what has this name now.
fn is_still(handle: &File, path: &Path) -> bool {
    let [opened, named] = [handle.metadata(), path.symlink_metadata()]
        .map(|data| data.ok().map(|data| crate::source::Stamp::of(&data).file));
    named.is_some() && opened == named
}

/// The file that this run put aside and never put back, if there is one.
pub fn left_behind(home: &Path, id: &str) -> Option<PathBuf> {
    let file = folder_beside(home, id).join(home.file_name()?);
    files::exists(&file).then_some(file)
}

/// Removes the folder in which this run put files aside, if there is nothing in it.
pub fn tidy(home: &Path, id: &str) {
    let _ = fs::remove_dir(folder_beside(home, id));
}

/// Brings a file that was put aside back to its place. One whose content is there already is the
/// rest of an act that was all but done, and is removed.
pub fn settle(claimed: &Path, home: &Path) -> io::Result<Settled> {
    match files::rename_new(claimed, home) {
        Ok(()) => Ok(Settled::Back),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if files::stamp(home).is_ok() && files::same_content(claimed, home)? {
                fs::remove_file(claimed)?;
                return Ok(Settled::Done);
            }
            Ok(Settled::Taken)
        }
        Err(error) => Err(error),
    }
}

/// Brings back what stopped runs had put aside in these folders, and in the folders of these files.
/// What a run that is alive has put aside is left to it.
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
    // Many files may be of one folder.
    let parents: BTreeSet<_> = files.into_iter().map(files::folder_of).collect();
    let entries = parents.into_iter().filter_map(|folder| folder.read_dir().ok()).flatten();
    for entry in entries.flatten() {
        recover_folder(&entry.path(), &mut recovered);
    }
    recovered
}

/// Does nothing to a folder that is not one of stopped runs.
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
        match settle(&claimed, &home) {
            // Whoever else tidies up was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            settled => recovered.push(Recovered { claimed, home, settled }),
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

    fn settled(recovered: &[Recovered]) -> Vec<&Settled> {
        recovered.iter().map(|found| found.settled.as_ref().unwrap()).collect()
    }

    #[test]
    fn a_file_that_is_put_aside_goes_back_unless_its_name_is_taken() {
        let (_folder, home) = folder();
        let claim = Claims::new("1", &Partials::default()).take(&home).unwrap();
        assert!(!home.exists() && claim.file().exists());
        assert_eq!(claim.give_back_because("why".into()), "why");
        assert_eq!(fs::read_to_string(&home).unwrap(), "one");
        let claim = Claims::new("1", &Partials::default()).take(&home).unwrap();
        let aside = claim.file().to_owned();
        fs::write(&home, "two").unwrap();
        assert!(claim.give_back_because("why".into()).starts_with("why; it is now "));
        assert_eq!(fs::read_to_string(&home).unwrap(), "two");
        assert_eq!(fs::read_to_string(&aside).unwrap(), "one");
        // What is there already is not replaced.
        assert!(Claims::new("1", &Partials::default()).take(&home).is_err());
        assert_eq!(fs::read_to_string(&aside).unwrap(), "one");
    }

    #[test]
    #[cfg(unix)]
    fn what_a_stopped_run_had_put_aside_is_brought_back_and_what_a_living_one_has_is_not() {
        let (folder, home) = folder();
        let trees = [folder.path().to_owned()];
        let claim = Claims::new("1", &Partials::default()).take(&home).unwrap();
        assert!(recover(&trees, false).is_empty());
        let aside = claim.file().to_owned();
        drop(claim);
        // Given as a folder, or as the file that is not there.
        assert_eq!(settled(&recover(&trees, false)), [&Settled::Back]);
        drop(Claims::new("1", &Partials::default()).take(&home).unwrap());
        assert_eq!(settled(&recover(std::slice::from_ref(&home), false)), [&Settled::Back]);
        assert_eq!(fs::read_to_string(&home).unwrap(), "one");
        assert!(!files::folder_of(&aside).exists());
        // The name is taken: by another file, and by its equal.
        for (content, expected) in [("two", Settled::Taken), ("one", Settled::Done)] {
            if !aside.exists() {
                drop(Claims::new("1", &Partials::default()).take(&home).unwrap());
            }
            fs::write(&home, content).unwrap();
            assert_eq!(settled(&recover(&trees, false)), [&expected]);
            assert_eq!(fs::read_to_string(&home).unwrap(), content);
            assert_eq!(aside.exists(), expected == Settled::Taken);
        }
    }
}
