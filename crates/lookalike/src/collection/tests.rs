//! A collection beside a naive twin: whatever is done, both must say the same.

#![expect(clippy::print_stdout, reason = "the seed of a history that fails is told")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::*;
use crate::{Preset, Recipe};

/// Where folders of tests go: in memory if the system has such a place, where nothing waits for a
/// disk.
pub(crate) fn test_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// A small generator: the same numbers for the same seed.
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

    /// Near one of three centres, so that much is near something.
    fn print(&mut self, width: Width) -> Fingerprint<4> {
        let centre = self.below(3);
        let word = Dice(centre).next();
        let mut print = Fingerprint([word, !word, word.rotate_left(9), word ^ 77]);
        for _ in 0..self.below(5) {
            let bit = self.below(u64::from(width.bits()));
            print.0[bit as usize / 64] ^= 1 << (bit % 64);
        }
        for word in 0..4 {
            let kept = width.bits().saturating_sub(64 * word).min(64);
            print.0[word as usize] &= if kept == 64 { u64::MAX } else { (1 << kept) - 1 };
        }
        print
    }

    fn prints(&mut self, width: Width) -> Vec<Fingerprint<4>> {
        let several = self.below(8) == 0;
        (0..if several { 1 + self.below(4) } else { 1 }).map(|_| self.print(width)).collect()
    }
}

/// The twin: items by id.
#[derive(Clone, Default)]
struct Twin {
    items: BTreeMap<String, StoredItem>,
    next: u64,
}

impl Twin {
    fn near(&self, queries: &[Fingerprint<4>], radius: Radius) -> Vec<Found> {
        let mut found: Vec<Found> = self
            .items
            .values()
            .filter_map(|item| {
                let prints = &item.fingerprints;
                let all = queries.iter().flat_map(|q| prints.iter().map(|print| q.distance(print)));
                let distance = all.min().filter(|&distance| radius.contains(distance))?;
                Some(Found { id: item.id.clone(), sequence: item.sequence, distance })
            })
            .collect();
        found.sort_by_key(|found| (found.distance, found.sequence));
        found
    }

    fn put(&mut self, item: &NewItem<'_>) -> u64 {
        let sequence = self.next;
        self.next += 1;
        let stored = StoredItem {
            id: item.id.to_owned(),
            sequence,
            inserted: item.inserted.unwrap_or(0),
            fingerprints: item.fingerprints.to_vec(),
            payload: item.payload.map(str::to_owned),
        };
        self.items.insert(stored.id.clone(), stored);
        sequence
    }

    fn insert(&mut self, item: &NewItem<'_>) -> Added {
        match self.items.get(item.id) {
            Some(held) if held.fingerprints == item.fingerprints => {
                Added::Present { sequence: held.sequence }
            }
            Some(held) => Added::Taken { sequence: held.sequence },
            None => Added::New { sequence: self.put(item) },
        }
    }

    fn upsert(&mut self, item: &NewItem<'_>) -> Added {
        let replaced = self.items.contains_key(item.id);
        let sequence = self.put(item);
        if replaced { Added::Replaced { sequence } } else { Added::New { sequence } }
    }

    fn check_and_insert(&mut self, item: &NewItem<'_>, radius: Radius) -> Added {
        let matches = self.near(item.fingerprints, radius);
        if self.items.contains_key(item.id) || matches.is_empty() {
            return self.insert(item);
        }
        Added::Near { matches }
    }
}

/// A collection and its twin.
struct Two {
    folder: PathBuf,
    collection: Option<Collection>,
    twin: Twin,
    width: Width,
    max: u32,
    dice: Dice,
}

impl Two {
    fn new(folder: PathBuf, seed: u64) -> Self {
        let mut dice = Dice(seed);
        let widths = [Width::Bits32, Width::Bits64, Width::Bits128, Width::Bits256];
        let width = widths[dice.below(4) as usize];
        let max = dice.below(7) as u32;
        let about = About::given(width, Radius::new(max));
        let collection = Some(Collection::create(&folder, about).unwrap());
        Self { folder, collection, twin: Twin::default(), width, max, dice }
    }

    fn own(&self) -> &Collection {
        self.collection.as_ref().unwrap()
    }

    fn radius(&mut self) -> Radius {
        Radius::new(self.dice.below(u64::from(self.max) + 1) as u32)
    }

    /// One step of a history, the same for both.
    fn step(&mut self) {
        match self.dice.below(20) {
            0..=5 => {
                self.add(|own, items, _| own.insert_many(items), |twin, item, _| twin.insert(item))
            }
            6..=8 => {
                self.add(|own, items, _| own.upsert_many(items), |twin, item, _| twin.upsert(item))
            }
            9..=11 => self.add(Collection::check_and_insert_many, Twin::check_and_insert),
            12..=14 => self.remove(),
            15 => self.reopen(|_| {}),
            16 => self.own().snapshot().unwrap(),
            17 => self.own().compact().unwrap(),
            18 => {
                let harm = self.dice.next();
                self.reopen(|folder| harm_a_run(folder, harm));
            }
            _ => self.own().verify().unwrap(),
        }
    }

    fn add(
        &mut self,
        own: impl Fn(&Collection, &[NewItem<'_>], Radius) -> Result<Vec<Added>, CollectionError>,
        twin: impl Fn(&mut Twin, &NewItem<'_>, Radius) -> Added,
    ) {
        let radius = self.radius();
        let count = 1 + self.dice.below(if self.dice.0.is_multiple_of(5) { 40 } else { 4 });
        let made: Vec<(String, Vec<Fingerprint<4>>, Option<String>, u64)> = (0..count)
            .map(|_| {
                let id = format!("item {}", self.dice.below(60));
                let payload =
                    (self.dice.below(3) == 0).then(|| format!("[{}]", self.dice.below(9)));
                (id, self.dice.prints(self.width), payload, self.dice.below(1000))
            })
            .collect();
        let items: Vec<NewItem<'_>> = made
            .iter()
            .map(|(id, fingerprints, payload, inserted)| NewItem {
                id,
                fingerprints,
                payload: payload.as_deref(),
                inserted: Some(*inserted),
            })
            .collect();
        let expected: Vec<Added> =
            items.iter().map(|item| twin(&mut self.twin, item, radius)).collect();
        assert_eq!(own(self.own(), &items, radius).unwrap(), expected);
    }

    fn remove(&mut self) {
        let ids: Vec<String> =
            (0..1 + self.dice.below(6)).map(|_| format!("item {}", self.dice.below(60))).collect();
        let expected: Vec<bool> =
            ids.iter().map(|id| self.twin.items.remove(id).is_some()).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(self.own().remove_many(&ids).unwrap(), expected);
    }

    fn reopen(&mut self, meanwhile: impl FnOnce(&Path)) {
        self.collection = None;
        meanwhile(&self.folder);
        self.collection = Some(Collection::open(&self.folder).unwrap());
    }

    /// Whether both say the same.
    fn compare(&mut self) {
        let radius = self.radius();
        let queries: Vec<_> = (0..5).map(|_| self.dice.print(self.width)).collect();
        let found = self.own().search_many(&queries, radius, usize::MAX).unwrap();
        let expected: Vec<_> =
            queries.iter().map(|query| self.twin.near(&[*query], radius)).collect();
        assert_eq!(found, expected);
        let nearest = self.own().search(&queries[0], radius, 2).unwrap();
        assert_eq!(nearest, expected[0][..expected[0].len().min(2)]);
        assert_eq!(self.own().len(), self.twin.items.len() as u64);
        let id = format!("item {}", self.dice.below(60));
        assert_eq!(self.own().get(&id).unwrap(), self.twin.items.get(&id).cloned());
    }

    fn compare_all(&self) {
        let mut all = Vec::new();
        let keep = |item| {
            all.push(item);
            ControlFlow::Continue(())
        };
        self.own().for_each(keep).unwrap();
        let mut expected: Vec<_> = self.twin.items.values().cloned().collect();
        expected.sort_by_key(|item| item.sequence);
        assert_eq!(all, expected);
    }
}

/// Removes, cuts or changes one file of a run: the tables must be made anew.
fn harm_a_run(folder: &Path, harm: u64) {
    let Ok(entries) = fs::read_dir(folder.join("runs")) else { return };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let Some(file) = files.get(harm as usize % files.len().max(1)) else { return };
    let mut bytes = fs::read(file).unwrap();
    match harm >> 32 & 3 {
        0 => return fs::remove_file(file).unwrap(),
        1 => bytes.truncate(bytes.len() / 2),
        2 => bytes.clear(),
        _ => {
            let at = (harm >> 40) as usize % bytes.len();
            bytes[at] ^= 1;
        }
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn whatever_is_done_a_collection_says_what_its_twin_says() {
    let folder = test_folder();
    for seed in 0..2_000 {
        let path = folder.path().join(seed.to_string());
        // Told only if it fails.
        println!("seed {seed}");
        let mut two = Two::new(path.clone(), seed);
        for _ in 0..two.dice.below(30) {
            two.step();
            two.compare();
        }
        two.compare_all();
        drop(two);
        fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn a_copy_an_export_and_their_original_are_alike() {
    let folder = test_folder();
    for seed in 0..30 {
        println!("seed {seed}");
        let path = folder.path().join(format!("original {seed}"));
        let mut two = Two::new(path, seed);
        (0..20).for_each(|_| two.step());
        let copy = folder.path().join(format!("copy {seed}"));
        two.own().backup(&copy).unwrap();
        let about = two.own().about().clone();
        let mut text = Vec::new();
        two.own().export(&mut text).unwrap();
        two.collection = Some(Collection::open(&copy).unwrap());
        two.compare_all();
        two.compare();
        two.own().verify().unwrap();

        let imported =
            Collection::create(folder.path().join(format!("import {seed}")), about).unwrap();
        let count = imported.import(text.as_slice(), |error| panic!("{error}")).unwrap();
        assert_eq!((count.stored, count.refused), (two.twin.items.len() as u64, 0));
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

#[test]
fn many_threads_insert_and_search_at_once() {
    let folder = test_folder();
    let about = About::given(Width::Bits64, Radius::new(3));
    let collection = Arc::new(Collection::create(folder.path(), about).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let collection = &collection;
            scope.spawn(move || {
                for number in 0..100 {
                    let print = Fingerprint([Dice(thread << 32 | number).next()]).resize();
                    let id = format!("{thread}/{number}");
                    let added = collection.insert(NewItem::new(&id, &[print])).unwrap();
                    assert!(added.is_stored());
                    // What was acknowledged is found at once.
                    let found = collection.search(&print, Radius::new(0), 1).unwrap();
                    assert_eq!(found[0].id, id);
                }
            });
        }
    });
    assert_eq!(collection.len(), 400);
    collection.verify().unwrap();
}

#[test]
fn of_alike_items_checked_at_the_same_time_one_is_stored() {
    let folder = test_folder();
    let about = About::given(Width::Bits64, Radius::new(3));
    let collection = Collection::create(folder.path(), about).unwrap();
    let stored = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (collection, stored) = (&collection, &stored);
            scope.spawn(move || {
                let print = Fingerprint([1 << thread]).resize();
                let id = thread.to_string();
                let added = collection
                    .check_and_insert(NewItem::new(&id, &[print]), Radius::new(2))
                    .unwrap();
                stored
                    .fetch_add(usize::from(added.is_stored()), std::sync::atomic::Ordering::SeqCst);
            });
        }
    });
    assert_eq!((stored.into_inner(), collection.len()), (1, 1));
}

#[test]
fn groups_are_around_the_first_item() {
    let folder = test_folder();
    let about = About::given(Width::Bits64, Radius::new(3));
    let collection = Collection::create(folder.path(), about).unwrap();
    let print = |bits: u64| Fingerprint([bits]).resize();
    let items = [("a", vec![print(0)]), ("b", vec![print(0b11)]), ("c", vec![print(0b1111)])];
    for (id, prints) in &items {
        collection.insert(NewItem::new(id, prints)).unwrap();
    }
    collection.insert(NewItem::new("d", &[print(u64::MAX), print(0b1)])).unwrap();
    let groups = collection.groups(Radius::new(2)).unwrap();
    let names: Vec<_> = groups
        .iter()
        .map(|group| (group.keep.as_str(), group.members.iter().map(|m| m.id.as_str()).collect()))
        .collect::<Vec<(&str, Vec<&str>)>>();
    assert_eq!(names, [("a", vec!["b", "d"])]);
    assert!(collection.groups(Radius::new(4)).is_err());
}

#[test]
fn a_collection_of_texts_knows_its_recipe() {
    let folder = test_folder();
    let preset = Preset::named("simhash64").unwrap();
    let path = folder.path().join("texts");
    let created = Collection::create(&path, About::texts(preset.recipe.clone(), preset.radius));
    drop(created.unwrap());
    let collection = Collection::open(&path).unwrap();
    assert_eq!(collection.about().maker, Maker::Text(preset.recipe.clone()));
    let other = Recipe { seed: 7, name: "own".into(), ..preset.recipe.clone() };
    let error = collection.check_maker(&Maker::Text(other), Width::Bits64).unwrap_err();
    assert!(error.to_string().contains("seed 0x7"), "{error}");
}

#[test]
fn a_second_opening_is_refused_and_names_the_lock() {
    let folder = test_folder();
    let about = About::given(Width::Bits64, Radius::new(3));
    let first = Collection::create(folder.path(), about).unwrap();
    for error in [Collection::open(folder.path()), Collection::open_read_only(folder.path())] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        assert!(error.contains("lock"), "{error}");
    }
    drop(first);
    let reading = Collection::open_read_only(folder.path()).unwrap();
    let also = Collection::open_read_only(folder.path()).unwrap();
    assert!(Collection::open(folder.path()).is_err());
    let error = reading.insert(NewItem::new("a", &[Fingerprint::ZERO])).unwrap_err();
    assert!(error.to_string().contains("for reading only"), "{error}");
    drop((reading, also));
    Collection::open(folder.path()).unwrap();
}

#[test]
fn what_is_not_a_collection_is_refused() {
    let folder = test_folder();
    let message = |path: &Path| Collection::open(path).unwrap_err().to_string();
    assert!(message(&folder.path().join("none")).contains("no such folder"));
    assert!(message(folder.path()).contains("no items.redb"));
    fs::write(folder.path().join("items.redb"), b"something else").unwrap();
    let refused = message(folder.path());
    assert!(refused.contains("damaged"), "{refused}");
    let about = About::given(Width::Bits64, Radius::new(3));
    assert!(matches!(
        Collection::create(folder.path(), about),
        Err(CollectionError::Exists { .. })
    ));
    let wide = About::given(Width::Bits64, Radius::new(65));
    assert!(Collection::create(folder.path().join("wide"), wide).is_err());
}

#[test]
fn records_older_than_what_was_acknowledged_are_refused() {
    let folder = test_folder();
    let about = About::given(Width::Bits64, Radius::new(3));
    let open = || Collection::open(folder.path());
    drop(Collection::create(folder.path(), about).unwrap());
    let old = fs::read(folder.path().join("items.redb")).unwrap();
    let collection = open().unwrap();
    collection.insert(NewItem::new("a", &[Fingerprint::ZERO])).unwrap();
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
    let about = About::given(Width::Bits64, Radius::new(3));
    let collection = Collection::create(folder.path(), about).unwrap();
    let (near, far) = ([Fingerprint([1]).resize()], [Fingerprint([u64::MAX]).resize()]);
    let long = "x".repeat(40_000);
    let items = [
        NewItem::new("a", &near),
        NewItem::new(&long, &near),
        NewItem::new("empty", &[]),
        NewItem::new("b", &far),
        NewItem::new("b", &far),
        NewItem::new("a", &far),
    ];
    let unfit = |why: &str| Added::Unfit { why: why.to_owned() };
    let too_long = unfit("an id has at most 32767 bytes, this one 40000");
    let none = unfit("it has no fingerprint");
    let (present, taken) = (Added::Present { sequence: 1 }, Added::Taken { sequence: 0 });
    let rest = [too_long, none, Added::New { sequence: 1 }, present, taken];
    let expected = [&[Added::New { sequence: 0 }][..], &rest].concat();
    assert_eq!(collection.insert_many(&items).unwrap(), expected);

    let added = collection.check_and_insert_many(&items[1..], Radius::new(3)).unwrap();
    assert_eq!(
        added[2..],
        [1, 1, 0].map(|sequence| match sequence {
            0 => Added::Taken { sequence },
            _ => Added::Present { sequence },
        })
    );
    assert_eq!(added[..2], rest[..2]);
    let replaced = collection.upsert_many(&items[1..4]).unwrap();
    assert_eq!((&replaced[..2], &replaced[2]), (&rest[..2], &Added::Replaced { sequence: 2 }));
    let error = collection.insert(items[2]).unwrap_err().to_string();
    assert_eq!(error, "item \"empty\": it has no fingerprint");
    collection.verify().unwrap();
}

#[test]
fn an_import_lists_ids_that_are_taken() {
    let folder = test_folder();
    let about = About::given(Width::Bits64, Radius::new(3));
    let collection = Collection::create(folder.path(), about).unwrap();
    collection.insert(NewItem::new("a", &[Fingerprint::ZERO])).unwrap();
    let line = |id: &str, print| format!("{{\"id\":\"{id}\",\"fingerprint\":\"{print}\"}}\n");
    let lines = [line("a", "0x0"), line("a", "0x1"), line("b", "0x2"), line("", "0x3")].concat();
    let mut listed = Vec::new();
    let imported = collection.import(lines.as_bytes(), |error| listed.push(error.to_string()));
    let expected = Imported { stored: 1, present: 1, taken: 1, refused: 1 };
    assert_eq!(imported.unwrap(), expected);
    let taken = "line 2: the id a is taken by an item with another fingerprint";
    assert_eq!(listed, [taken, "line 4: the id is empty"]);
}
