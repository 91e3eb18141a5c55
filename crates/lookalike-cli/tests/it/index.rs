//! `index`: what was seen before, on the command line.

use std::fs;

use crate::run::Folder;

/// A line of `index add`.
fn status(id: &str, status: &str, near: Option<&str>) -> String {
    let near = near.map_or("null".to_owned(), |id| format!("\"{id}\""));
    format!("{{\"id\":\"{id}\",\"status\":\"{status}\",\"match\":{near},\"reason\":null}}\n")
}

const NEWS: &str = "{\"id\":\"a\",\"text\":\"the ferry to the island leaves at nine in the morning from the north end\"}\n\
                    {\"id\":\"b\",\"text\":\"boil the potatoes in their skins and slice them as thin as you can\"}\n\
                    {\"id\":\"c\",\"text\":\"...\"}\n";

const LATER: &str = "{\"id\":\"d\",\"text\":\"The ferry to the island leaves at nine in the morning, from the north end!\"}\n\
                     {\"id\":\"e\",\"text\":\"something else that is like nothing which was ever said before it\"}\n";

/// A line of `index search` for a match of fingerprints.
fn found(query: &str, id: &str, distance: u32) -> String {
    format!(
        "{{\"query\":\"{query}\",\"match\":\"{id}\",\"distance\":{distance},\"similarity\":null,\
         \"level\":null}}\n"
    )
}

/// The figures of `index add --json` that must add up, and how many records there were.
fn counts(stderr: &str) -> ([u64; 6], u64) {
    let last = stderr.lines().rfind(|line| line.starts_with('{')).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_str(last).unwrap();
    let count = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {last}"));
    let counts = ["added", "replaced", "present", "near", "conflict", "unfit"].map(count);
    let records = count("items") + count("skipped");
    assert_eq!(counts.iter().sum::<u64>(), records, "{last}");
    (counts, records)
}

/// Everything but how long it took.
fn summary(stderr: &str) -> String {
    let last = stderr.lines().last().unwrap_or_default();
    last.rsplitn(2, "; ").last().unwrap_or_default().to_owned()
}

#[test]
fn what_is_added_is_found_again() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    let ran = folder.run("index add seen news.jsonl");
    let added = ["a", "b", "c"].map(|id| status(id, "added", None)).concat();
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, added.as_str()), "{}", ran.stderr);
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(
        lines[0],
        "seen: a new collection of texts (words: words:1, log, mix, 128 bits, version 1), searched \
         by similarity >= 0.47 (words and word pairs)"
    );
    assert_eq!(summary(&ran.stderr), "3 items; 3 items added; 3 items in the collection");

    let ran = folder.run("index search seen later.jsonl");
    let copy = "{\"query\":\"d\",\"match\":\"a\",\"distance\":0,\"similarity\":1.0,\
                \"level\":\"copy\"}\n";
    assert_eq!(ran.stdout, copy);
    assert_eq!(
        summary(&ran.stderr),
        "2 items; 1 match with similarity >= 0.47 (words and word pairs), exact; 1 without any"
    );
    assert_eq!(folder.run("index search seen later.jsonl -o found.jsonl").stdout, "");
    assert_eq!(folder.read("found.jsonl"), ran.stdout);
}

#[test]
fn the_same_item_again_is_there_already_and_update_replaces_it() {
    let folder = Folder::with("news.jsonl", NEWS);
    folder.run("index add seen news.jsonl");
    let ran = folder.run("index add seen news.jsonl");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(
        summary(&ran.stderr),
        "3 items; 0 items added; 3 already there; 3 items in the collection"
    );
    let newer = NEWS.replace("at nine", "at ten");
    let folder = folder.and("newer.jsonl", newer);
    let ran = folder.run("index add seen newer.jsonl --update --json");
    assert_eq!(counts(&ran.stderr), ([0, 1, 2, 0, 0, 0], 3));
    let ran = folder.run("index add seen newer.jsonl --update");
    assert_eq!(
        summary(&ran.stderr),
        "3 items; 0 items added; 0 replaced; 3 already there; 3 items in the collection"
    );
}

#[test]
fn an_id_that_is_taken_is_listed_the_rest_is_added_and_the_run_exits_2() {
    let other = "{\"id\":\"a\",\"text\":\"quite another text under an id that is taken\"}\n";
    let folder =
        Folder::with("news.jsonl", NEWS).and("other.jsonl", format!("{other}{LATER}{NEWS}"));
    folder.run("index add seen news.jsonl");
    let before = folder.run("index export seen").stdout;
    let ran = folder.run("index add seen other.jsonl --json");
    assert_eq!(ran.exit, 2);
    let listed = "skipped a: this id is taken by an item of other content; --update replaces it";
    assert!(ran.stderr.contains(listed), "{}", ran.stderr);
    assert_eq!(counts(&ran.stderr), ([2, 0, 3, 0, 1, 0], 6));
    let after = folder.run("index export seen").stdout;
    assert!(after.starts_with(&before) && after.lines().count() == 5, "{after}");

    let ran = folder.run("index add seen other.jsonl --update --json");
    assert_eq!((ran.exit, counts(&ran.stderr)), (0, ([0, 2, 4, 0, 0, 0], 6)));
    folder.run("index create copy");
    let ran = folder.run_with("index import copy -", before + &after);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(summary(&ran.stderr).contains("5 items added; 3 already there"), "{}", ran.stderr);
    let taken = after.replace("\"id\":\"b\"", "\"id\":\"a\"");
    let ran = folder.run_with("index import copy -", taken);
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("line 2: the id a is taken by an item"), "{}", ran.stderr);
}

const MONDAY: &str = "the ferry to the island leaves at nine in the morning from the north end\n\
                      boil the potatoes in their skins and slice them as thin as you can\n\
                      boil the potatoes in their skins and slice them as thin as you can\n";

#[test]
fn what_tuesday_brings_is_added_though_its_lines_have_mondays_numbers() {
    let tuesday = "The ferry to the island leaves at ten in the morning from the north end\n\
                   the school of the town gets a new roof before the winter comes\n\
                   boil the potatoes in their skins and slice them as thin as you can\n";
    let folder = Folder::with("mon.txt", MONDAY).and("tue.txt", tuesday);
    let ran = folder.run("index add seen mon.txt --lines --json");
    assert_eq!((ran.exit, counts(&ran.stderr)), (0, ([2, 0, 1, 0, 0, 0], 3)));
    let ran = folder.run("index add seen tue.txt --lines --skip-near --json");
    assert_eq!((ran.exit, counts(&ran.stderr)), (0, ([1, 0, 1, 1, 0, 0], 3)), "{}", ran.stderr);
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |line: &serde_json::Value| {
        let id = line["id"].as_str().unwrap();
        assert!(id.starts_with("b3-") && line["file"] == "tue.txt", "{line}");
        (line["status"].as_str().unwrap().to_owned(), line["line"].as_u64())
    };
    let expected = [("near", 1), ("added", 2), ("present", 3)];
    let expected = expected.map(|(status, line)| (status.to_owned(), Some(line)));
    assert_eq!(lines.iter().map(said).collect::<Vec<_>>(), expected);

    // The same again: nothing is new, whatever it is called.
    let ran = folder.run_with("index add seen - --lines --json", tuesday);
    assert_eq!(counts(&ran.stderr).0, [1, 0, 2, 0, 0, 0], "{}", ran.stderr);
    let ran = folder.run("index add seen mon.txt tue.txt --lines --update --json");
    assert_eq!(counts(&ran.stderr), ([0, 0, 6, 0, 0, 0], 6));
    let ran = folder.run("index search seen tue.txt --lines --distance 0");
    let roof =
        "\"distance\":0,\"similarity\":1.0,\"level\":\"copy\",\"file\":\"tue.txt\",\"line\":2}";
    assert!(ran.stdout.lines().nth(1).unwrap().ends_with(roof), "{}", ran.stdout);
    let export = folder.run("index export seen").stdout;
    assert!(export.contains("\"payload\":{\"file\":\"mon.txt\",\"line\":2}"), "{export}");
}

#[test]
fn equal_content_under_several_ids_is_stored_under_each() {
    let row = |id: u32| format!("{{\"id\":{id},\"text\":\"one text under several ids\"}}\n");
    let without = "{\"text\":\"one text under several ids\"}\n".repeat(3);
    let folder = Folder::with("rows.jsonl", row(1) + &row(2) + &without);
    let ran = folder.run("index add seen rows.jsonl --json");
    assert_eq!(counts(&ran.stderr), ([3, 0, 2, 0, 0, 0], 5));
    // Ids of fingerprints, too, are the same whether there is one input or several.
    let print = |id: u32, bits| format!("{{\"id\":{id},\"fingerprint\":\"{bits}\"}}\n");
    let folder = Folder::with("a.jsonl", print(1, "0x01") + "{\"fingerprint\":\"0x07\"}\n")
        .and("b.jsonl", print(2, "0x01") + "{\"fingerprint\":\"0x07\"}\n");
    let ran = folder.run("index add seen a.jsonl b.jsonl --kind hash --json");
    assert_eq!(counts(&ran.stderr), ([3, 0, 1, 0, 0, 0], 4), "{}", ran.stderr);
    let ran = folder.run("index add seen b.jsonl --json");
    assert_eq!(counts(&ran.stderr), ([0, 0, 2, 0, 0, 0], 2));
}

#[test]
fn an_id_that_is_too_long_costs_one_item() {
    let long =
        format!("{{\"id\":\"{}\",\"text\":\"a text under a long id\"}}\n", "x".repeat(40_000));
    let folder = Folder::with("news.jsonl", format!("{long}{NEWS}"));
    let ran = folder.run("index add seen news.jsonl --json");
    assert_eq!((ran.exit, counts(&ran.stderr)), (0, ([3, 0, 0, 0, 0, 1], 4)), "{}", ran.stderr);
    let named = format!("skipped {}...: an id has at most 32767 bytes", "x".repeat(80));
    assert!(ran.stderr.contains(&named), "{}", ran.stderr);
    let ran = folder.run("index add seen news.jsonl --strict");
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
}

#[test]
fn no_fingerprint_is_read_as_none() {
    let rows = "{\"id\":\"a\",\"fingerprint\":\"0xff\"}\n{\"id\":\"b\",\"fingerprint\":null}\n\
                {\"id\":\"c\",\"fingerprint\":null}\n";
    let folder = Folder::with("prints.jsonl", rows);
    let ran = folder.run("pairs prints.jsonl --distance 64");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("skipped prints.jsonl:2: its fingerprint is null"));
    let ran = folder.run("index add seen prints.jsonl --json");
    assert_eq!((ran.exit, counts(&ran.stderr)), (0, ([1, 0, 0, 0, 0, 2], 3)), "{}", ran.stderr);
    let ran = folder.run_with("index add seen - --json", "seven\n");
    assert_eq!(ran.exit, 2, "nothing could be read: {}", ran.stderr);
    let said = "error: nothing could be read: 1 record skipped; the first: ";
    assert!(ran.stderr.lines().last().is_some_and(|line| line.starts_with(said)), "{}", ran.stderr);
}

#[test]
fn a_damaged_record_does_not_block_the_export_of_the_others() {
    let folder = Folder::with("h.txt", "0xff\tfirst\n0xf0\tsecond\n0x01\tthird\n");
    folder.run("index add h h.txt");
    let records = folder.path("h/items.redb");
    let mut bytes = fs::read(&records).unwrap();
    for at in 0..bytes.len() - 16 {
        if &bytes[at..at + 6] == b"second" {
            bytes[at + 10] ^= 1;
        }
    }
    fs::write(&records, bytes).unwrap();
    let ran = folder.run("index export h -o all.jsonl");
    assert_eq!(ran.exit, 2);
    assert_eq!(
        ran.stderr,
        "skipped item \"second\": its record, number 1, differs from its checksum\n\
         error: h: 1 record damaged and 0 missing; the other 2 are in the export. Restore a backup, \
         or import the export into a new collection\n"
    );
    let export = folder.read("all.jsonl");
    assert!(export.contains("first") && export.contains("third") && !export.contains("second"));
    folder.run("index create new --kind hash");
    assert_eq!(folder.run("index import new all.jsonl").exit, 0);
}

#[test]
fn a_model_for_images_is_part_of_the_recipe() {
    let folder = Folder::new();
    fs::create_dir(folder.path("photos")).unwrap();
    for red in [10, 200] {
        let photo = image::RgbImage::from_fn(64, 64, |x, y| {
            image::Rgb([red, (4 * x) as u8, (3 * y) as u8])
        });
        photo.save(folder.path(&format!("photos/{red}.png"))).unwrap();
    }
    for (photos, model) in [("photos", "model"), ("photos/10.png", "other")] {
        let ran = folder.run(&format!("recipes learn {photos} --recipe hsv -o {model}"));
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
    }
    let with = |model: &str| format!("--kind image --recipe hsv --model {model}");
    let ran = folder.run(&format!("index add seen photos {}", with("model")));
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    // The model is kept: searching needs no other, and finds what pairs by it finds.
    fs::rename(folder.path("model"), folder.path("moved")).unwrap();
    let found = folder.run("index search seen photos --distance 0").stdout;
    assert_eq!(found.lines().count(), 2, "{found}");
    let ran = folder.run(&format!("index add seen photos {}", with("moved")));
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    for other in ["--kind image --recipe hsv".to_owned(), with("other")] {
        let ran = folder.run(&format!("index add seen photos {other}"));
        assert_eq!(ran.exit, 2, "{other}");
        assert!(ran.stderr.contains("(model "), "{}", ran.stderr);
    }
    let ran = folder.run("index create prints --kind hash --model moved");
    assert!(ran.stderr.contains("--model does not apply to fingerprints"), "{}", ran.stderr);
}

/// Runs a script where a small disk is mounted at `disk`; `None` if this system lets nobody mount.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "whoever runs the tests should know that one was skipped")]
fn on_a_disk(folder: &Folder, options: &str, script: &str) -> Option<crate::run::Ran> {
    fs::create_dir_all(folder.path("disk")).unwrap();
    let script = format!(
        "mount -t tmpfs -o {options} none disk || exit 99; ({script}); code=$?; umount disk; exit $code"
    );
    // Root may mount; others may in a world of their own, on most systems.
    let worlds =
        [&["sh", "-c"][..], &["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]];
    for world in worlds {
        let program = folder.command("").get_program().to_owned();
        let path = std::path::Path::new(&program).parent().unwrap().display().to_string();
        let mut command = std::process::Command::new(world[0]);
        let paths = format!("{path}:{}", std::env::var("PATH").unwrap());
        command.args(&world[1..]).arg(&script).env("PATH", paths).current_dir(folder.path("."));
        let Ok(output) = command.output() else { continue };
        let ran = crate::run::Ran {
            exit: output.status.code().unwrap_or(99),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        if ran.exit != 99 {
            return Some(ran);
        }
    }
    println!("skipped: this system lets nobody mount a small disk");
    None
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_says_how_much_was_added() {
    let lines: String = (0..400_000u64)
        .map(|n| format!("{}\titem {n}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let folder = Folder::with("h.txt", lines);
    let script = "head -c 4000000 /dev/zero > disk/ballast; \
                  lookalike index add disk/seen h.txt --kind hash --quiet > added.jsonl; code=$?; \
                  rm disk/ballast; lookalike index stats disk/seen --json; exit $code";
    let Some(ran) = on_a_disk(&folder, "size=24m", script) else { return };
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
    let stats: serde_json::Value = serde_json::from_str(ran.stdout.trim()).unwrap();
    let there = stats["items"].as_u64().unwrap();
    assert!(there >= 1 << 16, "{there}");
    let grouped = |count: u64| format!("{},{:03}", count / 1000, count % 1000);
    let said = format!(
        "stopped: {} items added, {} read but not stored, and nothing after them",
        grouped(there),
        grouped(16_384)
    );
    assert!(ran.stderr.contains(&said), "{said}\n{}", ran.stderr);
    assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("nothing was changed"), "{}", ran.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn on_read_only_media_a_collection_is_verified_without_writing() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    let script = "lookalike index add disk/h h.txt --quiet > added.jsonl && mount -o remount,ro disk && \
                  lookalike index verify disk/h && lookalike index export disk/h";
    let Some(ran) = on_a_disk(&folder, "size=8m", script) else { return };
    assert_eq!(
        (ran.exit, ran.stderr.as_str()),
        (
            0,
            "note: disk/h/lock: locking: Read-only file system (os error 30); verified without \
             writing\ndisk/h: 2 items, all as written (unused space in items.redb is checked only \
             where it can be written)\n"
        )
    );
    assert_eq!(ran.stdout.lines().count(), 2);
}

#[test]
fn only_what_is_new_is_added_and_the_rest_listed_with_its_match() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    folder.run("index add seen news.jsonl");
    let ran = folder.run("index add seen later.jsonl --skip-near");
    assert_eq!(ran.stdout, status("d", "near", Some("a")) + &status("e", "added", None));
    assert_eq!(
        summary(&ran.stderr),
        "2 items; 1 item added; 1 item near a stored one (similarity >= 0.6 (words and word pairs)), \
         not added; 4 items in the collection"
    );
    folder.run("index add bare news.jsonl --recipe bare");
    let ran = folder.run("index add bare later.jsonl --skip-near --distance 34");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("the index was made for at most 33"), "{}", ran.stderr);
}

#[test]
fn fingerprints_are_remembered_as_they_are() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n12345\n");
    let ran = folder.run("index add h h.txt --max-distance 5");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let ran = folder.run("index search h --fingerprint 0xfe --distance 4");
    assert_eq!(ran.stdout, found("0xfe", "one", 1) + &found("0xfe", "two", 3));
    let ran = folder.run("index search h --fingerprint 0xfe --limit 1 --quiet");
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, ""));
    let ran = folder.run("index remove h one 0x0000000000003039 nobody");
    assert!(ran.stderr.contains("skipped nobody: no such item"), "{}", ran.stderr);
    assert_eq!(
        summary(&ran.stderr),
        "3 items (1 skipped: 1 not there); 2 items removed; 1 item in the collection"
    );
    let ran = folder.run("index search h --fingerprint 0xfe");
    assert_eq!(ran.stdout, found("0xfe", "two", 3));
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
        "2 items (1 skipped: 1 broken); 2 items added; 0 already there; 2 items in the collection"
    );
    folder.run("index create wider --kind hash --bits 128");
    let ran = folder.run("index groups other");
    assert_eq!(
        ran.stdout,
        "{\"group\":1,\"keep\":\"one\",\"members\":[{\"id\":\"two\",\"distance\":4,\
         \"similarity\":null,\"level\":null}]}\n"
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
fn a_damaged_collection_is_refused_and_a_damaged_table_rebuilt() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    folder.run("index add h h.txt");
    folder.run("index compact h");
    let table = folder.path("h/runs/000001.near");
    let mut bytes = fs::read(&table).unwrap();
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    fs::write(&table, bytes).unwrap();
    let ran = folder.run("index search h --fingerprint 0xff");
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(ran.stderr.contains("note: search tables rebuilt from the records"), "{}", ran.stderr);
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
    assert!(error("index add seen news.jsonl --recipe simhash64").contains("simhash64"));
    assert!(error("index add seen news.jsonl --max-distance 3").contains("--max-distance 3"));
    assert!(error("index create seen").contains("already there"));
    assert!(error("index create wide --kind hash --max-distance 65").contains("more than the 64"));
    assert!(error("index search seen --fingerprint zz").contains("--fingerprint"));
    let empty = folder.run_with("index search seen - --lines", " \n");
    assert_eq!((empty.exit, empty.stdout.as_str()), (0, ""), "{}", empty.stderr);
}

#[test]
fn dedup_removes_what_a_collection_knows() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    folder.run("index add seen news.jsonl");
    let ran = folder.run(
        "dedup later.jsonl --against seen -o new.jsonl --removed gone.jsonl --report page.html",
    );
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(folder.read("new.jsonl"), LATER.split_inclusive('\n').nth(1).unwrap());
    let gone = folder.read("gone.jsonl");
    assert!(gone.starts_with("{\"id\":\"d\",\"keep\":\"a\",\"distance\":0,"), "{gone}");
    // The page has the text that goes, and the id of the one in the collection.
    let page = folder.read("page.html");
    assert!(page.contains("The ferry to the island") && page.contains("\"a\""), "{page}");
    let ran = folder.run("dedup later.jsonl --against seen --recipe words --dry-run");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let ran = folder.run("dedup later.jsonl --against seen --recipe bare --dry-run");
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
}
