//! How is what a journal tells undone? Entry by entry, the last one first, each by what is on the disk
//! now: an entry that was never carried out, or is undone already, is nothing to do. So undoing twice,
//! or after a crash in the middle of either, comes to the same.

use std::{
    fs::{self, File, FileTimes},
    io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use tempfile::NamedTempFile;

use super::{
    files,
    journal::{Act, Entry, Notes, Read, partial},
    trash,
};
use crate::{report::Partial, source::path_text};

/// A journal, ready to be undone.
pub struct Undo {
    journal: Read,
    notes: Option<Notes>,
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

/// What an entry needs.
enum Need {
    Nothing,
    /// The file comes back from there.
    Move,
    /// Both are there, and equal: a move over file systems was cut off before its end.
    RemoveCopy,
    /// The name becomes a file of its own again.
    Unlink,
}

impl Undo {
    pub fn open(path: &Path) -> Result<Self> {
        let journal = Read::open(path)?;
        // A journal that cannot be written to is good enough: files tell what is to be done.
        let notes = Notes::open(path).ok();
        Ok(Self { journal, notes })
    }

    /// What the journal is about: an act, and how many entries are not undone yet.
    pub fn about(path: &Path) -> Result<(String, u64)> {
        let journal = Read::open(path)?;
        let act = journal.entries.first().map_or("nothing", |entry| entry.act.name());
        let open = journal.entries.iter().filter(|entry| !journal.undone.contains(&entry.number));
        Ok((act.to_owned(), open.count() as u64))
    }

    /// Undoes everything that can be; with `only_look`, tells what would come of it.
    pub fn run(mut self, only_look: bool) -> Undone {
        let mut undone = Undone::default();
        let skip: std::collections::HashSet<u64> = self.journal.undone.drain(..).collect();
        for entry in self.journal.entries.iter().rev() {
            if skip.contains(&entry.number) {
                undone.as_it_was += 1;
                continue;
            }
            let did = need(entry).and_then(|need| {
                let something = !matches!(need, Need::Nothing);
                if !only_look {
                    meet(&need, entry, &self.journal.id).map_err(|error| error.to_string())?;
                }
                Ok(something)
            });
            match did {
                Ok(something) => {
                    *(if something { &mut undone.back } else { &mut undone.as_it_was }) += 1;
                    if let Some(notes) = self.notes.as_mut().filter(|_| !only_look) {
                        let _ = notes.undone(entry.number);
                    }
                }
                Err(why) => undone.left.push(format!("{}: {why}", path_text(&entry.from))),
            }
        }
        if !only_look {
            // Those with something in them stay, by themselves.
            for folder in self.journal.made.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
        }
        undone
    }
}

/// What must be done to undo an entry, seen from what is there.
fn need(entry: &Entry) -> Result<Need, String> {
    let there = files::exists(&entry.from);
    match &entry.act {
        Act::Move { to } | Act::Trash { to } => match (there, files::exists(to)) {
            (false, true) => Ok(Need::Move),
            (true, false) => Ok(Need::Nothing),
            (false, false) => Err(format!("is no longer at {}", path_text(to))),
            (true, true) => {
                if files::same_content(&entry.from, to).unwrap_or(false) {
                    return Ok(Need::RemoveCopy);
                }
                let to = path_text(to);
                Err(format!("there is another file by now; what was there is still at {to}"))
            }
        },
        Act::Link { sha256, .. } => {
            let [now, keep] = [&entry.from, &entry.keep].map(|path| files::stamp(path));
            match (now, keep) {
                (Err(error), _) => Err(format!("cannot be made a file of its own: {error}")),
                (Ok(now), Ok(keep)) if now.file.is_some() && now.file == keep.file => {
                    let now = files::sha256(&entry.from).map_err(|error| error.to_string())?;
                    if now != *sha256 {
                        return Err(
                            "was written to since it was linked; what it said before is lost"
                                .into(),
                        );
                    }
                    Ok(Need::Unlink)
                }
                _ => Ok(Need::Nothing),
            }
        }
        Act::Delete if there => Ok(Need::Nothing),
        Act::Delete => Err("was deleted; that cannot be undone".to_owned()),
    }
}

fn meet(need: &Need, entry: &Entry, id: &str) -> io::Result<()> {
    let partial = partial(id, entry.number);
    let to = match &entry.act {
        Act::Move { to } | Act::Trash { to } => to,
        Act::Link { .. } | Act::Delete => &entry.from,
    };
    // What a crash left behind.
    let _ = fs::remove_file(files::folder_of(to).join(&partial));
    match need {
        Need::Nothing => {}
        Need::Move => {
            fs::create_dir_all(files::folder_of(&entry.from))?;
            files::move_file(to, &entry.from, &partial)?;
        }
        Need::RemoveCopy => fs::remove_file(to)?,
        Need::Unlink => unlink(entry, &partial)?,
    }
    if let Act::Trash { to } = &entry.act {
        let _ = fs::remove_file(trash::info_of(to));
    }
    Ok(())
}

/// Makes a name that is a link a file of its own, with the attributes it had.
fn unlink(entry: &Entry, partial: &str) -> io::Result<()> {
    let folder = files::folder_of(&entry.from);
    let make = || tempfile::Builder::new().prefix(partial).rand_bytes(0).tempfile_in(folder);
    let (copy, _partial) = Partial::create(make, NamedTempFile::path)?;
    io::copy(&mut File::open(&entry.from)?, &mut copy.as_file())?;
    if !files::same_content(&entry.from, copy.path())? {
        return Err(io::Error::other("the copy is not what was copied"));
    }
    give_back_attributes(copy.as_file(), entry)?;
    copy.as_file().sync_all()?;
    copy.persist(&entry.from).map_err(|failed| failed.error)?;
    files::sync_folder(folder);
    Ok(())
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
