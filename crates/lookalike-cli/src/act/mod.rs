//! What is done to the files that go? Moved, linked, put in the trash or deleted: never without a
//! word about it in the [`Journal`] first, never to a file that changed since it was read, and never
//! unless the file that stays in its stead is there.

mod files;
mod journal;
mod trash;
mod undo;

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

use anyhow::Result;

use crate::source::{Digest, FileId, SeenFile, Stamp, path_text};
use journal::Act;
pub use journal::{Entry, Journal, kept as kept_journals};
use trash::Trash;
pub use undo::{Undo, Undone};

/// How many files are noted in the journal before the first of them is touched.
const BATCH: usize = 64;

/// What to do with a file that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// To this folder, under the path it had in the folder searched.
    Move(PathBuf),
    /// Make it another name of the file that stays, if they are equal.
    Link,
    Trash,
    Delete,
}

/// A file that goes, and the one that stays in its stead.
#[derive(Clone, Copy)]
pub struct Going<'a> {
    pub file: SeenFile<'a>,
    pub keep: SeenFile<'a>,
}

/// What was done.
#[derive(Default)]
pub struct Acted {
    /// Names that were acted on, and the bytes of their files.
    pub names: u64,
    pub bytes: u64,
    /// Files that were left as they are, and why.
    pub left: Vec<Left>,
}

pub struct Left {
    pub path: PathBuf,
    pub why: String,
}

impl Deed {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Move(_) => "move",
            Self::Link => "link",
            Self::Trash => "trash",
            Self::Delete => "delete",
        }
    }

    /// What was done, in words.
    pub fn past(&self) -> String {
        match self {
            Self::Move(to) => format!("moved to {}", path_text(to)),
            Self::Link => "linked".to_owned(),
            Self::Trash => "put in the trash".to_owned(),
            Self::Delete => "deleted".to_owned(),
        }
    }
}

/// How a file is read again, to see whether it still says what it said.
pub type Reread<'a> = &'a dyn Fn(&Path) -> Result<Digest>;

/// Acts on files.
pub struct Actor<'a> {
    deed: &'a Deed,
    reread: Reread<'a>,
    trash: Option<Trash>,
    /// Names in the folder of moved files that are given away.
    promised: HashSet<PathBuf>,
    made: HashSet<PathBuf>,
    number: u64,
    acted: Acted,
}

/// A name that passed the first check.
struct Intent<'a> {
    entry: Entry,
    going: Going<'a>,
    trash: Option<trash::Place>,
    /// Whether it is the first name of its file.
    is_first: bool,
}

impl<'a> Actor<'a> {
    pub fn new(deed: &'a Deed, reread: Reread<'a>) -> Result<Self> {
        let trash = match deed {
            Deed::Trash => Some(Trash::open()?),
            _ => None,
        };
        let (promised, made) = (HashSet::new(), HashSet::new());
        Ok(Self { deed, reread, trash, promised, made, number: 0, acted: Acted::default() })
    }

    /// Acts on all these files. Those of one keeper should follow each other.
    pub fn act(mut self, going: &[Going<'_>], journal: &mut Journal) -> Result<Acted> {
        let staying = Staying::new(going);
        for batch in going.chunks(BATCH) {
            let intents = self.intend(batch, &staying);
            for intent in &intents {
                self.note(&intent.entry, journal);
            }
            journal.sync()?;
            for intent in intents {
                let partial = journal.partial(intent.entry.number);
                match intent.check().and_then(|()| intent.act(&partial)) {
                    Ok(()) => self.count(&intent),
                    Err(why) => {
                        journal.did_not(intent.entry.number, &why);
                        self.leave(&intent.entry.from, why);
                    }
                }
            }
        }
        Ok(self.acted)
    }

    /// What would be done, after the same checks.
    pub fn rehearse(
        mut self,
        going: &[Going<'_>],
        on_entry: &mut dyn FnMut(&Entry) -> Result<()>,
    ) -> Result<Acted> {
        let staying = Staying::new(going);
        for batch in going.chunks(BATCH) {
            for intent in self.intend(batch, &staying) {
                on_entry(&intent.entry)?;
                self.count(&intent);
            }
        }
        Ok(self.acted)
    }

    fn count(&mut self, intent: &Intent<'_>) {
        self.acted.names += 1;
        self.acted.bytes += if intent.is_first { intent.entry.bytes } else { 0 };
    }

    fn leave(&mut self, path: &Path, why: String) {
        self.acted.left.push(Left { path: path.to_owned(), why });
    }

    /// The names that pass the first check; the others are left.
    fn intend<'b>(&mut self, batch: &[Going<'b>], staying: &Staying) -> Vec<Intent<'b>> {
        let mut intents = Vec::new();
        let mut keeper = None;
        for going in batch {
            // A keeper is read once for all that go for it.
            let keep = going.keep.path;
            let keeps = match &keeper {
                Some((path, checked)) if *path == keep => checked,
                _ => &keeper.insert((keep, self.is_as_read(&going.keep))).1,
            };
            let checked = staying
                .check(&going.keep)
                .and_then(|()| match keeps {
                    Ok(()) => Ok(()),
                    Err(why) => Err(format!("what stays for it, {}, {why}", path_text(keep))),
                })
                .and_then(|()| self.is_as_read(&going.file));
            if let Err(why) = checked {
                self.leave(going.file.path, why);
                continue;
            }
            let names = [going.file.path].into_iter();
            let names = names.chain(going.file.links.iter().map(PathBuf::as_path));
            for (position, name) in names.enumerate() {
                match self.intent(*going, name, position == 0) {
                    Ok(intent) => intents.push(intent),
                    Err(why) => self.leave(name, why),
                }
            }
        }
        intents
    }

    /// Whether a file is as it was, its content included.
    fn is_as_read(&self, file: &SeenFile<'_>) -> Result<(), String> {
        is_unchanged(file.path, file.stamp)?;
        match (self.reread)(file.path) {
            Ok(digest) if digest == file.digest => Ok(()),
            Ok(_) => Err(CHANGED.to_owned()),
            Err(error) => Err(format!("cannot be read again: {error:#}")),
        }
    }

    fn intent<'b>(
        &mut self,
        going: Going<'b>,
        name: &Path,
        is_first: bool,
    ) -> Result<Intent<'b>, String> {
        let from = absolute(name)?;
        let keep = absolute(going.keep.path)?;
        let mut place = None;
        let act = match self.deed {
            Deed::Move(folder) => {
                let relative = if is_first {
                    going.file.relative
                } else {
                    Path::new(name.file_name().unwrap_or_default())
                };
                Act::Move { to: self.free_name(&absolute(folder)?.join(relative)) }
            }
            Deed::Trash => {
                let trash = self.trash.as_mut().ok_or("there is no trash")?;
                let found = trash.place(&from).map_err(|error| error.to_string())?;
                let to = found.file.clone();
                place = Some(found);
                Act::Trash { to }
            }
            Deed::Link => link(name, &going.keep)?,
            Deed::Delete => Act::Delete,
        };
        self.number += 1;
        let Stamp { bytes, modified, .. } = going.file.stamp;
        let entry = Entry { number: self.number, act, from, keep, bytes, modified };
        Ok(Intent { entry, going, trash: place, is_first })
    }

    /// The name itself if it is free, else with a number.
    fn free_name(&mut self, wanted: &Path) -> PathBuf {
        let name = wanted.file_name().unwrap_or_default();
        let mut number = 1;
        loop {
            let path = wanted.with_file_name(trash::numbered(name, number));
            if !files::exists(&path) && self.promised.insert(path.clone()) {
                return path;
            }
            number += 1;
        }
    }

    /// Notes what will be done, and the folders that will be made for it.
    fn note(&mut self, entry: &Entry, journal: &mut Journal) {
        if let Act::Move { to } = &entry.act {
            let above = files::folder_of(to).ancestors();
            let missing: Vec<_> = above.take_while(|folder| !files::exists(folder)).collect();
            for folder in missing.into_iter().rev() {
                if self.made.insert(folder.to_owned()) {
                    journal.will_make(folder);
                }
            }
        }
        journal.will(entry);
    }
}

/// A link frees nothing and loses nothing only if the two are equal, byte by byte.
fn link(name: &Path, keep: &SeenFile<'_>) -> Result<Act, String> {
    let data = name.symlink_metadata().map_err(|error| error.to_string())?;
    let devices = [Stamp::of(&data), keep.stamp].map(|stamp| stamp.file.map(|file| file.device));
    if devices[0] != devices[1] {
        let keep = path_text(keep.path);
        return Err(format!("is on another file system than {keep}; hard links cannot go there"));
    }
    let same = files::same_content(name, keep.path).map_err(|error| error.to_string())?;
    if !same {
        return Err(format!("is alike {}, but not equal", path_text(keep.path)));
    }
    let sha256 = files::sha256(name).map_err(|error| error.to_string())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (mode, owner) = (Some(data.mode() & 0o7777), Some((data.uid(), data.gid())));
        Ok(Act::Link { sha256, mode, owner })
    }
    #[cfg(not(unix))]
    Ok(Act::Link { sha256, mode: None, owner: None })
}

impl Intent<'_> {
    /// The second check, just before the file is touched.
    fn check(&self) -> Result<(), String> {
        let Going { file, keep } = self.going;
        is_unchanged(&self.entry.from, file.stamp)?;
        is_unchanged(keep.path, keep.stamp)
            .map_err(|why| format!("what stays for it, {}, {why}", path_text(keep.path)))?;
        match (file.stamp.file, keep.stamp.file) {
            (Some(file), Some(keep)) if file == keep => Err(SAME.to_owned()),
            _ if self.entry.from == self.entry.keep => Err(SAME.to_owned()),
            _ => Ok(()),
        }
    }

    fn act(&self, partial: &str) -> Result<(), String> {
        self.do_it(partial).map_err(|error| match error.kind() {
            io::ErrorKind::TooManyLinks => "the kept file cannot have more names".to_owned(),
            _ => error.to_string(),
        })
    }

    fn do_it(&self, partial: &str) -> io::Result<()> {
        let Entry { act, from, keep, .. } = &self.entry;
        match (act, &self.trash) {
            (Act::Move { to }, _) => {
                std::fs::create_dir_all(files::folder_of(to))?;
                files::move_file(from, to, partial)
            }
            (Act::Trash { .. }, Some(place)) => place.take(from),
            (Act::Trash { .. }, None) => Err(io::Error::other("there is no trash")),
            (Act::Link { .. }, _) => files::link_over(keep, from, partial),
            (Act::Delete, _) => std::fs::remove_file(from),
        }
    }
}

/// The first look at the last copy: no file that stays for others goes itself.
struct Staying {
    going: HashSet<FileId>,
}

impl Staying {
    fn new(going: &[Going<'_>]) -> Self {
        Self { going: going.iter().filter_map(|going| going.file.stamp.file).collect() }
    }

    fn check(&self, keep: &SeenFile<'_>) -> Result<(), String> {
        match keep.stamp.file {
            Some(file) if self.going.contains(&file) => Err(SAME.to_owned()),
            _ => Ok(()),
        }
    }
}

const CHANGED: &str = "changed since it was read";
const SAME: &str = "is the last copy: what should stay for it is the same file, or goes, too";

/// Whether the file of this name is the one that was seen, and nobody has written to it.
fn is_unchanged(path: &Path, seen: Stamp) -> Result<(), String> {
    match files::stamp(path) {
        Ok(now) if now == seen => Ok(()),
        Ok(_) => Err(CHANGED.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("is not there any more".into())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| error.to_string())
}
