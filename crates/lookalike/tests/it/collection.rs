//! What a collection survives: processes that die, disks that fill up, bytes that change, folders
//! that cannot be written, files of older versions.

use std::{
    fs::{self, OpenOptions},
    io::{BufRead, BufReader, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use std::sync::Arc;

use lookalike::{
    Collection, Criteria, Digest, Fingerprint, Kind, Preset, Radius, Width,
    collection::{AddRule, CollectionError, NewItem, StoredItem},
    kind::{Input, Registry, hash::HashKind, text::TextKind},
};

/// Tells a test that it is a child, and which folder it works in.
const CHILD: &str = "LOOKALIKE_TEST_CHILD";

/// How often a process is killed; `make soak` sets more.
const CYCLES: &str = "LOOKALIKE_TEST_CYCLES";

fn create(path: &Path) -> Collection {
    Collection::create(path, Arc::new(HashKind::new(Width::Bits64)), &within(3)).unwrap()
}

fn within(radius: u32) -> Criteria {
    Criteria { distance: Some(Radius::new(radius)), ..Criteria::default() }
}

fn insert(collection: &Collection, item: NewItem<'_>) {
    assert!(collection.add(&[item], AddRule::Insert).unwrap()[0].is_stored());
}

fn remove(collection: &Collection, id: &str) {
    assert_eq!(collection.remove_many(&[id]).unwrap(), [true]);
}

/// A folder in memory if the system has such a place, where nothing waits for a disk.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn print(number: u64) -> Digest {
    Digest::of_print(Fingerprint([number.wrapping_mul(0x9e37_79b9_7f4a_7c15)]).resize())
}

fn all(collection: &Collection) -> Vec<StoredItem> {
    let mut items = Vec::new();
    let keep = |item| {
        items.push(item);
        ControlFlow::Continue(())
    };
    collection.for_each(keep).unwrap();
    items
}

/// Inserts items and removes them again, in small and large steps, saving and compacting now and
/// then, and says on stdout what it is about to do and when it is done, until it is killed.
#[test]
#[ignore = "runs as a child of the test below"]
fn child_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let collection = Collection::open(folder).unwrap();
    let start = collection.stats().next_sequence;
    let mut out = std::io::stdout().lock();
    for step in start.. {
        let ids: Vec<String> =
            (0..1 + step % 7 * (step % 3) * 40).map(|n| format!("{step}/{n}")).collect();
        let print = print(step);
        let items: Vec<_> = ids.iter().map(|id| NewItem::new(id, &print)).collect();
        writeln!(out, "add {step} {}", ids.len()).unwrap();
        collection.add(&items, AddRule::Insert).unwrap();
        writeln!(out, "done").unwrap();
        if step % 4 == 1 {
            writeln!(out, "remove {step}").unwrap();
            remove(&collection, &ids[0]);
            writeln!(out, "done").unwrap();
        }
        if step % 11 == 2 {
            collection.snapshot().unwrap();
        }
        if step % 29 == 3 {
            collection.compact().unwrap();
        }
    }
}

/// What a child said: everything it was told is done, and what it was about to do.
#[derive(Default)]
struct Said {
    done: Vec<String>,
    pending: Option<String>,
}

fn listen(child: &mut Child, moment: Duration) -> Said {
    let output = child.stdout.take().unwrap();
    let killer = {
        let (id, deadline) = (child.id(), Instant::now() + moment);
        std::thread::spawn(move || {
            std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
            // By number: the child itself is being listened to.
            Command::new("kill").args(["-9", &id.to_string()]).status().unwrap();
        })
    };
    let mut said = Said::default();
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match line.split(' ').next() {
            Some("add" | "remove") => said.pending = Some(line),
            Some("done") => said.done.extend(said.pending.take()),
            _ => {}
        }
    }
    killer.join().unwrap();
    child.wait().unwrap();
    said
}

/// The ids that must be there after these steps.
fn expected(steps: &[String]) -> std::collections::BTreeSet<String> {
    let mut ids = std::collections::BTreeSet::new();
    for step in steps {
        let mut words = step.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("add"), Some(step), Some(count)) => {
                ids.extend((0..count.parse::<u64>().unwrap()).map(|n| format!("{step}/{n}")));
            }
            (_, Some(step), _) => {
                ids.remove(&format!("{step}/0"));
            }
            _ => {}
        }
    }
    ids
}

#[cfg(unix)]
#[test]
fn what_was_acknowledged_survives_a_killed_process() {
    let cycles: u64 = std::env::var(CYCLES).ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let folder = folder();
    let mut path = folder.path().join("0");
    let mut steps: Vec<String> = Vec::new();
    for cycle in 0..cycles {
        if cycle.is_multiple_of(50) {
            // A large one would spend the test in opening it.
            path = folder.path().join(cycle.to_string());
            steps.clear();
            drop(create(&path));
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "collection::child_that_writes_until_it_is_killed",
                "--nocapture",
            ])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said = listen(&mut child, Duration::from_micros(5_000 + cycle * 7_919 % 60_000));
        steps.extend(said.done);
        let collection = Collection::open(&path).unwrap();
        let found: std::collections::BTreeSet<String> =
            all(&collection).into_iter().map(|item| item.id).collect();
        // What was under way may have happened as a whole, or not at all.
        if found != expected(&steps) {
            steps.extend(said.pending.clone());
            assert_eq!(found, expected(&steps), "cycle {cycle}, after {:?}", said.pending);
        }
        collection.verify().unwrap();
    }
}

/// A small collection with files of runs, items since, and items gone.
fn small(path: &Path) -> Vec<StoredItem> {
    let collection = create(path);
    for number in 0..6 {
        let (print, id) = (print(number), format!("item {number}"));
        insert(&collection, NewItem { payload: Some("[1]"), ..at(7, NewItem::new(&id, &print)) });
    }
    collection.compact().unwrap();
    remove(&collection, "item 2");
    insert(&collection, at(8, NewItem::new("last", &print(1))));
    all(&collection)
}

/// An item that was inserted at that time.
fn at(time: u64, item: NewItem<'_>) -> NewItem<'_> {
    NewItem { inserted: Some(time), ..item }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Whether everything that can be asked is answered as it should be, or refused.
fn answers(path: &Path, items: &[StoredItem]) -> Result<(), CollectionError> {
    let collection = Collection::open_read_only(path)?;
    assert_eq!(collection.len(), items.len() as u64);
    for item in items {
        let found = collection.search(std::slice::from_ref(&item.digest), &within(0), 9)?;
        assert!(
            found[0].iter().any(|found| found.id == item.id && found.sequence == item.sequence)
        );
        if let Some(stored) = collection.get(&item.id)? {
            assert_eq!(stored, *item);
        } else {
            panic!("{} is not found", item.id);
        }
    }
    assert_eq!(collection.search(&[print(77), print(2)], &within(3), 9)?, [[], []]);
    assert!(!collection.contains("item 2"));
    Ok(())
}

/// Every byte is changed once, in every file. What is read is as it was, or is refused.
#[test]
fn a_changed_byte_is_noticed_or_harmless() {
    // The store prints where it gives up; thousands of such lines help nobody.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let folder = folder();
    let path = folder.path().join("small");
    let items = small(&path);
    let (mut refused, mut harmless) = (0, 0);
    let mut wrong = Vec::new();
    for file in files(&path) {
        let bytes = fs::read(&file).unwrap();
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            changed[at] ^= 1 << (at % 8);
            write_byte(&file, at, changed[at]);
            let outcome =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| answers(&path, &items)));
            match outcome {
                Ok(Ok(())) => harmless += 1,
                Ok(Err(_)) => refused += 1,
                Err(_) => wrong.push((file.clone(), at)),
            }
            changed[at] = bytes[at];
            write_byte(&file, at, bytes[at]);
        }
    }
    std::panic::set_hook(hook);
    assert_eq!(wrong, [], "{refused} refused, {harmless} harmless");
    assert!(refused > 1000 && harmless > 1000, "{refused} refused, {harmless} harmless");
    answers(&path, &items).unwrap();
}

/// Changes bytes of the records, and does all that can be done with a collection.
#[test]
#[ignore = "runs as a child of the test below"]
fn child_that_works_with_damaged_records() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    std::panic::set_hook(Box::new(|_| {}));
    let file = folder.join("items.redb");
    let whole = fs::read(&file).unwrap();
    let written: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != 0).collect();
    let mut out = std::io::stdout().lock();
    let (mut refused, mut harmless) = (0, 0);
    for round in 0..600_usize {
        let path = folder.join("copy");
        fs::create_dir(&path).unwrap();
        copy(&folder.join("runs"), &path.join("runs"));
        copy(&folder.join("head"), &path.join("head"));
        let mut changed = whole.clone();
        let scattered = (round as u64 * 2 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        // Most bytes are zero; two thirds of the changes hit others.
        let at = match round % 3 {
            0 => scattered as usize % whole.len(),
            _ => written[scattered as usize % written.len()],
        };
        changed[at] ^= 1 << (round % 8);
        fs::write(path.join("items.redb"), changed).unwrap();
        writeln!(out, "byte {at}").unwrap();
        let all_is_well = work(&path).is_ok();
        harmless += u32::from(all_is_well);
        refused += u32::from(!all_is_well);
        let none = std::io::sink();
        let _ = Collection::salvage(&path, &Registry::default(), none, |_| {});
        fs::remove_dir_all(path).unwrap();
    }
    writeln!(out, "{refused} refused, {harmless} harmless").unwrap();
    assert!(refused > 50 && harmless > 50);
}

/// All that can be done with a collection, whatever comes of it.
fn work(path: &Path) -> Result<(), CollectionError> {
    let read = Collection::open_read_only(path).and_then(|collection| collection.verify());
    let collection = Collection::open(path)?;
    let print = print(20);
    let item = NewItem::new("new", &print);
    let done = [
        read,
        collection.verify(),
        collection.add(&[item], AddRule::UnlessAlike(within(3))).map(|_| ()),
        collection.remove_many(&["item 0", "item 5", "new"]).map(|_| ()),
        collection.snapshot(),
        collection.add(&[item], AddRule::Replace).map(|_| ()),
        collection.compact(),
        collection.repair(),
        collection.verify(),
        collection.export(std::io::sink()),
        collection.backup(path.join("backup")),
    ];
    drop(collection);
    done.into_iter().collect()
}

#[test]
fn damaged_records_never_end_the_process() {
    let folder = folder();
    let path = folder.path().join("small");
    small(&path);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
        .arg("collection::child_that_works_with_damaged_records")
        .env(CHILD, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let last: Vec<_> = said.lines().rev().take(3).collect();
    assert!(output.status.success(), "{last:?} {}", String::from_utf8_lossy(&output.stderr));
}

/// Every file of a run and `head`: each change is noticed by `verify`, and repaired.
#[test]
fn every_changed_byte_of_what_is_derived_is_noticed_and_repaired() {
    let folder = folder();
    let path = folder.path().join("small");
    let items = small(&path);
    let derived = |path: &Path| {
        let mut derived = files(&path.join("runs"));
        derived.push(path.join("head"));
        derived
    };
    let mut rounds = 0_usize;
    for file in derived(&path) {
        let bytes = fs::read(&file).unwrap();
        for at in (0..bytes.len()).step_by(if bytes.len() > 100 { 7 } else { 1 }) {
            write_byte(&file, at, bytes[at] ^ 1 << (at % 8));
            let collection = Collection::open_read_only(&path).unwrap();
            assert!(collection.verify().is_err(), "byte {at} of {}", file.display());
            drop(collection);
            answers(&path, &items).unwrap();
            write_byte(&file, at, bytes[at]);
            rounds += 1;
        }
    }
    assert!(rounds > 100, "{rounds}");
    Collection::open_read_only(&path).unwrap().verify().unwrap();
    for number in 0..derived(&path).len() {
        let file = &derived(&path)[number];
        let bytes = fs::read(file).unwrap();
        write_byte(file, bytes.len() / 2, bytes[bytes.len() / 2] ^ 1);
        let collection = Collection::open(&path).unwrap();
        assert!(collection.verify().is_err());
        collection.repair().unwrap();
        collection.verify().unwrap();
        drop(collection);
        let collection = Collection::open(&path).unwrap();
        assert_eq!(collection.notes(), [""; 0]);
        collection.verify().unwrap();
        drop(collection);
        answers(&path, &items).unwrap();
    }
}

#[test]
fn files_that_are_replaced_under_an_open_collection_are_noticed() {
    let folder = folder();
    let path = folder.path().join("small");
    small(&path);
    let collection = Collection::open(&path).unwrap();
    collection.verify().unwrap();
    for file in files(&path.join("runs")) {
        let bytes = fs::read(&file).unwrap();
        // A new file of that name: what is mapped stays as it is.
        fs::remove_file(&file).unwrap();
        assert!(matches!(collection.verify(), Err(CollectionError::Tables { .. })));
        fs::write(&file, bytes).unwrap();
        collection.verify().unwrap();
    }
}

#[test]
fn a_damaged_record_is_named_and_the_rest_exported() {
    let folder = folder();
    let path = folder.path().join("small");
    let items = small(&path);
    let mut whole = Vec::new();
    let none = |error| panic!("{error}");
    let exported = Collection::salvage(&path, &Registry::default(), &mut whole, none).unwrap();
    assert_eq!((exported.written, exported.damaged, exported.missing), (6, 0, 0));
    let mut as_ever = Vec::new();
    Collection::open(&path).unwrap().export(&mut as_ever).unwrap();
    assert_eq!(whole, as_ever);

    // One that stands in no file of a run: the collection cannot even be opened.
    let file = path.join("items.redb");
    let bytes = fs::read(&file).unwrap();
    let ids = |bytes: &[u8]| bytes.windows(4).enumerate().filter(|(_, it)| it == b"last").count();
    assert!(ids(&bytes) >= 1);
    let mut changed = bytes.clone();
    for at in 0..bytes.len() - 12 {
        if &bytes[at..at + 4] == b"last" {
            changed[at + 8] ^= 1;
        }
    }
    fs::write(&file, changed).unwrap();
    assert!(Collection::open_read_only(&path).is_err());
    let (mut rest, mut listed) = (Vec::new(), Vec::new());
    let on_damaged = |error: CollectionError| listed.push(error.to_string());
    let exported = Collection::salvage(&path, &Registry::default(), &mut rest, on_damaged).unwrap();
    assert_eq!((exported.written, exported.damaged, exported.missing), (5, 1, 0));
    assert_eq!(listed, ["item \"last\": its record, number 6, differs from its checksum"]);
    let [whole, rest] = [whole, rest].map(|lines| String::from_utf8(lines).unwrap());
    let expected: Vec<_> = whole.lines().take(items.len() - 1).collect();
    assert_eq!(rest.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_destroyed_page_costs_only_the_records_on_it() {
    let folder = folder();
    let path = folder.path().join("pages");
    let collection = create(&path);
    let ids: Vec<String> = (0..3_000).map(|number| format!("item {number}.")).collect();
    let prints: Vec<_> = (0..3_000).map(print).collect();
    let items: Vec<_> = ids.iter().zip(&prints).map(|(id, it)| NewItem::new(id, it)).collect();
    collection.add(&items, AddRule::Insert).unwrap();
    let mut whole = Vec::new();
    collection.export(&mut whole).unwrap();
    drop(collection);
    let file = path.join("items.redb");
    let mut bytes = fs::read(&file).unwrap();
    let id = b"item 1500.";
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(id)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at / 4096 * 4096..][..4096].fill(0xa5);
    }
    fs::write(&file, bytes).unwrap();
    let (mut rest, mut listed) = (Vec::new(), Vec::new());
    let on_damaged = |error: CollectionError| listed.push(error.to_string());
    let exported = Collection::salvage(&path, &Registry::default(), &mut rest, on_damaged).unwrap();
    assert!(exported.written > 2_800 && exported.written < 3_000, "{exported:?}");
    assert_eq!(exported.written + exported.damaged + exported.missing, 3_000);
    assert!(listed.iter().any(|error| error.contains("items.redb: the records of items")));
    let [whole, rest] = [whole, rest].map(|lines| String::from_utf8(lines).unwrap());
    let mut all = whole.lines();
    assert!(rest.lines().all(|line| all.any(|one| one == line)));
    assert!(!rest.contains("item 1500."));
}

fn write_byte(file: &Path, at: usize, byte: u8) {
    use std::io::{Seek, SeekFrom};
    let mut file = OpenOptions::new().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&[byte]).unwrap();
}

/// Fills a small disk, step by step, at every kind of write; runs where such a disk is mounted.
#[test]
#[ignore = "runs as a child of the test below"]
fn child_that_fills_the_disk() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![1; 13 << 20]).unwrap();
    let collection = create(&folder.join("collection"));
    let mut acknowledged = 0;
    let mut insert = |count: u64| {
        let first = acknowledged;
        let ids: Vec<String> = (first..first + count).map(|n| format!("item {n}")).collect();
        let prints: Vec<_> = (first..first + count).map(print).collect();
        let items: Vec<_> =
            ids.iter().zip(&prints).map(|(id, print)| NewItem::new(id, print)).collect();
        let inserted = collection.add(&items, AddRule::Insert);
        acknowledged += if inserted.is_ok() { count } else { 0 };
        inserted.map(|_| acknowledged)
    };
    let error = std::iter::repeat_with(|| insert(500)).find_map(Result::err).unwrap();
    assert!(error.to_string().contains("No space left"), "{error}");
    // Smaller and smaller steps, until nothing fits at all.
    for count in [50, 5] {
        while insert(count).is_ok() {}
    }
    let known = |collection: &Collection, count: u64| {
        assert_eq!(collection.len(), count);
        for number in 0..count {
            let found = collection.search(&[print(number)], &within(0), 1).unwrap();
            assert_eq!(found[0][0].id, format!("item {number}"));
        }
    };
    let count = insert(0).unwrap_or_else(|_| collection.len());
    known(&collection, count);
    // Neither of these may fit; both leave everything as it is.
    let _ = collection.snapshot();
    let _ = collection.compact();
    known(&collection, count);
    fs::remove_file(&ballast).unwrap();
    let count = insert(500).unwrap();
    collection.snapshot().unwrap();
    remove(&collection, "item 0");
    collection.compact().unwrap();
    collection.verify().unwrap();
    drop(collection);
    let collection = Collection::open(folder.join("collection")).unwrap();
    assert_eq!(collection.len(), count - 1);
    collection.verify().unwrap();
    println!("the disk was full");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = folder();
    let path = folder.path().to_str().unwrap();
    let child = std::env::current_exe().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=16m none '{path}' && '{}' --ignored --exact --nocapture \
         collection::child_that_fills_the_disk; code=$?; umount '{path}'; exit $code",
        child.display()
    );
    // Root may mount; others may in a world of their own, on most systems.
    let ways =
        [vec!["sh", "-c"], vec!["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]];
    for way in ways {
        let output = Command::new(way[0]).args(&way[1..]).arg(&script).env(CHILD, path).output();
        let Ok(output) = output else { continue };
        let said = String::from_utf8_lossy(&output.stdout);
        if said.contains("running 1 test") {
            assert!(output.status.success() && said.contains("the disk was full"), "{output:?}");
            return;
        }
    }
    println!("skipped: this system lets nobody mount a small disk");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_can_be_searched() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let path = folder.path().join("small");
    let items = small(&path);
    let set = |mode| {
        for file in files(&path) {
            fs::set_permissions(file, PermissionsExt::from_mode(mode & 0o666)).unwrap();
        }
        for folder in [path.join("runs"), path.clone()] {
            fs::set_permissions(folder, PermissionsExt::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    answers(&path, &items).unwrap();
    set(0o755);
    answers(&path, &items).unwrap();
}

#[test]
fn a_half_written_snapshot_is_rebuilt_and_said_so() {
    let folder = folder();
    let path = folder.path().join("small");
    let items = small(&path);
    let file = &files(&path.join("runs"))[0];
    let bytes = fs::read(file).unwrap();
    fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    let collection = Collection::open(&path).unwrap();
    let notes = collection.notes().join("\n");
    assert!(notes.contains("search tables rebuilt from the records"), "{notes}");
    assert!(notes.contains(file.to_str().unwrap()), "{notes}");
    assert_eq!(all(&collection), items);
    collection.compact().unwrap();
    drop(collection);
    assert_eq!(Collection::open(&path).unwrap().notes(), [""; 0]);
    answers(&path, &items).unwrap();
}

/// Collections that were written when their format was new. They must open for ever.
#[test]
fn collections_of_this_format_open() {
    let mut seen = 0;
    for entry in fs::read_dir(kept()).unwrap() {
        let kept = entry.unwrap().path();
        let is_read = cfg!(feature = "image") || !kept.ends_with("format-2-image");
        if !kept.is_dir() || kept.ends_with("format-1") || !is_read {
            continue;
        }
        let folder = folder();
        let path = folder.path().join("copy");
        copy(&kept, &path);
        let collection = Collection::open(&path).unwrap();
        assert_eq!(collection.notes(), [""; 0], "{}", kept.display());
        collection.verify().unwrap();
        let mut export = Vec::new();
        collection.export(&mut export).unwrap();
        let expected = fs::read_to_string(kept.with_extension("jsonl")).unwrap();
        assert_eq!(String::from_utf8(export).unwrap(), expected);
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn a_collection_of_another_format_is_refused_with_what_to_do() {
    let folder = folder();
    let path = folder.path().join("copy");
    copy(&kept().join("format-1"), &path);
    for error in [Collection::open(&path), Collection::open_read_only(&path)] {
        let error = error.unwrap_err().to_string();
        let expected = "written in format 1, this program reads 2 only; build the collection again \
                        from its items";
        assert!(error.ends_with(expected), "{error}");
    }
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/collections")
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            copy(&path, &to.join(path.file_name().unwrap()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

/// Writes collections of the present format, to be kept with those of older ones. To be run once
/// for each new format: `cargo test -p lookalike --test it -- --ignored make_collections_to_keep`.
#[test]
#[ignore = "writes into the repository"]
fn make_collections_to_keep() {
    let path = kept().join("format-2-hash");
    if !path.exists() {
        small(&path);
        let collection = Collection::open(&path).unwrap();
        collection.compact().unwrap();
        let content = Some([9; 16]);
        insert(&collection, NewItem { content, ..at(9, NewItem::new("Grüße", &print(8))) });
        remove(&collection, "item 4");
        export(&collection, &path);
    }
    let path = kept().join("format-2-text");
    if !path.exists() {
        let kind = Arc::new(TextKind::of(Preset::named("words").unwrap()));
        let by = kind.criteria(&Default::default(), lookalike::kind::Purpose::List).unwrap();
        let collection = Collection::create(&path, kind.clone(), &by).unwrap();
        let texts = [
            "The ferry to the island leaves at nine in the morning from the north end.",
            "The ferry to the island leaves at ten in the morning from the north end.",
            "Short.",
        ];
        for (number, text) in (0..).zip(texts) {
            let digest = kind.digester().digest(Input::Text(text)).unwrap().0;
            insert(&collection, at(number, NewItem::new(&format!("text {number}"), &digest)));
        }
        collection.compact().unwrap();
        remove(&collection, "text 1");
        export(&collection, &path);
    }
    keep_one_of_a_killed_process();
    #[cfg(feature = "image")]
    keep_images();
}

/// Texts with content and payload, some in tables and some behind them, as a process leaves them that
/// is killed.
fn keep_one_of_a_killed_process() {
    let path = kept().join("format-2-killed");
    if path.exists() {
        return;
    }
    let folder = folder();
    let kind = Arc::new(TextKind::of(Preset::named("words").unwrap()));
    let by = kind.criteria(&Default::default(), lookalike::kind::Purpose::List).unwrap();
    let open = Collection::create(folder.path(), kind.clone(), &by).unwrap();
    let words = ["ferry", "island", "morning", "north", "harbour", "ticket", "winter", "storm"];
    for number in 0..12_usize {
        let text: Vec<&str> = (0..20).map(|at| words[(at * at + number / 3) % 8]).collect();
        let text = format!("{} {number}", text.join(" "));
        let digest = kind.digester().digest(Input::Text(&text)).unwrap().0;
        let id = format!("text {number}");
        let content = Some(lookalike::collection::content_hash(text.as_bytes()));
        let item = NewItem { content, payload: Some("[1]"), ..NewItem::new(&id, &digest) };
        insert(&open, at(number as u64, item));
        if number == 7 {
            open.compact().unwrap();
            remove(&open, "text 2");
        }
    }
    copy(folder.path(), &path);
    fs::remove_file(path.join("lock")).unwrap();
    export(&open, &path);
}

/// Images found in any orientation and by their parts.
#[cfg(feature = "image")]
fn keep_images() {
    use lookalike::{
        extract::image::{Image, Pixels},
        kind::image::ImageKind,
        recipe::ImagePreset,
    };
    let path = kept().join("format-2-image");
    if path.exists() {
        return;
    }
    let kind = ImageKind::of(ImagePreset::named("pdq").unwrap());
    let kind = Arc::new(kind.orientations(true).partial(true).unwrap());
    let widest = Criteria { turned: true, parts: true, ..within(8) };
    let collection = Collection::create(&path, kind.clone(), &widest).unwrap();
    // Blots on a slope, the second image a corner of the first.
    let scene = |seed: u32, x: u32, y: u32| {
        let blot = |n: u32| {
            let mixed = (seed * 97 + n).wrapping_mul(0x9e37_79b9);
            (mixed % 320, (mixed >> 9) % 240, 6 + (mixed >> 18) % 20, mixed >> 24)
        };
        let blots: Vec<_> = (0..40).map(blot).collect();
        let light = |at: u32| {
            let (x, y) = (x + at % 200, y + at / 200);
            let over = |&&(left, top, side, _): &&(u32, u32, u32, u32)| {
                x.abs_diff(left) < side && y.abs_diff(top) < side
            };
            blots.iter().rev().find(over).map_or((x / 2 + y / 4) as u8, |blot| blot.3 as u8)
        };
        Pixels::gray(200, 150, (0..200 * 150).map(light).collect()).unwrap()
    };
    for (number, pixels) in
        (0..).zip([scene(1, 0, 0), scene(1, 40, 30), scene(2, 0, 0), scene(3, 0, 0)])
    {
        let image = Image::of_pixels(pixels);
        let digest = kind.digester().digest(Input::Image(&image)).unwrap().0;
        insert(&collection, at(number, NewItem::new(&format!("{number}.png"), &digest)));
        if number == 2 {
            collection.compact().unwrap();
        }
    }
    remove(&collection, "2.png");
    export(&collection, &path);
}

fn export(collection: &Collection, path: &Path) {
    let mut export = Vec::new();
    collection.export(&mut export).unwrap();
    fs::write(path.with_extension("jsonl"), export).unwrap();
}
