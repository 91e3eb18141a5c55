//! The write-ahead log of actions on files: one JSON object per line, on disk before the first file of
//! a batch is touched. What is not in the journal was not done.
//!
//! A line states what is *intended*. The files show whether it was done, so a journal that ends in the
//! middle of a run is as good as any other. A process that writes to a journal holds a lock on it.

use std::{
    collections::HashSet,
    fs::{self, File, TryLockError},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};

use super::files::{folder_of, sync_folder};
use crate::{
    host::{Folders, Host},
    report::{Partial, json_line},
    source::{path_of_text, path_text},
};

const VERSION: u64 = 2;

/// A journal that is being written.
pub struct Journal {
    file: File,
    path: PathBuf,
    pub id: String,
    /// Lines not written yet.
    lines: String,
    /// A journal without entries is removed when the run ends.
    empty: Option<Partial>,
}

/// The intended action on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub number: u64,
    pub act: Act,
    /// The absolute path of the file, without links.
    pub from: PathBuf,
    /// The keeper.
    pub keep: PathBuf,
    /// The inode numbers of the file and its keeper, where the file system has them.
    pub inode: Option<u64>,
    pub keep_inode: Option<u64>,
    pub bytes: u64,
    /// The modification time in nanoseconds since 1970.
    pub modified: i64,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Move {
        to: PathBuf,
    },
    Trash {
        to: PathBuf,
    },
    /// With the attributes needed to turn the link back into a separate file.
    Link {
        mode: Option<u32>,
        owner: Option<(u32, u32)>,
    },
    Delete,
}

/// A journal read from disk.
#[derive(Default)]
pub struct LoadedJournal {
    pub id: String,
    pub entries: Vec<Entry>,
    /// Folders that were created, in this order.
    pub folders: Vec<PathBuf>,
    /// The folders and files that were searched and acted on.
    pub trees: Vec<PathBuf>,
    /// Numbers of entries already undone.
    pub undone: HashSet<u64>,
    /// Numbers of entries not carried out, so that nothing changed.
    pub not_done: HashSet<u64>,
}

impl Journal {
    /// Creates a journal of actions on these trees at this path, or in the default folder. The file
    /// must not exist.
    pub fn create(path: Option<&Path>, act: &str, trees: &[PathBuf], host: &Host) -> Result<Self> {
        let now = jiff::Timestamp::now();
        let id =
            format!("{}-{}-{}", now.strftime("%Y%m%d-%H%M%S"), std::process::id(), random_suffix());
        let path = match path {
            Some(path) => std::path::absolute(path)?,
            None => default_folder(&host.folders)?.join(format!("{id}.jsonl")),
        };
        let create = || Ok((File::create_new(&path)?, path.clone()));
        let created = host.partials.create(create, |(_, path): &(File, PathBuf)| path);
        let ((file, _), partial) = created.with_context(|| {
            format!(
                "{}: cannot write the journal; nothing was changed; name another file with --journal",
                path_text(&path)
            )
        })?;
        // Keeps `undo` out while the run is in progress.
        let _ = file.try_lock();
        sync_folder(folder_of(&path));
        let version = env!("CARGO_PKG_VERSION");
        let head = [
            ("journal", json!("lookalike")),
            ("version", json!(VERSION)),
            ("id", json!(id)),
            ("time", json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
            ("by", json!(version)),
            ("act", json!(act)),
            ("trees", trees.iter().map(|tree| path_text(tree)).collect()),
        ];
        let lines = json_line(&head) + "\n";
        Ok(Self { file, path, id, lines, empty: Some(partial) })
    }

    /// Records an intended action. It must not start before [`sync`](Self::sync).
    pub fn record(&mut self, entry: &Entry) {
        self.empty = None;
        self.lines.push_str(&entry.json());
        self.lines.push('\n');
    }

    /// Records that this folder will be created.
    pub fn record_folder(&mut self, folder: &Path) {
        self.lines.push_str(&json_line(&[("made", json!(path_text(folder)))]));
        self.lines.push('\n');
    }

    /// Records that an entry was not carried out. It is written with the next batch.
    pub fn record_not_done(&mut self, number: u64, reason: &str) {
        let line = json_line(&[("left", json!(number)), ("why", json!(reason))]);
        self.lines.push_str(&line);
        self.lines.push('\n');
    }

    /// When this returns, everything recorded so far is on disk.
    pub fn sync(&mut self) -> Result<()> {
        let lines = std::mem::take(&mut self.lines);
        self.file
            .write_all(lines.as_bytes())
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("{}: cannot write the journal", path_text(&self.path)))
    }

    /// Completes the journal and returns its path. A journal without entries is removed.
    pub fn finish(mut self) -> Result<Option<PathBuf>> {
        if self.empty.is_some() {
            return Ok(None);
        }
        self.sync()?;
        Ok(Some(self.path.clone()))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.empty.is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The folder for journals, in the user's state folder. It is created if missing.
fn default_folder(folders: &Folders) -> Result<PathBuf> {
    let folder = journals(folders).ok_or_else(|| {
        anyhow!("no folder for the journal: HOME is not set; name a file with --journal")
    })?;
    fs::create_dir_all(&folder).with_context(|| {
        format!(
            "{}: cannot create this folder for the journal; name a file with --journal",
            path_text(&folder)
        )
    })?;
    Ok(folder)
}

fn journals(folders: &Folders) -> Option<PathBuf> {
    Some(folders.state.as_ref()?.join("journals"))
}

/// The journals in the default folder, oldest first.
pub fn list_journals(folders: &Folders) -> Vec<PathBuf> {
    let entries = journals(folders).and_then(|folder| folder.read_dir().ok());
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension() == Some("jsonl".as_ref())).collect();
    paths.sort();
    paths
}

/// Distinguishes runs with the same process id on different machines.
fn random_suffix() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    format!("{:04x}", RandomState::new().build_hasher().finish() & 0xffff)
}

impl Entry {
    /// One line, without the line end.
    pub fn json(&self) -> String {
        let mut fields = vec![
            ("number", json!(self.number)),
            ("act", json!(self.act.name())),
            ("from", json!(path_text(&self.from))),
        ];
        if let Act::Move { to } | Act::Trash { to } = &self.act {
            fields.push(("to", json!(path_text(to))));
        }
        fields.push(("keep", json!(path_text(&self.keep))));
        fields.extend(self.inode.map(|inode| ("inode", json!(inode))));
        fields.extend(self.keep_inode.map(|inode| ("keep_inode", json!(inode))));
        fields.push(("bytes", json!(self.bytes)));
        fields.push(("modified", json!(self.modified)));
        fields.push(("sha256", json!(self.sha256)));
        if let Act::Link { mode, owner } = &self.act {
            fields.extend(mode.map(|mode| ("mode", json!(mode))));
            fields.extend(owner.map(|(user, group)| ("owner", json!([user, group]))));
        }
        json_line(&fields)
    }

    fn of(value: &Value) -> Option<Self> {
        let path = |name: &str| Some(path_of_text(value[name].as_str()?));
        let small = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let act = match value["act"].as_str()? {
            "move" => Act::Move { to: path("to")? },
            "trash" => Act::Trash { to: path("to")? },
            "delete" => Act::Delete,
            "link" => Act::Link {
                mode: small(&value["mode"]),
                owner: small(&value["owner"][0]).zip(small(&value["owner"][1])),
            },
            _ => return None,
        };
        Some(Self {
            number: value["number"].as_u64()?,
            act,
            from: path("from")?,
            keep: path("keep")?,
            inode: value["inode"].as_u64(),
            keep_inode: value["keep_inode"].as_u64(),
            bytes: value["bytes"].as_u64()?,
            modified: value["modified"].as_i64()?,
            sha256: value["sha256"].as_str()?.to_owned(),
        })
    }
}

impl Act {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Move { .. } => "move",
            Self::Trash { .. } => "trash",
            Self::Link { .. } => "link",
            Self::Delete => "delete",
        }
    }
}

impl LoadedJournal {
    /// Reads a journal. An incomplete last line was never acted on, and is ignored.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path_text(path);
        let file = File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
        let mut journal = Self::default();
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            reader
                .read_until(b'\n', &mut line)
                .with_context(|| format!("{name}: cannot be read"))?;
            if line.last() != Some(&b'\n') {
                break;
            }
            let value: Value = serde_json::from_slice(&line)
                .with_context(|| format!("{name}:{number}: not a valid line of a journal"))?;
            if number == 1 {
                journal.read_header(&value).with_context(|| name.clone())?;
            } else {
                journal.read_line(&value).with_context(|| format!("{name}:{number}"))?;
            }
        }
        ensure!(!journal.id.is_empty(), "{name}: not a journal of lookalike: the file is empty");
        Ok(journal)
    }

    fn read_header(&mut self, value: &Value) -> Result<()> {
        ensure!(value["journal"] == "lookalike", "not a journal of lookalike");
        ensure!(
            value["version"] == VERSION,
            "the journal has version {}; this lookalike reads version {VERSION}",
            value["version"]
        );
        self.id = value["id"].as_str().context("the journal has no id")?.to_owned();
        let trees = value["trees"].as_array().into_iter().flatten();
        self.trees = trees.filter_map(|tree| Some(path_of_text(tree.as_str()?))).collect();
        Ok(())
    }

    fn read_line(&mut self, value: &Value) -> Result<()> {
        if let Some(made) = value["made"].as_str() {
            self.folders.push(path_of_text(made));
        } else if let Some(number) = value["undone"].as_u64() {
            self.undone.insert(number);
        } else if let Some(number) = value["left"].as_u64() {
            self.not_done.insert(number);
        } else {
            self.entries.push(Entry::of(value).context("not a valid entry of a journal")?);
        }
        Ok(())
    }
}

/// Appends to an existing journal which entries were undone.
pub struct UndoLog {
    file: File,
}

impl UndoLog {
    /// None if the journal is read-only; the files then show what is still to be undone. Fails while
    /// another run uses the journal.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let opened = File::options().read(true).append(true).open(path);
        let can_write = opened.is_ok();
        let name = path_text(path);
        let mut file = opened
            .or_else(|_| File::open(path))
            .with_context(|| format!("{name}: cannot be opened"))?;
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            bail!(
                "{name}: another process is writing or undoing this journal; run this command again when \
                 it has finished"
            );
        }
        let can_write = can_write && cut_incomplete_line(&mut file).is_ok();
        Ok(can_write.then_some(Self { file }))
    }

    pub fn undone(&mut self, number: u64) -> io::Result<()> {
        let line = json_line(&[("undone", json!(number))]) + "\n";
        self.file.write_all(line.as_bytes())
    }
}

/// Removes an incomplete last line, so that what is appended starts a line.
fn cut_incomplete_line(file: &mut File) -> io::Result<()> {
    let mut length = 0;
    let mut reader = BufReader::new(&mut *file);
    let mut line = Vec::new();
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        length += line.len() as u64;
    }
    file.set_len(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, act: Act) -> Entry {
        let from = path_of_text("/photos/caf\\xe9\n\\\\.jpg");
        let (keep, sha256) = ("/photos/b".into(), "00ff".to_owned());
        let (inode, keep_inode) = (Some(u64::MAX), None);
        Entry { number, act, from, keep, inode, keep_inode, bytes: 7, modified: -3, sha256 }
    }

    fn entries() -> Vec<Entry> {
        let to = PathBuf::from("/gone/\u{202e}x");
        vec![
            entry(1, Act::Move { to: to.clone() }),
            entry(2, Act::Trash { to }),
            entry(3, Act::Link { mode: Some(0o644), owner: Some((1, 2)) }),
            entry(4, Act::Delete),
        ]
    }

    #[test]
    fn reads_back_all_complete_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal =
            Journal::create(Some(&path), "move", &["/photos".into()], &Host::silent()).unwrap();
        journal.record_folder(Path::new("/gone"));
        entries().iter().for_each(|entry| journal.record(entry));
        journal.record_not_done(2, "it was changed");
        assert_eq!(journal.finish().unwrap(), Some(path.clone()));
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
            let read = LoadedJournal::open(&path);
            assert_eq!(read.is_ok(), lines > 0);
            let Ok(read) = read else { continue };
            assert_eq!(read.entries, entries()[..lines.saturating_sub(2).min(4)]);
            assert_eq!(read.not_done, (lines == 7).then_some(2).into_iter().collect());
            assert_eq!(read.trees, [Path::new("/photos")]);
            let mut log = UndoLog::open(&path).unwrap().unwrap();
            assert!(UndoLog::open(&path).is_err());
            log.undone(1).unwrap();
            assert_eq!(LoadedJournal::open(&path).unwrap().undone, HashSet::from([1]));
        }
    }

    #[test]
    fn removes_an_empty_journal_and_replaces_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let journal = Journal::create(Some(&path), "move", &[], &Host::silent()).unwrap();
        assert!(Journal::create(Some(&path), "move", &[], &Host::silent()).is_err());
        assert_eq!(journal.finish().unwrap(), None);
        assert!(!path.exists());
    }
}
