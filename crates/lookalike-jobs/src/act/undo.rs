//! Undoes a journal, entry by entry, starting with the last. Each entry is undone in steps. The files
//! on disk determine the next step, and no step loses data. So undoing twice, or again after a crash,
//! gives the same result.
//!
//! A file is removed or restored only if its content is what the journal says. Links that did not
//! exist before are not followed.

use std::{
    fs::{self, File, FileTimes},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Result;

use super::{
    claim::{self, Claims, Restored},
    files,
    journal::{Act, Entry, LoadedJournal, UndoLog},
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
    journal: LoadedJournal,
    partials: &'h Partials,
    log: Option<UndoLog>,
    _lock: RunLock,
}

/// The result of undoing a journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Undone {
    pub restored: u64,
    /// Entries with nothing to undo.
    pub unchanged: u64,
    /// Which files could not be restored, and why.
    pub failed: Vec<String>,
}

/// The next step of undoing an entry.
enum Step {
    Nothing,
    /// Move a file that a stopped run had set aside back to its path.
    Restore {
        aside: PathBuf,
        home: PathBuf,
    },
    /// Move the file back.
    Move,
    /// Remove the copy: a move across file systems was interrupted, and both files are equal.
    RemoveCopy,
    /// Turn the hard link back into a separate file.
    Unlink,
}

impl<'h> Undo<'h> {
    /// Fails while another process uses the journal or acts on the same trees.
    pub fn open(path: &Path, host: &'h Host) -> Result<Self> {
        let log = UndoLog::open(path)?;
        let journal = LoadedJournal::open(path)?;
        let lock = RunLock::take(&journal.trees, host)?;
        Ok(Self { journal, log, partials: &host.partials, _lock: lock })
    }

    /// The name of a journal's action, and how many entries can still be undone.
    pub fn describe(path: &Path) -> Result<(String, u64)> {
        let journal = LoadedJournal::open(path)?;
        let action = journal.entries.first().map_or("nothing", |entry| entry.act.name());
        let open = journal.entries.iter().filter(|entry| !journal.is_closed(entry));
        Ok((action.to_owned(), open.count() as u64))
    }

    /// Undoes everything that can be undone. A dry run only counts it.
    pub fn run(mut self, dry_run: bool) -> Undone {
        let mut undone = Undone::default();
        let mut claims = Claims::new(&self.journal.id, self.partials);
        for entry in self.journal.entries.iter().rev() {
            if self.journal.is_closed(entry) {
                undone.unchanged += 1;
                continue;
            }
            match undo(entry, &mut claims, dry_run) {
                Ok(changed) => {
                    *(if changed { &mut undone.restored } else { &mut undone.unchanged }) += 1;
                    if let Some(log) = self.log.as_mut().filter(|_| !dry_run) {
                        let _ = log.undone(entry.number);
                    }
                }
                Err(reason) => undone.failed.push(format!("{}: {reason}", path_text(&entry.from))),
            }
        }
        drop(claims);
        if !dry_run {
            let paths = self.journal.entries.iter().flat_map(Entry::paths);
            paths.for_each(|path| claim::remove_empty_folder(path, &self.journal.id));
            // Folders that are not empty stay.
            for folder in self.journal.folders.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
        }
        undone
    }
}

impl LoadedJournal {
    /// Whether the journal says that an entry was undone or never carried out.
    fn is_closed(&self, entry: &Entry) -> bool {
        self.undone.contains(&entry.number) || self.not_done.contains(&entry.number)
    }
}

impl Entry {
    /// The present path of the file, if the entry was carried out.
    fn target(&self) -> Option<&Path> {
        match &self.act {
            Act::Move { to } | Act::Trash { to } => Some(to),
            Act::Link { .. } | Act::Delete => None,
        }
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        [self.from.as_path()].into_iter().chain(self.target())
    }

    /// Whether a file has the recorded content.
    fn has_content(&self, path: &Path) -> io::Result<bool> {
        let stamp = files::stamp(path)?;
        Ok(stamp.bytes == self.bytes && files::sha256(path)? == self.sha256)
    }

    /// Whether this is the unchanged file that was acted on.
    fn is(&self, now: Stamp) -> bool {
        let inode = now.file.map(|file| file.inode);
        inode == self.inode && now.bytes == self.bytes && now.modified == self.modified
    }
}

/// Takes all steps, and returns whether there were any.
fn undo(entry: &Entry, claims: &mut Claims<'_>, dry_run: bool) -> Result<bool, String> {
    entry.paths().try_for_each(check_folder)?;
    if dry_run {
        return Ok(!matches!(next_step(entry, claims.id())?, Step::Nothing));
    }
    let partial = claims.partial(entry.number);
    for path in entry.paths() {
        // An incomplete copy that a crash left behind.
        let _ = fs::remove_file(files::folder_of(path).join(&partial.name));
    }
    let mut changed = false;
    loop {
        let step = next_step(entry, claims.id())?;
        if matches!(step, Step::Nothing) {
            break;
        }
        changed = true;
        perform(&step, entry, claims, &partial)?;
    }
    if let Act::Trash { to } = &entry.act {
        let _ = fs::remove_file(trash::info_of(to));
    }
    Ok(changed)
}

/// Refuses a folder that has become a link or is now inside one: it leads to other files.
fn check_folder(path: &Path) -> Result<(), String> {
    let folder = files::folder_of(path);
    let now = files::resolve(folder).map_err(|error| error.to_string())?;
    if now != folder {
        let [folder, now] = [folder, &now].map(path_text);
        return Err(format!("{folder} is now a symbolic link to {now}; remove the link"));
    }
    Ok(())
}

/// The next step, from the files on disk.
fn next_step(entry: &Entry, id: &str) -> Result<Step, String> {
    for home in entry.paths() {
        if let Some(aside) = claim::left_behind(home, id) {
            return Ok(Step::Restore { aside, home: home.to_owned() });
        }
    }
    let now = regular_file(&entry.from)?;
    match &entry.act {
        Act::Move { to } | Act::Trash { to } => step_back(entry, now, to),
        Act::Link { .. } => step_from_link(entry, now),
        Act::Delete => match now {
            Some(now) if is_original(entry, now)? => Ok(Step::Nothing),
            Some(_) => {
                Err("was deleted, which cannot be undone; another file now has its name".into())
            }
            None => Err("was deleted, which cannot be undone".to_owned()),
        },
    }
}

/// The next step for a file that was moved.
fn step_back(entry: &Entry, now: Option<Stamp>, to: &Path) -> Result<Step, String> {
    let moved = regular_file(to)?;
    let is_moved = moved.is_some() && entry.has_content(to).map_err(|error| error.to_string())?;
    let to = path_text(to);
    match (now, moved) {
        (None, None) => Err(format!("is no longer at {to}")),
        (None, Some(_)) if is_moved => Ok(Step::Move),
        (None, Some(_)) => {
            Err(format!("{to} is not the file that was moved there; it is left unchanged"))
        }
        (Some(now), _) if is_original(entry, now)? => {
            Ok(if is_moved { Step::RemoveCopy } else { Step::Nothing })
        }
        (Some(_), Some(_)) if is_moved => {
            Err(format!("another file now has this name; the original is still at {to}"))
        }
        (Some(_), _) => {
            Err(format!("another file now has this name, and the original is no longer at {to}"))
        }
    }
}

/// The next step for a file that was replaced by a hard link.
fn step_from_link(entry: &Entry, now: Option<Stamp>) -> Result<Step, String> {
    let now = now.ok_or("cannot become a separate file again: it no longer exists")?;
    let keep = files::stamp(&entry.keep).ok().and_then(|keep| keep.file);
    let inode = now.file.map(|file| file.inode);
    let is_link = now.file.is_some()
        && inode != entry.inode
        && (inode == entry.keep_inode || now.file == keep);
    let is_same = entry.has_content(&entry.from).map_err(|error| error.to_string())?;
    match (is_link, is_same) {
        (true, true) => Ok(Step::Unlink),
        (true, false) => {
            Err("was written to after it was linked; its original content is lost".to_owned())
        }
        (false, true) => Ok(Step::Nothing),
        (false, false) if entry.is(now) => Ok(Step::Nothing),
        (false, false) => Err("is now another file, which is not the link".to_owned()),
    }
}

/// The stamp of a regular file; none if it does not exist. A symbolic link is an error.
fn regular_file(path: &Path) -> Result<Option<Stamp>, String> {
    match files::stamp(path) {
        Ok(stamp) => Ok(Some(stamp)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} {error}", path_text(path))),
    }
}

/// Whether the file at the original path is the one that was acted on, or has the same content.
fn is_original(entry: &Entry, now: Stamp) -> Result<bool, String> {
    Ok(entry.is(now) || entry.has_content(&entry.from).map_err(|error| error.to_string())?)
}

fn perform(
    step: &Step,
    entry: &Entry,
    claims: &mut Claims<'_>,
    partial: &PartialName<'_>,
) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    match step {
        Step::Nothing => Ok(()),
        Step::Restore { aside, home } => match claim::restore(aside, home).map_err(text)? {
            Restored::MovedBack | Restored::AlreadyInPlace => Ok(()),
            Restored::NameTaken => Err(format!(
                "another file now has this name; the original is at {}",
                path_text(aside)
            )),
        },
        Step::Move => {
            fs::create_dir_all(files::folder_of(&entry.from)).map_err(text)?;
            let to = entry.target().unwrap_or(&entry.from);
            with_claim(to, claims, &|aside| {
                check_content(entry, aside)?;
                files::move_file(aside, &entry.from, partial)
            })
        }
        Step::RemoveCopy => {
            let to = entry.target().unwrap_or(&entry.from);
            // With the copy set aside, the file at the original path cannot be the copy itself.
            with_claim(to, claims, &|aside| {
                check_content(entry, aside)?;
                check_content(entry, &entry.from)?;
                fs::remove_file(aside)
            })
        }
        Step::Unlink => with_claim(&entry.from, claims, &|aside| {
            check_content(entry, aside)?;
            unlink(entry, aside, partial)
        }),
    }
}

/// Sets a file aside and acts on it. If that fails, the file is put back.
fn with_claim(
    path: &Path,
    claims: &mut Claims<'_>,
    act: &dyn Fn(&Path) -> io::Result<()>,
) -> Result<(), String> {
    let claim = claims.take(path).map_err(|error| error.to_string())?;
    act(claim.file()).map_err(|error| claim.restore(error.to_string()))
}

fn check_content(entry: &Entry, path: &Path) -> io::Result<()> {
    if !entry.has_content(path)? {
        return Err(io::Error::other("was just modified by another program"));
    }
    Ok(())
}

/// Turns a link that is set aside into a separate file with its former attributes.
fn unlink(entry: &Entry, aside: &Path, partial: &PartialName<'_>) -> io::Result<()> {
    let folder = files::folder_of(&entry.from);
    let (copy, _partial) = partial.create_in(folder)?;
    io::copy(&mut File::open(aside)?, &mut copy.as_file())?;
    restore_attributes(copy.as_file(), entry)?;
    copy.as_file().sync_all()?;
    check_content(entry, copy.path())?;
    copy.persist_noclobber(&entry.from).map_err(|failed| failed.error)?;
    files::sync_folder(folder);
    fs::remove_file(aside)
}

fn restore_attributes(file: &File, entry: &Entry) -> io::Result<()> {
    let since = Duration::from_nanos(entry.modified.unsigned_abs());
    let modified: SystemTime =
        if entry.modified < 0 { UNIX_EPOCH - since } else { UNIX_EPOCH + since };
    #[cfg(unix)]
    if let Act::Link { mode, owner, .. } = &entry.act {
        use std::os::unix::fs::{PermissionsExt, fchown};
        if let Some((user, group)) = *owner {
            // Only root may change the owner of a file.
            let _ = fchown(file, Some(user), Some(group));
        }
        if let Some(mode) = mode {
            file.set_permissions(fs::Permissions::from_mode(*mode))?;
        }
    }
    file.set_times(FileTimes::new().set_modified(modified))
}
