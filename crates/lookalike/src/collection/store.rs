//! How do records and search tables stay one collection?
//!
//! A [`Store`] is a folder: the truth in `items.redb`, files of runs made from it in `runs/`. A
//! change is committed to the truth first; then the next [`View`] is published. Whoever searches
//! takes the newest view and never waits for whoever writes. Whoever writes waits for the one
//! before; those who wait are then served by one commit.

use std::{
    collections::HashSet,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use super::{
    CollectionError,
    about::{About, Saved, State},
    head::Head,
    lock::Lock,
    names,
    run::{RunBuilder, Shelved, files, open_all},
    stage::{Answer, Stage, Wish},
    truth::{Changes, Documents, Truth},
    view::View,
};
use crate::Radius;

/// A run of fewer items is not left alone: the next items join it. In tests few items shall make
/// many runs.
const SMALL: usize = if cfg!(test) { 4 } else { 1024 };

/// So many runs of one size become one of the next size.
const FAN: usize = 8;

/// Items that may be in no file yet, at least; or a quarter of all.
const MOST_UNSAVED: usize = if cfg!(test) { 24 } else { 1 << 16 };

/// A collection whose fingerprints have this many words.
pub struct Store<const WORDS: usize> {
    folder: PathBuf,
    pub about: About,
    /// Seeds the hashes of ids.
    pub token: u64,
    pub truth: Truth,
    view: RwLock<Arc<View<WORDS>>>,
    writer: Mutex<Writer>,
    waiting: Mutex<Vec<Arc<Request<WORDS>>>>,
    /// What was noticed when it was opened.
    pub notes: Vec<String>,
    read_only: bool,
    _lock: Option<Lock>,
}

/// What only the one who writes may touch.
struct Writer {
    saved: Saved,
    head: Option<Head>,
    /// A write failed: the truth must be opened again before the next.
    failed: bool,
}

/// A caller's wish, and what became of it.
struct Request<const WORDS: usize> {
    wish: Mutex<Option<Wish<WORDS>>>,
    answer: Mutex<Option<Result<Answer, CollectionError>>>,
}

/// Where the truth of a folder is.
pub fn truth_file(folder: &Path) -> PathBuf {
    folder.join("items.redb")
}

impl<const WORDS: usize> Store<WORDS> {
    /// What is in a folder whose truth was opened.
    pub fn load(
        folder: &Path,
        truth: Truth,
        documents: Documents,
        lock: Option<Lock>,
        read_only: bool,
    ) -> Result<Self, CollectionError> {
        let Documents { about, token, state, saved } = documents;
        Head::check(folder, &truth_file(folder), state)?;
        let loaded = load_view(folder, &truth, &about, token, state, &saved)?;
        let head = if read_only { None } else { Some(Head::open(folder)?) };
        let store = Self {
            folder: folder.into(),
            about,
            token,
            truth,
            view: RwLock::new(Arc::new(loaded.view)),
            writer: Mutex::new(Writer { saved, head, failed: false }),
            waiting: Mutex::default(),
            notes: loaded.notes,
            read_only,
            _lock: lock,
        };
        if !read_only {
            store.remove_strays(&store.lock_writer().saved);
        }
        Ok(store)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The newest state.
    pub fn view(&self) -> Arc<View<WORDS>> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, view: View<WORDS>) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }

    fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what is wished for, durably. Wishes that wait while another is written share a commit.
    pub fn change(&self, wish: Wish<WORDS>) -> Result<Answer, CollectionError> {
        self.check_writable()?;
        let request = Arc::new(Request { wish: Mutex::new(Some(wish)), answer: Mutex::default() });
        self.lock_waiting().push(request.clone());
        let mut writer = self.lock_writer();
        if let Some(answer) = request.take_answer() {
            return answer;
        }
        let group = std::mem::take(&mut *self.lock_waiting());
        self.serve(&mut writer, &group);
        self.tidy(&mut writer);
        request.take_answer().expect("a group holds the request of whoever serves it")
    }

    fn lock_waiting(&self) -> MutexGuard<'_, Vec<Arc<Request<WORDS>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_writable(&self) -> Result<(), CollectionError> {
        if self.read_only {
            return Err(CollectionError::ReadOnly { path: self.folder.clone() });
        }
        Ok(())
    }

    /// Answers every request of a group.
    fn serve(&self, writer: &mut Writer, group: &[Arc<Request<WORDS>>]) {
        match self.commit(writer, group) {
            Ok(answers) => {
                group.iter().zip(answers).for_each(|(request, answer)| request.answer(Ok(answer)));
            }
            Err(error) => {
                let error = Arc::new(error);
                group.iter().for_each(|request| {
                    request.answer(Err(CollectionError::Shared(error.clone())));
                });
            }
        }
    }

    /// One commit for all requests of a group, then the next view.
    fn commit(
        &self,
        writer: &mut Writer,
        group: &[Arc<Request<WORDS>>],
    ) -> Result<Vec<Answer>, CollectionError> {
        if writer.failed {
            self.reload(writer)?;
        }
        let view = self.view();
        let mut stage = Stage::new(&view, self.token);
        let (mut wishes, mut answers) = (Vec::new(), Vec::new());
        for request in group {
            wishes.extend(request.take_wish());
            answers.push(stage.apply(&wishes)?);
        }
        if stage.is_empty() {
            return Ok(answers);
        }
        let staging = stage.finish();
        let ledger = staging.seal(&mut wishes);
        let removed: Vec<u64> = staging.removed.iter().map(|&place| view.sequence(place)).collect();
        let committed = self.truth.commit(&Changes {
            records: staging.records(&wishes).map(|new| (new.sequence, new.record)).collect(),
            removed: &removed,
            state: view.state,
            next: staging.next,
            ledger,
            saved_end: writer.saved.end(),
        });
        // From here on the truth may be ahead of the view, until this is set back.
        writer.failed = true;
        let (state, checksums) = match committed {
            Ok(committed) => committed,
            Err(error) => {
                self.settle(writer, error, view.state.commits)?;
                return Ok(answers);
            }
        };
        let mut next = View { runs: view.runs.clone(), state };
        for (place, checksum) in staging.removed.iter().zip(checksums) {
            next.runs[place.run].remove(place.item, checksum);
        }
        let mut builder = RunBuilder::new();
        if let Some(small) = next.runs.pop_if(|last| last.len() < SMALL && last.saved.is_none()) {
            builder.extend_from_all(&[small], self.token);
        }
        builder.reserve(staging.len());
        for new in staging.records(&wishes) {
            let checksum = super::record::checksum(new.record, new.sequence).unwrap_or_default();
            builder.push(new.id, new.hash, new.sequence, checksum, new.prints.iter().copied());
        }
        if !builder.is_empty() {
            next.runs.push(Shelved::new(builder.finish(self.about.max_radius)?));
        }
        self.publish(next);
        writer.failed = false;
        writer.head = writer.head.take().and_then(|head| head.advance(state));
        Ok(answers)
    }

    /// After a write that failed: opens the truth again, and sees whether it holds what was written.
    /// If it does, all is well; if not, nothing was changed.
    fn settle(
        &self,
        writer: &mut Writer,
        error: CollectionError,
        commits: u64,
    ) -> Result<(), CollectionError> {
        if self.reload(writer).is_err() {
            return Err(CollectionError::Unsure { source: Box::new(error) });
        }
        if self.view().state.commits > commits { Ok(()) } else { Err(error) }
    }

    /// Opens the truth again, after a write that failed: it may hold what was written, or not.
    fn reload(&self, writer: &mut Writer) -> Result<(), CollectionError> {
        self.truth.reopen()?;
        let Documents { state, saved, .. } = self.truth.documents()?;
        let loaded = load_view(&self.folder, &self.truth, &self.about, self.token, state, &saved)?;
        self.publish(loaded.view);
        *writer = Writer { saved, head: Some(Head::open(&self.folder)?), failed: false };
        Ok(())
    }

    /// Merges runs where there are many, and saves them where much is unsaved. What fails here is
    /// tried again after the next change: nothing is lost.
    fn tidy(&self, writer: &mut Writer) {
        let view = self.view();
        let mut runs = view.runs.clone();
        while let Some(start) = crowded(&runs) {
            let Ok(merged) = self.merged(&runs[start..]) else { return };
            runs.truncate(start);
            runs.extend(merged);
        }
        for at in (0..runs.len()).rev() {
            if 2 * runs[at].removed.len() > runs[at].run.names.len() {
                let Ok(merged) = self.merged(&runs[at..=at]) else { return };
                runs.splice(at..=at, merged);
            }
        }
        let changed = runs.len() != view.runs.len()
            || runs.iter().zip(&view.runs).any(|(one, two)| !Arc::ptr_eq(&one.run, &two.run));
        if changed {
            self.publish(View { runs, state: view.state });
        }
        if self.unsaved() > MOST_UNSAVED.max(view.state.items as usize / 4) {
            // The records are safe; the files can be written another time.
            let _ = self.save(writer);
        }
    }

    /// One run instead of some; none if all their items are gone.
    fn merged(&self, runs: &[Shelved<WORDS>]) -> Result<Option<Shelved<WORDS>>, CollectionError> {
        let mut builder = RunBuilder::new();
        builder.extend_from_all(runs, self.token);
        if builder.is_empty() {
            return Ok(None);
        }
        Ok(Some(Shelved::new(builder.finish(self.about.max_radius)?)))
    }

    /// How many items are in no file.
    fn unsaved(&self) -> usize {
        self.view().runs.iter().filter(|run| run.saved.is_none()).map(Shelved::len).sum()
    }

    /// Writes runs that are in no file.
    pub fn snapshot(&self) -> Result<(), CollectionError> {
        self.check_writable()?;
        self.save(&mut self.lock_writer())
    }

    fn save(&self, writer: &mut Writer) -> Result<(), CollectionError> {
        if writer.failed {
            self.reload(writer)?;
        }
        let saved = self.save_runs(writer);
        if !writer.failed {
            self.remove_strays(&writer.saved);
        }
        saved
    }

    fn save_runs(&self, writer: &mut Writer) -> Result<(), CollectionError> {
        let folder = self.folder.join("runs");
        let failed =
            |source| CollectionError::Io { path: folder.clone(), action: "writing", source };
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut view = View::clone(&self.view());
        let mut saved = Saved { next: writer.saved.next, runs: Vec::new() };
        for shelved in &mut view.runs {
            let run = match shelved.saved {
                Some(run) => run,
                None => {
                    let names = &shelved.run.names;
                    let end = names.sequence(names.len() as u32 - 1) + 1;
                    saved.next += 1;
                    shelved.run.save(&folder, saved.next, end)?
                }
            };
            saved.runs.push(run);
            shelved.saved = Some(run);
        }
        sync_folder(&folder).map_err(failed)?;
        let removed = view.runs.iter().flat_map(Shelved::removed_sequences);
        // If it fails, the truth takes no other write before it is opened again.
        writer.failed = true;
        self.truth.commit_saved(&saved, removed)?;
        writer.failed = false;
        writer.saved = saved;
        self.publish(view);
        Ok(())
    }

    /// Merges everything into one run, saves it, and gives free space back to the system.
    pub fn compact(&self) -> Result<(), CollectionError> {
        self.check_writable()?;
        let mut writer = self.lock_writer();
        if writer.failed {
            self.reload(&mut writer)?;
        }
        let view = self.view();
        let already = view.runs.len() <= 1 && view.runs.iter().all(|run| run.removed.len() == 0);
        if !already {
            let runs = self.merged(&view.runs)?.into_iter().collect();
            self.publish(View { runs, state: view.state });
        }
        drop(view);
        self.save(&mut writer)?;
        self.truth.compact()
    }

    /// Removes files of runs that are not, or no longer, in use.
    fn remove_strays(&self, saved: &Saved) {
        let folder = self.folder.join("runs");
        let used: HashSet<PathBuf> =
            saved.runs.iter().flat_map(|run| files(&folder, run.number)).collect();
        let Ok(entries) = fs::read_dir(&folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            if !used.contains(&path) {
                // A stray takes space, and does no other harm.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Compares the files, the records and the view with each other and with their checksums.
    pub fn verify(&self) -> Result<(), CollectionError> {
        let writer = self.lock_writer();
        if !self.truth.is_whole()? {
            return Err(self.damaged("pages of the file differ from their checksums"));
        }
        let view = self.view();
        view.runs.iter().try_for_each(|shelved| shelved.run.verify())?;
        let state = self.truth.documents()?.state;
        let (mut items, mut ledger) = (0, 0u64);
        self.truth.for_each(.., WORDS, &mut |sequence, record| {
            items += 1;
            ledger = ledger.wrapping_add(record.checksum);
            let place = view.find(record.id, names::hash(record.id, self.token));
            let agrees = place.is_some_and(|place| {
                view.sequence(place) == sequence
                    && view.prints(place).iter().copied().eq(record.prints::<WORDS>())
            });
            if agrees {
                return Ok(ControlFlow::Continue(()));
            }
            Err(self.damaged(&format!("the tables do not hold item {sequence} as it is stored")))
        })?;
        drop(writer);
        if (items, ledger) != (state.items, state.ledger) || view.state != state {
            return Err(self.damaged("records are missing, or there are too many"));
        }
        Ok(())
    }

    fn damaged(&self, what: &str) -> CollectionError {
        CollectionError::Damaged { path: truth_file(&self.folder), what: what.to_owned() }
    }
}

impl<const WORDS: usize> Drop for Store<WORDS> {
    fn drop(&mut self) {
        if !self.read_only && self.unsaved() > SMALL {
            // Saves the next opening some work; the records are safe without.
            let _ = self.snapshot();
        }
    }
}

impl<const WORDS: usize> Request<WORDS> {
    fn take_wish(&self) -> Option<Wish<WORDS>> {
        self.wish.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take_answer(&self) -> Option<Result<Answer, CollectionError>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn answer(&self, answer: Result<Answer, CollectionError>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }
}

/// Where the last runs are too many, or too small for what follows: from there on they are merged.
fn crowded<const WORDS: usize>(runs: &[Shelved<WORDS>]) -> Option<usize> {
    let sizes: Vec<u32> = runs.iter().map(|run| size(run.run.names.len())).collect();
    let last = *sizes.last()?;
    let start = sizes.iter().rposition(|&size| size > last).map_or(0, |larger| larger + 1);
    let smaller = sizes[start..].iter().any(|&size| size < last);
    (smaller || sizes.len() - start >= FAN).then_some(start)
}

/// Runs of one size have the same; eight of them make the next.
fn size(items: usize) -> u32 {
    (items / SMALL).checked_ilog(FAN).map_or(0, |size| size + 1)
}

struct Loaded<const WORDS: usize> {
    view: View<WORDS>,
    notes: Vec<String>,
}

/// The view of a folder: from the files of its runs and the records since; or, if the files are not
/// all there as they were written, from all records.
fn load_view<const WORDS: usize>(
    folder: &Path,
    truth: &Truth,
    about: &About,
    token: u64,
    state: State,
    saved: &Saved,
) -> Result<Loaded<WORDS>, CollectionError> {
    let mut notes = Vec::new();
    let opened = open_all(&folder.join("runs"), &saved.runs, about.max_radius);
    let runs = match opened {
        Ok(runs) => with_removed(runs, truth.removed()?),
        Err(error) => {
            notes.push(format!("search tables made anew from the records: {error}"));
            None
        }
    };
    if let Some(runs) = runs {
        let view = with_records(runs, saved.end(), truth, about, token, state)?;
        if agrees(&view) {
            return Ok(Loaded { view, notes });
        }
        notes.push("search tables made anew from the records: they did not agree".to_owned());
    }
    let view = with_records(Vec::new(), 0, truth, about, token, state)?;
    if agrees(&view) {
        return Ok(Loaded { view, notes });
    }
    let what = "records are missing, or there are too many".to_owned();
    Err(CollectionError::Damaged { path: truth_file(folder), what })
}

/// Marks what is gone; `None` if a removed item is in no run.
fn with_removed<const WORDS: usize>(
    mut runs: Vec<Shelved<WORDS>>,
    removed: Vec<(u64, u64)>,
) -> Option<Vec<Shelved<WORDS>>> {
    for (sequence, checksum) in removed {
        let (run, item) = runs
            .iter_mut()
            .find_map(|run| run.run.names.with_sequence(sequence).map(|item| (run, item)))?;
        run.remove(item, checksum);
    }
    Some(runs)
}

/// Adds the records from a sequence number on.
fn with_records<const WORDS: usize>(
    mut runs: Vec<Shelved<WORDS>>,
    start: u64,
    truth: &Truth,
    about: &About,
    token: u64,
    state: State,
) -> Result<View<WORDS>, CollectionError> {
    let mut builder = RunBuilder::new();
    truth.for_each(start.., WORDS, &mut |sequence, record| {
        let hash = names::hash(record.id, token);
        builder.push(record.id, hash, sequence, record.checksum, record.prints());
        Ok(ControlFlow::Continue(()))
    })?;
    if !builder.is_empty() {
        runs.push(Shelved::new(builder.finish(about.max_radius)?));
    }
    Ok(View { runs, state })
}

/// Whether a view holds all that was acknowledged, and no more.
fn agrees<const WORDS: usize>(view: &View<WORDS>) -> bool {
    let items: usize = view.runs.iter().map(Shelved::len).sum();
    let ledger = view.runs.iter().fold(0u64, |sum, run| sum.wrapping_add(run.ledger()));
    (items as u64, ledger) == (view.state.items, view.state.ledger)
}

/// Makes names of files in a folder durable.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// The system does it by itself.
#[cfg(not(unix))]
pub fn sync_folder(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The radius of a search, which may not be wider than the collection was made for.
pub fn check_radius(about: &About, radius: Radius) -> Result<(), CollectionError> {
    let (asked, max) = (radius.bits(), about.max_radius.bits());
    if asked > max {
        return Err(crate::IndexError::Radius { asked, max }.into());
    }
    Ok(())
}
