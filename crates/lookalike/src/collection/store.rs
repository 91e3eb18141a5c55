//! Keeps records and search tables consistent.
//!
//! A [`Store`] is a folder: the truth in `items.redb`, and in `runs/` the files of runs built from it.
//! A change is first committed to the truth; then the next [`View`] is published. A search takes the
//! newest view and does not wait for writers. A writer waits for the one before it; requests that wait
//! share one commit.

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
    record::check_digest,
    run::{LiveRun, RunBuilder, all_files, open_all},
    search::PreparedSearch,
    stage::{Base, CommitBuilder, WriteRequest, WriteResult},
    tables::Layout,
    truth::{Changes, Documents, Records, Truth},
    view::View,
};
use crate::{Criteria, Digest, Kind};

/// The next items are added to a run with fewer items than this. Small in tests, so that few items
/// make many runs.
const SMALL: usize = if cfg!(test) { 4 } else { 1024 };

/// This number of runs of one size class is merged into one run of the next class.
const FAN: usize = 8;

/// Runs are saved when more items than this, and more than a quarter of all items, are in no file.
const MAX_UNSAVED: usize = if cfg!(test) { 24 } else { 1 << 16 };

/// An open collection.
pub struct Store {
    folder: PathBuf,
    pub about: About,
    pub kind: Arc<dyn Kind>,
    pub layout: Layout,
    pub truth: Truth,
    view: RwLock<Arc<View>>,
    writer: Mutex<Writer>,
    waiting: Mutex<Vec<Arc<Request>>>,
    /// Notes from opening: which search tables had to be rebuilt, and why.
    pub notes: Vec<String>,
    read_only: bool,
    _lock: Option<Lock>,
}

/// State that only the current writer may use.
struct Writer {
    saved: Saved,
    head: Option<Head>,
    /// Whether a write failed: the truth must then be reopened before the next write.
    failed: bool,
    /// Why the tables in files could not be used; cleared when they are written again.
    damage: Option<String>,
}

/// A caller's request and its result.
struct Request {
    request: Mutex<Option<WriteRequest>>,
    answer: Mutex<Option<Result<WriteResult, CollectionError>>>,
}

/// The path of the truth of a folder.
pub fn truth_file(folder: &Path) -> PathBuf {
    folder.join("items.redb")
}

impl Store {
    /// Loads the collection of a folder whose truth is open.
    pub fn load(
        folder: &Path,
        truth: Truth,
        documents: Documents,
        kind: Arc<dyn Kind>,
        lock: Option<Lock>,
        read_only: bool,
    ) -> Result<Self, CollectionError> {
        let Documents { about, state, saved } = documents;
        Head::check(folder, &truth_file(folder), state)?;
        let layout = Layout::new(&*kind, &about.widest);
        let origin = Origin { folder, truth: &truth, layout: &layout, token: about.token };
        let loaded = origin.load_view(state, &saved)?;
        let damage = loaded.notes.first().cloned();
        let head = if read_only { None } else { Some(Head::open(folder)?) };
        let store = Self {
            folder: folder.into(),
            about,
            kind,
            layout,
            truth,
            view: RwLock::new(Arc::new(loaded.view)),
            writer: Mutex::new(Writer { saved, head, failed: false, damage }),
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

    /// The newest view.
    pub fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, view: View) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }

    fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a request durably. Requests that wait while another is written share a commit.
    pub fn change(&self, request: WriteRequest) -> Result<WriteResult, CollectionError> {
        self.check_writable()?;
        let request = Mutex::new(Some(request));
        let request = Arc::new(Request { request, answer: Mutex::default() });
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

    fn lock_waiting(&self) -> MutexGuard<'_, Vec<Arc<Request>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_writable(&self) -> Result<(), CollectionError> {
        if self.read_only {
            return Err(CollectionError::ReadOnly { path: self.folder.clone() });
        }
        Ok(())
    }

    /// Carries out and answers every request of a group.
    fn serve(&self, writer: &mut Writer, group: &[Arc<Request>]) {
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

    /// Commits all requests of a group at once, then publishes the next view.
    fn commit(
        &self,
        writer: &mut Writer,
        group: &[Arc<Request>],
    ) -> Result<Vec<WriteResult>, CollectionError> {
        if writer.failed {
            self.reload(writer)?;
        }
        let view = self.view();
        let records = self.truth.records()?;
        let base = Base {
            kind: &*self.kind,
            layout: &self.layout,
            view: &view,
            records: &records,
            seed: self.about.token,
        };
        let mut commit = CommitBuilder::new(&base);
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for request in group {
            requests.extend(request.take_request());
            answers.push(commit.apply(&requests)?);
        }
        if commit.is_empty() {
            return Ok(answers);
        }
        let pending = commit.finish();
        drop(records);
        let ledger = pending.seal(&mut requests);
        let removed: Vec<u64> = pending.removed.iter().map(|&place| view.sequence(place)).collect();
        let committed = self.truth.commit(&Changes {
            records: pending.records(&requests).map(|new| (new.sequence, new.record)).collect(),
            removed: &removed,
            state: view.state,
            next: pending.next,
            ledger,
            saved_end: writer.saved.end(),
        });
        // From here on the truth may be ahead of the view, until this is reset.
        writer.failed = true;
        let (state, checksums) = match committed {
            Ok(committed) => committed,
            Err(error) => {
                self.settle(writer, error, view.state.commits)?;
                return Ok(answers);
            }
        };
        let mut next = View { runs: view.runs.clone(), state };
        for (place, checksum) in pending.removed.iter().zip(checksums) {
            next.runs[place.run as usize].remove(place.item, checksum);
        }
        let mut builder = RunBuilder::new(&self.layout);
        if let Some(small) = next.runs.pop_if(|last| last.len() < SMALL && last.saved.is_none()) {
            builder.extend_from_all(&[small], self.about.token);
        }
        builder.reserve(pending.len());
        for new in pending.records(&requests) {
            let checksum = super::record::checksum(new.record, new.sequence).unwrap_or_default();
            builder.push(new.id, new.hash, new.sequence, checksum, &new.digest());
        }
        if !builder.is_empty() {
            next.runs.push(LiveRun::new(builder.finish(&self.layout)?));
        }
        self.publish(next);
        writer.failed = false;
        writer.head = writer.head.take().and_then(|head| head.advance(state));
        Ok(answers)
    }

    /// Reopens the truth after a failed write, to see whether it contains the change. If not, nothing
    /// was changed, and the error is returned.
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

    /// Reopens the truth after a failed write, which it may contain or not, and publishes its view.
    fn reload(&self, writer: &mut Writer) -> Result<(), CollectionError> {
        self.truth.reopen()?;
        let Documents { state, saved, .. } = self.truth.documents()?;
        Head::check(&self.folder, &truth_file(&self.folder), state)?;
        let loaded = self.origin().load_view(state, &saved)?;
        self.publish(loaded.view);
        let damage = loaded.notes.into_iter().next();
        *writer = Writer { saved, head: Some(Head::open(&self.folder)?), failed: false, damage };
        Ok(())
    }

    fn origin(&self) -> Origin<'_> {
        let Self { folder, truth, layout, about, .. } = self;
        Origin { folder, truth, layout, token: about.token }
    }

    /// Merges runs if there are many, and saves them if many items are unsaved. If this fails, nothing
    /// is lost, and it is tried again after the next change.
    fn tidy(&self, writer: &mut Writer) {
        let view = self.view();
        let mut runs = view.runs.clone();
        while let Some(start) = merge_start(&runs) {
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
        if self.unsaved() > MAX_UNSAVED.max(view.state.items as usize / 4) {
            // The records are safe; the files can be written later.
            let _ = self.save(writer);
        }
    }

    /// Merges runs into one; `None` if all their items were removed.
    fn merged(&self, runs: &[LiveRun]) -> Result<Option<LiveRun>, CollectionError> {
        let mut builder = RunBuilder::new(&self.layout);
        builder.extend_from_all(runs, self.about.token);
        if builder.is_empty() {
            return Ok(None);
        }
        Ok(Some(LiveRun::new(builder.finish(&self.layout)?)))
    }

    /// The number of items that are in no file.
    fn unsaved(&self) -> usize {
        self.view().runs.iter().filter(|run| run.saved.is_none()).map(LiveRun::len).sum()
    }

    /// Writes the runs that are in no file.
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
        for live in &mut view.runs {
            let run = match live.saved.take() {
                Some(run) => run,
                None => {
                    let names = &live.run.names;
                    let end = names.sequence(names.len() as u32 - 1) + 1;
                    saved.next += 1;
                    live.run.save(&folder, &self.layout, saved.next, end)?
                }
            };
            saved.runs.push(run.clone());
            live.saved = Some(run);
        }
        sync_folder(&folder).map_err(failed)?;
        let removed = view.runs.iter().flat_map(LiveRun::removed_sequences);
        // If this commit fails, the truth must be reopened before the next write.
        writer.failed = true;
        self.truth.commit_saved(&saved, removed)?;
        writer.failed = false;
        writer.saved = saved;
        writer.damage = None;
        self.publish(view);
        Ok(())
    }

    /// Merges everything into one run, saves it, and returns free space to the system.
    pub fn compact(&self) -> Result<(), CollectionError> {
        self.check_writable()?;
        let mut writer = self.lock_writer();
        if writer.failed {
            self.reload(&mut writer)?;
        }
        let view = self.view();
        let is_compact = view.runs.len() <= 1 && view.runs.iter().all(|run| run.removed.len() == 0);
        if !is_compact {
            let runs = self.merged(&view.runs)?.into_iter().collect();
            self.publish(View { runs, state: view.state });
        }
        drop(view);
        self.save(&mut writer)?;
        self.truth.compact()
    }

    /// Removes run files that are not in use.
    fn remove_strays(&self, saved: &Saved) {
        let folder = self.folder.join("runs");
        let used: HashSet<PathBuf> = saved
            .runs
            .iter()
            .flat_map(|run| all_files(&folder, &self.layout, run.number))
            .collect();
        let Ok(entries) = fs::read_dir(&folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            if !used.contains(&path) {
                // If this fails, the file only takes up space.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Rebuilds all tables from the records, and saves them.
    pub fn repair(&self) -> Result<(), CollectionError> {
        self.check_writable()?;
        let mut writer = self.lock_writer();
        // While the store checks its pages it repairs them, if necessary from the previous commit.
        self.truth.is_whole()?;
        self.reload(&mut writer)?;
        self.publish(self.origin().rebuild(self.view().state)?);
        let state = self.view().state;
        writer.head = writer.head.take().and_then(|head| head.advance(state));
        self.save(&mut writer)
    }

    /// Checks the files, the records and the view against each other and against their checksums.
    pub fn verify(&self) -> Result<(), CollectionError> {
        let mut writer = self.lock_writer();
        if let Some(damage) = &writer.damage {
            return Err(self.damaged_tables(damage));
        }
        // If the store repairs itself during the check, its state may no longer be that of the view.
        let failed = std::mem::replace(&mut writer.failed, !self.read_only);
        if !self.truth.is_whole()? {
            return Err(self.damaged("pages of the file differ from their checksums"));
        }
        writer.failed = failed;
        let view = self.view();
        // Opened again, because the files may have been replaced since.
        let opened = open_all(&self.folder.join("runs"), &self.layout, &writer.saved.runs);
        opened.map_err(|error| self.damaged_tables(&error.to_string()))?;
        let state = self.truth.documents()?.state;
        Head::verify(&self.folder, &truth_file(&self.folder), state)?;
        self.truth.for_each(0, &mut |sequence, record| {
            let place = view.find(record.id, names::hash(record.id, self.about.token));
            let agrees = place.zip(record.digest()).is_some_and(|(place, digest)| {
                let tables = &view.run(place).run.tables;
                view.sequence(place) == sequence && tables.hold(&self.layout, place.item, &digest)
            });
            if agrees {
                return Ok(ControlFlow::Continue(()));
            }
            Err(self.damaged_tables(&format!("they do not hold item {sequence} as it is stored")))
        })?;
        drop(writer);
        if view.state != state {
            return Err(self.damaged("it has changed since it was opened"));
        }
        Ok(())
    }

    fn damaged_tables(&self, what: &str) -> CollectionError {
        CollectionError::Tables { path: self.folder.clone(), what: what.to_owned() }
    }

    /// Checks a search of a view.
    pub fn prepare_search<'a>(
        &'a self,
        by: &'a Criteria,
        view: &View,
    ) -> Result<PreparedSearch<'a>, CollectionError> {
        let size = (view.state.items, view.features());
        Ok(PreparedSearch::new(&*self.kind, by, &self.layout, size)?)
    }

    /// Calls `look` with a view and its records.
    ///
    /// A writer first commits the records and then publishes the view. A view taken between the two may
    /// contain items that are no longer in the records. `look` then returns `None`, and is called again
    /// after the writer has finished.
    pub fn look<T>(
        &self,
        look: impl Fn(&View, &Records<'_>) -> Result<Option<T>, CollectionError>,
    ) -> Result<T, CollectionError> {
        if let Some(found) = look(&self.view(), &self.truth.records()?)? {
            return Ok(found);
        }
        let _writer = self.lock_writer();
        let records = self.truth.records()?;
        look(&self.view(), &records)?.ok_or_else(|| records.missing())
    }

    fn damaged(&self, what: &str) -> CollectionError {
        CollectionError::Damaged { path: truth_file(&self.folder), what: what.to_owned() }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !self.read_only && self.unsaved() > SMALL {
            // Makes the next opening faster; the records are safe in any case.
            let _ = self.snapshot();
        }
    }
}

impl Request {
    fn take_request(&self) -> Option<WriteRequest> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take_answer(&self) -> Option<Result<WriteResult, CollectionError>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn answer(&self, answer: Result<WriteResult, CollectionError>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }
}

/// The first of the last runs to be merged: because they are many, or smaller than a run after them.
fn merge_start(runs: &[LiveRun]) -> Option<usize> {
    let sizes: Vec<u32> = runs.iter().map(|run| size_class(run.run.names.len())).collect();
    let last = *sizes.last()?;
    let start = sizes.iter().rposition(|&size| size > last).map_or(0, |larger| larger + 1);
    let smaller = sizes[start..].iter().any(|&size| size < last);
    (smaller || sizes.len() - start >= FAN).then_some(start)
}

/// The size class of a run; each class is [`FAN`] times the size of the one before.
fn size_class(items: usize) -> u32 {
    (items / SMALL).checked_ilog(FAN).map_or(0, |class| class + 1)
}

struct Loaded {
    view: View,
    notes: Vec<String>,
}

/// What views are loaded from.
struct Origin<'a> {
    folder: &'a Path,
    truth: &'a Truth,
    layout: &'a Layout,
    token: u64,
}

impl Origin<'_> {
    /// Loads the view of a folder from the files of its runs and the later records. If a file is
    /// missing or damaged, the view is rebuilt from all records.
    fn load_view(&self, state: State, saved: &Saved) -> Result<Loaded, CollectionError> {
        let mut notes = Vec::new();
        let runs = match open_all(&self.folder.join("runs"), self.layout, &saved.runs) {
            Ok(runs) => with_removed(runs, self.truth.removed()?),
            Err(error) => {
                notes.push(format!("search tables rebuilt from the records: {error}"));
                None
            }
        };
        if let Some(runs) = runs {
            let view = self.with_records(runs, saved.end(), state)?;
            if agrees(&view) {
                return Ok(Loaded { view, notes });
            }
            let lists = "items.redb: the list of removed items disagrees with the records";
            notes.push(format!("search tables rebuilt from the records: {lists}"));
        }
        Ok(Loaded { view: self.rebuild(state)?, notes })
    }

    /// Builds a view from all records.
    fn rebuild(&self, state: State) -> Result<View, CollectionError> {
        let view = self.with_records(Vec::new(), 0, state)?;
        if agrees(&view) {
            return Ok(view);
        }
        let what = "records are missing, or there are too many".to_owned();
        Err(CollectionError::Damaged { path: truth_file(self.folder), what })
    }

    /// Adds the records from this sequence number on.
    fn with_records(
        &self,
        mut runs: Vec<LiveRun>,
        start: u64,
        state: State,
    ) -> Result<View, CollectionError> {
        let mut builder = RunBuilder::new(self.layout);
        self.truth.for_each(start, &mut |sequence, record| {
            let hash = names::hash(record.id, self.token);
            let digest = self.digest(sequence, record.digest())?;
            builder.push(record.id, hash, sequence, record.checksum, &digest);
            Ok(ControlFlow::Continue(()))
        })?;
        if !builder.is_empty() {
            runs.push(LiveRun::new(builder.finish(self.layout)?));
        }
        Ok(View { runs, state })
    }

    /// A digest read from a record; an error if it is missing or the collection cannot hold it.
    fn digest(&self, sequence: u64, digest: Option<Digest>) -> Result<Digest, CollectionError> {
        let fits = |digest: &Digest| check_digest(digest, self.layout.shape).is_ok();
        digest.filter(fits).ok_or_else(|| CollectionError::Damaged {
            path: truth_file(self.folder),
            what: format!("item {sequence} has no digest that can be read"),
        })
    }
}

/// Marks removed items in their runs; `None` if one of them is in no run.
fn with_removed(mut runs: Vec<LiveRun>, removed: Vec<(u64, u64)>) -> Option<Vec<LiveRun>> {
    for (sequence, checksum) in removed {
        let (run, item) = runs
            .iter_mut()
            .find_map(|run| run.run.names.with_sequence(sequence).map(|item| (run, item)))?;
        run.remove(item, checksum);
    }
    Some(runs)
}

/// Whether a view contains exactly the acknowledged items.
fn agrees(view: &View) -> bool {
    let items: usize = view.runs.iter().map(LiveRun::len).sum();
    let ledger = view.runs.iter().fold(0u64, |sum, run| sum.wrapping_add(run.ledger()));
    (items as u64, ledger) == (view.state.items, view.state.ledger)
}

/// Makes the file names in a folder durable.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Not needed on other systems.
#[cfg(not(unix))]
pub fn sync_folder(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}
