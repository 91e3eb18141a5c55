//! Moves, links, trashes or deletes duplicate files. An action is first recorded in the [`Journal`].
//! It is carried out only if neither the file nor its keeper has changed since it was read.
//!
//! A file is set aside before its last check ([`claim`]), so this holds even while other runs act on
//! the same files. [`lock`] keeps other runs out where it can.

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
use crate::source::{ContentHash, FileId, SeenFile, Stamp, path_text};
use claim::Claims;
pub use claim::{Recovered, Restored, recover};
pub use files::resolve;
use journal::Act;
pub use journal::{Entry, Journal, list_journals};
pub use lock::RunLock;
use trash::Trash;
pub use undo::{Undo, Undone};

/// How many files are recorded in the journal before the first of them is touched.
const BATCH: usize = 64;

/// What to do with a duplicate file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Move it to this folder, under its path within the searched folder.
    Move(PathBuf),
    /// Replace it by a hard link to its keeper, if both are equal.
    Link,
    Trash,
    Delete,
}

/// A file to act on, and its keeper.
#[derive(Clone, Copy)]
pub struct PlannedAction<'a> {
    pub file: SeenFile<'a>,
    pub keep: SeenFile<'a>,
    /// For a sidecar, its image: if nothing is done to the image, nothing is done to the sidecar.
    pub with: Option<&'a Path>,
}

/// The result of acting on many files.
#[derive(Default)]
pub struct ActionResult {
    /// How many names were acted on, and the bytes of their files.
    pub names: u64,
    pub bytes: u64,
    pub not_done: Vec<NotDone>,
}

/// A file that was left unchanged.
pub struct NotDone {
    pub path: PathBuf,
    pub reason: String,
    /// Whether the action failed; otherwise it does not apply to the file.
    pub failed: bool,
}

/// Why a file is left unchanged.
enum Cause {
    NotApplicable(String),
    Failed(String),
}

impl From<String> for Cause {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Action {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Move(_) => "move",
            Self::Link => "link",
            Self::Trash => "trash",
            Self::Delete => "delete",
        }
    }

    /// The past participle, for messages.
    pub fn participle(&self) -> String {
        match self {
            Self::Move(to) => format!("moved to {}", path_text(to)),
            Self::Link => "linked".to_owned(),
            Self::Trash => "moved to the trash".to_owned(),
            Self::Delete => "deleted".to_owned(),
        }
    }
}

/// Reads a file again, to check whether its content has changed.
pub type Reread<'a> = &'a dyn Fn(&Path) -> Result<ContentHash>;

/// Acts on files.
pub struct Actor<'a> {
    action: &'a Action,
    reread: Reread<'a>,
    partials: &'a Partials,
    trash: Option<Trash>,
    /// Names already assigned in the target folder of `--move`.
    reserved: HashSet<PathBuf>,
    /// Folders already recorded in the journal.
    recorded_folders: HashSet<PathBuf>,
    /// Names already planned. The same file may be given under several spellings.
    planned: HashSet<PathBuf>,
    number: u64,
    result: ActionResult,
}

/// A name that passed the first check.
struct Intent<'a> {
    entry: Entry,
    planned: PlannedAction<'a>,
    trash: Option<trash::Reservation>,
    /// Whether this is the first name of its file.
    is_first: bool,
}

impl<'a> Actor<'a> {
    pub fn new(action: &'a Action, reread: Reread<'a>, host: &'a Host) -> Result<Self> {
        let trash = match action {
            Action::Trash => Some(Trash::open(&host.folders)?),
            _ => None,
        };
        Ok(Self {
            action,
            reread,
            partials: &host.partials,
            trash,
            reserved: HashSet::new(),
            recorded_folders: HashSet::new(),
            planned: HashSet::new(),
            number: 0,
            result: ActionResult::default(),
        })
    }

    /// Acts on all these files.
    pub fn act(
        mut self,
        planned: &[PlannedAction<'_>],
        journal: &mut Journal,
    ) -> Result<ActionResult> {
        let targets = Targets::new(planned);
        let mut claims = Claims::new(&journal.id, self.partials);
        for batch in planned.chunks(BATCH) {
            let intents = self.first_checks(batch, &targets);
            for intent in &intents {
                self.record(&intent.entry, journal);
            }
            journal.sync()?;
            for intent in intents {
                let image = self.check_image(&intent.planned);
                match image.and_then(|()| intent.carry_out(&mut claims, self.reread)) {
                    Ok(()) => self.count(&intent),
                    Err(reason) => {
                        journal.record_not_done(intent.entry.number, &reason);
                        self.refuse(&intent.entry.from, reason.into());
                    }
                }
            }
        }
        Ok(self.result)
    }

    /// Makes the same checks as [`act`](Self::act), and reports what would be done.
    pub fn dry_run(
        mut self,
        planned: &[PlannedAction<'_>],
        on_entry: &mut dyn FnMut(&Entry) -> Result<()>,
    ) -> Result<ActionResult> {
        let targets = Targets::new(planned);
        for batch in planned.chunks(BATCH) {
            for intent in self.first_checks(batch, &targets) {
                let image = self.check_image(&intent.planned);
                match image.and_then(|()| intent.check(&intent.entry.from, self.reread)) {
                    Ok(()) => {
                        on_entry(&intent.entry)?;
                        self.count(&intent);
                    }
                    Err(reason) => self.refuse(&intent.entry.from, reason.into()),
                }
            }
        }
        Ok(self.result)
    }

    /// An error for a sidecar whose image is left unchanged.
    fn check_image(&self, planned: &PlannedAction<'_>) -> Result<(), String> {
        let Some(image) = planned.with else { return Ok(()) };
        let resolved = files::resolve_folder(image).unwrap_or_default();
        let is_image = |file: &NotDone| file.path == image || file.path == resolved;
        match self.result.not_done.iter().any(is_image) {
            true => Err(format!("is a sidecar of {}, which is left unchanged", path_text(image))),
            false => Ok(()),
        }
    }

    fn count(&mut self, intent: &Intent<'_>) {
        self.result.names += 1;
        self.result.bytes += if intent.is_first { intent.entry.bytes } else { 0 };
    }

    fn refuse(&mut self, path: &Path, cause: Cause) {
        let (reason, failed) = match cause {
            Cause::NotApplicable(reason) => (reason, false),
            Cause::Failed(reason) => (reason, true),
        };
        self.result.not_done.push(NotDone { path: path.to_owned(), reason, failed });
    }

    /// The files of a batch that pass the first check, with an intent for each name of a file. The
    /// others are added to the result as not done.
    fn first_checks<'b>(
        &mut self,
        batch: &[PlannedAction<'b>],
        targets: &Targets,
    ) -> Vec<Intent<'b>> {
        let mut intents = Vec::new();
        for planned in batch {
            let sha256 = match first_check(planned, targets) {
                Ok(sha256) => sha256,
                Err(reason) => {
                    self.refuse(planned.file.path, reason.into());
                    continue;
                }
            };
            let names = [planned.file.path].into_iter();
            let names = names.chain(planned.file.links.iter().map(PathBuf::as_path));
            for (position, name) in names.enumerate() {
                match self.intent(*planned, name, &sha256, position == 0) {
                    Ok(intent) => intents.extend(intent),
                    Err(cause) => self.refuse(name, cause),
                }
            }
        }
        intents
    }

    /// None for a name that is already planned.
    fn intent<'b>(
        &mut self,
        planned: PlannedAction<'b>,
        name: &Path,
        sha256: &str,
        is_first: bool,
    ) -> Result<Option<Intent<'b>>, Cause> {
        let from = files::resolve_folder(name)?;
        if !self.planned.insert(from.clone()) {
            return Ok(None);
        }
        let keep = files::resolve_folder(planned.keep.path)?;
        let (act, trash) = self.plan(&planned, name, &from, is_first)?;
        self.number += 1;
        let Stamp { bytes, modified, .. } = planned.file.stamp;
        let [inode, keep_inode] =
            [planned.file, planned.keep].map(|file| file.stamp.file.map(|file| file.inode));
        let (number, sha256) = (self.number, sha256.to_owned());
        let entry = Entry { number, act, from, keep, inode, keep_inode, bytes, modified, sha256 };
        Ok(Some(Intent { entry, planned, trash, is_first }))
    }

    /// The journal's form of the action on a name, and the path reserved for it in the trash.
    fn plan(
        &mut self,
        planned: &PlannedAction<'_>,
        name: &Path,
        from: &Path,
        is_first: bool,
    ) -> Result<(Act, Option<trash::Reservation>), Cause> {
        match self.action {
            Action::Move(folder) => {
                let relative = if is_first {
                    planned.file.relative
                } else {
                    Path::new(name.file_name().unwrap_or_default())
                };
                let to = self.free_name(&resolve(folder)?.join(relative));
                Ok((Act::Move { to }, None))
            }
            Action::Trash => {
                let trash = self.trash.as_mut().ok_or("there is no trash".to_owned())?;
                let reservation = trash.reserve(from)?;
                Ok((Act::Trash { to: reservation.file.clone() }, Some(reservation)))
            }
            Action::Link => Ok((link(name, &planned.keep)?, None)),
            Action::Delete => Ok((Act::Delete, None)),
        }
    }

    /// The wanted path if it is free, otherwise one with a number.
    fn free_name(&mut self, wanted: &Path) -> PathBuf {
        let name = wanted.file_name().unwrap_or_default();
        let mut number = 1;
        loop {
            let path = wanted.with_file_name(trash::numbered(name, number));
            if !files::exists(&path) && self.reserved.insert(path.clone()) {
                return path;
            }
            number += 1;
        }
    }

    /// Records an action, and the folders that it will create.
    fn record(&mut self, entry: &Entry, journal: &mut Journal) {
        if let Act::Move { to } = &entry.act {
            let above = files::folder_of(to).ancestors();
            let missing: Vec<_> = above.take_while(|folder| !files::exists(folder)).collect();
            for folder in missing.into_iter().rev() {
                if self.recorded_folders.insert(folder.to_owned()) {
                    journal.record_folder(folder);
                }
            }
        }
        journal.record(entry);
    }
}

/// The check before anything is recorded: both files exist and are unchanged. Returns the SHA-256 of
/// the file.
fn first_check(planned: &PlannedAction<'_>, targets: &Targets) -> Result<String, String> {
    let PlannedAction { file, keep, .. } = planned;
    targets.check_keeper(keep)?;
    check_unchanged(keep.path, keep.stamp).map_err(|reason| about_keeper(keep, &reason))?;
    check_unchanged(file.path, file.stamp)?;
    files::sha256(file.path).map_err(|error| format!("cannot be read again: {error}"))
}

/// A link loses nothing only if both files are equal byte for byte.
fn link(name: &Path, keep: &SeenFile<'_>) -> Result<Act, Cause> {
    let data = name.symlink_metadata()?;
    let devices = [Stamp::of(&data), keep.stamp].map(|stamp| stamp.file.map(|file| file.device));
    let keep_name = path_text(keep.path);
    if devices[0] != devices[1] {
        let reason = format!("is on another file system than {keep_name}; hard links cannot cross");
        return Err(Cause::NotApplicable(reason));
    }
    if !files::same_content(name, keep.path)? {
        return Err(Cause::NotApplicable(format!("is similar to {keep_name}, but not equal")));
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
    /// Sets the file aside, checks it and its keeper, and acts. On failure everything is as before.
    fn carry_out(&self, claims: &mut Claims<'_>, reread: Reread<'_>) -> Result<(), String> {
        let from = &self.entry.from;
        check_unchanged(from, self.planned.file.stamp)?;
        let claim = claims.take(from).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => MISSING.to_owned(),
            _ => format!("cannot be set aside for its last check: {error}"),
        })?;
        let partial = claims.partial(self.entry.number);
        let acted = self
            .check(claim.file(), reread)
            .and_then(|()| self.act(claim.file(), &partial).map_err(|error| error_text(&error)));
        acted.map_err(|reason| claim.restore(reason))
    }

    /// The last check, of the file at its present path and of its keeper: both are the files that were
    /// read, with the same content.
    fn check(&self, now: &Path, reread: Reread<'_>) -> Result<(), String> {
        let PlannedAction { file, keep, .. } = self.planned;
        if self.entry.from == self.entry.keep
            || file.stamp.file.is_some_and(|file| Some(file) == keep.stamp.file)
        {
            return Err(LAST_COPY.to_owned());
        }
        check_content(now, &file, reread)?;
        check_content(&self.entry.keep, &keep, reread)
            .map_err(|reason| about_keeper(&keep, &reason))?;
        if matches!(self.entry.act, Act::Link { .. }) {
            let same = files::same_content(now, &self.entry.keep);
            if !same.map_err(|error| error.to_string())? {
                return Err(CHANGED.to_owned());
            }
        }
        Ok(())
    }

    /// Acts on the file that is set aside.
    fn act(&self, aside: &Path, partial: &PartialName<'_>) -> io::Result<()> {
        let Entry { act, from, keep, .. } = &self.entry;
        match (act, &self.trash) {
            (Act::Move { to }, _) => {
                fs::create_dir_all(files::folder_of(to))?;
                files::move_file(aside, to, partial)
            }
            (Act::Trash { .. }, Some(reservation)) => reservation.fill(aside),
            (Act::Trash { .. }, None) => Err(io::Error::other("there is no trash")),
            (Act::Link { .. }, _) => {
                fs::hard_link(keep, from)?;
                fs::remove_file(aside)
            }
            (Act::Delete, _) => fs::remove_file(aside),
        }
    }
}

/// All files to act on. None of them may be the keeper of another.
struct Targets {
    files: HashSet<FileId>,
}

impl Targets {
    fn new(planned: &[PlannedAction<'_>]) -> Self {
        Self { files: planned.iter().filter_map(|planned| planned.file.stamp.file).collect() }
    }

    fn check_keeper(&self, keep: &SeenFile<'_>) -> Result<(), String> {
        match keep.stamp.file {
            Some(file) if self.files.contains(&file) => Err(LAST_COPY.to_owned()),
            _ => Ok(()),
        }
    }
}

const CHANGED: &str = "changed since it was read";
const MISSING: &str = "no longer exists";
const LAST_COPY: &str = "is the last copy: its keeper is the same file or is also being removed";

fn about_keeper(keep: &SeenFile<'_>, reason: &str) -> String {
    format!("its keeper {} {reason}", path_text(keep.path))
}

fn error_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TooManyLinks => "its keeper cannot have more hard links".to_owned(),
        io::ErrorKind::NotFound => {
            "it or its keeper was just removed by another program".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Checks that this is the file that was read, with the same content.
fn check_content(path: &Path, file: &SeenFile<'_>, reread: Reread<'_>) -> Result<(), String> {
    check_unchanged(path, file.stamp)?;
    let content = reread(path).map_err(|error| format!("cannot be read again: {error:#}"))?;
    if content != file.content {
        return Err(CHANGED.to_owned());
    }
    // The file was not replaced while it was read.
    check_unchanged(path, file.stamp)
}

/// Checks that the file of this name is the one that was read, and has not been written to since.
fn check_unchanged(path: &Path, seen: Stamp) -> Result<(), String> {
    match files::stamp(path) {
        Ok(now) if now == seen => Ok(()),
        Ok(_) => Err(CHANGED.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(MISSING.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Moves a file that was set aside back to its path, when the run is stopped.
pub fn put_back(aside: &Path, home: &Path) -> io::Result<()> {
    files::rename_new(aside, home)
}
