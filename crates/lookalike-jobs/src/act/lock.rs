//! Which other run acts on the same files? Every acting run says so in a file of its own, in the place
//! where this user's programs keep their state, and holds a lock on that file for as long as it lives.
//! The lock is the system's: it ends with the process, however that ends, so a stopped run keeps nobody
//! out.
//!
//! This is a courtesy that saves work: what protects files is that they are put aside first
//! ([`Claim`](super::claim::Claims)), between users and machines, too.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::files;
use crate::{
    host::Host,
    report::{counted, json_line},
    source::{path_of_text, path_text},
};

/// Held until it is dropped.
pub struct RunLock {
    /// None where locks cannot be had.
    _held: Option<Held>,
}

struct Held {
    path: PathBuf,
    _file: File,
}

/// Something that a run may look at and act on: a folder with all in it, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tree {
    path: PathBuf,
    /// It and the folders above it, as the file system knows them: one tree may have several paths.
    chain: Vec<String>,
    /// Whether it is there, and so the first of the chain.
    is_there: bool,
}

impl RunLock {
    /// Says that this run acts on these trees; fails if another one acts on any of them, or on
    /// something within or around it.
    pub fn take(paths: &[PathBuf], host: &Host) -> Result<Self> {
        let trees: Vec<_> = paths.iter().map(|path| Tree::of(path)).collect();
        let Some(folder) = host.folders.state.as_ref().map(|state| state.join("acting")) else {
            return Ok(Self { _held: None });
        };
        // A place that cannot be written or locked keeps nobody from acting.
        let Ok(gate) = open_gate(&folder) else { return Ok(Self { _held: None }) };
        for other in others(&folder) {
            if let Some((own, theirs)) = other.meets(&trees) {
                bail!("{}", other.words(own, theirs));
            }
        }
        let held = Held::create(&folder, &trees, &host.command).ok();
        drop(gate);
        Ok(Self { _held: held })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Held {
    fn create(folder: &Path, trees: &[Tree], command: &str) -> io::Result<Self> {
        let now = jiff::Zoned::now();
        let trees: Vec<_> = trees.iter().map(Tree::json).collect();
        let line = json_line(&[
            ("pid", json!(std::process::id())),
            ("command", json!(command)),
            ("since", json!(now.strftime("%Y-%m-%d %H:%M:%S").to_string())),
            ("trees", json!(trees)),
        ]);
        // One process may run several at a time.
        let names = (1..).map(|number| format!("{}-{number}.run", std::process::id()));
        for name in names {
            let path = folder.join(name);
            let mut file = match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            };
            let held = file.try_lock().map_err(io::Error::from);
            let written = held.and_then(|()| writeln!(file, "{line}"));
            if let Err(error) = written {
                let _ = fs::remove_file(&path);
                return Err(error);
            }
            return Ok(Self { path, _file: file });
        }
        unreachable!("numbers do not end")
    }
}

/// Only one run at a time looks who else is there. Held for a moment.
fn open_gate(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let path = folder.join("gate");
    let gate = File::options().create(true).truncate(false).write(true).open(path)?;
    gate.lock()?;
    Ok(gate)
}

/// A run that is alive.
struct Other {
    about: Value,
    trees: Vec<Tree>,
}

/// The runs that are alive. What others left behind is removed.
fn others(folder: &Path) -> Vec<Other> {
    let mut others = Vec::new();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension() != Some("run".as_ref()) {
            continue;
        }
        let Ok(mut file) = File::options().read(true).write(true).open(&path) else { continue };
        match file.try_lock() {
            Ok(()) => drop(fs::remove_file(&path)),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                let about: Value = serde_json::from_str(&text).unwrap_or_default();
                let trees = about["trees"].as_array().into_iter().flatten().filter_map(Tree::read);
                others.push(Other { trees: trees.collect(), about });
            }
            Err(TryLockError::Error(_)) => {}
        }
    }
    others
}

impl Other {
    /// The first of our trees that this run acts on, too, and which of its own that is.
    fn meets<'a>(&'a self, trees: &'a [Tree]) -> Option<(&'a Tree, &'a Tree)> {
        trees
            .iter()
            .find_map(|own| Some((own, self.trees.iter().find(|theirs| own.overlaps(theirs))?)))
    }

    fn words(&self, own: &Tree, theirs: &Tree) -> String {
        let text = |name: &str| self.about[name].as_str().unwrap_or("?").to_owned();
        let others = self.trees.len() as u64 - 1;
        let more = if others > 0 {
            format!(" and {} more", counted(others, "place"))
        } else {
            String::new()
        };
        format!(
            "{}: another run is at work here, so nothing is done: {} (process {}, since {}, in {}{more}); \
             run again when it has ended",
            path_text(&own.path),
            text("command"),
            self.about["pid"],
            text("since"),
            path_text(&theirs.path),
        )
    }
}

impl Tree {
    fn of(path: &Path) -> Self {
        let path = files::resolve(path).unwrap_or_else(|_| path.to_owned());
        let is_there = files::exists(&path);
        let chain = path.ancestors().filter_map(identity).collect();
        Self { path, chain, is_there }
    }

    /// Whether one lies within the other, or is the same.
    fn overlaps(&self, other: &Self) -> bool {
        let within = |inner: &Self, outer: &Self| {
            let is_known = outer.is_there
                && outer.chain.first().is_some_and(|outer| inner.chain.contains(outer));
            is_known || inner.path.starts_with(&outer.path)
        };
        within(self, other) || within(other, self)
    }

    fn json(&self) -> Value {
        json!({ "path": path_text(&self.path), "is_there": self.is_there, "chain": self.chain })
    }

    fn read(value: &Value) -> Option<Self> {
        let chain = value["chain"].as_array()?.iter();
        Some(Self {
            path: path_of_text(value["path"].as_str()?),
            chain: chain.filter_map(|id| Some(id.as_str()?.to_owned())).collect(),
            is_there: value["is_there"].as_bool()?,
        })
    }
}

/// A file or folder, whatever its path.
#[cfg(unix)]
fn identity(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let data = path.metadata().ok()?;
    Some(format!("{}:{}", data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn trees_overlap_if_one_is_within_the_other_whatever_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::create_dir(path("ab")).unwrap();
        fs::write(path("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink(path("a"), path("link")).unwrap();
        let overlap = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|name| Tree::of(&path(name)));
            assert_eq!(one.overlaps(&other), other.overlaps(&one));
            assert_eq!(Tree::read(&one.json()), Some(one.clone()));
            one.overlaps(&other)
        };
        for (one, other) in [
            ("a", "a"),
            ("a", "a/b"),
            ("a", "a/./b/../b"),
            ("a/b/file", "a"),
            ("link", "a/b"),
            ("link/b", "a/b/file"),
            ("a", "a/new/folder"),
            ("a/new", "a/new/folder"),
            ("link/new", "a/new/folder"),
        ] {
            assert!(overlap(one, other), "{one} {other}");
        }
        for (one, other) in [("a", "ab"), ("a/b", "ab"), ("a/new", "a/b"), ("a/new", "a/newer")] {
            assert!(!overlap(one, other), "{one} {other}");
        }
    }
}
