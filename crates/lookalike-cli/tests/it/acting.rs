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

use crate::run::{Folder, Ran, snapshot};

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

/// Acts, and tells where the journal is.
#[track_caller]
fn acts(folder: &Folder, arguments: &str) -> PathBuf {
    let ran = folder.run(arguments);
    assert_eq!(ran.exit, 0, "{ran}");
    let line = ran.stderr.lines().find(|line| line.starts_with("journal")).expect(&ran.stderr);
    let path = line.split_whitespace().find(|word| word.ends_with(".jsonl")).unwrap();
    path.into()
}

fn undo(folder: &Folder, journal: &Path) -> Ran {
    folder.run(&format!("undo {}", journal.display()))
}

#[track_caller]
fn undoes(folder: &Folder, journal: &Path) {
    let ran = undo(folder, journal);
    assert_eq!(ran.exit, 0, "{ran}");
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
    snapshot!(folder.session([
        "dedup in",
        "dedup in --move gone --dry-run",
        "dedup in --trash --dry-run",
        "dedup in --link --dry-run",
        "dedup in --delete --dry-run",
    ]), @r#"
    $ lookalike dedup in
    exit 0
    --- stderr
    reading texts, one a file of 6 files
    items    6
    groups   2, the largest of 3 items
    removed  would remove 3 (50.0 %): 3 copy
    kept     3
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups

    $ lookalike dedup in --move gone --dry-run
    exit 0
    {"number":1,"act":"move","from":"[FOLDER]/in/b.txt","to":"[FOLDER]/gone/b.txt","keep":"[FOLDER]/in/a.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":151,"modified":"[modified]","sha256":"35b2577c522eccc8ee4c2ed4454311a7b2b200e4c37c02b1c686bb6eb88d7035"}
    {"number":2,"act":"move","from":"[FOLDER]/in/sub/c.txt","to":"[FOLDER]/gone/sub/c.txt","keep":"[FOLDER]/in/a.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":151,"modified":"[modified]","sha256":"57343b38ad78eb8b1faa3a5a1e868a853327e896771eb17a23151bb851598680"}
    {"number":3,"act":"move","from":"[FOLDER]/in/sub/e.txt","to":"[FOLDER]/gone/sub/e.txt","keep":"[FOLDER]/in/sub/d.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":129,"modified":"[modified]","sha256":"29a29cc36ecfbb1d662e00277601607268ae87a514fc444fc3a480e1c299a8bf"}
    --- stderr
    reading texts, one a file of 6 files
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    3 files, 431 B, would be moved to gone
    time     [TIME]

    $ lookalike dedup in --trash --dry-run
    exit 0
    {"number":1,"act":"trash","from":"[FOLDER]/in/b.txt","to":"[HOME]/.local/share/Trash/files/b.txt","keep":"[FOLDER]/in/a.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":151,"modified":"[modified]","sha256":"35b2577c522eccc8ee4c2ed4454311a7b2b200e4c37c02b1c686bb6eb88d7035"}
    {"number":2,"act":"trash","from":"[FOLDER]/in/sub/c.txt","to":"[HOME]/.local/share/Trash/files/c.txt","keep":"[FOLDER]/in/a.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":151,"modified":"[modified]","sha256":"57343b38ad78eb8b1faa3a5a1e868a853327e896771eb17a23151bb851598680"}
    {"number":3,"act":"trash","from":"[FOLDER]/in/sub/e.txt","to":"[HOME]/.local/share/Trash/files/e.txt","keep":"[FOLDER]/in/sub/d.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":129,"modified":"[modified]","sha256":"29a29cc36ecfbb1d662e00277601607268ae87a514fc444fc3a480e1c299a8bf"}
    --- stderr
    reading texts, one a file of 6 files
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    3 files, 431 B, would be put in the trash
    time     [TIME]

    $ lookalike dedup in --link --dry-run
    exit 0
    {"number":1,"act":"link","from":"[FOLDER]/in/sub/c.txt","keep":"[FOLDER]/in/a.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":151,"modified":"[modified]","sha256":"57343b38ad78eb8b1faa3a5a1e868a853327e896771eb17a23151bb851598680","mode":"[mode]","owner":"[owner]"}
    {"number":2,"act":"link","from":"[FOLDER]/in/sub/e.txt","keep":"[FOLDER]/in/sub/d.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":129,"modified":"[modified]","sha256":"29a29cc36ecfbb1d662e00277601607268ae87a514fc444fc3a480e1c299a8bf","mode":"[mode]","owner":"[owner]"}
    --- stderr
    reading texts, one a file of 6 files
    left in/b.txt: is alike in/a.txt, but not equal
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    2 files, 280 B, would be linked
    left     1 file as it is
    time     [TIME]

    $ lookalike dedup in --delete --dry-run
    exit 0
    {"number":1,"act":"delete","from":"[FOLDER]/in/b.txt","keep":"[FOLDER]/in/a.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":151,"modified":"[modified]","sha256":"35b2577c522eccc8ee4c2ed4454311a7b2b200e4c37c02b1c686bb6eb88d7035"}
    {"number":2,"act":"delete","from":"[FOLDER]/in/sub/c.txt","keep":"[FOLDER]/in/a.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":151,"modified":"[modified]","sha256":"57343b38ad78eb8b1faa3a5a1e868a853327e896771eb17a23151bb851598680"}
    {"number":3,"act":"delete","from":"[FOLDER]/in/sub/e.txt","keep":"[FOLDER]/in/sub/d.txt","inode":"[inode]","keep_inode":"[keep_inode]","bytes":129,"modified":"[modified]","sha256":"29a29cc36ecfbb1d662e00277601607268ae87a514fc444fc3a480e1c299a8bf"}
    --- stderr
    reading texts, one a file of 6 files
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    3 files, 431 B, would be deleted
    time     [TIME]
    "#);
    assert_eq!(files(&folder.path("in")), before);
    assert!(!folder.path("gone").exists());
    assert_eq!(names(&folder.home("")), "");
}

#[test]
fn what_is_moved_comes_back_as_it_was() {
    let folder = corpus();
    let before = files(&folder.path("in"));
    snapshot!(folder.run("dedup in --move gone/deep --journal j.jsonl"), @"
    exit 0
    --- stderr
    reading texts, one a file of 6 files
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    3 files, 431 B, moved to gone/deep
    journal  lookalike undo [FOLDER]/j.jsonl takes this back
    time     [TIME]
    ");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    assert_eq!(names(&folder.path("gone/deep")), "b.txt sub/c.txt sub/e.txt");
    snapshot!(folder.session(["undo j.jsonl", "undo j.jsonl"]), @"
    $ lookalike undo j.jsonl
    exit 0
    --- stderr
    3 files brought back

    $ lookalike undo j.jsonl
    exit 0
    --- stderr
    0 files brought back; 3 as before
    ");
    assert_eq!(files(&folder.path("in")), before);
    assert!(!folder.path("gone").exists());
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
    // Links are one item each: nothing is left to do for the second run.
    snapshot!(folder.session(["dedup in --link --journal j.jsonl", "dedup in --link"]), @"
    $ lookalike dedup in --link --journal j.jsonl
    exit 0
    --- stderr
    reading texts, one a file of 6 files
    left in/b.txt: is alike in/a.txt, but not equal
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    2 files, 280 B, linked
    left     1 file as it is
    journal  lookalike undo [FOLDER]/j.jsonl takes this back
    time     [TIME]

    $ lookalike dedup in --link
    exit 0
    --- stderr
    reading texts, one a file of 4 files
    note: left out of in: 2 hard links of files listed already
    left in/b.txt: is alike in/a.txt, but not equal
    items    4
    groups   1, the largest of 2 items
    removed  1 (25.0 %): 1 copy
    kept     3
    found    exact
    acted    0 files, 0 B, linked
    left     1 file as it is
    time     [TIME]
    ");
    assert_eq!(inode("in/a.txt"), inode("in/sub/c.txt"));
    assert_eq!(inode("in/sub/d.txt"), inode("in/sub/e.txt"));
    assert_eq!(names(&folder.path("in")), "a.txt b.txt f.txt sub/c.txt sub/d.txt sub/e.txt");
    snapshot!(folder.session(["undo j.jsonl", "undo j.jsonl"]), @"
    $ lookalike undo j.jsonl
    exit 0
    --- stderr
    2 files brought back

    $ lookalike undo j.jsonl
    exit 0
    --- stderr
    0 files brought back; 2 as before
    ");
    assert_ne!(inode("in/a.txt"), inode("in/sub/c.txt"));
    assert_eq!(files(&folder.path("in")), before);
}

#[test]
fn a_link_that_was_written_to_is_not_undone() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --link");
    fs::write(folder.path("in/a.txt"), "both say this now").unwrap();
    snapshot!(undo(&folder, &journal), @"
    exit 2
    --- stderr
    left [FOLDER]/in/sub/c.txt: was written to since it was linked; what it said before is lost
    1 file brought back; 1 left as they are
    ");
    assert_eq!(folder.read("in/sub/c.txt"), "both say this now");
}

#[test]
fn the_trash_is_the_one_that_desktops_use() {
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
    undoes(&folder, &journal);
    assert_eq!(files(&folder.path("in")), moved);
    assert_eq!(moved.len(), before.len());
    assert_eq!(names(&trash), "");
}

#[test]
fn what_is_deleted_is_gone_and_undo_says_so() {
    let folder = corpus();
    let delete = folder.run("dedup in --delete --journal j.jsonl");
    snapshot!(delete, @"
    exit 0
    --- stderr
    reading texts, one a file of 6 files
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    3 files, 431 B, deleted
    journal  [FOLDER]/j.jsonl
    time     [TIME]
    ");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    snapshot!(folder.run("undo j.jsonl"), @"
    exit 2
    --- stderr
    left [FOLDER]/in/sub/e.txt: was deleted; that cannot be undone
    left [FOLDER]/in/sub/c.txt: was deleted; that cannot be undone
    left [FOLDER]/in/b.txt: was deleted; that cannot be undone
    0 files brought back; 3 left as they are
    ");
}

#[test]
fn undo_overwrites_nothing_that_appeared_since() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    fs::write(folder.path("in/b.txt"), "new").unwrap();
    fs::remove_file(folder.path("gone/sub/c.txt")).unwrap();
    snapshot!(undo(&folder, &journal), @"
    exit 2
    --- stderr
    left [FOLDER]/in/sub/c.txt: is no longer at [FOLDER]/gone/sub/c.txt
    left [FOLDER]/in/b.txt: there is another file by now; what was there is still at [FOLDER]/gone/b.txt
    1 file brought back; 2 left as they are
    ");
    assert_eq!(folder.read("in/b.txt"), "new");
    assert_eq!(names(&folder.path("gone")), "b.txt");
    fs::remove_file(folder.path("in/b.txt")).unwrap();
    snapshot!(undo(&folder, &journal), @"
    exit 2
    --- stderr
    left [FOLDER]/in/sub/c.txt: is no longer at [FOLDER]/gone/sub/c.txt
    1 file brought back; 1 as before; 1 left as they are
    ");
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
        undoes(&folder, &journal);
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
    undoes(&folder, &journal);
    assert_eq!(files(&folder.path("in")), before);
    let twin = other.path().join("twin.txt");
    fs::write(&twin, POTATOES).unwrap();
    snapshot!(folder.run(&format!("dedup in/sub/d.txt {} --link", twin.display())), @"
    exit 0
    --- stderr
    reading texts, one a file of 2 files
    left [OTHER]/twin.txt: is on another file system than in/sub/d.txt; hard links cannot go there
    items    2
    groups   1, the largest of 2 items
    removed  1 (50.0 %): 1 copy
    kept     1
    found    exact
    acted    0 files, 0 B, linked
    left     1 file as it is
    time     [TIME]
    ");
    // The trash is on the file system of the file.
    let ran = folder.run(&format!("dedup in/sub/d.txt {} --trash --journal j", twin.display()));
    assert_eq!(ran.exit, 0, "{ran}");
    assert!(!twin.exists(), "{ran}");
    undoes(&folder, Path::new("j"));
    assert!(twin.exists());
}

#[test]
fn file_names_that_are_not_text_stay_distinct_and_can_be_acted_on() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    let path = |name: &[u8]| folder.path("in").join(std::ffi::OsStr::from_bytes(name));
    let odd: [&[u8]; 5] =
        [b"caf\xe9.txt", b"caf\xe8.txt", b"caf\\xe9.txt", b"new\nline.txt", b"<img src=x>.txt"];
    for name in odd {
        fs::write(path(name), POTATOES).unwrap();
    }
    let before = files(&folder.path("in"));
    let groups = folder.run("dedup in --groups groups.jsonl --report r.html");
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
    undoes(&folder, &journal);
    assert_eq!(files(&folder.path("in")), before);
}

#[test]
fn all_hard_links_of_a_file_are_moved_and_symbolic_links_stay() {
    let folder = corpus();
    fs::hard_link(folder.path("in/sub/e.txt"), folder.path("in/sub/g.txt")).unwrap();
    symlink("sub/e.txt", folder.path("in/link.txt")).unwrap();
    let journal = acts(&folder, "dedup in --move gone");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    assert_eq!(names(&folder.path("gone")), "b.txt g.txt sub/c.txt sub/e.txt");
    assert!(folder.path("in/link.txt").symlink_metadata().unwrap().is_symlink());
    undoes(&folder, &journal);
    let inode = |name: &str| folder.path(name).metadata().unwrap().ino();
    assert_eq!(inode("in/sub/e.txt"), inode("in/sub/g.txt"));
}

#[test]
fn a_file_given_twice_is_one_file() {
    let folder = corpus();
    snapshot!(folder.session([
        "dedup in in/sub in/a.txt ./in/a.txt --delete --journal j",
        "dedup in/a.txt in/a.txt --delete",
    ]), @"
    $ lookalike dedup in in/sub in/a.txt ./in/a.txt --delete --journal j
    exit 0
    --- stderr
    reading texts, one a file of 6 files
    note: left out of in/sub: 3 hard links of files listed already
    note: in/a.txt is listed already, and read once
    note: ./in/a.txt is listed already, and read once
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    3 files, 431 B, deleted
    journal  [FOLDER]/j
    time     [TIME]

    $ lookalike dedup in/a.txt in/a.txt --delete
    exit 0
    --- stderr
    reading texts, one a file of in/a.txt
    note: in/a.txt is listed already, and read once
    items    1
    groups   none
    removed  0 (0.0 %)
    kept     1
    found    exact
    acted    0 files, 0 B, deleted
    time     [TIME]
    ");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
}

#[test]
fn against_other_files_only_the_input_loses_files() {
    let folder = corpus();
    fs::create_dir(folder.path("other")).unwrap();
    fs::write(folder.path("other/x.txt"), POTATOES).unwrap();
    acts(&folder, "dedup in --against other --move gone");
    assert_eq!(names(&folder.path("in")), "a.txt b.txt f.txt sub/c.txt");
    assert_eq!(names(&folder.path("other")), "x.txt");
}

#[test]
fn what_cannot_be_done_is_refused_before_any_work() {
    let folder = corpus().and("rows.jsonl", "{\"text\":\"a\"}\n");
    // What was not begun leaves no journal: undo has nothing to list.
    snapshot!(folder.session([
        "dedup rows.jsonl --trash",
        "dedup in --move in/gone",
        "dedup in --move rows.jsonl",
        "dedup in --against rows.jsonl --delete",
        "dedup in --delete --journal rows.jsonl",
        "dedup in --delete --trash",
        "dedup in --max-remove 0.1 --delete",
        "undo rows.jsonl",
        "undo",
    ]), @"
    $ lookalike dedup rows.jsonl --trash
    exit 2
    --- stderr
    error: --trash acts on files, and rows.jsonl holds rows; -o KEPT writes what is kept

    $ lookalike dedup in --move in/gone
    exit 2
    --- stderr
    error: --move in/gone: lies within in, where the next run would find what was moved; choose a folder outside

    $ lookalike dedup in --move rows.jsonl
    exit 2
    --- stderr
    error: --move rows.jsonl: is a file; name a folder

    $ lookalike dedup in --against rows.jsonl --delete
    exit 2
    --- stderr
    error: --delete checks the files that stay, and rows.jsonl is none; give files to --against

    $ lookalike dedup in --delete --journal rows.jsonl
    exit 2
    --- stderr
    error: [FOLDER]/rows.jsonl: the journal cannot be written, so nothing is done; name another with --journal: File exists (os error 17)

    $ lookalike dedup in --delete --trash
    exit 2
    --- stderr
    error: the argument '--delete' cannot be used with '--trash'

    Usage: lookalike dedup --delete <INPUT>...

    For more information, try '--help'.

    $ lookalike dedup in --max-remove 0.1 --delete
    exit 2
    --- stderr
    reading texts, one a file of 6 files
    items    6
    groups   2, the largest of 3 items
    removed  would remove 3 (50.0 %): 3 copy
    kept     3
    found    exact
    time     [TIME]
    error: 3 of 6 items would be removed, more than the part of 0.1 that --max-remove allows; the largest group has 3 items, kept is in/a.txt; what is kept was not written. Look at it with --report, then ask for more likeness (--level copy) or allow it (--max-remove 1)

    $ lookalike undo rows.jsonl
    exit 2
    --- stderr
    error: rows.jsonl: not a journal of lookalike

    $ lookalike undo
    exit 0
    --- stderr
    there are no journals; dedup --move, --link, --trash and --delete write them
    ");
    assert_eq!(folder.read("rows.jsonl"), "{\"text\":\"a\"}\n");
    assert_eq!(files(&folder.path("in")).len(), 6);
}

#[test]
fn texts_in_old_encodings_are_recognised() {
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
    snapshot!(folder.run("dedup in --keep last --level copy --move gone --journal j"), @"
    exit 0
    --- stderr
    reading texts, one a file of 6 files
    note: not UTF-8, and read by its looks: 4 texts, 2 as KOI8-U, 2 as windows-1251
    items    6
    groups   2, the largest of 3 items
    removed  4 (66.7 %): 4 copy
    kept     2
    found    exact
    acted    4 files, 470 B, moved to gone
    journal  lookalike undo [FOLDER]/j takes this back
    time     [TIME]
    ");
    assert_eq!(names(&folder.path("in")), "0-utf8.txt 1-utf8.txt");
    // One a line, in every format that has lines.
    let [one, other] = TEXTS.map(|text| encoding_rs::WINDOWS_1251.encode(text).0.into_owned());
    let lines = |before: &[u8], start: &[u8], end: &[u8]| {
        [before, start, &one, end, start, &other, end, start, &one, end].concat()
    };
    let folder = Folder::with("a.txt", lines(b"", b"", b"\n"))
        .and("a.jsonl", lines(b"", b"{\"text\":\"", b"\"}\n"))
        .and("a.csv", lines(b"text\n", b"\"", b"\"\n"))
        .and("a.tsv", lines(b"id\ttext\n", b"\t", b"\n"));
    snapshot!(folder.session([
        "pairs a.txt --lines",
        "pairs a.jsonl",
        "pairs a.csv",
        "pairs a.tsv",
    ]), @r#"
    $ lookalike pairs a.txt --lines
    exit 0
    {"a":1,"b":3,"distance":0,"similarity":1.0,"level":"copy"}
    --- stderr
    reading lines of a.txt
    note: not UTF-8, and read by its looks: 3 texts, 3 as windows-1251
    3 items; 1 pair with similarity >= 0.47 (words and word pairs); 1 group of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs a.jsonl
    exit 0
    {"a":"a.jsonl:1","b":"a.jsonl:3","distance":0,"similarity":1.0,"level":"copy"}
    --- stderr
    reading JSON lines of a.jsonl
    note: not UTF-8, and read by its looks: 3 texts, 3 as windows-1251
    3 items; 1 pair with similarity >= 0.47 (words and word pairs); 1 group of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs a.csv
    exit 0
    {"a":"a.csv:1","b":"a.csv:3","distance":0,"similarity":1.0,"level":"copy"}
    --- stderr
    reading CSV rows of a.csv
    note: not UTF-8, and read by its looks: 3 texts, 3 as windows-1251
    3 items; 1 pair with similarity >= 0.47 (words and word pairs); 1 group of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs a.tsv
    exit 0
    {"a":"a.tsv:1","b":"a.tsv:3","distance":0,"similarity":1.0,"level":"copy"}
    --- stderr
    reading TSV rows of a.tsv
    note: not UTF-8, and read by its looks: 3 texts, 3 as windows-1251
    3 items; 1 pair with similarity >= 0.47 (words and word pairs); 1 group of equal items; exact; [TIME]
    plan: [PLAN]
    "#);
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
    let first = undo(&folder, &journal);
    snapshot!(first, @"
    exit 2
    --- stderr
    left [FOLDER]/in/sub/e.txt: [FOLDER]/in/sub leads to [FOLDER]/gone/sub by now (a symbolic link); remove the link
    left [FOLDER]/in/sub/c.txt: [FOLDER]/in/sub leads to [FOLDER]/gone/sub by now (a symbolic link); remove the link
    left [FOLDER]/in/b.txt: [FOLDER]/in/b.txt is a symbolic link by now
    0 files brought back; 3 left as they are
    ");
    assert_eq!(undo(&folder, &journal).to_string(), first.to_string());
    assert_eq!(files(&folder.path("gone")), gone);
    // The other way round: what was moved has become a link.
    fs::remove_file(folder.path("in/b.txt")).unwrap();
    fs::rename(folder.path("gone/b.txt"), folder.path("b.txt")).unwrap();
    symlink("../b.txt", folder.path("gone/b.txt")).unwrap();
    snapshot!(undo(&folder, &journal), @"
    exit 2
    --- stderr
    left [FOLDER]/in/sub/e.txt: [FOLDER]/in/sub leads to [FOLDER]/gone/sub by now (a symbolic link); remove the link
    left [FOLDER]/in/sub/c.txt: [FOLDER]/in/sub leads to [FOLDER]/gone/sub by now (a symbolic link); remove the link
    left [FOLDER]/in/b.txt: [FOLDER]/gone/b.txt is a symbolic link by now
    0 files brought back; 3 left as they are
    ");
    assert!(!folder.path("in/b.txt").exists() && folder.path("b.txt").exists());
}

#[test]
fn a_hard_link_to_a_moved_file_is_not_taken_for_a_copy_of_it() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    fs::hard_link(folder.path("gone/b.txt"), folder.path("in/b.txt")).unwrap();
    undoes(&folder, &journal);
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
    snapshot!(undo(&folder, &journal), @"
    exit 2
    --- stderr
    left [FOLDER]/in/sub/c.txt: there is another file by now, and what was there is no longer at [FOLDER]/gone/sub/c.txt
    left [FOLDER]/in/b.txt: what is at [FOLDER]/gone/b.txt now is not what was moved; it stays there
    1 file brought back; 2 left as they are
    ");
    assert_eq!(folder.read("gone/b.txt"), "something else");
    assert!(!folder.path("in/b.txt").exists());
}

#[test]
fn a_link_is_undone_though_its_keeper_was_renamed() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --link");
    fs::rename(folder.path("in/a.txt"), folder.path("in/new.txt")).unwrap();
    undoes(&folder, &journal);
    let inode = |name: &str| folder.path(name).metadata().unwrap().ino();
    assert_ne!(inode("in/new.txt"), inode("in/sub/c.txt"));
    // Replaced by another file meanwhile: that cannot be undone, and is said.
    let journal = acts(&folder, "dedup in --link");
    fs::remove_file(folder.path("in/sub/c.txt")).unwrap();
    fs::write(folder.path("in/sub/c.txt"), "new").unwrap();
    snapshot!(undo(&folder, &journal), @"
    exit 2
    --- stderr
    left [FOLDER]/in/sub/c.txt: there is another file by now, which is no link
    1 file brought back; 1 left as they are
    ");
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
    folder.run("dedup in");
    assert!(aside.exists());
    snapshot!(folder.run("dedup in --move gone"), @"
    exit 0
    --- stderr
    note: restored in/sub/d.txt, which a stopped run had put aside
    reading texts, one a file of 6 files
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    3 files, 431 B, moved to gone
    journal  lookalike undo [HOME]/.local/state/lookalike/journals/[JOURNAL].jsonl takes this back
    time     [TIME]
    ");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    // Undo brings back what its own run had put aside.
    let journal = fs::read_dir(folder.home(".local/state/lookalike/journals")).unwrap();
    let journal = journal.map(|entry| entry.unwrap().path()).next().unwrap();
    let aside = folder.path(&format!("in/.lookalike-{}.claim", id(&journal)));
    fs::create_dir(&aside).unwrap();
    fs::rename(folder.path("gone/b.txt"), aside.join("b.txt")).unwrap();
    undoes(&folder, &journal);
    assert_eq!(files(&folder.path("in")), before);
    // A name that is taken: nothing is overwritten, nothing is passed over in silence.
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join("b.txt"), "precious").unwrap();
    snapshot!(folder.run("dedup in --move gone"), @"
    exit 2
    --- stderr
    reading texts, one a file of 6 files
    note: left out of in: 1 hidden
    left in/b.txt: a stopped run had put aside another file of this name as in/.lookalike-[JOURNAL].claim/b.txt; move it to where it belongs
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3
    found    exact
    acted    3 files, 431 B, moved to gone
    left     1 file as it is
    journal  lookalike undo [HOME]/.local/state/lookalike/journals/[JOURNAL].jsonl takes this back
    time     [TIME]
    error: 1 file could not be moved to gone; the first, in/b.txt: a stopped run had put aside another file of this name as in/.lookalike-[JOURNAL].claim/b.txt; move it to where it belongs
    ");
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
    let second = folder.session([
        "dedup in --trash",
        "dedup alias/sub --delete",
        "dedup ./in/../in/a.txt in/b.txt --link",
        "dedup other --against in --delete",
        "dedup other --move in/new",
    ]);
    snapshot!(second, @"
    $ lookalike dedup in --trash
    exit 2
    --- stderr
    error: [FOLDER]/in: another run is at work here, so nothing is done: lookalike dedup in --against pipe --delete (process [PID], since [DATE], in [FOLDER]/in and 1 place more); run again when it has ended

    $ lookalike dedup alias/sub --delete
    exit 2
    --- stderr
    error: [FOLDER]/in/sub: another run is at work here, so nothing is done: lookalike dedup in --against pipe --delete (process [PID], since [DATE], in [FOLDER]/in and 1 place more); run again when it has ended

    $ lookalike dedup ./in/../in/a.txt in/b.txt --link
    exit 2
    --- stderr
    error: [FOLDER]/in/a.txt: another run is at work here, so nothing is done: lookalike dedup in --against pipe --delete (process [PID], since [DATE], in [FOLDER]/in and 1 place more); run again when it has ended

    $ lookalike dedup other --against in --delete
    exit 2
    --- stderr
    error: [FOLDER]/in: another run is at work here, so nothing is done: lookalike dedup in --against pipe --delete (process [PID], since [DATE], in [FOLDER]/in and 1 place more); run again when it has ended

    $ lookalike dedup other --move in/new
    exit 2
    --- stderr
    error: [FOLDER]/in/new: another run is at work here, so nothing is done: lookalike dedup in --against pipe --delete (process [PID], since [DATE], in [FOLDER]/in and 1 place more); run again when it has ended
    ");
    assert!(second.to_string().contains(&format!("(process {}, since", first.id())), "{second}");
    assert_eq!(files(&folder.path("in")), before);
    // Elsewhere, and where nothing is done, nobody is kept waiting.
    assert_eq!(folder.run("dedup in --delete --dry-run").exit, 0);
    assert_eq!(folder.run("dedup other --delete").exit, 0);
    first.kill().unwrap();
    first.wait().unwrap();
    let ran = folder.run("dedup in --delete");
    assert_eq!(ran.exit, 0, "{ran}");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/d.txt");
    assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
}

#[test]
fn a_journal_is_not_undone_while_it_is_written() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    let held = File::open(&journal).unwrap();
    held.lock().unwrap();
    snapshot!(undo(&folder, &journal), @"
    exit 2
    --- stderr
    error: [HOME]/.local/state/lookalike/journals/[JOURNAL].jsonl: the run that writes this journal, or one that undoes it, is still at work; run again when it has ended
    ");
    drop(held);
    undoes(&folder, &journal);
}

#[test]
fn what_could_not_be_done_is_an_error() {
    let folder = corpus();
    fs::create_dir(folder.path("gone")).unwrap();
    fs::write(folder.path("gone/sub"), "no folder").unwrap();
    let before = files(&folder.path("in"));
    snapshot!(folder.run("dedup in --move gone --quiet"), @"
    exit 2
    --- stderr
    error: 2 files could not be moved to gone; the first, [FOLDER]/in/sub/c.txt: File exists (os error 17)
    ");
    assert_eq!(names(&folder.path("in")), "a.txt f.txt sub/c.txt sub/d.txt sub/e.txt");
    let journal = folder.run("undo").stdout;
    snapshot!(undo(&folder, Path::new(journal.split('\t').next().unwrap())), @"
    exit 0
    --- stderr
    1 file brought back; 2 as before
    ");
    assert_eq!(files(&folder.path("in")), before);
}

#[test]
fn a_folder_given_in_two_spellings_is_acted_on_and_undone_once() {
    let folder = corpus();
    let before = files(&folder.path("in"));
    let journal = acts(&folder, "dedup in ./in in/sub/../sub --move gone");
    undoes(&folder, &journal);
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
    undoes(&folder, &journal);
    let content = |files: BTreeMap<PathBuf, (Vec<u8>, i128, u32)>| -> Vec<_> {
        files.into_iter().map(|(name, (content, ..))| (name, content)).collect()
    };
    assert_eq!(content(files(&folder.path("in"))), content(before));
    assert!(!target.exists(), "{}", names(&target));
}

#[test]
fn undo_without_a_journal_lists_them() {
    let folder = corpus();
    let journal = acts(&folder, "dedup in --move gone");
    snapshot!(folder.run("undo"), @"
    exit 0
    [HOME]/.local/state/lookalike/journals/[JOURNAL].jsonl	move	3 files
    ");
    undoes(&folder, &journal);
    snapshot!(folder.run("undo"), @"
    exit 0
    [HOME]/.local/state/lookalike/journals/[JOURNAL].jsonl	undone
    ");
}

#[test]
fn keep_rules_decide_who_stays_one_after_the_other() {
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
        undoes(&folder, &journal);
        fs::remove_file(journal).unwrap();
    }
    snapshot!(folder.run("dedup in --keep best"), @"
    exit 2
    --- stderr
    reading texts, one a file of 6 files
    error: --keep best is for images; use longest or largest
    ");
}
