//! How is what a journal tells undone? Entry by entry, the last one first, each in steps: what the next
//! step is is seen from what is on the disk now, and each step loses nothing, whatever comes next. So
//! undoing twice, or after a crash in the middle of either, comes to the same.
//!
//! Nothing is removed or brought back unless it is what the journal says, by its content; and nothing
//! is reached through a link that was not there before.

use std::{
    fs::{self, File, FileTimes},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Result;

use super::{
    claim::{self, Claims, Settled},
    files,
    journal::{Act, Entry, Notes, Read},
    lock::RunLock,
    trash,
};
use crate::{
    host::Host,
    report::{PartialName, Partials},
    source::{Stamp, path_text},
};

/// A journal, ready to be undone.
pub struct Undo<'h> {
    journal: Read,
    partials: &'h Partials,
    notes: Option<Notes>,
    _lock: RunLock,
}

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Undone {
    pub back: u64,
    /// Entries with nothing to do.
    pub as_it_was: u64,
    /// What could not be brought back, and why.
    pub left: Vec<String>,
}

/// The next step of undoing an entry.
enum Step {
    Nothing,
    /// A run that was stopped had put something aside: it goes back to this place.
    Settle {
        aside: PathBuf,
        home: PathBuf,
    },
    /// The file comes back from there.
    Move,
    /// Both are there, and equal: a move over file systems was cut off before its end.
    RemoveCopy,
    /// The name becomes a file of its own again.
    Unlink,
}

impl<'h> Undo<'h> {
    /// Nobody else may be at work with the journal, or act where it did.
    pub fn open(path: &Path, host: &'h Host) -> Result<Self> {
        let notes = Notes::open(path)?;
        let journal = Read::open(path)?;
        let lock = RunLock::take(&journal.trees, host)?;
        Ok(Self { journal, notes, partials: &host.partials, _lock: lock })
    }

    /// What the journal is about: an act, and how many entries are not undone yet.
    pub fn about(path: &Path) -> Result<(String, u64)> {
        let journal = Read::open(path)?;
        let act = journal.entries.first().map_or("nothing", |entry| entry.act.name());
        let open = journal.entries.iter().filter(|entry| !journal.is_settled(entry));
        Ok((act.to_owned(), open.count() as u64))
    }

    /// Undoes everything that can be; with `only_look`, tells what would come of it.
    pub fn run(mut self, only_look: bool) -> Undone {
        let mut undone = Undone::default();
        let mut claims = Claims::new(&self.journal.id, self.partials);
        for entry in self.journal.entries.iter().rev() {
            if self.journal.is_settled(entry) {
                undone.as_it_was += 1;
                continue;
            }
            match undo(entry, &mut claims, only_look) {
                Ok(something) => {
                    *(if something { &mut undone.back } else { &mut undone.as_it_was }) += 1;
                    if let Some(notes) = self.notes.as_mut().filter(|_| !only_look) {
                        let _ = notes.undone(entry.number);
                    }
                }
                Err(why) => undone.left.push(format!("{}: {why}", path_text(&entry.from))),
            }
        }
        drop(claims);
        if !only_look {
            let places = self.journal.entries.iter().flat_map(Entry::places);
            places.for_each(|place| claim::tidy(place, &self.journal.id));
            // Those with something in them stay, by themselves.
            for folder in self.journal.made.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
        }
        undone
    }
}

impl Read {
    /// Whether everything about it is as it was before, by what the journal says.
    fn is_settled(&self, entry: &Entry) -> bool {
        self.undone.contains(&entry.number) || self.left.contains(&entry.number)
    }
}

impl Entry {
    /// Where the file is now, if the entry was carried out.
    fn target(&self) -> Option<&Path> {
        match &self.act {
            Act::Move { to } | Act::Trash { to } => Some(to),
            Act::Link { .. } | Act::Delete => None,
        }
    }

    fn places(&self) -> impl Iterator<Item = &Path> {
        [self.from.as_path()].into_iter().chain(self.target())
    }

    /// Whether a file says what this one said.
    fn is_in(&self, path: &Path) -> io::Result<bool> {
        let stamp = files::stamp(path)?;
        Ok(stamp.bytes == self.bytes && files::sha256(path)? == self.sha256)
    }

    /// Whether this is the file that was acted on, untouched.
    fn is(&self, now: Stamp) -> bool {
        let inode = now.file.map(|file| file.inode);
        inode == self.inode && now.bytes == self.bytes && now.modified == self.modified
    }
}

/// Takes all steps there are; whether there were any.
fn undo(entry: &Entry, claims: &mut Claims<'_>, only_look: bool) -> Result<bool, String> {
    entry.places().try_for_each(check_place)?;
    if only_look {
        return Ok(!matches!(next_step(entry, claims.id())?, Step::Nothing));
    }
    let partial = claims.partial(entry.number);
    for place in entry.places() {
        // What a crash left behind.
        let _ = fs::remove_file(files::folder_of(place).join(&partial.name));
    }
    let mut something = false;
    loop {
        let step = next_step(entry, claims.id())?;
        if matches!(step, Step::Nothing) {
            break;
        }
        something = true;
        take(&step, entry, claims, &partial)?;
    }
    if let Act::Trash { to } = &entry.act {
        let _ = fs::remove_file(trash::info_of(to));
    }
    Ok(something)
}

/// A folder that has become a link, or is within one, leads to other files by now.
fn check_place(place: &Path) -> Result<(), String> {
    let folder = files::folder_of(place);
    let now = files::resolve(folder).map_err(|error| error.to_string())?;
    if now != folder {
        let [folder, now] = [folder, &now].map(path_text);
        return Err(format!("{folder} leads to {now} by now (a symbolic link); remove the link"));
    }
    Ok(())
}

/// What is to be done next, seen from what is there.
fn next_step(entry: &Entry, id: &str) -> Result<Step, String> {
    for home in entry.places() {
        if let Some(aside) = claim::left_behind(home, id) {
            return Ok(Step::Settle { aside, home: home.to_owned() });
        }
    }
    let now = plain_file(&entry.from)?;
    match &entry.act {
        Act::Move { to } | Act::Trash { to } => step_back(entry, now, to),
        Act::Link { .. } => step_from_link(entry, now),
        Act::Delete => match now {
            Some(now) if is_original(entry, now)? => Ok(Step::Nothing),
            Some(_) => Err("was deleted, which cannot be undone; another file has its name".into()),
            None => Err("was deleted; that cannot be undone".to_owned()),
        },
    }
}

/// A file that went elsewhere.
fn step_back(entry: &Entry, now: Option<Stamp>, to: &Path) -> Result<Step, String> {
    let there = plain_file(to)?;
    let is_there = there.is_some() && entry.is_in(to).map_err(|error| error.to_string())?;
    let to = path_text(to);
    match (now, there) {
        (None, None) => Err(format!("is no longer at {to}")),
        (None, Some(_)) if is_there => Ok(Step::Move),
        (None, Some(_)) => {
            Err(format!("what is at {to} now is not what was moved; it stays there"))
        }
        (Some(now), _) if is_original(entry, now)? => {
            Ok(if is_there { Step::RemoveCopy } else { Step::Nothing })
        }
        (Some(_), Some(_)) if is_there => {
            Err(format!("there is another file by now; what was there is still at {to}"))
        }
        (Some(_), _) => {
            Err(format!("there is another file by now, and what was there is no longer at {to}"))
        }
    }
}

/// A file that became a link.
fn step_from_link(entry: &Entry, now: Option<Stamp>) -> Result<Step, String> {
    let now = now.ok_or("cannot be made a file of its own: it is not there any more")?;
    let keep = files::stamp(&entry.keep).ok().and_then(|keep| keep.file);
    let inode = now.file.map(|file| file.inode);
    let is_link = now.file.is_some()
        && inode != entry.inode
        && (inode == entry.keep_inode || now.file == keep);
    let is_same = entry.is_in(&entry.from).map_err(|error| error.to_string())?;
    match (is_link, is_same) {
        (true, true) => Ok(Step::Unlink),
        (true, false) => {
            Err("was written to since it was linked; what it said before is lost".to_owned())
        }
        (false, true) => Ok(Step::Nothing),
        (false, false) if entry.is(now) => Ok(Step::Nothing),
        (false, false) => Err("there is another file by now, which is no link".to_owned()),
    }
}

/// What the file system says of a file; none if there is no such name. A link is no file, whatever it
/// leads to.
fn plain_file(path: &Path) -> Result<Option<Stamp>, String> {
    match files::stamp(path) {
        Ok(stamp) => Ok(Some(stamp)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} {error} by now", path_text(path))),
    }
}

/// Whether the file that is in its place is the one that was acted on, or says the same.
fn is_original(entry: &Entry, now: Stamp) -> Result<bool, String> {
    Ok(entry.is(now) || entry.is_in(&entry.from).map_err(|error| error.to_string())?)
}

fn take(
    step: &Step,
    entry: &Entry,
    claims: &mut Claims<'_>,
    partial: &PartialName<'_>,
) -> Result<(), String> {
    let in_words = |error: io::Error| error.to_string();
    match step {
        Step::Nothing => Ok(()),
        Step::Settle { aside, home } => match claim::settle(aside, home).map_err(in_words)? {
            Settled::Back | Settled::Done => Ok(()),
            Settled::Taken => Err(format!(
                "there is another file by now; what was there is at {}",
                path_text(aside)
            )),
        },
        Step::Move => {
            fs::create_dir_all(files::folder_of(&entry.from)).map_err(in_words)?;
            let to = entry.target().unwrap_or(&entry.from);
            put_aside(to, claims, &|aside| {
                check_content(entry, aside)?;
                files::move_file(aside, &entry.from, partial)
            })
        }
        Step::RemoveCopy => {
            let to = entry.target().unwrap_or(&entry.from);
            // The copy is out of the way: what is in the old place now is not the copy itself.
            put_aside(to, claims, &|aside| {
                check_content(entry, aside)?;
                check_content(entry, &entry.from)?;
                fs::remove_file(aside)
            })
        }
        Step::Unlink => put_aside(&entry.from, claims, &|aside| {
            check_content(entry, aside)?;
            unlink(entry, aside, partial)
        }),
    }
}

/// Puts a file aside and does something; if that fails, the file goes back.
fn put_aside(
    path: &Path,
    claims: &mut Claims<'_>,
    act: &dyn Fn(&Path) -> io::Result<()>,
) -> Result<(), String> {
    let claim = claims.take(path).map_err(|error| error.to_string())?;
    act(claim.file()).map_err(|why| claim.give_back_because(why.to_string()))
}

fn check_content(entry: &Entry, path: &Path) -> io::Result<()> {
    if !entry.is_in(path)? {
        return Err(io::Error::other("changed just now"));
    }
    Ok(())
}

/// Makes a link that was put aside a file of its own, with the attributes it had.
fn unlink(entry: &Entry, aside: &Path, partial: &PartialName<'_>) -> io::Result<()> {
    let folder = files::folder_of(&entry.from);
    let (copy, _partial) = partial.create_in(folder)?;
    io::copy(&mut File::open(aside)?, &mut copy.as_file())?;
    give_back_attributes(copy.as_file(), entry)?;
    copy.as_file().sync_all()?;
    check_content(entry, copy.path())?;
    copy.persist_noclobber(&entry.from).map_err(|failed| failed.error)?;
    files::sync_folder(folder);
    fs::remove_file(aside)
}

fn give_back_attributes(file: &File, entry: &Entry) -> io::Result<()> {
    let since = Duration::from_nanos(entry.modified.unsigned_abs());
    let modified: SystemTime =
        if entry.modified < 0 { UNIX_EPOCH - since } else { UNIX_EPOCH + since };
    #[cfg(unix)]
    if let Act::Link { mode, owner, .. } = &entry.act {
        use std::os::unix::fs::{PermissionsExt, fchown};
        if let Some((user, group)) = *owner {
            // Only root may give files away.
            let _ = fchown(file, Some(user), Some(group));
        }
        if let Some(mode) = mode {
            file.set_permissions(fs::Permissions::from_mode(*mode))?;
        }
    }
    file.set_times(FileTimes::new().set_modified(modified))
}
