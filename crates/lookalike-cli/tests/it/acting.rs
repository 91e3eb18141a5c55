//! `dedup --move`, `--link`, `--trash`, `--delete` and `undo`: what is done to files, and taken back.
#![cfg(unix)]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use crate::run::{Folder, Ran};

const FERRY: &str = "The ferry to the island leaves at nine in the morning and again at four in the \
                     afternoon, from the north end of the harbour. Tickets are sold on board.";
const POTATOES: &str = "Boil the potatoes in their skins, let them cool, and slice them as thin as \
                        you can before you heat the oil in the large iron pan.";

/// A folder `in` with two groups: three of which two are equal, and two that are equal.
fn corpus() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/sub")).unwrap();
    let near = FERRY.replace("four", "five");
    for (name, text) in [
        ("in/a.txt", FERRY),
        ("in/b.txt", &near),
        ("in/sub/c.txt", FERRY),
        ("in/sub/d.txt", POTATOES),
        ("in/sub/e.txt", POTATOES),
        ("in/f.txt", "Something else, which is like nothing that was said before it."),
    ] {
        fs::write(folder.path(name), text).unwrap();
    }
    folder
}

fn act(folder: &Folder, arguments: &str) -> Ran {
    folder.run(arguments)
}

/// Acts, and tells where the journal is.
#[track_caller]
fn acts(folder: &Folder, arguments: &str) -> PathBuf {
    let ran = act(folder, arguments);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let line = ran.stderr.lines().find(|line| line.starts_with("journal")).expect(&ran.stderr);
    let path = line.split_whitespace().find(|word| word.ends_with(".jsonl")).unwrap();
    path.into()
}

#[track_caller]
fn undo(folder: &Folder, journal: &Path, said: &str) {
    let ran = act(folder, &format!("undo {}", journal.display()));
    assert_eq!((ran.exit, ran.stderr.trim()), (0, said));
}

/// Every file below a folder: its content, time and permissions.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i128, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            if data.is_dir() {
                folders.push(path);
            } else if data.is_file() {
                let time = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, (fs::read(&path).unwrap(), time, data.mode()));
            }
        }
    }
    found
}

fn names(folder: &Path) -> String {
    let names: Vec<_> = files(folder).into_keys().map(|path| path.display().to_string()).collect();
    names.join(" ")
}

#[test]
fn nothing_is_touched_unless_asked() {
    let folder = corpus();
    let before = files(&folder.path("in"));
    let ran = act(&folder, "dedup in");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let ran = act(&folder, "dedup in --move gone --dry-run");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3);
    let first: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    let text = |name: &str| first[name].as_str().unwrap().rsplit_once("/in/").unwrap().1.to_owned();
    assert_eq!(
        (first["act"].as_str(), text("from"), text("keep")),
        (Some("move"), "b.txt".into(), "a.txt".into())
    );
    assert!(
        ran.stderr.contains("acted    3 files, 431 B, would be moved to gone"),
        "{}",
        ran.stderr
    );
    for act_of in ["--trash", "--link", "--delete"] {
        act(&folder, &format!("dedup in {act_of} --dry-run"));
    }
    assert_eq!(files(&folder.path("in")), before);
    assert!(!folder.path("gone").exists());
    assert_eq!(names(&folder.home("")), "");
}

#[test]
fn what_is_moved_comes_back_as_it_was() {
    let folder = corpus();
    let before = files(&folder.path("in"));
    let journal = acts(&folder, "dedup in --move gone/deep");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    assert_eq!(names(&folder.path("gone/deep")), "b.txt sub/c.txt sub/e.txt");
    assert!(journal.starts_with(folder.home(".local/state/lookalike/journals")));
    undo(&folder, &journal, "3 files brought back");
    assert_eq!(files(&folder.path("in")), before);
    assert!(!folder.path("gone").exists());
    undo(&folder, &journal, "0 files brought back; 3 as before");
    assert_eq!(files(&folder.path("in")), before);
}

#[test]
fn equal_files_become_links_and_files_of_their_own_again() {
    let folder = corpus();
    let old = UNIX_EPOCH + Duration::from_nanos(1_500_000_000_123_456_789);
    let file = File::options().write(true).open(folder.path("in/sub/c.txt")).unwrap();
    file.set_modified(old).unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o640)).unwrap();
    let before = files(&folder.path("in"));
    let inode = |name: &str| folder.path(name).metadata().unwrap().ino();
    let ran = act(&folder, "dedup in --link --journal j.jsonl");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("left in/b.txt: is alike in/a.txt, but not equal"),
        "{}",
        ran.stderr
    );
    assert_eq!(inode("in/a.txt"), inode("in/sub/c.txt"));
    assert_eq!(inode("in/sub/d.txt"), inode("in/sub/e.txt"));
    assert_eq!(names(&folder.path("in")), "a.txt b.txt f.txt sub/c.txt sub/d.txt sub/e.txt");
    // Links are one item each: nothing is left to do.
    let ran = act(&folder, "dedup in --link");
    assert!(ran.stderr.contains("acted    0 files"), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 hard links of files listed already"), "{}", ran.stderr);
    undo(&folder, &folder.path("j.jsonl"), "2 files brought back");
    assert_ne!(inode("in/a.txt"), inode("in/sub/c.txt"));
    assert_eq!(files(&folder.path("in")), before);
    undo(&folder, &folder.path("j.jsonl"), "0 files brought back; 2 as before");
}

#[test]
fn a_link_that_was_written_to_is_not_undone() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --link");
    fs::write(folder.path("in/a.txt"), "both say this now").unwrap();
    let ran = act(&folder, &format!("undo {}", journal.display()));
    assert_eq!(ran.exit, 2);
    assert!(
        ran.stderr.contains("in/sub/c.txt: was written to since it was linked"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("1 file brought back"), "{}", ran.stderr);
    assert_eq!(folder.read("in/sub/c.txt"), "both say this now");
}

#[test]
fn the_trash_is_one_that_desktops_know() {
    let folder = corpus();
    let before = files(&folder.path("in"));
    // Every file is called the same: names in the trash must not meet.
    for (name, other) in [("b.txt", "in/x/e.txt"), ("sub/c.txt", "in/y/e.txt")] {
        fs::create_dir_all(folder.path(other).parent().unwrap()).unwrap();
        fs::rename(folder.path("in").join(name), folder.path(other)).unwrap();
    }
    let moved = files(&folder.path("in"));
    let journal = acts(&folder, "dedup in --trash");
    let trash = folder.home(".local/share/Trash");
    assert_eq!(names(&trash.join("files")), "e.2.txt e.3.txt e.txt");
    assert_eq!(names(&trash.join("info")), "e.2.txt.trashinfo e.3.txt.trashinfo e.txt.trashinfo");
    let info = fs::read_to_string(trash.join("info/e.txt.trashinfo")).unwrap();
    assert!(info.starts_with("[Trash Info]\nPath=/") && info.contains("/in/"), "{info}");
    undo(&folder, &journal, "3 files brought back");
    assert_eq!(files(&folder.path("in")), moved);
    assert_eq!(moved.len(), before.len());
    assert_eq!(names(&trash), "");
}

#[test]
fn what_is_deleted_is_gone_and_undo_says_so() {
    let folder = corpus();
    let ran = act(&folder, "dedup in --delete --journal j.jsonl");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    let ran = act(&folder, "undo j.jsonl");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("sub/e.txt: was deleted; that cannot be undone"), "{}", ran.stderr);
}

#[test]
fn undo_overwrites_nothing_that_appeared_since() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    fs::write(folder.path("in/b.txt"), "new").unwrap();
    fs::remove_file(folder.path("gone/sub/c.txt")).unwrap();
    let ran = act(&folder, &format!("undo {}", journal.display()));
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("in/b.txt: there is another file by now"), "{}", ran.stderr);
    assert!(ran.stderr.contains("in/sub/c.txt: is no longer at"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 file brought back; 2 left as they are"), "{}", ran.stderr);
    assert_eq!(folder.read("in/b.txt"), "new");
    assert_eq!(names(&folder.path("gone")), "b.txt");
    fs::remove_file(folder.path("in/b.txt")).unwrap();
    let ran = act(&folder, &format!("undo {}", journal.display()));
    assert!(ran.stderr.contains("1 file brought back; 1 as before; 1 left"), "{}", ran.stderr);
}

#[test]
fn undo_goes_on_after_a_crash_at_any_entry() {
    // A crash leaves a journal of which the first acts are done and the others are not.
    for done in 0..=3 {
        let folder = corpus();
        let before = files(&folder.path("in"));
        let journal = acts(&folder, "dedup in --move gone");
        let entries: Vec<serde_json::Value> = fs::read_to_string(&journal)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .filter(|line: &serde_json::Value| line["from"].is_string())
            .collect();
        for entry in &entries[done..] {
            fs::rename(entry["to"].as_str().unwrap(), entry["from"].as_str().unwrap()).unwrap();
        }
        // The one under way was copied, but not yet removed; another was being copied.
        if let Some(entry) = entries.get(done) {
            fs::copy(entry["from"].as_str().unwrap(), entry["to"].as_str().unwrap()).unwrap();
            let id = journal.file_stem().unwrap().to_str().unwrap();
            let partial = format!(".lookalike-{id}-{}.partial", entry["number"]);
            let to = Path::new(entry["to"].as_str().unwrap());
            fs::write(to.with_file_name(partial), "half").unwrap();
        }
        let ran = act(&folder, &format!("undo {}", journal.display()));
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        assert_eq!(files(&folder.path("in")), before, "{done}");
        assert!(!folder.path("gone").exists(), "{done}: {}", names(&folder.path("gone")));
    }
}

#[test]
fn another_file_system_is_copied_to_and_never_linked_to() {
    let folder = corpus();
    // A file system in memory, where there is one.
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    if other.path().metadata().unwrap().dev() == folder.path("in").metadata().unwrap().dev() {
        return;
    }
    let before = files(&folder.path("in"));
    let target = other.path().join("gone");
    let journal = acts(&folder, &format!("dedup in --move {}", target.display()));
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    assert_eq!(files(&target)[Path::new("sub/e.txt")], before[Path::new("sub/e.txt")]);
    undo(&folder, &journal, "3 files brought back");
    assert_eq!(files(&folder.path("in")), before);
    let twin = other.path().join("twin.txt");
    fs::write(&twin, POTATOES).unwrap();
    let ran = act(&folder, &format!("dedup in/sub/d.txt {} --link", twin.display()));
    assert!(
        ran.stderr.contains("twin.txt: is on another file system than in/sub/d.txt"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.exit, 0);
    // The trash is on the file system of the file.
    let ran = act(&folder, &format!("dedup in/sub/d.txt {} --trash --journal j", twin.display()));
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(!twin.exists(), "{}", ran.stderr);
    let ran = act(&folder, "undo j");
    assert!(ran.stderr.contains("1 file brought back"), "{}", ran.stderr);
    assert!(twin.exists());
}

#[test]
fn names_that_are_no_text_do_not_meet_and_can_be_acted_on() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    let path = |name: &[u8]| folder.path("in").join(std::ffi::OsStr::from_bytes(name));
    let odd: [&[u8]; 5] =
        [b"caf\xe9.txt", b"caf\xe8.txt", b"caf\\xe9.txt", b"new\nline.txt", b"<img src=x>.txt"];
    for name in odd {
        fs::write(path(name), POTATOES).unwrap();
    }
    let before = files(&folder.path("in"));
    let groups = act(&folder, "dedup in --groups groups.jsonl --report r.html");
    assert_eq!(groups.exit, 0, "{}", groups.stderr);
    let group: serde_json::Value = serde_json::from_str(&folder.read("groups.jsonl")).unwrap();
    let mut ids: Vec<_> = group["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    ids.push(group["keep"].as_str().unwrap());
    ids.sort_unstable();
    assert_eq!(
        ids,
        [
            "in/<img src=x>.txt",
            "in/caf\\\\xe9.txt",
            "in/caf\\xe8.txt",
            "in/caf\\xe9.txt",
            "in/new\nline.txt"
        ]
    );
    let journal = acts(&folder, "dedup in --move gone");
    assert_eq!((files(&folder.path("in")).len(), files(&folder.path("gone")).len()), (1, 4));
    undo(&folder, &journal, "4 files brought back");
    assert_eq!(files(&folder.path("in")), before);
}

#[test]
fn all_names_of_a_file_go_and_symbolic_links_stay() {
    let folder = corpus();
    fs::hard_link(folder.path("in/sub/e.txt"), folder.path("in/sub/g.txt")).unwrap();
    symlink("sub/e.txt", folder.path("in/link.txt")).unwrap();
    let journal = acts(&folder, "dedup in --move gone");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    assert_eq!(names(&folder.path("gone")), "b.txt g.txt sub/c.txt sub/e.txt");
    assert!(folder.path("in/link.txt").symlink_metadata().unwrap().is_symlink());
    undo(&folder, &journal, "4 files brought back");
    let inode = |name: &str| folder.path(name).metadata().unwrap().ino();
    assert_eq!(inode("in/sub/e.txt"), inode("in/sub/g.txt"));
}

#[test]
fn a_file_given_twice_is_one_file() {
    let folder = corpus();
    let ran = act(&folder, "dedup in in/sub in/a.txt ./in/a.txt --delete");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    let ran = act(&folder, "dedup in/a.txt in/a.txt --delete");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("note: in/a.txt is listed already, and read once"),
        "{}",
        ran.stderr
    );
    assert!(folder.path("in/a.txt").exists());
}

#[test]
fn against_other_files_only_what_is_here_goes() {
    let folder = corpus();
    fs::create_dir(folder.path("other")).unwrap();
    fs::write(folder.path("other/x.txt"), POTATOES).unwrap();
    acts(&folder, "dedup in --against other --move gone");
    assert_eq!(names(&folder.path("in")), "a.txt b.txt f.txt sub/c.txt");
    assert_eq!(names(&folder.path("other")), "x.txt");
}

#[test]
fn what_cannot_be_done_is_said_before_any_work() {
    let folder = corpus().and("rows.jsonl", "{\"text\":\"a\"}\n");
    act(&folder, "dedup rows.jsonl --trash")
        .fails("--trash acts on files, and rows.jsonl holds rows; -o KEPT writes what is kept");
    act(&folder, "dedup in --move in/gone").fails(
        "--move in/gone: lies within in, where the next run would find what was moved; \
         choose a folder outside",
    );
    act(&folder, "dedup in --move rows.jsonl").fails("--move rows.jsonl: is a file; name a folder");
    act(&folder, "dedup in --against rows.jsonl --delete").fails(
        "--delete checks the files that stay, and rows.jsonl is none; give files to --against",
    );
    let ran = act(&folder, "dedup in --delete --journal rows.jsonl");
    assert_eq!(ran.exit, 2);
    assert!(
        ran.stderr.contains("the journal cannot be written, so nothing is done"),
        "{}",
        ran.stderr
    );
    assert_eq!(folder.read("rows.jsonl"), "{\"text\":\"a\"}\n");
    let ran = act(&folder, "dedup in --delete --trash");
    assert_eq!(ran.exit, 2);
    let ran = act(&folder, "dedup in --max-remove 0.1 --delete");
    assert_eq!(ran.exit, 2);
    assert_eq!(files(&folder.path("in")).len(), 6);
    act(&folder, "undo rows.jsonl").fails("rows.jsonl: not a journal of lookalike");
    // What was not begun leaves no journal.
    let ran = act(&folder, "undo");
    assert_eq!(ran.stdout, "");
}

#[test]
fn texts_in_old_encodings_are_told_apart() {
    const TEXTS: [&str; 2] = [
        "Паром на остров отходит в девять утра и снова в четыре часа дня, от северного причала. \
         Билеты продают на борту.",
        "Картофель сварить в мундире, дать остыть и нарезать как можно тоньше, прежде чем налить \
         масло на большую чугунную сковороду.",
    ];
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    for (number, text) in TEXTS.iter().enumerate() {
        for (name, encoding) in
            [("cp1251", encoding_rs::WINDOWS_1251), ("koi8", encoding_rs::KOI8_R)]
        {
            let path = folder.path(&format!("in/{number}-{name}.txt"));
            fs::write(path, encoding.encode(text).0).unwrap();
        }
        fs::write(folder.path(&format!("in/{number}-utf8.txt")), text).unwrap();
    }
    let ran = act(&folder, "dedup in --keep last --level copy --move gone");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(names(&folder.path("in")), "0-utf8.txt 1-utf8.txt");
    let note = "note: not UTF-8, and read by its looks: 4 texts, 2 as KOI8-U, 2 as windows-1251";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    // One a line, in every format that has lines.
    let [one, other] = TEXTS.map(|text| encoding_rs::WINDOWS_1251.encode(text).0.into_owned());
    let lines = |before: &[u8], start: &[u8], end: &[u8]| {
        [before, start, &one, end, start, &other, end, start, &one, end].concat()
    };
    for (name, content) in [
        ("a.txt", lines(b"", b"", b"\n")),
        ("a.jsonl", lines(b"", b"{\"text\":\"", b"\"}\n")),
        ("a.csv", lines(b"text\n", b"\"", b"\"\n")),
        ("a.tsv", lines(b"id\ttext\n", b"\t", b"\n")),
    ] {
        fs::write(folder.path(name), content).unwrap();
        let lines = if name == "a.txt" { "--lines" } else { "" };
        let ran = act(&folder, &format!("pairs {name} {lines}"));
        assert_eq!(ran.stdout.lines().count(), 1, "{name}: {}{}", ran.stdout, ran.stderr);
        let note = "note: not UTF-8, and read by its looks: 3 texts, 3 as windows-1251";
        assert!(ran.stderr.contains(note), "{name}: {}", ran.stderr);
    }
}

/// The id of a journal, which is its name.
fn id(journal: &Path) -> &str {
    journal.file_stem().unwrap().to_str().unwrap()
}

#[test]
fn undo_removes_nothing_that_a_link_leads_to() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    symlink("../gone/b.txt", folder.path("in/b.txt")).unwrap();
    fs::remove_dir_all(folder.path("in/sub")).unwrap();
    symlink("../gone/sub", folder.path("in/sub")).unwrap();
    let gone = files(&folder.path("gone"));
    for _ in 0..2 {
        let ran = act(&folder, &format!("undo {}", journal.display()));
        assert_eq!(ran.exit, 2);
        assert!(ran.stderr.contains("in/b.txt is a symbolic link by now"), "{}", ran.stderr);
        assert!(ran.stderr.contains("in/sub leads to "), "{}", ran.stderr);
        assert!(ran.stderr.contains("0 files brought back; 3 left as they are"), "{}", ran.stderr);
        assert_eq!(files(&folder.path("gone")), gone);
    }
    // The other way round: what was moved has become a link.
    fs::remove_file(folder.path("in/b.txt")).unwrap();
    fs::rename(folder.path("gone/b.txt"), folder.path("b.txt")).unwrap();
    symlink("../b.txt", folder.path("gone/b.txt")).unwrap();
    let ran = act(&folder, &format!("undo {}", journal.display()));
    assert!(ran.stderr.contains("gone/b.txt is a symbolic link by now"), "{}", ran.stderr);
    assert!(!folder.path("in/b.txt").exists() && folder.path("b.txt").exists());
}

#[test]
fn another_name_of_what_was_moved_is_not_taken_for_a_copy_of_it() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    fs::hard_link(folder.path("gone/b.txt"), folder.path("in/b.txt")).unwrap();
    undo(&folder, &journal, "3 files brought back");
    assert!(folder.read("in/b.txt").contains("five"));
    assert!(!folder.path("gone").exists());
}

#[test]
fn undo_brings_back_only_what_was_moved() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    fs::write(folder.path("gone/b.txt"), "something else").unwrap();
    fs::remove_file(folder.path("gone/sub/c.txt")).unwrap();
    fs::write(folder.path("in/sub/c.txt"), "new").unwrap();
    let ran = act(&folder, &format!("undo {}", journal.display()));
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("gone/b.txt now is not what was moved"), "{}", ran.stderr);
    assert!(ran.stderr.contains("what was there is no longer at"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 file brought back; 2 left as they are"), "{}", ran.stderr);
    assert_eq!(folder.read("gone/b.txt"), "something else");
    assert!(!folder.path("in/b.txt").exists());
}

#[test]
fn a_link_comes_back_though_its_keeper_was_renamed() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --link");
    fs::rename(folder.path("in/a.txt"), folder.path("in/new.txt")).unwrap();
    undo(&folder, &journal, "2 files brought back");
    let inode = |name: &str| folder.path(name).metadata().unwrap().ino();
    assert_ne!(inode("in/new.txt"), inode("in/sub/c.txt"));
    // Replaced by another file meanwhile: that cannot be undone, and is said.
    let journal = acts(&folder, "dedup in --link");
    fs::remove_file(folder.path("in/sub/c.txt")).unwrap();
    fs::write(folder.path("in/sub/c.txt"), "new").unwrap();
    let ran = act(&folder, &format!("undo {}", journal.display()));
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("in/sub/c.txt: there is another file by now"), "{}", ran.stderr);
}

/// A run that was stopped while it looked whether a file may go.
#[test]
fn what_a_stopped_run_had_put_aside_is_brought_back() {
    let folder = corpus();
    let before = files(&folder.path("in"));
    let aside = folder.path("in/sub/.lookalike-1-2-3.claim");
    fs::create_dir(&aside).unwrap();
    fs::rename(folder.path("in/sub/d.txt"), aside.join("d.txt")).unwrap();
    // A run that only looks leaves it; it is named again by the next that acts, and read.
    act(&folder, "dedup in");
    assert!(aside.exists());
    let ran = act(&folder, "dedup in --move gone");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let said = "note: restored in/sub/d.txt, which a stopped run had put aside";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    // Undo brings back what its own run had put aside.
    let journal = fs::read_dir(folder.home(".local/state/lookalike/journals")).unwrap();
    let journal = journal.map(|entry| entry.unwrap().path()).next().unwrap();
    let aside = folder.path(&format!("in/.lookalike-{}.claim", id(&journal)));
    fs::create_dir(&aside).unwrap();
    fs::rename(folder.path("gone/b.txt"), aside.join("b.txt")).unwrap();
    undo(&folder, &journal, "3 files brought back");
    assert_eq!(files(&folder.path("in")), before);
    // A name that is taken: nothing is overwritten, nothing is passed over in silence.
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join("b.txt"), "precious").unwrap();
    let ran = act(&folder, "dedup in --move gone");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("left in/b.txt: a stopped run had put aside"), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: 1 file could not be moved to gone"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(aside.join("b.txt")).unwrap(), "precious");
}

#[test]
fn a_second_run_on_the_same_files_is_locked_out_until_the_first_has_ended() {
    let folder = corpus();
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::create_dir(folder.path("other")).unwrap();
    fs::write(folder.path("other/x.txt"), POTATOES).unwrap();
    symlink("in", folder.path("alias")).unwrap();
    // It acts, and waits for somebody to write into the pipe.
    let mut first = folder.command("dedup in --against pipe --delete").spawn().unwrap();
    let state = folder.home(".local/state/lookalike/acting");
    let is_there = || fs::read_dir(&state).is_ok_and(|entries| entries.count() == 2);
    while !is_there() {
        assert!(first.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let before = files(&folder.path("in"));
    for second in [
        "in --trash",
        "alias/sub --delete",
        "./in/../in/a.txt in/b.txt --link",
        "other --against in --delete",
        "other --move in/new",
    ] {
        let ran = act(&folder, &format!("dedup {second}"));
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{second}");
        let said = ran.stderr.lines().last().unwrap();
        for part in [
            "another run is at work here, so nothing is done: ",
            "lookalike dedup in --against pipe --delete (process ",
            &format!("(process {}, since 20", first.id()),
            "/in and 1 place more); run again when it has ended",
        ] {
            assert!(said.contains(part), "{second}: {said}");
        }
    }
    assert_eq!(files(&folder.path("in")), before);
    // Elsewhere, and where nothing is done, nobody is kept waiting.
    assert_eq!(act(&folder, "dedup in --delete --dry-run").exit, 0);
    assert_eq!(act(&folder, "dedup other --delete").exit, 0);
    first.kill().unwrap();
    first.wait().unwrap();
    let ran = act(&folder, "dedup in --delete");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
}

#[test]
fn a_journal_is_not_undone_while_it_is_written() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    let held = File::open(&journal).unwrap();
    held.lock().unwrap();
    let name = journal.display();
    act(&folder, &format!("undo {name}")).fails(&format!(
        "{name}: the run that writes this journal, or one that undoes it, is still at work; run \
         again when it has ended"
    ));
    drop(held);
    undo(&folder, &journal, "3 files brought back");
}

#[test]
fn what_could_not_be_done_is_an_error() {
    let folder = corpus().and("gone", "");
    fs::remove_file(folder.path("gone")).unwrap();
    fs::create_dir(folder.path("gone")).unwrap();
    fs::write(folder.path("gone/sub"), "no folder").unwrap();
    let before = files(&folder.path("in"));
    let ran = act(&folder, "dedup in --move gone --quiet");
    assert_eq!((ran.exit, ran.stderr.lines().count()), (2, 1));
    let said = "error: 2 files could not be moved to gone; the first, ";
    assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
    assert!(ran.stderr.contains("/in/sub/c.txt: "), "{}", ran.stderr);
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/c.txt sub/d.txt sub/e.txt");
    let journal = act(&folder, "undo").stdout;
    let journal = journal.split('\t').next().unwrap();
    undo(&folder, Path::new(journal), "1 file brought back; 2 as before");
    assert_eq!(files(&folder.path("in")), before);
}

#[test]
fn a_folder_given_in_two_spellings_is_acted_on_and_undone_once() {
    let folder = corpus();
    let before = files(&folder.path("in"));
    let journal = acts(&folder, "dedup in ./in in/sub/../sub --move gone");
    undo(&folder, &journal, "3 files brought back");
    assert_eq!(files(&folder.path("in")), before);
}

#[test]
fn undo_over_file_systems_can_be_stopped_anywhere() {
    let folder = corpus();
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    let before = files(&folder.path("in"));
    let target = other.path().join("gone");
    let journal = acts(&folder, &format!("dedup in --move {}", target.display()));
    let number = |name: &str| {
        let lines = fs::read_to_string(&journal).unwrap();
        let line =
            lines.lines().find(|line| line.contains(&format!("/in/{name}\",\"to\""))).unwrap();
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        entry["number"].as_u64().unwrap()
    };
    // One was put aside and is being copied; of another the copy is whole.
    for (name, is_whole) in [("b.txt", false), ("sub/c.txt", true)] {
        let there = target.join(name);
        let aside = there.with_file_name(format!(".lookalike-{}.claim", id(&journal)));
        fs::create_dir(&aside).unwrap();
        let home = folder.path("in").join(name);
        let partial = format!(".lookalike-{}-{}.partial", id(&journal), number(name));
        let copy = if is_whole { home } else { home.with_file_name(partial) };
        fs::write(copy, &before[Path::new(name)].0[usize::from(!is_whole)..]).unwrap();
        fs::rename(&there, aside.join(there.file_name().unwrap())).unwrap();
    }
    undo(&folder, &journal, "3 files brought back");
    let content = |files: BTreeMap<PathBuf, (Vec<u8>, i128, u32)>| -> Vec<_> {
        files.into_iter().map(|(name, (content, ..))| (name, content)).collect()
    };
    assert_eq!(content(files(&folder.path("in"))), content(before));
    assert!(!target.exists(), "{}", names(&target));
}

#[test]
fn undo_by_itself_lists_the_journals() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    let line = |what: &str| format!("{}\t{what}\n", journal.display());
    assert_eq!(act(&folder, "undo").stdout, line("move\t3 files"));
    undo(&folder, &journal, "3 files brought back");
    assert_eq!(act(&folder, "undo").stdout, line("undone"));
}

#[test]
fn rules_decide_who_stays_one_after_the_other() {
    let folder = corpus();
    let age = |name: &str, seconds: u64| {
        let file = File::options().write(true).open(folder.path(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    };
    for (name, seconds) in [
        ("in/a.txt", 200),
        ("in/b.txt", 100),
        ("in/sub/c.txt", 300),
        ("in/sub/d.txt", 400),
        ("in/sub/e.txt", 400),
    ] {
        age(name, seconds);
    }
    for (rule, gone) in [
        ("oldest", "a.txt sub/c.txt sub/e.txt"),
        ("newest", "a.txt b.txt sub/e.txt"),
        ("newest,last", "a.txt b.txt sub/d.txt"),
        ("path:sub", "a.txt b.txt sub/e.txt"),
        ("path:*b.txt,last", "a.txt sub/c.txt sub/d.txt"),
    ] {
        let journal = acts(&folder, &format!("dedup in --keep {rule} --move gone"));
        assert_eq!(names(&folder.path("gone")), gone, "{rule}");
        undo(&folder, &journal, "3 files brought back");
        fs::remove_file(journal).unwrap();
    }
    let ran = act(&folder, "dedup in --keep best");
    ran.fails("--keep best is for images; use longest or largest");
}
