//! `index`: what was seen before, on the command line.

use std::fs;

use crate::run::{Folder, snapshot};

const NEWS: &str = "{\"id\":\"a\",\"text\":\"the ferry to the island leaves at nine in the morning from the north end\"}\n\
                    {\"id\":\"b\",\"text\":\"boil the potatoes in their skins and slice them as thin as you can\"}\n\
                    {\"id\":\"c\",\"text\":\"...\"}\n";

const LATER: &str = "{\"id\":\"d\",\"text\":\"The ferry to the island leaves at nine in the morning, from the north end!\"}\n\
                     {\"id\":\"e\",\"text\":\"something else that is like nothing which was ever said before it\"}\n";

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

#[test]
fn what_is_added_is_found_again() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    snapshot!(folder.session(["index add seen news.jsonl", "index search seen later.jsonl"]), @r#"
    $ lookalike index add seen news.jsonl
    exit 0
    {"id":"a","status":"added","match":null,"reason":null}
    {"id":"b","status":"added","match":null,"reason":null}
    {"id":"c","status":"added","match":null,"reason":null}
    --- stderr
    seen: a new collection of texts (words: words:1, log, mix, 128 bits, version 1), searched by similarity >= 0.47 (words and word pairs)
    reading JSON lines of news.jsonl
    3 items; 3 items added; 3 items in the collection; [TIME]

    $ lookalike index search seen later.jsonl
    exit 0
    {"query":"d","match":"a","distance":0,"similarity":1.0,"level":"copy"}
    --- stderr
    reading JSON lines of later.jsonl
    2 items; 1 match with similarity >= 0.47 (words and word pairs), exact; 1 without any; [TIME]
    "#);
    assert_eq!(folder.run("index search seen later.jsonl -o found.jsonl").stdout, "");
    assert_eq!(folder.read("found.jsonl"), folder.run("index search seen later.jsonl").stdout);
}

#[test]
fn the_same_item_again_is_already_there_and_update_replaces_it() {
    let newer = NEWS.replace("at nine", "at ten");
    let folder = Folder::with("news.jsonl", NEWS).and("newer.jsonl", newer);
    folder.run("index add seen news.jsonl");
    snapshot!(folder.session([
        "index add seen news.jsonl",
        "index add seen newer.jsonl --update",
        "index add seen newer.jsonl --update",
    ]), @r#"
    $ lookalike index add seen news.jsonl
    exit 0
    {"id":"a","status":"present","match":null,"reason":null}
    {"id":"b","status":"present","match":null,"reason":null}
    {"id":"c","status":"present","match":null,"reason":null}
    --- stderr
    reading JSON lines of news.jsonl
    3 items; 0 items added; 3 already there; 3 items in the collection; [TIME]

    $ lookalike index add seen newer.jsonl --update
    exit 0
    {"id":"a","status":"replaced","match":null,"reason":null}
    {"id":"b","status":"present","match":null,"reason":null}
    {"id":"c","status":"present","match":null,"reason":null}
    --- stderr
    reading JSON lines of newer.jsonl
    3 items; 0 items added; 1 replaced; 2 already there; 3 items in the collection; [TIME]

    $ lookalike index add seen newer.jsonl --update
    exit 0
    {"id":"a","status":"present","match":null,"reason":null}
    {"id":"b","status":"present","match":null,"reason":null}
    {"id":"c","status":"present","match":null,"reason":null}
    --- stderr
    reading JSON lines of newer.jsonl
    3 items; 0 items added; 0 replaced; 3 already there; 3 items in the collection; [TIME]
    "#);
}

#[test]
fn an_id_that_is_taken_is_listed_the_rest_is_added_and_the_run_exits_2() {
    let other = "{\"id\":\"a\",\"text\":\"quite another text under an id that is taken\"}\n";
    let folder =
        Folder::with("news.jsonl", NEWS).and("other.jsonl", format!("{other}{LATER}{NEWS}"));
    folder.run("index add seen news.jsonl");
    let before = folder.run("index export seen").stdout;
    let ran = folder.run("index add seen other.jsonl --json");
    snapshot!(ran, @r#"
    exit 2
    {"id":"a","status":"conflict","match":null,"reason":"this id is taken by an item of other content; --update replaces it"}
    {"id":"d","status":"added","match":null,"reason":null}
    {"id":"e","status":"added","match":null,"reason":null}
    {"id":"a","status":"present","match":null,"reason":null}
    {"id":"b","status":"present","match":null,"reason":null}
    {"id":"c","status":"present","match":null,"reason":null}
    --- stderr
    reading JSON lines of other.jsonl
    note: 1 item has an id that an earlier item has, the first "a"
    skipped a: this id is taken by an item of other content; --update replaces it
    {"items":5,"skipped":1,"skipped_by_reason":{"id taken":1},"added":2,"replaced":0,"present":3,"near":0,"conflict":1,"unfit":0,"collection":5,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
    assert_eq!(counts(&ran.stderr), ([2, 0, 3, 0, 1, 0], 6));
    let after = folder.run("index export seen").stdout;
    assert!(after.starts_with(&before) && after.lines().count() == 5, "{after}");

    let ran = folder.run("index add seen other.jsonl --update --json");
    assert_eq!((ran.exit, counts(&ran.stderr)), (0, ([0, 2, 4, 0, 0, 0], 6)));
    folder.run("index create copy");
    snapshot!(folder.run_with("index import copy -", before + &after), @"
    exit 0
    --- stderr
    8 items; 5 items added; 3 already there; 5 items in the collection; [TIME]
    ");
    let taken = after.replace("\"id\":\"b\"", "\"id\":\"a\"");
    snapshot!(folder.run_with("index import copy -", taken), @"
    exit 2
    --- stderr
    skipped -: line 2: the id a is taken by an item of other content
    5 items (1 skipped: 1 broken); 0 items added; 4 already there; 5 items in the collection; [TIME]
    ");
}

const MONDAY: &str = "the ferry to the island leaves at nine in the morning from the north end\n\
                      boil the potatoes in their skins and slice them as thin as you can\n\
                      boil the potatoes in their skins and slice them as thin as you can\n";

#[test]
fn lines_of_another_day_are_added_though_they_have_the_same_numbers() {
    let tuesday = "The ferry to the island leaves at ten in the morning from the north end\n\
                   the school of the town gets a new roof before the winter comes\n\
                   boil the potatoes in their skins and slice them as thin as you can\n";
    let folder = Folder::with("mon.txt", MONDAY).and("tue.txt", tuesday);
    let ran = folder.run("index add seen mon.txt --lines --json");
    assert_eq!((ran.exit, counts(&ran.stderr)), (0, ([2, 0, 1, 0, 0, 0], 3)));
    let ran = folder.run("index add seen tue.txt --lines --skip-near --json");
    snapshot!(ran, @r#"
    exit 0
    {"id":"b3-aa4e1b7932a31dbb64d3052da07833c9","status":"near","match":"b3-363b963fea05f4051a24fd32fc048dda","reason":null,"file":"tue.txt","line":1}
    {"id":"b3-70684db27acdb3f75febf5717ddae306","status":"added","match":null,"reason":null,"file":"tue.txt","line":2}
    {"id":"b3-1cee3394d88db5d269944ba29d53fbc2","status":"present","match":null,"reason":null,"file":"tue.txt","line":3}
    --- stderr
    reading lines of tue.txt
    {"items":3,"skipped":0,"skipped_by_reason":{},"added":1,"replaced":0,"present":1,"near":1,"conflict":0,"unfit":0,"collection":3,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
    assert_eq!(counts(&ran.stderr), ([1, 0, 1, 1, 0, 0], 3));

    // The same again: nothing is new, whatever it is called.
    let ran = folder.run_with("index add seen - --lines --json", tuesday);
    assert_eq!(counts(&ran.stderr).0, [1, 0, 2, 0, 0, 0], "{ran}");
    let ran = folder.run("index add seen mon.txt tue.txt --lines --update --json");
    assert_eq!(counts(&ran.stderr), ([0, 0, 6, 0, 0, 0], 6));
    snapshot!(folder.session([
        "index search seen tue.txt --lines --distance 0",
        "index export seen",
    ]), @r#"
    $ lookalike index search seen tue.txt --lines --distance 0
    exit 0
    {"query":"1","match":"b3-aa4e1b7932a31dbb64d3052da07833c9","distance":0,"similarity":1.0,"level":"copy","file":"stdin","line":1}
    {"query":"2","match":"b3-70684db27acdb3f75febf5717ddae306","distance":0,"similarity":1.0,"level":"copy","file":"tue.txt","line":2}
    {"query":"3","match":"b3-1cee3394d88db5d269944ba29d53fbc2","distance":0,"similarity":1.0,"level":"copy","file":"mon.txt","line":2}
    --- stderr
    reading lines of tue.txt
    3 items; 3 matches with similarity >= 0.47 (words and word pairs) and distance <= 0 of 128 bits, exact; 0 without any; [TIME]

    $ lookalike index export seen
    exit 0
    {"id":"b3-363b963fea05f4051a24fd32fc048dda","fingerprint":"0xecade3f8820a26aa36dd99c6cb06cdf7","digest":"ARb3zQbLxpndNqomCoL4463sGs+Jdw5qvPAOj7hTEJrLQRqLm0weQoKiKmOUHCx1feIzlX+FNcfpzUJ4g6NaYjOhXkWBL3cbGJmjRNair1pRvbSxJHW2+xi/uBqYl7zUgTTG5rLsye1Tvc4mVBPUdjoW1LbZD9lUDwTg","content":"NjuWP+oF9AUaJP0y/ASN2g==","sequence":0,"inserted":"[inserted]","payload":{"file":"mon.txt","line":1},"kind":"text","recipe":"words: words:1, log, mix, 128 bits, version 1","bits":128,"recipe_id":"9034b8bff140a34712b46ff7e6de6223"}
    {"id":"b3-1cee3394d88db5d269944ba29d53fbc2","fingerprint":"0xe75d62a8e60120b74aedb8fcebf8643f","digest":"ARY/ZPjr/LjtSrcgAeaoYl3nGqjfzQ2BcfAWIMMBHsfpzUKf/jlL+burWpc95lzlpmRooKkSbC/ZnG7N+J2OPmSxkwaFNJrkpsuatXZlnB5FdabacRqn+xi/uHkiscCikGzByKCGwRjj9cdUSXvPORpk3gbY199llW3p","content":"HO4zlNiNtdJplEuinVP7wg==","sequence":1,"inserted":"[inserted]","payload":{"file":"mon.txt","line":2}}
    {"id":"b3-70684db27acdb3f75febf5717ddae306","fingerprint":"0xb805c498001aec82cac4e502a604bc3f","digest":"ARY/vASmAuXEyoLsGgCYxAW4F3xsqh/ylzsnMG4FNpjdZTzH6c1CE7XwScyTjlpA3BZjG/2/bpD/pHJ3xSN8CTJnkmrrDqDQlamgC+aMptd19q0Z9Ya4ycTGvLUm2c5D5FTTDk6Z1m6lzNZk2Ufs","content":"cGhNsnrNs/df6/VxfdrjBg==","sequence":2,"inserted":"[inserted]","payload":{"file":"tue.txt","line":2}}
    {"id":"b3-aa4e1b7932a31dbb64d3052da07833c9","fingerprint":"0xecad73e2832a26aa02dd99cfeb06ddf7","digest":"ARb33Qbrz5ndAqomKoPic63sGs+Jdw6PuFMQmstBGoubTB5CgqIqY5QcLHV94jOVf4U1x+nNQniDo1piM6FeRYEvd7bQ4nngWrx6T7X9iRsYmaNE1qKvWlG9tPsYv7gamJe81IE0xuay7MntU73OJlQT1LbZD9lUDwTg","content":"qk4beTKjHbtk0wUtoHgzyQ==","sequence":3,"inserted":"[inserted]","payload":{"file":"stdin","line":1}}
    "#);
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
    assert_eq!((ran.exit, counts(&ran.stderr)), (0, ([3, 0, 0, 0, 0, 1], 4)), "{ran}");
    snapshot!(ran.stderr, @r#"
    seen: a new collection of texts (words: words:1, log, mix, 128 bits, version 1), searched by similarity >= 0.47 (words and word pairs)
    reading JSON lines of news.jsonl
    skipped xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...: an id has at most 32767 bytes, this one 40000
    {"items":3,"skipped":1,"skipped_by_reason":{"unfit":1},"added":3,"replaced":0,"present":0,"near":0,"conflict":0,"unfit":1,"collection":3,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
    assert_eq!(folder.run("index add seen news.jsonl --strict").exit, 2);
}

#[test]
fn a_row_without_a_fingerprint_is_skipped() {
    let rows = "{\"id\":\"a\",\"fingerprint\":\"0xff\"}\n{\"id\":\"b\",\"fingerprint\":null}\n\
                {\"id\":\"c\",\"fingerprint\":null}\n";
    let folder = Folder::with("prints.jsonl", rows);
    snapshot!(folder.session([
        "pairs prints.jsonl --distance 64",
        "index add seen prints.jsonl",
    ]), @r#"
    $ lookalike pairs prints.jsonl --distance 64
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    skipped prints.jsonl:2: its fingerprint is null: it has none
    skipped prints.jsonl:3: its fingerprint is null: it has none
    1 item (2 skipped: 2 no features); 0 pairs with distance <= 64 of 64 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike index add seen prints.jsonl
    exit 0
    {"id":"a","status":"added","match":null,"reason":null}
    --- stderr
    seen: a new collection of fingerprints (hash: 64 bits), searched by distance <= 3 of 64 bits
    reading fingerprints of 64 bits
    skipped prints.jsonl:2: its fingerprint is null: it has none
    skipped prints.jsonl:3: its fingerprint is null: it has none
    1 item (2 skipped: 2 no features); 1 item added; 1 item in the collection; [TIME]
    "#);
    snapshot!(folder.run_with("index add seen - --json", "seven\n"), @r#"
    exit 2
    --- stderr
    reading fingerprints of 64 bits
    skipped stdin:1: "seven" is not a number; write a fingerprint as decimal, 0x hex or 0b binary
    {"items":0,"skipped":1,"skipped_by_reason":{"not a number":1},"added":0,"replaced":0,"present":0,"near":0,"conflict":0,"unfit":1,"collection":1,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    error: nothing could be read: 1 record skipped; the first: stdin:1: "seven" is not a number; write a fingerprint as decimal, 0x hex or 0b binary
    "#);
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
    snapshot!(folder.run("index export h -o all.jsonl"), @r#"
    exit 2
    --- stderr
    skipped item "second": its record, number 1, differs from its checksum
    error: h: 1 record damaged and 0 missing; the other 2 are in the export. Restore a backup, or import the export into a new collection
    "#);
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
    // The model is kept in the collection: searching needs no other, and finds what pairs by it finds.
    snapshot!(folder.session([
        "recipes learn photos --recipe hsv -o model",
        "recipes learn photos/10.png --recipe hsv -o other",
        "index add seen photos --kind image --recipe hsv --model model",
        "index add seen photos --kind image --recipe hsv --model model",
        "index search seen photos --distance 0",
        "index add seen photos --kind image --recipe hsv",
        "index add seen photos --kind image --recipe hsv --model other",
        "index create prints --kind hash --model model",
    ]), @r#"
    $ lookalike recipes learn photos --recipe hsv -o model
    exit 0
    --- stderr
    learned from 2 images: hsv:32, murmur3-128; use it with --model model

    $ lookalike recipes learn photos/10.png --recipe hsv -o other
    exit 0
    --- stderr
    learned from 1 image: hsv:32, murmur3-128; use it with --model other

    $ lookalike index add seen photos --kind image --recipe hsv --model model
    exit 0
    {"id":"photos/10.png","status":"added","match":null,"reason":null}
    {"id":"photos/200.png","status":"added","match":null,"reason":null}
    --- stderr
    seen: a new collection of images (hsv: 128 bits, by 2 images (model 330c5cf9340c049f), version 1, orientations), searched by distance <= 14 of 128 bits, in any orientation
    reading images of 2 files
    2 items; 2 items added; 2 items in the collection; [TIME]

    $ lookalike index add seen photos --kind image --recipe hsv --model model
    exit 0
    {"id":"photos/10.png","status":"present","match":null,"reason":null}
    {"id":"photos/200.png","status":"present","match":null,"reason":null}
    --- stderr
    reading images of 2 files
    2 items; 0 items added; 2 already there; 2 items in the collection; [TIME]

    $ lookalike index search seen photos --distance 0
    exit 0
    {"query":"photos/10.png","match":"photos/10.png","distance":0,"similarity":null,"level":"copy"}
    {"query":"photos/200.png","match":"photos/200.png","distance":0,"similarity":null,"level":"copy"}
    --- stderr
    reading images of 2 files
    2 items; 2 matches with distance <= 0 of 128 bits, exact; 0 without any; [TIME]

    $ lookalike index add seen photos --kind image --recipe hsv
    exit 2
    --- stderr
    error: the collection holds "hsv: 128 bits, by 2 images (model 330c5cf9340c049f), version 1, orientations", these are "hsv: 128 bits, version 1, orientations"; they cannot be compared

    $ lookalike index add seen photos --kind image --recipe hsv --model other
    exit 2
    --- stderr
    error: the collection holds "hsv: 128 bits, by 2 images (model 330c5cf9340c049f), version 1, orientations", these are "hsv: 128 bits, by 1 images (model 0642025b6e1b3f63), version 1, orientations"; they cannot be compared

    $ lookalike index create prints --kind hash --model model
    exit 2
    --- stderr
    error: --model does not apply to fingerprints, which take --distance, --bits; if these are not fingerprints, set --kind
    "#);
    fs::remove_file(folder.path("model")).unwrap();
    assert_eq!(folder.run("index search seen photos --distance 0").stdout.lines().count(), 2);
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
    snapshot!(ran.stderr.replace(&grouped(there), "[ADDED]"), @"error: stopped: [ADDED] items added, 16,384 read but not stored, and nothing after them; add the same input again to go on: disk/seen/items.redb: writing: I/O error: No space left on device (os error 28)");
}

#[cfg(target_os = "linux")]
#[test]
fn on_read_only_media_a_collection_is_verified_without_writing() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    let script = "lookalike index add disk/h h.txt --quiet > added.jsonl && mount -o remount,ro disk && \
                  lookalike index verify disk/h && lookalike index export disk/h";
    let Some(ran) = on_a_disk(&folder, "size=8m", script) else { return };
    snapshot!(ran, @r#"
    exit 0
    {"id":"one","fingerprint":"0x00000000000000ff","sequence":0,"inserted":"[inserted]","payload":null,"kind":"hash","recipe":"hash: 64 bits","bits":64}
    {"id":"two","fingerprint":"0x00000000000000f0","sequence":1,"inserted":"[inserted]","payload":null}
    --- stderr
    note: disk/h/lock: locking: Read-only file system (os error 30); verified without writing
    disk/h: 2 items, all as written (unused space in items.redb is checked only where it can be written)
    "#);
}

#[test]
fn only_what_is_new_is_added_and_the_rest_listed_with_its_match() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    folder.run("index add seen news.jsonl");
    folder.run("index add bare news.jsonl --recipe bare");
    snapshot!(folder.session([
        "index add seen later.jsonl --skip-near",
        "index add bare later.jsonl --skip-near --distance 34",
    ]), @r#"
    $ lookalike index add seen later.jsonl --skip-near
    exit 0
    {"id":"d","status":"near","match":"a","reason":null}
    {"id":"e","status":"added","match":null,"reason":null}
    --- stderr
    reading JSON lines of later.jsonl
    2 items; 1 item added; 1 item near a stored one (similarity >= 0.6 (words and word pairs)), not added; 4 items in the collection; [TIME]

    $ lookalike index add bare later.jsonl --skip-near --distance 34
    exit 2
    --- stderr
    reading JSON lines of later.jsonl
    0 items; 0 items added; 0 items near a stored one (distance <= 34 of 128 bits), not added; 3 items in the collection; [TIME]
    error: stopped: 0 items added, 2 read but not stored, and nothing after them; add the same input again to go on: a search within 34 bits, but the index was made for at most 33; build it with a larger radius
    "#);
}

#[test]
fn fingerprints_are_stored_as_they_are() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n12345\n");
    snapshot!(folder.session([
        "index add h h.txt --max-distance 5",
        "index search h --fingerprint 0xfe --distance 4",
        "index search h --fingerprint 0xfe --limit 1 --quiet",
        "index remove h one 0x0000000000003039 nobody",
        "index search h --fingerprint 0xfe",
    ]), @r#"
    $ lookalike index add h h.txt --max-distance 5
    exit 0
    {"id":"one","status":"added","match":null,"reason":null}
    {"id":"two","status":"added","match":null,"reason":null}
    {"id":"0x0000000000003039","status":"added","match":null,"reason":null,"file":"h.txt","line":3}
    --- stderr
    h: a new collection of fingerprints (hash: 64 bits), searched by distance <= 5 of 64 bits
    reading fingerprints of 64 bits
    3 items; 3 items added; 3 items in the collection; [TIME]

    $ lookalike index search h --fingerprint 0xfe --distance 4
    exit 0
    {"query":"0xfe","match":"one","distance":1,"similarity":null,"level":null}
    {"query":"0xfe","match":"two","distance":3,"similarity":null,"level":null}
    --- stderr
    1 item; 2 matches with distance <= 4 of 64 bits, exact; 0 without any; [TIME]

    $ lookalike index search h --fingerprint 0xfe --limit 1 --quiet
    exit 0
    {"query":"0xfe","match":"one","distance":1,"similarity":null,"level":null}

    $ lookalike index remove h one 0x0000000000003039 nobody
    exit 0
    --- stderr
    skipped nobody: no such item
    3 items (1 skipped: 1 not there); 2 items removed; 1 item in the collection; [TIME]

    $ lookalike index search h --fingerprint 0xfe
    exit 0
    {"query":"0xfe","match":"two","distance":3,"similarity":null,"level":null}
    --- stderr
    1 item; 1 match with distance <= 5 of 64 bits, exact; 0 without any; [TIME]
    "#);
}

#[test]
fn an_export_is_read_by_import_and_by_pairs() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    folder.run("index add h h.txt --max-distance 4");
    assert_eq!(folder.run("index export h -o all.jsonl").exit, 0);
    let export = folder.read("all.jsonl");
    let folder = folder.and("more.jsonl", export + "{\"id\":\"x\"}\n");
    snapshot!(folder.session([
        "index export h",
        "pairs all.jsonl --distance 4 --quiet",
        "index create other --kind hash --max-distance 4",
        "index import other more.jsonl",
        "index groups other",
    ]), @r#"
    $ lookalike index export h
    exit 0
    {"id":"one","fingerprint":"0x00000000000000ff","sequence":0,"inserted":"[inserted]","payload":null,"kind":"hash","recipe":"hash: 64 bits","bits":64}
    {"id":"two","fingerprint":"0x00000000000000f0","sequence":1,"inserted":"[inserted]","payload":null}

    $ lookalike pairs all.jsonl --distance 4 --quiet
    exit 0
    {"a":"one","b":"two","distance":4,"similarity":null,"level":null}

    $ lookalike index create other --kind hash --max-distance 4
    exit 0
    --- stderr
    other: a new collection of fingerprints (hash: 64 bits), searched by distance <= 4 of 64 bits

    $ lookalike index import other more.jsonl
    exit 0
    --- stderr
    skipped more.jsonl: line 3: there is no "fingerprint"
    2 items (1 skipped: 1 broken); 2 items added; 0 already there; 2 items in the collection; [TIME]

    $ lookalike index groups other
    exit 0
    {"group":1,"keep":"one","members":[{"id":"two","distance":4,"similarity":null,"level":null}]}
    "#);
}

#[test]
fn a_backup_is_a_collection_that_passes_verification() {
    let folder = Folder::with("h.txt", "0xff\tone\n0xf0\ttwo\n");
    folder.run("index add h h.txt");
    snapshot!(folder.session([
        "index backup h copy",
        "index verify copy",
        "index backup h copy",
        "index compact copy",
    ]), @"
    $ lookalike index backup h copy
    exit 0
    --- stderr
    copy: 2 items

    $ lookalike index verify copy
    exit 0
    --- stderr
    copy: 2 items, all as written

    $ lookalike index backup h copy
    exit 2
    --- stderr
    error: copy: already exists; name a new folder

    $ lookalike index compact copy
    exit 0
    --- stderr
    copy: 2 items in 1 run instead of 1, [SIZE] instead of [SIZE]
    ");
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
    snapshot!(folder.session(["index search h --fingerprint 0xff", "index compact h"]), @r#"
    $ lookalike index search h --fingerprint 0xff
    exit 0
    {"query":"0xff","match":"one","distance":0,"similarity":null,"level":null}
    --- stderr
    note: search tables rebuilt from the records: h/runs/000001.near: checksum of the fingerprints differs: the file is damaged; rebuild it from its source
    1 item; 1 match with distance <= 3 of 64 bits, exact; 0 without any; [TIME]

    $ lookalike index compact h
    exit 0
    --- stderr
    note: search tables rebuilt from the records: h/runs/000001.near: checksum of the fingerprints differs: the file is damaged; rebuild it from its source
    h: 2 items in 1 run instead of 1, [SIZE] instead of [SIZE]
    "#);
    assert_eq!(folder.run("index stats h").stderr, "");

    let records = folder.path("h/items.redb");
    let bytes = fs::read(&records).unwrap();
    fs::write(&records, &bytes[..bytes.len() / 2]).unwrap();
    snapshot!(folder.run("index search h --fingerprint 0xff"), @"
    exit 2
    --- stderr
    error: h/items.redb: File truncated below stored layout: file_len=[SIZE], layout_len=[SIZE]: the collection is damaged; restore it from a backup
    ");
}

#[test]
fn wrong_folders_recipes_and_widths_are_refused() {
    let folder = Folder::with("news.jsonl", NEWS).and("h.txt", "0xff\n");
    folder.run("index add seen news.jsonl");
    snapshot!(folder.session([
        "index search none h.txt",
        "index add seen h.txt --kind hash",
        "index add seen news.jsonl --recipe simhash64",
        "index add seen news.jsonl --max-distance 3",
        "index create seen",
        "index create wide --kind hash --max-distance 65",
        "index search seen --fingerprint zz",
    ]), @r#"
    $ lookalike index search none h.txt
    exit 2
    --- stderr
    error: none: no collection here (no such folder); create one first

    $ lookalike index add seen h.txt --kind hash
    exit 2
    --- stderr
    error: the collection holds "words: words:1, log, mix, 128 bits, version 1", these are "hash: 128 bits"; they cannot be compared

    $ lookalike index add seen news.jsonl --recipe simhash64
    exit 2
    --- stderr
    error: the collection holds "words: words:1, log, mix, 128 bits, version 1", these are "simhash64: words:3, tf, mix, 64 bits, version 1"; they cannot be compared

    $ lookalike index add seen news.jsonl --max-distance 3
    exit 2
    --- stderr
    error: --max-distance 3, but the collection was made for any; leave it out

    $ lookalike index create seen
    exit 2
    --- stderr
    error: seen: already there; name a folder that does not exist or is empty

    $ lookalike index create wide --kind hash --max-distance 65
    exit 2
    --- stderr
    error: --distance 65 is more than the 64 bits of a fingerprint; use 64 or less

    $ lookalike index search seen --fingerprint zz
    exit 2
    --- stderr
    error: --fingerprint: this collection compares the content of texts; search with --text or files
    "#);
    snapshot!(folder.run_with("index search seen - --lines", " \n"), @"
    exit 0
    --- stderr
    reading lines of stdin
    skipped 1: nothing to compare in it, so it has no fingerprint
    0 items (1 skipped: 1 no features); 0 matches with similarity >= 0.47 (words and word pairs), exact; 0 without any; [TIME]
    ");
}

#[test]
fn dedup_removes_what_a_collection_has() {
    let folder = Folder::with("news.jsonl", NEWS).and("later.jsonl", LATER);
    folder.run("index add seen news.jsonl");
    let ran = folder.run(
        "dedup later.jsonl --against seen -o new.jsonl --removed gone.jsonl --report page.html",
    );
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading JSON lines of later.jsonl
    against the collection seen
    items    2
    groups   1, the largest of 2 items
    removed  1 (50.0 %): 1 copy
    kept     1 to new.jsonl
    found    exact; 1 text with too little to compare, compared by content
    time     [TIME]
    ");
    assert_eq!(folder.read("new.jsonl"), LATER.split_inclusive('\n').nth(1).unwrap());
    snapshot!(folder.read("gone.jsonl"), @r#"{"id":"d","keep":"a","distance":0,"similarity":1.0,"level":"copy"}"#);
    // The page has the text that goes, and the id of the one in the collection.
    let page = folder.read("page.html");
    assert!(page.contains("The ferry to the island") && page.contains("\"a\""), "{page}");
    snapshot!(folder.session([
        "dedup later.jsonl --against seen --recipe words --dry-run",
        "dedup later.jsonl --against seen --recipe bare --dry-run",
    ]), @r#"
    $ lookalike dedup later.jsonl --against seen --recipe words --dry-run
    exit 0
    --- stderr
    reading JSON lines of later.jsonl
    against the collection seen
    items    2
    groups   1, the largest of 2 items
    removed  would remove 1 (50.0 %): 1 copy
    kept     1
    found    exact; 1 text with too little to compare, compared by content
    time     [TIME]

    $ lookalike dedup later.jsonl --against seen --recipe bare --dry-run
    exit 2
    --- stderr
    error: the collection holds "words: words:1, log, mix, 128 bits, version 1", these are "bare: words:2, log, mix, 128 bits, version 1"; they cannot be compared
    "#);
}
