//! What is done to the files that go? Moved, linked, put in the trash or deleted: never without a
//! line about it in the [`Journal`] first, never to a file that changed since it was read, and never
//! unless the file that stays for it is there, unchanged.
//!
//! A file is put aside before its last check ([`claim`]), so that all this holds while other runs act
//! on the same files; [`lock`] keeps them out where it can.

mod claim;
mod files;
mod journal;
mod lock;
mod trash;
mod undo;

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Result;

use crate::host::Host;
use crate::report::{PartialName, Partials};
use crate::source::{Digest, FileId, SeenFile, Stamp, path_text};
use claim::Claims;
pub use claim::{Recovered, Settled, recover};
pub use files::resolve;
use journal::Act;
pub use journal::{Entry, Journal, kept as kept_journals};
pub use lock::RunLock;
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
    /// The image that a sidecar goes with: if that is left, the sidecar is, too.
    pub with: Option<&'a Path>,
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
    /// Whether it should have been acted on, and could not be.
    pub failed: bool,
}

/// Why a file is left as it is.
enum Why {
    /// The action does not apply to such a file.
    NotFor(String),
    Failed(String),
}

impl From<String> for Why {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
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
    partials: &'a Partials,
    trash: Option<Trash>,
    /// Names in the folder of moved files that are given away.
    promised: HashSet<PathBuf>,
    made: HashSet<PathBuf>,
    /// Names that were looked at already: one may be given in several spellings.
    met: HashSet<PathBuf>,
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
    pub fn new(deed: &'a Deed, reread: Reread<'a>, host: &'a Host) -> Result<Self> {
        let trash = match deed {
            Deed::Trash => Some(Trash::open(&host.folders)?),
            _ => None,
        };
        Ok(Self {
            deed,
            reread,
            partials: &host.partials,
            trash,
            promised: HashSet::new(),
            made: HashSet::new(),
            met: HashSet::new(),
            number: 0,
            acted: Acted::default(),
        })
    }

    /// Acts on all these files.
    pub fn act(mut self, going: &[Going<'_>], journal: &mut Journal) -> Result<Acted> {
        let staying = Staying::new(going);
        let mut claims = Claims::new(&journal.id, self.partials);
        for batch in going.chunks(BATCH) {
            let intents = self.intend(batch, &staying);
            for intent in &intents {
                self.note(&intent.entry, journal);
            }
            journal.sync()?;
            for intent in intents {
                let stays = self.stays_with(&intent.going);
                match stays.and_then(|()| intent.carry_out(&mut claims, self.reread)) {
                    Ok(()) => self.count(&intent),
                    Err(why) => {
                        journal.did_not(intent.entry.number, &why);
                        self.leave(&intent.entry.from, why.into());
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
                let stays = self.stays_with(&intent.going);
                match stays.and_then(|()| intent.check(&intent.entry.from, self.reread)) {
                    Ok(()) => {
                        on_entry(&intent.entry)?;
                        self.count(&intent);
                    }
                    Err(why) => self.leave(&intent.entry.from, why.into()),
                }
            }
        }
        Ok(self.acted)
    }

    /// An error for a sidecar whose image was left.
    fn stays_with(&self, going: &Going<'_>) -> Result<(), String> {
        let Some(image) = going.with else { return Ok(()) };
        let place = files::place_of(image).unwrap_or_default();
        let is_left = |left: &Left| left.path == image || left.path == place;
        match self.acted.left.iter().any(is_left) {
            true => Err(format!("stays with {}", path_text(image))),
            false => Ok(()),
        }
    }

    fn count(&mut self, intent: &Intent<'_>) {
        self.acted.names += 1;
        self.acted.bytes += if intent.is_first { intent.entry.bytes } else { 0 };
    }

    fn leave(&mut self, path: &Path, why: Why) {
        let (why, failed) = match why {
            Why::NotFor(why) => (why, false),
            Why::Failed(why) => (why, true),
        };
        self.acted.left.push(Left { path: path.to_owned(), why, failed });
    }

    /// What is to be done, name by name, as far as it passes the first check; the rest is left. Every
    /// path that goes with a file becomes an intent of its own here.
    fn intend<'b>(&mut self, batch: &[Going<'b>], staying: &Staying) -> Vec<Intent<'b>> {
        let mut intents = Vec::new();
        for going in batch {
            let sha256 = match first_look(going, staying) {
                Ok(sha256) => sha256,
                Err(why) => {
                    self.leave(going.file.path, why.into());
                    continue;
                }
            };
            let names = [going.file.path].into_iter();
            let names = names.chain(going.file.links.iter().map(PathBuf::as_path));
            for (position, name) in names.enumerate() {
                match self.intent(*going, name, &sha256, position == 0) {
                    Ok(intent) => intents.extend(intent),
                    Err(why) => self.leave(name, why),
                }
            }
        }
        intents
    }

    /// None for a name that was met before.
    fn intent<'b>(
        &mut self,
        going: Going<'b>,
        name: &Path,
        sha256: &str,
        is_first: bool,
    ) -> Result<Option<Intent<'b>>, Why> {
        let from = files::place_of(name)?;
        if !self.met.insert(from.clone()) {
            return Ok(None);
        }
        let keep = files::place_of(going.keep.path)?;
        let (act, trash) = self.plan(&going, name, &from, is_first)?;
        self.number += 1;
        let Stamp { bytes, modified, .. } = going.file.stamp;
        let [inode, keep_inode] =
            [going.file, going.keep].map(|file| file.stamp.file.map(|file| file.inode));
        let (number, sha256) = (self.number, sha256.to_owned());
        let entry = Entry { number, act, from, keep, inode, keep_inode, bytes, modified, sha256 };
        Ok(Some(Intent { entry, going, trash, is_first }))
    }

    /// What is done to a name, and which place in the trash is for it.
    fn plan(
        &mut self,
        going: &Going<'_>,
        name: &Path,
        from: &Path,
        is_first: bool,
    ) -> Result<(Act, Option<trash::Place>), Why> {
        match self.deed {
            Deed::Move(folder) => {
                let relative = if is_first {
                    going.file.relative
                } else {
                    Path::new(name.file_name().unwrap_or_default())
                };
                let to = self.free_name(&resolve(folder)?.join(relative));
                Ok((Act::Move { to }, None))
            }
            Deed::Trash => {
                let trash = self.trash.as_mut().ok_or("there is no trash".to_owned())?;
                let place = trash.place(from)?;
                Ok((Act::Trash { to: place.file.clone() }, Some(place)))
            }
            Deed::Link => Ok((link(name, &going.keep)?, None)),
            Deed::Delete => Ok((Act::Delete, None)),
        }
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

/// The first check, before anything is noted: both files are there, as they were. What the file holds,
/// as SHA-256.
fn first_look(going: &Going<'_>, staying: &Staying) -> Result<String, String> {
    let Going { file, keep, .. } = going;
    staying.check(keep)?;
    is_unchanged(keep.path, keep.stamp).map_err(|why| of_keeper(keep, &why))?;
    is_unchanged(file.path, file.stamp)?;
    files::sha256(file.path).map_err(|error| format!("cannot be read again: {error}"))
}

/// A link loses nothing only if the two are equal, byte by byte.
fn link(name: &Path, keep: &SeenFile<'_>) -> Result<Act, Why> {
    let data = name.symlink_metadata()?;
    let devices = [Stamp::of(&data), keep.stamp].map(|stamp| stamp.file.map(|file| file.device));
    let keep_name = path_text(keep.path);
    if devices[0] != devices[1] {
        let why = format!("is on another file system than {keep_name}; hard links cannot go there");
        return Err(Why::NotFor(why));
    }
    if !files::same_content(name, keep.path)? {
        return Err(Why::NotFor(format!("is alike {keep_name}, but not equal")));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (mode, owner) = (Some(data.mode() & 0o7777), Some((data.uid(), data.gid())));
        Ok(Act::Link { mode, owner })
    }
    #[cfg(not(unix))]
    Ok(Act::Link { mode: None, owner: None })
}

impl Intent<'_> {
    /// Puts the file aside, checks it and its keeper, and acts; or leaves everything as it was.
    fn carry_out(&self, claims: &mut Claims<'_>, reread: Reread<'_>) -> Result<(), String> {
        let from = &self.entry.from;
        is_unchanged(from, self.going.file.stamp)?;
        let claim = claims.take(from).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GONE.to_owned(),
            _ => format!("cannot be put aside to be checked: {error}"),
        })?;
        let partial = claims.partial(self.entry.number);
        let acted = self
            .check(claim.file(), reread)
            .and_then(|()| self.act(claim.file(), &partial).map_err(|error| in_words(&error)));
        acted.map_err(|why| claim.give_back_because(why))
    }

    /// The last check, of the file where it is now, and of its keeper in its place: both are the files
    /// that were read, and say what they said.
    fn check(&self, now: &Path, reread: Reread<'_>) -> Result<(), String> {
        let Going { file, keep, .. } = self.going;
        if self.entry.from == self.entry.keep
            || file.stamp.file.is_some_and(|file| Some(file) == keep.stamp.file)
        {
            return Err(SAME.to_owned());
        }
        is_as_read(now, &file, reread)?;
        is_as_read(&self.entry.keep, &keep, reread).map_err(|why| of_keeper(&keep, &why))?;
        if matches!(self.entry.act, Act::Link { .. }) {
            let same = files::same_content(now, &self.entry.keep);
            if !same.map_err(|error| error.to_string())? {
                return Err(CHANGED.to_owned());
            }
        }
        Ok(())
    }

    /// Acts on the file, which is put aside.
    fn act(&self, aside: &Path, partial: &PartialName<'_>) -> io::Result<()> {
        let Entry { act, from, keep, .. } = &self.entry;
        match (act, &self.trash) {
            (Act::Move { to }, _) => {
                fs::create_dir_all(files::folder_of(to))?;
                files::move_file(aside, to, partial)
            }
            (Act::Trash { .. }, Some(place)) => place.take(aside),
            (Act::Trash { .. }, None) => Err(io::Error::other("there is no trash")),
            (Act::Link { .. }, _) => {
                fs::hard_link(keep, from)?;
                fs::remove_file(aside)
            }
            (Act::Delete, _) => fs::remove_file(aside),
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
const GONE: &str = "is not there any more";
const SAME: &str = "is the last copy: what should stay for it is the same file, or goes, too";

fn of_keeper(keep: &SeenFile<'_>, why: &str) -> String {
    format!("what stays for it, {}, {why}", path_text(keep.path))
}

fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TooManyLinks => "the kept file cannot have more names".to_owned(),
        io::ErrorKind::NotFound => "it or what stays for it was taken away just now".to_owned(),
        _ => error.to_string(),
    }
}

/// Whether the file of this name is the one that was read, and says what it said.
fn is_as_read(path: &Path, file: &SeenFile<'_>, reread: Reread<'_>) -> Result<(), String> {
    is_unchanged(path, file.stamp)?;
    let digest = reread(path).map_err(|error| format!("cannot be read again: {error:#}"))?;
    if digest != file.digest {
        return Err(CHANGED.to_owned());
    }
    // And it was that file which was read.
    is_unchanged(path, file.stamp)
}

/// Whether the file of this name is the one that was seen, and nobody has written to it.
fn is_unchanged(path: &Path, seen: Stamp) -> Result<(), String> {
    match files::stamp(path) {
        Ok(now) if now == seen => Ok(()),
        Ok(_) => Err(CHANGED.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(GONE.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Puts a file that was put aside back in its place, when the run is stopped.
pub fn put_back(aside: &Path, home: &Path) -> io::Result<()> {
    files::rename_new(aside, home)
}
