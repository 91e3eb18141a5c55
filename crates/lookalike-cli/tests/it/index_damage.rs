//! Collections that were killed, cut, overwritten: what `index` says of them, beside an undamaged twin.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::run::{Folder, Ran};

const NEWS: [&str; 6] = [
    "The ferry to the island leaves at nine in the morning from the north end of the harbour.",
    "The ferry to the island leaves at ten in the morning from the north end of the harbour.",
    "A winter storm closed the pass for three days and buried the road under two metres of snow.",
    "A winter storm closed the pass for four days and buried the road under two metres of snow.",
    "The council voted to keep the library open on Sundays, at least until the end of the year.",
    "Short.",
];

/// A collection with tables in files, items behind them, and items gone.
fn seen() -> Folder {
    let line =
        |(number, text): (usize, &&str)| format!("{{\"id\":\"n{number}\",\"text\":\"{text}\"}}\n");
    let lines: Vec<String> = NEWS.iter().enumerate().map(line).collect();
    let folder = Folder::with("news.jsonl", lines[..4].concat())
        .and("later.jsonl", lines[4..].concat())
        .and("all.jsonl", lines.concat());
    succeeds(&folder.run("index add seen news.jsonl"));
    succeeds(&folder.run("index compact seen"));
    succeeds(&folder.run("index remove seen n1"));
    succeeds(&folder.run("index add seen later.jsonl"));
    folder
}

#[track_caller]
fn succeeds(ran: &Ran) {
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
}

/// What the collection in this folder answers and holds.
#[derive(Debug, PartialEq)]
struct Answers {
    found: String,
    export: String,
}

#[track_caller]
fn answers(folder: &Folder, of: &str) -> Answers {
    let found = folder.run(&format!("index search {of} all.jsonl"));
    succeeds(&found);
    let export = folder.run(&format!("index export {of}"));
    succeeds(&export);
    Answers { found: found.stdout, export: export.stdout }
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path).iter().map(|file| path.join(file)));
        } else {
            files.push(path);
        }
    }
    let mut files: Vec<PathBuf> =
        files.iter().map(|path| path.strip_prefix(folder).unwrap().to_owned()).collect();
    files.sort();
    files
}

/// A copy of the collection, of which one file has this content.
fn copy_with(folder: &Folder, damaged: &Path, content: &[u8]) {
    let (from, to) = (folder.path("seen"), folder.path("copy"));
    let _ = fs::remove_dir_all(&to);
    fs::create_dir_all(to.join("runs")).unwrap();
    for file in files(&from) {
        fs::copy(from.join(&file), to.join(&file)).unwrap();
    }
    fs::write(to.join(damaged), content).unwrap();
}

/// Whether these are files that are made from the records.
fn is_derived(file: &Path) -> bool {
    file != Path::new("items.redb")
}

/// Verifies a collection of which this file was damaged: says 2 and names it, or nothing is lost.
#[track_caller]
fn verified(folder: &Folder, file: &Path, whole: &Answers) -> bool {
    let ran = folder.run("index verify copy");
    if ran.exit == 0 {
        assert_eq!(answers(folder, "copy"), *whole, "{}", file.display());
        return true;
    }
    let name = file.file_name().unwrap().to_str().unwrap();
    let said = ran.stderr.lines().last().unwrap_or_default();
    assert!(ran.exit == 2 && said.contains(name), "{name}: exit {}: {}", ran.exit, ran.stderr);
    false
}

#[test]
fn a_flipped_byte_is_named_by_verify_or_lies_in_unused_space() {
    let folder = seen();
    let whole = answers(&folder, "seen");
    for file in files(&folder.path("seen")) {
        if file == Path::new("lock") {
            // Nothing is read from it but the number of a process, for people.
            continue;
        }
        let bytes = fs::read(folder.path("seen").join(&file)).unwrap();
        let written: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
        let places = if is_derived(&file) { 3 } else { 16 };
        let mut noticed = 0;
        for place in 0..places {
            let at = written[(2 * place + 1) * written.len() / (2 * places)];
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (place % 8);
            copy_with(&folder, &file, &damaged);
            let is_slack = verified(&folder, &file, &whole);
            noticed += usize::from(!is_slack);
            assert!(!is_slack || !is_derived(&file), "byte {at} of {}", file.display());
            if is_derived(&file) {
                assert_eq!(answers(&folder, "copy"), whole, "byte {at} of {}", file.display());
                succeeds(&folder.run("index repair copy"));
                succeeds(&folder.run("index verify copy"));
                assert_eq!(answers(&folder, "copy"), whole, "byte {at} of {}", file.display());
            }
        }
        assert!(noticed > 0, "{}", file.display());
    }
}

#[test]
fn a_file_cut_short_is_named_and_its_answers_are_unchanged() {
    let folder = seen();
    let whole = answers(&folder, "seen");
    for file in files(&folder.path("seen/runs")) {
        let file = Path::new("runs").join(file);
        let bytes = fs::read(folder.path("seen").join(&file)).unwrap();
        for length in [0, 1, 63, 64, bytes.len() / 2, bytes.len() - 1] {
            copy_with(&folder, &file, &bytes[..length]);
            let found = folder.run("index search copy all.jsonl");
            assert_eq!((found.exit, &found.stdout), (0, &whole.found), "cut at {length}");
            let note = "note: search tables rebuilt from the records:";
            assert!(found.stderr.contains(note), "{}", found.stderr);
            assert!(!verified(&folder, &file, &whole), "cut at {length}");
        }
    }
}

#[test]
fn tables_that_are_missing_are_caught_up_on_and_repaired() {
    let folder = seen();
    let whole = answers(&folder, "seen");
    copy_with(&folder, Path::new("lock"), b"");
    fs::remove_dir_all(folder.path("copy/runs")).unwrap();
    assert_eq!(answers(&folder, "copy"), whole);
    assert_eq!(folder.run("index verify copy").exit, 2);
    succeeds(&folder.run("index repair copy"));
    let verified = folder.run("index verify copy");
    assert_eq!((verified.exit, verified.stderr.as_str()), (0, "copy: 5 items, all as written\n"));
    assert_eq!(answers(&folder, "copy"), whole);
}

#[test]
fn a_damaged_record_is_named_and_the_rest_is_exported() {
    let folder = seen();
    let whole = answers(&folder, "seen");
    let file = Path::new("items.redb");
    let mut bytes = fs::read(folder.path("seen").join(file)).unwrap();
    // The id of a record, wherever it stands, and before it its length and the mark of a content hash;
    // its digest comes after.
    let id = b"\x02\x80n4";
    let places: Vec<usize> =
        (0..bytes.len() - 40).filter(|&at| bytes[at..].starts_with(id)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[at + 20] ^= 1);
    copy_with(&folder, file, &bytes);
    let verified = folder.run("index verify copy");
    assert_eq!(verified.exit, 2, "{}", verified.stderr);
    let ran = folder.run("index export copy");
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
    assert!(
        ran.stderr
            .starts_with("skipped item \"n4\": its record, number 4, differs from its checksum\n"),
        "{}",
        ran.stderr
    );
    let rest: Vec<&str> = whole.export.lines().filter(|line| !line.contains("\"n4\"")).collect();
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), rest);
}

#[cfg(unix)]
#[test]
fn verify_finds_nothing_wrong_after_an_add_was_killed() {
    let line = |number: u64| {
        format!("{:#018x}\tprint {number}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    let lines: String = (0..60_000).map(line).collect();
    let folder = Folder::with("h.txt", lines).and("all.jsonl", "");
    succeeds(&folder.run("index add whole h.txt --quiet"));
    let expected = folder.run("index stats whole --json");
    let items = |ran: &Ran| -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap()["items"].clone()
    };
    // It writes while it is read from; the more was read, the later it dies.
    for read in [0, 1, 100_000, 900_000, 1_100_000, 2_000_000, 2_900_000] {
        let mut adding = folder.command("index add killed h.txt --quiet");
        let mut child = adding.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = Vec::new();
        child.stdout.take().unwrap().take(read).read_to_end(&mut said).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        if !folder.path("killed/items.redb").exists() {
            continue;
        }
        let verified = folder.run("index verify killed");
        assert_eq!(verified.exit, 0, "after {read} bytes: {}", verified.stderr);
        // What it said it had added is there.
        let said = String::from_utf8(said).unwrap();
        let told = said.lines().filter(|line| line.ends_with('}')).count() as u64;
        let there = items(&folder.run("index stats killed --json")).as_u64().unwrap();
        assert!(there >= told, "{there} items, {told} acknowledged");
    }
    succeeds(&folder.run("index add killed h.txt --quiet"));
    let there = folder.run("index stats killed --json");
    assert_eq!(items(&there), items(&expected));
    succeeds(&folder.run("index verify killed"));
}

#[test]
fn a_collection_that_was_never_finished_is_made_again() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    fs::create_dir(folder.path("seen")).unwrap();
    for left in ["lock", "items.redb.new"] {
        fs::write(folder.path("seen").join(left), "").unwrap();
    }
    succeeds(&folder.run("index add seen h.txt"));
    let verified = folder.run("index verify seen");
    assert_eq!((verified.exit, verified.stderr.as_str()), (0, "seen: 2 items, all as written\n"));
    assert!(!folder.path("seen/items.redb.new").exists());
}
