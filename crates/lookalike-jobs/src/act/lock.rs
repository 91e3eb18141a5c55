//! Keeps two runs from acting on the same files. Every acting run lists its folders in a file of its
//! own, in the user's state folder, and holds a lock on that file while it is alive. The system
//! releases the lock when the process ends, so a stopped run blocks nobody.
//!
//! The lock only saves work. Files are safe because they are set aside first
//! ([`Claims`](super::claim::Claims)), which also works between users and machines.

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

/// Locks the trees of a run until it is dropped.
pub struct RunLock {
    /// None where files cannot be locked.
    _file: Option<LockFile>,
}

struct LockFile {
    path: PathBuf,
    _file: File,
}

/// A folder with everything in it, or a file, that a run may read and act on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tree {
    path: PathBuf,
    /// Device and inode of the path and of all folders above it. One tree may have several paths.
    chain: Vec<String>,
    /// Whether the path exists. If so, it is the first of the chain.
    exists: bool,
}

impl RunLock {
    /// Locks these trees. Fails if another run acts on any of them, or on something inside or around
    /// them.
    pub fn take(paths: &[PathBuf], host: &Host) -> Result<Self> {
        let trees: Vec<_> = paths.iter().map(|path| Tree::of(path)).collect();
        let Some(folder) = host.folders.state.as_ref().map(|state| state.join("acting")) else {
            return Ok(Self { _file: None });
        };
        // A state folder that cannot be written or locked does not prevent a run.
        let Ok(gate) = open_gate(&folder) else { return Ok(Self { _file: None }) };
        for other in live_runs(&folder) {
            if let Some((own, theirs)) = other.overlap(&trees) {
                bail!("{}", other.message(own, theirs));
            }
        }
        let file = LockFile::create(&folder, &trees, &host.command).ok();
        drop(gate);
        Ok(Self { _file: file })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl LockFile {
    fn create(folder: &Path, trees: &[Tree], command: &str) -> io::Result<Self> {
        let now = jiff::Zoned::now();
        let trees: Vec<_> = trees.iter().map(Tree::json).collect();
        let line = json_line(&[
            ("pid", json!(std::process::id())),
            ("command", json!(command)),
            ("since", json!(now.strftime("%Y-%m-%d %H:%M:%S").to_string())),
            ("trees", json!(trees)),
        ]);
        // One process may run several jobs at a time.
        let names = (1..).map(|number| format!("{}-{number}.run", std::process::id()));
        for name in names {
            let path = folder.join(name);
            let mut file = match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            let locked = file.try_lock().map_err(io::Error::from);
            let written = locked.and_then(|()| writeln!(file, "{line}"));
            if let Err(error) = written {
                let _ = fs::remove_file(&path);
                return Err(error);
            }
            return Ok(Self { path, _file: file });
        }
        unreachable!("there is always another number")
    }
}

/// Lets only one run at a time read the lock files and write its own.
fn open_gate(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let path = folder.join("gate");
    let gate = File::options().create(true).truncate(false).write(true).open(path)?;
    gate.lock()?;
    Ok(gate)
}

/// A run that is alive.
struct LiveRun {
    about: Value,
    trees: Vec<Tree>,
}

/// The runs that are alive. Removes the files of those that are not.
fn live_runs(folder: &Path) -> Vec<LiveRun> {
    let mut runs = Vec::new();
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
                runs.push(LiveRun { trees: trees.collect(), about });
            }
            Err(TryLockError::Error(_)) => {}
        }
    }
    runs
}

impl LiveRun {
    /// The first of our trees that overlaps a tree of this run, and that tree.
    fn overlap<'a>(&'a self, trees: &'a [Tree]) -> Option<(&'a Tree, &'a Tree)> {
        trees
            .iter()
            .find_map(|own| Some((own, self.trees.iter().find(|theirs| own.overlaps(theirs))?)))
    }

    fn message(&self, own: &Tree, theirs: &Tree) -> String {
        let text = |name: &str| self.about[name].as_str().unwrap_or("?").to_owned();
        let others = self.trees.len() as u64 - 1;
        let more = if others > 0 {
            format!(" and {} more", counted(others, "folder"))
        } else {
            String::new()
        };
        format!(
            "{}: another run is acting here; nothing was changed: {} (process {}, since {}, in {}{more}); \
             run this command again when it has finished",
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
        let exists = files::exists(&path);
        let chain = path.ancestors().filter_map(identity).collect();
        Self { path, chain, exists }
    }

    /// Whether one contains the other, or both are the same.
    fn overlaps(&self, other: &Self) -> bool {
        let within = |inner: &Self, outer: &Self| {
            let is_known = outer.exists
                && outer.chain.first().is_some_and(|outer| inner.chain.contains(outer));
            is_known || inner.path.starts_with(&outer.path)
        };
        within(self, other) || within(other, self)
    }

    fn json(&self) -> Value {
        json!({ "path": path_text(&self.path), "is_there": self.exists, "chain": self.chain })
    }

    fn read(value: &Value) -> Option<Self> {
        let chain = value["chain"].as_array()?.iter();
        Some(Self {
            path: path_of_text(value["path"].as_str()?),
            chain: chain.filter_map(|id| Some(id.as_str()?.to_owned())).collect(),
            exists: value["is_there"].as_bool()?,
        })
    }
}

/// Identifies a file or folder independently of its path.
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
    fn trees_overlap_if_one_contains_the_other_under_any_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::create_dir(path("ab")).unwrap();
        fs::write(path("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink(path("a"), path("link")).unwrap();
        let overlap = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|name| Tree::of(&path(name)));
            assert_eq!(a.overlaps(&b), b.overlaps(&a));
            assert_eq!(Tree::read(&a.json()), Some(a.clone()));
            a.overlaps(&b)
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
