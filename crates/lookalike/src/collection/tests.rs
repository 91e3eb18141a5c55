//! Compares a collection with a naive model: whatever is done, both must give the same answers. The
//! model is a list of items and lets the kind judge every one of them.

#![expect(clippy::print_stdout, reason = "a failing history prints its seed")]

mod kinds;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::*;
use crate::{
    Closeness, Fingerprint, Preset, Radius, Recipe, Resources, Search, Width,
    digest::Digests,
    kind::{Asked, Input, Purpose, Reach, hash::HashKind, text::TextKind},
    verify::{Measure, Verify},
};
use kinds::{TestKind, registry};

/// A temporary folder; in memory if the system has a memory file system, so that no test waits for a
/// disk.
fn test_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// A small random number generator: the same seed gives the same numbers.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len() as u64) as usize]
    }
}

/// The naive model: items by id.
#[derive(Clone)]
struct Model {
    kind: Arc<dyn Kind>,
    items: BTreeMap<String, StoredItem>,
    next: u64,
}

impl Model {
    fn new(kind: Arc<dyn Kind>) -> Self {
        Self { kind, items: BTreeMap::new(), next: 0 }
    }

    fn judge(&self, by: &Criteria, one: &Digest, two: &Digest) -> Option<Closeness> {
        let shape = self.kind.shape();
        one.with_ref(shape, |one| two.with_ref(shape, |two| self.kind.judge(by, one, two)))
    }

    fn near(&self, query: &Digest, by: &Criteria) -> Vec<Match> {
        let found = self.items.values().filter_map(|item| {
            let closeness = self.judge(by, query, &item.digest)?;
            Some(Match { id: item.id.clone(), sequence: item.sequence, closeness })
        });
        let mut found: Vec<Match> = found.collect();
        found.sort_by(|one, two| {
            let order = |found: &Match| {
                let Closeness { distance, similarity, level } = found.closeness;
                let thousandths = similarity.map(|share| (share * 1e6).round() as u32);
                (Reverse(level), Reverse(thousandths), distance.unwrap_or(u32::MAX), found.sequence)
            };
            order(one).cmp(&order(two))
        });
        found
    }

    fn put(&mut self, item: &NewItem<'_>) -> u64 {
        let sequence = self.next;
        self.next += 1;
        let stored = StoredItem {
            id: item.id.to_owned(),
            sequence,
            inserted: item.inserted.unwrap_or(0),
            digest: item.digest.clone(),
            content: item.content,
            payload: item.payload.map(str::to_owned),
        };
        self.items.insert(stored.id.clone(), stored);
        sequence
    }

    fn add(&mut self, item: &NewItem<'_>, rule: &AddRule) -> Added {
        if item.digest.is_empty() {
            return Added::Unfit { reason: "it is empty, and empty items never match".to_owned() };
        }
        let Some(existing) = self.items.get(item.id) else {
            let matches = match rule {
                AddRule::UnlessAlike(by) => self.near(item.digest, by),
                AddRule::Insert | AddRule::Replace => Vec::new(),
            };
            return match matches.is_empty() {
                true => Added::Added { sequence: self.put(item) },
                false => Added::Near { matches },
            };
        };
        let same_content = match (item.content, existing.content) {
            (Some(one), Some(two)) => one == two,
            _ => *item.digest == existing.digest,
        };
        let stored = (&existing.digest, existing.content, existing.payload.as_deref());
        let same = (item.digest, item.content, item.payload) == stored;
        let sequence = existing.sequence;
        match rule {
            AddRule::Replace if same => Added::Present { sequence },
            AddRule::Replace => Added::Replaced { sequence: self.put(item) },
            _ if same_content => Added::Present { sequence },
            _ => Added::Conflict { sequence },
        }
    }
}

/// A collection and its model.
struct Harness {
    folder: PathBuf,
    collection: Option<Collection>,
    model: Model,
    kind: TestKind,
    dice: Dice,
}

impl Harness {
    fn new(folder: PathBuf, kind: TestKind, dice: Dice) -> Self {
        let collection = Collection::create(&folder, kind.kind.clone(), &kind.widest).unwrap();
        let model = Model::new(kind.kind.clone());
        Self { folder, collection: Some(collection), model, kind, dice }
    }

    fn own(&self) -> &Collection {
        self.collection.as_ref().unwrap()
    }

    /// Criteria that the collection can be searched by exactly.
    fn by(&mut self) -> Criteria {
        let Self { kind, dice, .. } = self;
        (kind.by)(dice, &kind.widest)
    }

    /// One step of a history, the same for both.
    fn step(&mut self) {
        match self.dice.below(20) {
            0..=5 => self.add(AddRule::Insert),
            6..=8 => self.add(AddRule::Replace),
            9..=11 => {
                let by = self.by();
                self.add(AddRule::UnlessAlike(by));
            }
            12..=14 => self.remove(),
            15 => self.reopen(|_| {}),
            16 => self.own().snapshot().unwrap(),
            17 => self.own().compact().unwrap(),
            18 => self.harm(),
            _ => self.own().verify().unwrap(),
        }
    }

    fn add(&mut self, rule: AddRule) {
        let Self { model, kind, dice, .. } = self;
        let count = 1 + dice.below(if dice.0.is_multiple_of(5) { 40 } else { 4 });
        let made: Vec<_> = (0..count)
            .map(|_| {
                let id = format!("item {}", dice.below(60));
                let payload = (dice.below(3) == 0).then(|| format!("[{}]", dice.below(9)));
                let content = (dice.below(3) == 0).then(|| [dice.below(2) as u8; 16]);
                (id, (kind.digest)(dice, &*kind.kind), payload, content, dice.below(1000))
            })
            .collect();
        let items: Vec<NewItem<'_>> = made
            .iter()
            .map(|(id, digest, payload, content, inserted)| NewItem {
                id,
                digest,
                content: *content,
                payload: payload.as_deref(),
                inserted: Some(*inserted),
            })
            .collect();
        let expected: Vec<Added> = items.iter().map(|item| model.add(item, &rule)).collect();
        assert_eq!(self.own().add(&items, rule).unwrap(), expected);
    }

    fn remove(&mut self) {
        let ids: Vec<String> =
            (0..1 + self.dice.below(6)).map(|_| format!("item {}", self.dice.below(60))).collect();
        let expected: Vec<bool> =
            ids.iter().map(|id| self.model.items.remove(id).is_some()).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(self.own().remove_many(&ids).unwrap(), expected);
    }

    fn reopen(&mut self, meanwhile: impl FnOnce(&Path)) {
        self.collection = None;
        meanwhile(&self.folder);
        self.collection = Some(Collection::open_with(&self.folder, &registry()).unwrap());
    }

    /// Damages a run file: `verify` reports it, no answer changes, and repairing or compacting cures it.
    fn harm(&mut self) {
        let harm = self.dice.next();
        let mut is_harmed = false;
        self.reopen(|folder| is_harmed = harm_a_run(folder, harm));
        self.compare();
        match self.own().verify() {
            Err(CollectionError::Tables { .. }) if is_harmed => {
                match self.dice.below(2) {
                    0 => self.own().repair().unwrap(),
                    _ => self.own().compact().unwrap(),
                }
                self.own().verify().unwrap();
            }
            verified => assert!(verified.is_ok() && !is_harmed, "{verified:?}"),
        }
    }

    /// Compares the answers of the collection with those of the model.
    fn compare(&mut self) {
        let by = self.by();
        let Self { kind, dice, .. } = self;
        let queries: Vec<Digest> = (0..5).map(|_| (kind.digest)(dice, &*kind.kind)).collect();
        let found = self.own().search(&queries, &by, usize::MAX).unwrap();
        let expected: Vec<_> = queries.iter().map(|query| self.model.near(query, &by)).collect();
        assert_eq!(found, expected, "{by:?}");
        let nearest = self.own().search(&queries[..1], &by, 2).unwrap();
        assert_eq!(nearest[0], expected[0][..expected[0].len().min(2)]);
        let recall = if by.parts { Recall::OfEvidence(1.0) } else { Recall::Exact };
        assert_eq!(self.own().recall(&by).unwrap(), recall);
        assert_eq!(self.own().len(), self.model.items.len() as u64);
        let id = format!("item {}", self.dice.below(60));
        assert_eq!(self.own().get(&id).unwrap(), self.model.items.get(&id).cloned());
    }

    fn compare_all(&self) {
        let mut all = Vec::new();
        let keep = |item| {
            all.push(item);
            ControlFlow::Continue(())
        };
        self.own().for_each(keep).unwrap();
        let mut expected: Vec<_> = self.model.items.values().cloned().collect();
        expected.sort_by_key(|item| item.sequence);
        assert_eq!(all, expected);
    }
}

/// Removes, truncates or changes one file of a run. Returns false if there is none.
fn harm_a_run(folder: &Path, harm: u64) -> bool {
    let Ok(entries) = fs::read_dir(folder.join("runs")) else { return false };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let Some(file) = files.get(harm as usize % files.len().max(1)) else { return false };
    let mut bytes = fs::read(file).unwrap();
    match harm >> 32 & 3 {
        0 => {
            fs::remove_file(file).unwrap();
            return true;
        }
        1 => bytes.truncate(bytes.len() / 2),
        2 => bytes.clear(),
        _ => {
            let at = (harm >> 40) as usize % bytes.len();
            bytes[at] ^= 1;
        }
    }
    fs::write(file, bytes).unwrap();
    true
}

fn histories(seeds: u64, steps: u64, kind: impl Fn(&mut Dice) -> TestKind) {
    let folder = test_folder();
    for seed in 0..seeds {
        let path = folder.path().join(seed.to_string());
        // Shown only if the test fails.
        println!("seed {seed}");
        let mut dice = Dice(seed);
        let kind = kind(&mut dice);
        let mut harness = Harness::new(path.clone(), kind, dice);
        for _ in 0..harness.dice.below(steps) {
            harness.step();
            harness.compare();
        }
        harness.compare_all();
        drop(harness);
        fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn a_collection_answers_as_its_model_does() {
    histories(2_000, 30, TestKind::hash);
}

#[test]
fn a_collection_of_texts_answers_as_its_model_does() {
    histories(300, 30, TestKind::text);
}

#[test]
fn a_collection_of_a_kind_without_tables_answers_as_its_model_does() {
    histories(300, 30, TestKind::numbers);
}

#[cfg(feature = "image")]
#[test]
fn a_collection_of_images_answers_as_its_model_does() {
    histories(24, 20, TestKind::image);
}

/// Law 5: the matches of the query in a batch of the items and the query.
fn in_a_batch(harness: &Harness, by: &Criteria, query: &Digest) -> Vec<(String, Closeness)> {
    let resources = Resources::new();
    let mut digests = Digests::new(harness.kind.kind.shape(), &resources);
    let ids: Vec<&String> = harness.model.items.keys().collect();
    harness.model.items.values().for_each(|item| digests.push(&item.digest).unwrap());
    digests.push(query).unwrap();
    digests.seal().unwrap();
    let search = Search::new(&*harness.kind.kind, by, &resources);
    let pairs = search.pairs(&digests).unwrap().pairs.to_vec().unwrap();
    let of_query = pairs.iter().filter(|pair| pair.b as usize == ids.len());
    of_query.map(|pair| (ids[pair.a as usize].clone(), pair.closeness)).collect()
}

#[test]
fn a_search_finds_what_a_batch_finds_for_every_reach() {
    let folder = test_folder();
    let mut missed = 0;
    for seed in 0..120 {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        let kind = match seed % 3 {
            0 => TestKind::text(&mut dice),
            1 => TestKind::numbers(&mut dice),
            _ => TestKind::loose_text(&mut dice),
        };
        let mut harness = Harness::new(folder.path().join(seed.to_string()), kind, dice);
        (0..12).for_each(|_| harness.step());
        for reach in [Reach::Exact, Reach::Recall(0.1), Reach::Recall(0.5), Reach::Recall(0.99)] {
            let by = Criteria { reach, ..harness.by() };
            for _ in 0..12 {
                let query = (harness.kind.digest)(&mut harness.dice, &*harness.kind.kind);
                let queries = std::slice::from_ref(&query);
                let found = &harness.own().search(queries, &by, usize::MAX).unwrap()[0];
                let mut found: Vec<_> =
                    found.iter().map(|found| (found.id.clone(), found.closeness)).collect();
                found.sort_by(|one, two| one.0.cmp(&two.0));
                assert_eq!(found, in_a_batch(&harness, &by, &query), "{by:?}");
                missed += harness.model.near(&query, &by).len() - found.len();
            }
        }
    }
    assert!(missed > 5, "{missed}: keys must miss some, or this shows nothing");
}

#[test]
fn a_copy_and_an_import_equal_their_original() {
    let folder = test_folder();
    for seed in 0..60 {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        let test_kind = match seed % 3 {
            0 => TestKind::text(&mut dice),
            1 => TestKind::numbers(&mut dice),
            _ => TestKind::hash(&mut dice),
        };
        let (kind, widest) = (test_kind.kind.clone(), test_kind.widest.clone());
        let path = folder.path().join(format!("original {seed}"));
        let mut harness = Harness::new(path, test_kind, dice);
        (0..20).for_each(|_| harness.step());
        let copy = folder.path().join(format!("copy {seed}"));
        harness.own().backup(&copy).unwrap();
        let mut text = Vec::new();
        harness.own().export(&mut text).unwrap();
        harness.collection = Some(Collection::open_with(&copy, &registry()).unwrap());
        harness.compare_all();
        harness.compare();
        harness.own().verify().unwrap();

        let path = folder.path().join(format!("import {seed}"));
        let imported = Collection::create(path, kind, &widest).unwrap();
        let count = imported.import(text.as_slice(), |error| panic!("{error}")).unwrap();
        let counts = AddCounts { added: harness.model.items.len() as u64, ..AddCounts::default() };
        assert_eq!(count, Imported { counts, unreadable: 0 });
        let mut again = Vec::new();
        imported.export(&mut again).unwrap();
        let without_sequence = |text: &[u8]| {
            let text = String::from_utf8(text.to_vec()).unwrap();
            let lines =
                text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            lines
                .map(|mut line| line["sequence"].take().is_u64().then_some(line))
                .collect::<Vec<_>>()
        };
        assert_eq!(without_sequence(&again), without_sequence(&text));
    }
}

/// A collection of 64-bit fingerprints that match within a distance of 3.
fn hashes(folder: &Path) -> Collection {
    Collection::create(folder, Arc::new(HashKind::new(Width::Bits64)), &within(3)).unwrap()
}

fn within(radius: u32) -> Criteria {
    Criteria { distance: Some(Radius::new(radius)), ..Criteria::default() }
}

fn print(bits: u64) -> Digest {
    Digest::of_print(Fingerprint([bits]).resize())
}

#[test]
fn many_threads_insert_and_search_at_once() {
    let folder = test_folder();
    let collection = hashes(folder.path());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let collection = &collection;
            scope.spawn(move || {
                for number in 0..100 {
                    let print = print(Dice(thread << 32 | number).next());
                    let id = format!("{thread}/{number}");
                    let item = NewItem::new(&id, &print);
                    assert!(collection.add(&[item], AddRule::Insert).unwrap()[0].is_stored());
                    // An acknowledged item is found at once.
                    let found =
                        collection.search(std::slice::from_ref(&print), &within(0), 1).unwrap();
                    assert_eq!(found[0][0].id, id);
                }
            });
        }
    });
    assert_eq!(collection.len(), 400);
    collection.verify().unwrap();
}

#[test]
fn of_matching_items_added_at_the_same_time_one_is_stored() {
    let folder = test_folder();
    let collection = hashes(folder.path());
    let stored = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (collection, stored) = (&collection, &stored);
            scope.spawn(move || {
                let (print, id) = (print(1 << thread), thread.to_string());
                let rule = AddRule::UnlessAlike(within(2));
                let added = collection.add(&[NewItem::new(&id, &print)], rule).unwrap();
                let is_stored = usize::from(added[0].is_stored());
                stored.fetch_add(is_stored, std::sync::atomic::Ordering::SeqCst);
            });
        }
    });
    assert_eq!((stored.into_inner(), collection.len()), (1, 1));
}

#[test]
fn groups_are_around_the_first_item() {
    let folder = test_folder();
    let collection = hashes(folder.path());
    for (id, bits) in [("a", 0), ("b", 0b11), ("c", 0b1111), ("d", 0b1), ("e", 0)] {
        collection.add(&[NewItem::new(id, &print(bits))], AddRule::Insert).unwrap();
    }
    let (groups, found) = collection.groups(&within(2), &Resources::new()).unwrap();
    assert!(found.is_exact());
    let names: Vec<_> = groups
        .iter()
        .map(|group| (group.keep.as_str(), group.members.iter().map(|m| m.id.as_str()).collect()))
        .collect::<Vec<(&str, Vec<&str>)>>();
    assert_eq!(names, [("a", vec!["b", "d", "e"])]);
    let distances = groups[0].members.iter().map(|member| member.closeness.distance);
    assert_eq!(distances.collect::<Vec<_>>(), [Some(2), Some(1), Some(0)]);
}

#[test]
fn a_distance_wider_than_the_collection_was_made_for_is_refused() {
    let folder = test_folder();
    let collection = hashes(folder.path());
    let refused = collection.search(&[print(0)], &within(4), 1).unwrap_err();
    assert!(
        matches!(refused, CollectionError::Index(crate::index::IndexError::Radius { .. })),
        "{refused}"
    );
    let rule = AddRule::UnlessAlike(within(4));
    assert!(collection.add(&[NewItem::new("a", &print(0))], rule).is_err());
    let wide = Digest::of_print(Fingerprint([0, 1, 0, 0]));
    let refused = collection.search(&[wide], &within(3), 1).unwrap_err().to_string();
    assert_eq!(refused, "item \"query\": a fingerprint has more than 64 bits");
}

#[test]
fn a_collection_of_texts_knows_its_recipe() {
    let folder = test_folder();
    let kind = TextKind::of(Preset::named("simhash64").unwrap());
    let by = kind.criteria(&Asked::default(), Purpose::List).unwrap();
    let path = folder.path().join("texts");
    drop(Collection::create(&path, Arc::new(kind.clone()), &by).unwrap());
    let collection = Collection::open(&path).unwrap();
    assert_eq!(collection.kind().stored(), kind.stored());
    collection.check_kind(&kind).unwrap();
    let recipe = Recipe { seed: 7, name: "own".into(), ..kind.text_recipe().clone() };
    let other = TextKind::new(recipe, kind.verify(), kind.usual_distance()).unwrap();
    let error = collection.check_kind(&other).unwrap_err();
    assert!(error.to_string().contains("seed 0x7"), "{error}");
}

#[test]
fn the_widest_criteria_survive_reopening() {
    let folder = test_folder();
    let widest = Criteria {
        similarity: crate::verify::Similarity::new(0.25),
        distance: Some(Radius::new(17)),
        turned: true,
        parts: true,
        background: Arc::new(crate::fragments::Background::new([Fingerprint([7])])),
        ..Criteria::default()
    };
    let kind = Arc::new(HashKind::new(Width::Bits64));
    drop(Collection::create(folder.path(), kind, &widest).unwrap());
    assert_eq!(*Collection::open(folder.path()).unwrap().widest(), widest);
}

#[test]
fn a_second_opening_is_refused_and_names_the_lock() {
    let folder = test_folder();
    let first = hashes(folder.path());
    for error in [Collection::open(folder.path()), Collection::open_read_only(folder.path())] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        assert!(error.contains("lock"), "{error}");
    }
    drop(first);
    let reading = Collection::open_read_only(folder.path()).unwrap();
    let also = Collection::open_read_only(folder.path()).unwrap();
    assert!(Collection::open(folder.path()).is_err());
    let error = reading.add(&[NewItem::new("a", &print(0))], AddRule::Insert).unwrap_err();
    assert!(error.to_string().contains("for reading only"), "{error}");
    drop((reading, also));
    Collection::open(folder.path()).unwrap();
}

#[test]
fn a_folder_without_a_collection_is_refused() {
    let folder = test_folder();
    let message = |path: &Path| Collection::open(path).unwrap_err().to_string();
    assert!(message(&folder.path().join("none")).contains("no such folder"));
    assert!(message(folder.path()).contains("no items.redb"));
    fs::write(folder.path().join("items.redb"), b"something else").unwrap();
    let refused = message(folder.path());
    assert!(refused.contains("damaged"), "{refused}");
    let kind = || Arc::new(HashKind::new(Width::Bits64));
    let exists = Collection::create(folder.path(), kind(), &within(3)).unwrap_err();
    assert!(matches!(exists, CollectionError::Exists { .. }), "{exists}");
    let wide = Collection::create(folder.path().join("wide"), kind(), &within(65)).unwrap_err();
    assert!(matches!(wide, CollectionError::TooWide { .. }), "{wide}");
}

#[test]
fn records_without_acknowledged_commits_are_refused() {
    let folder = test_folder();
    let open = || Collection::open(folder.path());
    drop(hashes(folder.path()));
    let old = fs::read(folder.path().join("items.redb")).unwrap();
    let collection = open().unwrap();
    collection.add(&[NewItem::new("a", &print(0))], AddRule::Insert).unwrap();
    drop(collection);
    fs::write(folder.path().join("items.redb"), old).unwrap();
    let error = open().unwrap_err().to_string();
    assert!(error.contains("1 were acknowledged"), "{error}");
    fs::remove_file(folder.path().join("head")).unwrap();
    assert!(open().unwrap().is_empty());
}

#[test]
fn an_item_that_cannot_be_stored_does_not_stop_the_others() {
    let folder = test_folder();
    let collection = hashes(folder.path());
    let (near, far, empty) = (print(1), print(u64::MAX), Digest::default());
    let wide = Digest::of_print(Fingerprint([0, 1, 0, 0]));
    let long = "x".repeat(40_000);
    let items = [
        NewItem::new("a", &near),
        NewItem::new(&long, &near),
        NewItem::new("empty", &empty),
        NewItem::new("wide", &wide),
        NewItem::new("b", &far),
        NewItem::new("b", &far),
        NewItem::new("a", &far),
    ];
    let unfit = [
        "an id has at most 32767 bytes, this one 40000",
        "it is empty, and empty items never match",
        "a fingerprint has more than 64 bits",
    ];
    let unfit = unfit.map(|reason| Added::Unfit { reason: reason.to_owned() });
    let (present, conflict) = (Added::Present { sequence: 1 }, Added::Conflict { sequence: 0 });
    let rest = [Added::Added { sequence: 1 }, present.clone(), conflict.clone()];
    let expected = [&[Added::Added { sequence: 0 }][..], &unfit, &rest].concat();
    assert_eq!(collection.add(&items, AddRule::Insert).unwrap(), expected);

    let rule = AddRule::UnlessAlike(within(3));
    let added = collection.add(&items[1..], rule).unwrap();
    assert_eq!(added, [&unfit[..], &[present.clone(), present, conflict]].concat());
    let near_b = print(u64::MAX - 1);
    let replaced = [&items[1..4], &[NewItem::new("b", &near_b)]].concat();
    let replaced = collection.add(&replaced, AddRule::Replace).unwrap();
    assert_eq!(replaced, [&unfit[..], &[Added::Replaced { sequence: 2 }]].concat());
    collection.verify().unwrap();
}

#[test]
fn an_import_lists_ids_that_are_taken() {
    let folder = test_folder();
    let collection = hashes(folder.path());
    collection.add(&[NewItem::new("a", &print(0))], AddRule::Insert).unwrap();
    let line = |id: &str, print| format!("{{\"id\":\"{id}\",\"fingerprint\":\"{print}\"}}\n");
    let lines = [line("a", "0x0"), line("a", "0x1"), line("b", "0x2"), line("", "0x3")].concat();
    let mut listed = Vec::new();
    let imported = collection.import(lines.as_bytes(), |error| listed.push(error.to_string()));
    let counts = AddCounts { added: 1, present: 1, conflict: 1, unfit: 1, ..AddCounts::default() };
    assert_eq!(imported.unwrap(), Imported { counts, unreadable: 0 });
    let taken = "line 2: the id a is taken by an item of other content";
    assert_eq!(listed, [taken, "line 4: the id is empty"]);
}

#[test]
fn a_damaged_head_is_reported_and_repaired() {
    let folder = test_folder();
    let head = folder.path().join("head");
    let collection = hashes(folder.path());
    collection.add(&[NewItem::new("a", &print(0))], AddRule::Insert).unwrap();
    drop(collection);
    let whole = fs::read(&head).unwrap();
    for damaged in [&[&whole[..3], &[whole[3] ^ 1], &whole[4..]].concat()[..], &whole[..9]] {
        fs::write(&head, damaged).unwrap();
        let reading = Collection::open_read_only(folder.path()).unwrap();
        let error = reading.verify().unwrap_err().to_string();
        assert!(error.contains("head"), "{error}");
        drop(reading);
        let collection = Collection::open(folder.path()).unwrap();
        let error = collection.verify().unwrap_err().to_string();
        assert!(error.contains("head"), "{error}");
        collection.repair().unwrap();
        collection.verify().unwrap();
        drop(collection);
        assert_eq!(fs::read(&head).unwrap(), whole);
    }
    // A folder without `head` is valid: people remove it to continue without the lost commits.
    fs::remove_file(&head).unwrap();
    Collection::open_read_only(folder.path()).unwrap().verify().unwrap();
}

#[test]
fn digests_of_another_recipe_are_not_imported() {
    let folder = test_folder();
    let create = |name: &str, measure| {
        let verify = Verify { measure, ..Verify::DEFAULT };
        let recipe = Preset::named("words").unwrap().recipe.clone();
        let kind = TextKind::new(recipe, Some(verify), Radius::new(32)).unwrap();
        let by = kind.criteria(&Asked::default(), Purpose::List).unwrap();
        Collection::create(folder.path().join(name), Arc::new(kind), &by).unwrap()
    };
    let [mixed, same, other] =
        [("mixed", Measure::Mixed), ("same", Measure::Mixed), ("other", Measure::Containment)]
            .map(|(name, measure)| create(name, measure));
    let text = "one two three four";
    let digest = mixed.kind().digester().digest(Input::Text(text)).unwrap().0;
    mixed.add(&[NewItem::new("a", &digest)], AddRule::Insert).unwrap();
    let mut export = Vec::new();
    mixed.export(&mut export).unwrap();
    assert_eq!(same.import(export.as_slice(), |error| panic!("{error}")).unwrap().counts.added, 1);
    let refused = other.import(export.as_slice(), |_| {}).unwrap_err();
    assert!(matches!(refused, CollectionError::Recipe { .. }), "{refused}");
    assert!(refused.to_string().contains("another model or measure"), "{refused}");
    assert!(other.is_empty());
}

#[test]
fn texts_that_are_all_too_short_to_compare_are_found_by_their_words() {
    let folder = test_folder();
    let kind = TextKind::of(Preset::named("words").unwrap());
    let by = kind.criteria(&Asked::default(), Purpose::List).unwrap();
    let collection = Collection::create(folder.path(), Arc::new(kind.clone()), &by).unwrap();
    let digest = |text| kind.digester().digest(Input::Text(text)).unwrap().0;
    for (id, text) in [("a", "C"), ("b", "C++"), ("c", "c")] {
        collection.add(&[NewItem::new(id, &digest(text))], AddRule::Insert).unwrap();
    }
    collection.compact().unwrap();
    let found = &collection.search(&[digest("C")], &by, 9).unwrap()[0];
    assert_eq!(found.iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    collection.verify().unwrap();
}
