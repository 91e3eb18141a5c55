//! What was done to files, written down before it is done? One JSON object a line, on the disk before
//! the first file of a batch is touched: what the journal does not know was not done.
//!
//! A line tells what is *meant*. Whether it was done is seen by looking at the files, so a journal
//! that ends in the middle of a run is as good as any. Whoever writes to a journal holds a lock on it.

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
    /// Lines that are not written yet.
    lines: String,
    /// For as long as it tells of nothing, it goes when the run does.
    empty: Option<Partial>,
}

/// What is meant to be done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub number: u64,
    pub act: Act,
    /// Its path, from the root, without links.
    pub from: PathBuf,
    /// What stays for it.
    pub keep: PathBuf,
    /// The number of the file in its file system, and that of the one that stays, if there are such.
    pub inode: Option<u64>,
    pub keep_inode: Option<u64>,
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
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
    /// What must be known to make it a file of its own again.
    Link {
        mode: Option<u32>,
        owner: Option<(u32, u32)>,
    },
    Delete,
}

/// A journal that was read.
#[derive(Default)]
pub struct Read {
    pub id: String,
    pub entries: Vec<Entry>,
    /// Folders that were made, in this order.
    pub made: Vec<PathBuf>,
    /// What was looked at and acted on.
    pub trees: Vec<PathBuf>,
    /// Numbers of entries that were undone already.
    pub undone: HashSet<u64>,
    /// Numbers of entries that were not carried out: everything is as it was.
    pub left: HashSet<u64>,
}

impl Journal {
    /// Begins a journal of acts on these trees: at this path, or where journals are kept. There must
    /// not be a file yet.
    pub fn create(path: Option<&Path>, act: &str, trees: &[PathBuf], host: &Host) -> Result<Self> {
        let now = jiff::Timestamp::now();
        let id = format!("{}-{}-{}", now.strftime("%Y%m%d-%H%M%S"), std::process::id(), anything());
        let path = match path {
            Some(path) => std::path::absolute(path)?,
            None => usual_folder(&host.folders)?.join(format!("{id}.jsonl")),
        };
        let make = || Ok((File::create_new(&path)?, path.clone()));
        let made = host.partials.create(make, |(_, path): &(File, PathBuf)| path);
        let ((file, _), partial) = made.with_context(|| {
            format!(
                "{}: the journal cannot be written, so nothing is done; name another with --journal",
                path_text(&path)
            )
        })?;
        // Nobody undoes what is still being done.
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

    /// Notes what will be done. It must not be done before [`sync`](Self::sync).
    pub fn will(&mut self, entry: &Entry) {
        self.empty = None;
        self.lines.push_str(&entry.json());
        self.lines.push('\n');
    }

    /// Notes that this folder will be made.
    pub fn will_make(&mut self, folder: &Path) {
        self.lines.push_str(&json_line(&[("made", json!(path_text(folder)))]));
        self.lines.push('\n');
    }

    /// Notes that something noted was not done after all, for readers; it is written with what
    /// follows.
    pub fn did_not(&mut self, number: u64, why: &str) {
        let line = json_line(&[("left", json!(number)), ("why", json!(why))]);
        self.lines.push_str(&line);
        self.lines.push('\n');
    }

    /// Everything noted so far is on the disk when this returns.
    pub fn sync(&mut self) -> Result<()> {
        let lines = std::mem::take(&mut self.lines);
        self.file
            .write_all(lines.as_bytes())
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("{}: the journal cannot be written", path_text(&self.path)))
    }

    /// Ends the journal; one that tells nothing is removed.
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

/// Journals are kept with what the user's programs remember.
fn usual_folder(folders: &Folders) -> Result<PathBuf> {
    let folder = journals(folders).ok_or_else(|| {
        anyhow!("there is no HOME to keep the journal in; name a file with --journal")
    })?;
    fs::create_dir_all(&folder).with_context(|| {
        format!(
            "{}: cannot be made for the journal; name a file with --journal",
            path_text(&folder)
        )
    })?;
    Ok(folder)
}

fn journals(folders: &Folders) -> Option<PathBuf> {
    Some(folders.state.as_ref()?.join("journals"))
}

/// The journals in the usual place, oldest first.
pub fn kept(folders: &Folders) -> Vec<PathBuf> {
    let entries = journals(folders).and_then(|folder| folder.read_dir().ok());
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension() == Some("jsonl".as_ref())).collect();
    paths.sort();
    paths
}

/// Tells two runs apart that have the same number on two machines.
fn anything() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    format!("{:04x}", RandomState::new().build_hasher().finish() & 0xffff)
}

impl Entry {
    /// One line, without its end.
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

impl Read {
    /// Reads a journal. A last line that is cut off was never acted on, and is left out.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path_text(path);
        let file = File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
        let mut read = Self::default();
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
                .with_context(|| format!("{name}:{number}: not a line of a journal"))?;
            if number == 1 {
                read.head(&value).with_context(|| name.clone())?;
            } else {
                read.take(&value).with_context(|| format!("{name}:{number}"))?;
            }
        }
        ensure!(!read.id.is_empty(), "{name}: not a journal of lookalike: it is empty");
        Ok(read)
    }

    fn head(&mut self, value: &Value) -> Result<()> {
        ensure!(value["journal"] == "lookalike", "not a journal of lookalike");
        ensure!(
            value["version"] == VERSION,
            "a journal of version {}; this lookalike knows version {VERSION}",
            value["version"]
        );
        self.id = value["id"].as_str().context("a journal without its id")?.to_owned();
        let trees = value["trees"].as_array().into_iter().flatten();
        self.trees = trees.filter_map(|tree| Some(path_of_text(tree.as_str()?))).collect();
        Ok(())
    }

    fn take(&mut self, value: &Value) -> Result<()> {
        if let Some(made) = value["made"].as_str() {
            self.made.push(path_of_text(made));
        } else if let Some(number) = value["undone"].as_u64() {
            self.undone.insert(number);
        } else if let Some(number) = value["left"].as_u64() {
            self.left.insert(number);
        } else {
            self.entries.push(Entry::of(value).context("not an entry of a journal")?);
        }
        Ok(())
    }
}

/// Notes what was undone in a journal that is there.
pub struct Notes {
    file: File,
}

impl Notes {
    /// None if the journal can be read only: files tell what is to be done. Fails if a run is at work
    /// with it.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let opened = File::options().read(true).append(true).open(path);
        let can_write = opened.is_ok();
        let name = path_text(path);
        let mut file = opened
            .or_else(|_| File::open(path))
            .with_context(|| format!("{name}: cannot be opened"))?;
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            bail!(
                "{name}: the run that writes this journal, or one that undoes it, is still at work; \
                 run again when it has ended"
            );
        }
        let can_write = can_write && cut_torn_line(&mut file).is_ok();
        Ok(can_write.then_some(Self { file }))
    }

    pub fn undone(&mut self, number: u64) -> io::Result<()> {
        let line = json_line(&[("undone", json!(number))]) + "\n";
        self.file.write_all(line.as_bytes())
    }
}

/// So that what is appended begins a line.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    let mut whole = 0;
    let mut reader = BufReader::new(&mut *file);
    let mut line = Vec::new();
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        whole += line.len() as u64;
    }
    file.set_len(whole)
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
    fn what_is_written_is_read_back_and_a_torn_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal =
            Journal::create(Some(&path), "move", &["/photos".into()], &Host::silent()).unwrap();
        journal.will_make(Path::new("/gone"));
        entries().iter().for_each(|entry| journal.will(entry));
        journal.did_not(2, "it was changed");
        assert_eq!(journal.finish().unwrap(), Some(path.clone()));
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
            let read = Read::open(&path);
            assert_eq!(read.is_ok(), lines > 0);
            let Ok(read) = read else { continue };
            assert_eq!(read.entries, entries()[..lines.saturating_sub(2).min(4)]);
            assert_eq!(read.left, (lines == 7).then_some(2).into_iter().collect());
            assert_eq!(read.trees, [Path::new("/photos")]);
            let mut notes = Notes::open(&path).unwrap().unwrap();
            assert!(Notes::open(&path).is_err());
            notes.undone(1).unwrap();
            assert_eq!(Read::open(&path).unwrap().undone, HashSet::from([1]));
        }
    }

    #[test]
    fn a_journal_of_nothing_is_removed_and_none_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let journal = Journal::create(Some(&path), "move", &[], &Host::silent()).unwrap();
        assert!(Journal::create(Some(&path), "move", &[], &Host::silent()).is_err());
        assert_eq!(journal.finish().unwrap(), None);
        assert!(!path.exists());
    }
}
