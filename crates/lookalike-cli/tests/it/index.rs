//! `index`: what was seen before, on the command line.

use std::fs;

use crate::run::Folder;

const NEWS: &str = "{\"id\":\"a\",\"text\":\"the ferry to the island leaves at nine in the morning from the north end\"}\n\
                    {\"id\":\"b\",\"text\":\"boil the potatoes in their skins and slice them as thin as you can\"}\n\
                    {\"id\":\"c\",\"text\":\"...\"}\n";

const LATER: &str = "{\"id\":\"d\",\"text\":\"The ferry to the island leaves at nine in the morning, from the north end!\"}\n\
                     {\"id\":\"e\",\"text\":\"something else that is like nothing which was ever said before it\"}\n";

/// Everything but how long it took.
fn summary(stderr: &str) -> String {
    let last = stderr.lines().last().unwrap_or_default();
    last.rsplitn(2, "; ").last().unwrap_or_default().to_owned()
}

#[test]
fn what_is_added_is_found_again() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    let ran = folder.run("index add seen news.jsonl");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(
        lines[0],
        "seen: a new collection of texts (bare: words:2, log, mix, 128 bits, version 1), to be \
         searched within 33 bits"
    );
    assert_eq!(lines[2], "skipped news.jsonl:3: no words:2 in it, so it has no fingerprint");
    assert_eq!(
        summary(&ran.stderr),
        "2 items (1 skipped: 1 no features); 2 items added; 2 items in the collection"
    );

    let ran = folder.run("index search seen later.jsonl");
    assert_eq!(ran.stdout, "{\"query\":\"d\",\"id\":\"a\",\"distance\":0,\"sequence\":0}\n");
    assert_eq!(summary(&ran.stderr), "2 items; 1 match within 33 bits, exact; 1 without any");
    assert_eq!(folder.run("index search seen later.jsonl -o found.jsonl").stdout, "");
    assert_eq!(folder.read("found.jsonl"), ran.stdout);
}

#[test]
fn the_same_id_again_is_said_so_and_update_replaces_it() {
    let folder = Folder::with("news.jsonl", NEWS);
    folder.run("index add seen news.jsonl");
    let ran = folder.run("index add seen news.jsonl");
    assert!(ran.stderr.contains("skipped a: an item of this id is there; --update replaces it"));
    assert_eq!(
        summary(&ran.stderr),
        "0 items (3 skipped: 1 no features, 2 there already); 0 items added; 2 items in the collection"
    );
    let ran = folder.run("index add seen news.jsonl --update");
    assert_eq!(
        summary(&ran.stderr),
        "2 items (1 skipped: 1 no features); 0 items added; 2 replaced; 2 items in the collection"
    );
}

#[test]
fn only_what_is_new_is_added_and_the_rest_listed_with_its_match() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    folder.run("index add seen news.jsonl");
    let ran = folder.run("index add seen later.jsonl --skip-near");
    assert_eq!(ran.stdout, "{\"id\":\"d\",\"match\":\"a\",\"distance\":0}\n");
    assert_eq!(
        summary(&ran.stderr),
        "2 items; 1 item added; 1 item within 33 bits of something, left out; 3 items in the collection"
    );
    let ran = folder.run("index add seen later.jsonl --skip-near --distance 34");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("the index was made for at most 33"), "{}", ran.stderr);
}

#[test]
fn fingerprints_are_remembered_as_they_are() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n12345\n");
    let ran = folder.run("index add h h.txt --max-distance 5");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let ran = folder.run("index search h --fingerprint 0xfe --distance 4");
    assert_eq!(
        ran.stdout,
        "{\"query\":\"0xfe\",\"id\":\"one\",\"distance\":1,\"sequence\":0}\n\
         {\"query\":\"0xfe\",\"id\":\"two\",\"distance\":3,\"sequence\":1}\n"
    );
    let ran = folder.run("index search h --fingerprint 0xfe --limit 1 --quiet");
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, ""));
    let ran = folder.run("index remove h one 3 nobody");
    assert!(ran.stderr.contains("skipped nobody: no such item"), "{}", ran.stderr);
    assert_eq!(
        summary(&ran.stderr),
        "3 items (1 skipped: 1 not there); 2 items removed; 1 item in the collection"
    );
    let ran = folder.run("index search h --fingerprint 0xfe");
    assert_eq!(ran.stdout, "{\"query\":\"0xfe\",\"id\":\"two\",\"distance\":3,\"sequence\":1}\n");
}

#[test]
fn an_export_is_read_by_import_and_by_pairs() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    folder.run("index add h h.txt --max-distance 4");
    assert_eq!(folder.run("index export h -o all.jsonl").exit, 0);
    let export = folder.read("all.jsonl");
    assert!(
        export
            .starts_with("{\"id\":\"one\",\"fingerprint\":\"0x00000000000000ff\",\"sequence\":0,")
    );
    let ran = folder.run("pairs all.jsonl --distance 4 --quiet");
    assert_eq!(
        ran.stdout,
        "{\"a\":\"one\",\"b\":\"two\",\"distance\":4,\"similarity\":null,\"level\":null}\n"
    );

    folder.run("index create other --kind hash --max-distance 4");
    let ran = folder.run_with("index import other -", format!("{export}{{\"id\":\"x\"}}\n"));
    assert!(ran.stderr.contains("line 3: there is no \"fingerprint\""), "{}", ran.stderr);
    assert_eq!(
        summary(&ran.stderr),
        "2 items (1 skipped: 1 broken); 2 items added; 0 there already; 2 items in the collection"
    );
    folder.run("index create wider --kind hash --bits 128");
    let ran = folder.run("index groups other");
    assert_eq!(
        ran.stdout,
        "{\"group\":1,\"keep\":\"one\",\"members\":[{\"id\":\"two\",\"distance\":4}]}\n"
    );
}

#[test]
fn a_copy_is_a_collection_and_all_is_as_written() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    folder.run("index add h h.txt");
    let ran = folder.run("index backup h copy");
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, "copy: 2 items\n"));
    let ran = folder.run("index verify copy");
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, "copy: 2 items, all as written\n"));
    let ran = folder.run("index backup h copy");
    assert_eq!(ran.exit, 2);
    assert_eq!(folder.run("index compact copy").exit, 0);
    let ran = folder.run("index stats copy --json");
    let stats: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((stats["items"].as_u64(), stats["bits"].as_u64()), (Some(2), Some(64)));
    assert_eq!(folder.names(), ["copy", "h", "h.txt"]);
}

#[test]
fn a_damaged_collection_is_refused_and_a_damaged_table_made_anew() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    folder.run("index add h h.txt");
    folder.run("index compact h");
    let table = folder.path("h/runs/000001.index");
    let mut bytes = fs::read(&table).unwrap();
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    fs::write(&table, bytes).unwrap();
    let ran = folder.run("index search h --fingerprint 0xff");
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(
        ran.stderr.contains("note: search tables made anew from the records"),
        "{}",
        ran.stderr
    );
    assert_eq!(folder.run("index compact h").exit, 0);
    assert!(!folder.run("index stats h").stderr.contains("note"));

    let records = folder.path("h/items.redb");
    let bytes = fs::read(&records).unwrap();
    fs::write(&records, &bytes[..bytes.len() / 2]).unwrap();
    let ran = folder.run("index search h --fingerprint 0xff");
    assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("items.redb"), "{}", ran.stderr);
}

#[test]
fn wrong_folders_recipes_and_widths_are_told_apart() {
    let folder = Folder::with("news.jsonl", NEWS).and("h.txt", "0xff\n");
    folder.run("index add seen news.jsonl");
    let error = |arguments: &str| {
        let ran = folder.run(arguments);
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{arguments}");
        ran.stderr
    };
    assert_eq!(
        error("index search none h.txt"),
        "error: none: no collection here (no such folder); create one first\n"
    );
    assert!(error("index add seen h.txt --kind hash").contains("they cannot be compared"));
    assert!(error("index add seen news.jsonl --recipe simhash64").contains("not of \"simhash64"));
    assert!(error("index add seen news.jsonl --max-distance 3").contains("was made for 33"));
    assert!(error("index create seen").contains("already there"));
    assert!(error("index create wide --kind hash --max-distance 65").contains("more than the 64"));
    assert!(error("index search seen --fingerprint zz").contains("--fingerprint"));
    let first = folder.run("index search seen --text ...");
    assert!(first.stderr.contains("--text: no words:2 in it"), "{}", first.stderr);
}

#[test]
fn dedup_removes_what_a_collection_knows() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    folder.run("index add seen news.jsonl");
    let ran = folder.run("dedup later.jsonl --against seen -o new.jsonl --removed gone.jsonl");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(folder.read("new.jsonl"), LATER.split_inclusive('\n').nth(1).unwrap());
    let gone = folder.read("gone.jsonl");
    assert!(gone.starts_with("{\"id\":\"d\",\"keep\":\"a\",\"distance\":0,"), "{gone}");
    assert!(ran.stderr.contains("not verified, in a collection of 2 items"), "{}", ran.stderr);
    let ran = folder.run("dedup later.jsonl --against seen --report page.html");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("use --removed"), "{}", ran.stderr);
}
