//! `dedup`: what goes, what stays, and what is said about it.

use std::fs;

use crate::run::{Folder, snapshot};

const FERRY: &str = "The ferry to the island leaves at nine in the morning and again at four in the \
                     afternoon, from the north end of the harbour. Tickets are sold on board.";
const POTATOES: &str = "Boil the potatoes in their skins, let them cool, and slice them as thin as \
                        you can before you heat the oil in the large iron pan.";

/// Rows `(id, score, text)`, with odd white space that must survive.
fn rows(rows: &[(&str, u32, String)]) -> String {
    let row = |(id, score, text): &(&str, u32, String)| {
        format!("{{ \"id\": \"{id}\",\"score\":{score},  \"text\": \"{text}\" }}\n")
    };
    rows.iter().map(row).collect()
}

fn corpus() -> String {
    rows(&[
        ("a", 1, FERRY.to_owned()),
        ("b", 2, POTATOES.to_owned()),
        ("c", 3, FERRY.replace("four", "five")),
        ("d", 2, format!("{} Bring a coat.", FERRY.replace("nine", "ten"))),
        ("e", 5, POTATOES.to_owned()),
        ("f", 1, "Something else, which is like nothing that was said before it.".to_owned()),
    ])
}

fn ids(jsonl: &str) -> String {
    let id = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row["id"].as_str().unwrap().to_owned()
    };
    jsonl.lines().map(id).collect::<Vec<_>>().join(" ")
}

#[test]
fn one_of_each_group_is_kept_byte_for_byte() {
    let folder = Folder::with("in.jsonl", corpus());
    let ran = folder.run(
        "dedup in.jsonl --keep first -o out.jsonl --pairs p.jsonl --groups g.jsonl --removed r.csv \
         --report r.html",
    );
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    items    6
    pairs    4: 3 copy, 1 near
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3 to out.jsonl
    found    exact
    time     [TIME]
    ");
    let corpus = corpus();
    let lines: Vec<_> = corpus.split_inclusive('\n').collect();
    assert_eq!(folder.read("out.jsonl"), [lines[0], lines[1], lines[5]].concat());
    snapshot!(folder.read("p.jsonl"), @r#"
    {"a":"a","b":"c","distance":9,"similarity":0.8974359,"level":"copy"}
    {"a":"a","b":"d","distance":21,"similarity":0.8045977,"level":"copy"}
    {"a":"b","b":"e","distance":0,"similarity":1.0,"level":"copy"}
    {"a":"c","b":"d","distance":28,"similarity":0.72527474,"level":"near"}
    "#);
    snapshot!(folder.read("g.jsonl"), @r#"
    {"group":1,"keep":"a","members":[{"id":"c","distance":9,"similarity":0.8974359,"level":"copy"},{"id":"d","distance":21,"similarity":0.8045977,"level":"copy"}]}
    {"group":2,"keep":"b","members":[{"id":"e","distance":0,"similarity":1.0,"level":"copy"}]}
    "#);
    snapshot!(folder.read("r.csv"), @"
    id,keep,distance,similarity,level
    c,a,9,0.8974359,copy
    d,a,21,0.8045977,copy
    e,b,0,1.0,copy
    ");
    let page = folder.read("r.html");
    assert!(page.contains("Bring a coat.") && !page.contains("http://"));
}

#[test]
fn a_dash_writes_what_is_kept_to_standard_output() {
    let ran = Folder::with("in.jsonl", corpus()).run("dedup in.jsonl -o - --keep first");
    snapshot!(ran, @r#"
    exit 0
    { "id": "a","score":1,  "text": "The ferry to the island leaves at nine in the morning and again at four in the afternoon, from the north end of the harbour. Tickets are sold on board." }
    { "id": "b","score":2,  "text": "Boil the potatoes in their skins, let them cool, and slice them as thin as you can before you heat the oil in the large iron pan." }
    { "id": "f","score":1,  "text": "Something else, which is like nothing that was said before it." }
    --- stderr
    reading JSON lines of in.jsonl
    items    6
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3 to standard output
    found    exact
    time     [TIME]
    "#);
}

#[test]
fn keep_rules_decide_who_stays() {
    let folder = Folder::with("in.jsonl", corpus());
    for (rule, kept) in [
        ("first", "a b f"),
        ("last", "d e f"),
        ("longest", "b d f"),
        ("score:desc", "c e f"),
        ("score:asc", "a b f"),
        ("largest", "b d f"),
    ] {
        let ran = folder.run(&format!("dedup in.jsonl -o - --keep {rule}"));
        assert_eq!((ran.exit, ids(&ran.stdout).as_str()), (0, kept), "{rule}: {ran}");
    }
    let ran = folder.run("dedup in.jsonl -o -");
    assert_eq!(ids(&ran.stdout), "b d f", "the longest is the default");
    snapshot!(folder.session([
        "dedup in.jsonl --keep newest",
        "dedup in.jsonl --keep score",
    ]), @"
    $ lookalike dedup in.jsonl --keep newest
    exit 2
    --- stderr
    reading JSON lines of in.jsonl
    error: --keep newest: rows of a table have no time of change; name a field that has it, as in --keep date:desc

    $ lookalike dedup in.jsonl --keep score
    exit 2
    --- stderr
    error: invalid value 'score' for '--keep <RULE>': use first, last, longest, largest, newest, oldest, best, path:PATTERN, score:asc or score:desc

    For more information, try '--help'.
    ");
}

#[test]
fn fields_decide_one_after_the_other() {
    let rows = [("a", 1, 2020), ("b", 3, 2021), ("c", 3, 2019), ("d", 2, 2018)];
    let json = rows.map(|(id, score, year)| {
        format!("{{\"id\":\"{id}\",\"score\":{score},\"year\":{year},\"text\":\"{FERRY}\"}}\n")
    });
    let csv = rows.map(|(id, score, year)| format!("{id},{score},{year},\"{FERRY}\"\n"));
    let folder = Folder::with("in.jsonl", json.concat())
        .and("in.csv", format!("id,score,year,text\n{}", csv.concat()));
    for (rules, kept) in [
        ("score:desc", "b"),
        ("score:desc,year:asc", "c"),
        ("score:desc,last,year:asc", "c"),
        ("year:desc,score:desc", "b"),
        ("id:desc", "d"),
    ] {
        for input in ["in.jsonl", "in.csv"] {
            let ran = folder.run(&format!("dedup {input} --keep {rules} --groups -"));
            let start = format!("{{\"group\":1,\"keep\":\"{kept}\"");
            assert!(ran.stdout.starts_with(&start), "{rules}: {} {}", ran.stdout, ran.stderr);
        }
    }
}

#[test]
fn a_run_that_removes_too_much_stops_and_names_the_group() {
    let folder = Folder::with("in.jsonl", rows(&vec![("x", 1, FERRY.to_owned()); 20]));
    snapshot!(folder.run("dedup in.jsonl -o out.jsonl --groups g.jsonl"), @r#"
    exit 2
    --- stderr
    reading JSON lines of in.jsonl
    note: 19 items have an id that an earlier item has, the first "x"
    items    20
    groups   1, the largest of 20 items
    removed  would remove 19 (95.0 %): 19 copy
    kept     1
    found    exact
    time     [TIME]
    error: 19 of 20 items would be removed, more than the part of 0.9 that --max-remove allows; the largest group has 20 items, kept is x; what is kept was not written. Look at it with --report, then ask for more likeness (--level copy) or allow it (--max-remove 1)
    "#);
    assert_eq!(folder.names(), ["g.jsonl", "in.jsonl"]);
    let ran = folder.run("dedup in.jsonl -o out.jsonl --max-remove 0.95");
    assert_eq!((ran.exit, folder.read("out.jsonl").lines().count()), (0, 1));
}

#[test]
fn the_json_summary_tells_that_a_run_was_refused_and_by_which_group() {
    let mut all = vec![("f", 1, "Something else, which is like nothing here.".to_owned())];
    all.extend(vec![("x", 1, POTATOES.to_owned()); 2]);
    all.extend(vec![("y", 1, FERRY.to_owned()); 40]);
    let folder = Folder::with("in.jsonl", rows(&all));
    snapshot!(folder.session([
        "dedup in.jsonl -o out.jsonl --json",
        "dedup in.jsonl -o out.jsonl --json --max-remove 1",
    ]), @r#"
    $ lookalike dedup in.jsonl -o out.jsonl --json
    exit 2
    --- stderr
    reading JSON lines of in.jsonl
    note: 40 items have an id that an earlier item has, the first "x"
    {"items":43,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":2,"largest_group":40,"least_similarity":1.0,"removed":40,"duplicate_ids":40,"removed_by_level":{"copy":40,"near":0,"other":0,"part":0,"similar":0},"kept":3,"looser":null,"looser_by_level":null,"lost_words":0.0,"warning":null,"raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6000000238418579,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":0,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":{"group":2,"items":40,"keep":"y"},"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    error: 40 of 43 items would be removed, more than the part of 0.9 that --max-remove allows; the largest group has 40 items, kept is y; what is kept was not written. Look at it with --report, then ask for more likeness (--level copy) or allow it (--max-remove 1)

    $ lookalike dedup in.jsonl -o out.jsonl --json --max-remove 1
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    note: 40 items have an id that an earlier item has, the first "x"
    {"items":43,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":2,"largest_group":40,"least_similarity":1.0,"removed":40,"duplicate_ids":40,"removed_by_level":{"copy":40,"near":0,"other":0,"part":0,"similar":0},"kept":3,"looser":null,"looser_by_level":null,"lost_words":0.0,"warning":null,"raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6000000238418579,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":0,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = Folder::with("in.jsonl", corpus());
    let ran = folder.run("dedup in.jsonl -o out.jsonl --pairs p.csv --report r.html --dry-run");
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    items    6
    pairs    4: 3 copy, 1 near
    groups   2, the largest of 3 items
    removed  would remove 3 (50.0 %): 2 copy, 1 near
    kept     3
    found    exact
    time     [TIME]
    ");
    assert_eq!(folder.names(), ["in.jsonl"]);
}

#[test]
fn against_another_set_removes_what_is_in_it_and_nothing_else() {
    let other =
        rows(&[("test-1", 1, POTATOES.replace("oil", "butter")), ("test-2", 1, "Unlike.".into())]);
    let folder = Folder::with("in.jsonl", corpus()).and("other.jsonl", other);
    let ran = folder.run("dedup in.jsonl --against other.jsonl -o out.jsonl --removed r.jsonl");
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    against JSON lines of other.jsonl
    items    6
    groups   1, the largest of 3 items
    removed  2 (33.3 %): 2 copy
    kept     4 to out.jsonl
    found    exact; 1 text with too little to compare, compared by content
    time     [TIME]
    ");
    assert_eq!(ids(&folder.read("out.jsonl")), "a c d f");
    snapshot!(folder.read("r.jsonl"), @r#"
    {"id":"b","keep":"test-1","distance":16,"similarity":0.81333333,"level":"copy"}
    {"id":"e","keep":"test-1","distance":16,"similarity":0.81333333,"level":"copy"}
    "#);
    snapshot!(folder.session([
        "dedup in.jsonl --against other.jsonl --group connected",
        "dedup other.jsonl --against other.jsonl -o - --max-remove 1",
    ]), @"
    $ lookalike dedup in.jsonl --against other.jsonl --group connected
    exit 2
    --- stderr
    error: --against removes what is alike something in OTHER; chains have no part in it: leave --group out

    $ lookalike dedup other.jsonl --against other.jsonl -o - --max-remove 1
    exit 0
    --- stderr
    reading JSON lines of other.jsonl
    against JSON lines of other.jsonl
    items    2
    groups   2, the largest of 2 items
    removed  2 (100.0 %): 2 copy
    kept     0 to standard output
    found    exact; 2 texts with too little to compare, compared by content
    time     [TIME]
    ");
}

#[test]
fn what_is_skipped_of_the_other_set_is_counted_separately() {
    let folder = Folder::with("in.jsonl", corpus() + "broken\n")
        .and("other.jsonl", format!("no json\n{{\"id\":1}}\n{}", corpus()));
    snapshot!(folder.session([
        "dedup in.jsonl --against other.jsonl --max-remove 1",
        "dedup in.jsonl --against other.jsonl --max-remove 1 --json --quiet",
    ]), @r#"
    $ lookalike dedup in.jsonl --against other.jsonl --max-remove 1
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    against JSON lines of other.jsonl
    skipped in.jsonl:7: is not a JSON object; write {"text":"..."} on one line
    skipped other.jsonl:1: is not a JSON object; write {"text":"..."} on one line
    skipped other.jsonl:2: no field text; name one with --field: id
    items    6 (1 skipped: 1 broken)
    against  2 skipped: 1 without the field, 1 broken
    groups   3, the largest of 4 items
    removed  would remove 6 (100.0 %): 6 copy
    kept     0
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups

    $ lookalike dedup in.jsonl --against other.jsonl --max-remove 1 --json --quiet
    exit 0
    --- stderr
    {"items":6,"skipped":1,"skipped_by_reason":{"broken":1},"against":{"skipped":2,"skipped_by_reason":{"broken":1,"without the field":1}},"pairs":null,"pairs_by_level":null,"groups":3,"largest_group":4,"least_similarity":0.8045976758003235,"removed":6,"duplicate_ids":0,"removed_by_level":{"copy":6,"near":0,"other":0,"part":0,"similar":0},"kept":0,"looser":null,"looser_by_level":null,"lost_words":0.0,"warning":null,"raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6000000238418579,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":3,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
}

#[test]
fn chains_do_not_glue_strangers_unless_asked_to() {
    let words: Vec<String> = (0..90).map(|word| format!("word{word}")).collect();
    let part = |from: usize| words[from..from + 50].join(" ");
    let chain = rows(&[("a", 1, part(0)), ("b", 1, part(15)), ("c", 1, part(30))]);
    let folder = Folder::with("in.jsonl", chain);
    let at = |more: &str| {
        folder.run(&format!("dedup in.jsonl -o - --distance 128 --similarity 0.4 {more}"))
    };
    assert_eq!(ids(&at("--keep first").stdout), "a c");
    assert_eq!(ids(&at("--keep first --group connected").stdout), "a");
    assert_eq!(ids(&at("--keep last").stdout), "a c");
}

#[test]
fn a_chain_names_the_kept_item_and_the_match_of_each_removed_one() {
    let words: Vec<String> = (0..90).map(|word| format!("word{word}")).collect();
    let part = |from: usize| words[from..from + 50].join(" ");
    let chain = rows(&[("a", 1, part(0)), ("b", 1, part(15)), ("c", 1, part(30))]);
    let folder = Folder::with("in.jsonl", chain);
    let ran = folder.run(
        "dedup in.jsonl --keep first --distance 128 --similarity 0.4 --group connected \
         --removed r.csv --groups g.jsonl --report r.html",
    );
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    items    3
    pairs    2: 2 similar
    groups   1, the largest of 3 items
    removed  would remove 2 (66.7 %): 2 similar
    kept     1
    warning  45.0 % of the removed words occur in no kept item: look at --report, or ask for --level copy
    found    exact
    time     [TIME]
    ");
    snapshot!(folder.read("r.csv"), @"
    id,keep,alike,distance,similarity,level
    b,a,a,37,0.53608245,similar
    c,a,b,24,0.53608245,similar
    ");
    snapshot!(folder.read("g.jsonl"), @r#"{"group":1,"keep":"a","members":[{"id":"b","alike":"a","distance":37,"similarity":0.53608245,"level":"similar"},{"id":"c","alike":"b","distance":24,"similarity":0.53608245,"level":"similar"}]}"#);
    let page = folder.read("r.html");
    assert_eq!(page.matches("\"alike\":").count(), 1);
    assert!(page.contains("\"alike\":\"b\",\"id\":\"c\""));
}

#[test]
fn a_damaged_input_does_not_stop_the_others() {
    let folder = Folder::with("in.jsonl", corpus())
        .and("cut.jsonl.zst", &zstd::encode_all(corpus().as_bytes(), 3).unwrap()[..9]);
    let ran = folder.run("dedup in.jsonl cut.jsonl.zst -o out.jsonl --keep first");
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    skipped cut.jsonl.zst: cannot be read: incomplete frame; the file may be damaged or cut short
    items    6 (1 skipped: 1 unreadable input)
    groups   2, the largest of 3 items
    removed  3 (50.0 %): 3 copy
    kept     3 to out.jsonl
    found    exact
    time     [TIME]
    ");
    assert_eq!(ids(&folder.read("out.jsonl")), "a b f");
    snapshot!(folder.session([
        "dedup cut.jsonl.zst -o -",
        "dedup cut.jsonl.zst cut.jsonl.zst -o -",
        "dedup in.jsonl nowhere.jsonl -o -",
        "dedup in.jsonl cut.jsonl.zst -o - --strict",
    ]), @"
    $ lookalike dedup cut.jsonl.zst -o -
    exit 2
    --- stderr
    error: cut.jsonl.zst: cannot be read: incomplete frame; the file may be damaged or cut short

    $ lookalike dedup cut.jsonl.zst cut.jsonl.zst -o -
    exit 2
    --- stderr
    error: none of the 2 inputs can be read; the first: skipped cut.jsonl.zst: cannot be read: incomplete frame; the file may be damaged or cut short

    $ lookalike dedup in.jsonl nowhere.jsonl -o -
    exit 2
    --- stderr
    error: nowhere.jsonl: no such file; check the name

    $ lookalike dedup in.jsonl cut.jsonl.zst -o - --strict
    exit 2
    --- stderr
    error: cut.jsonl.zst: cannot be read: incomplete frame; the file may be damaged or cut short (--strict stops at the first; without it, it is skipped)
    ");
}

#[test]
fn a_field_that_no_row_has_is_refused() {
    let folder = Folder::with("in.jsonl", corpus());
    snapshot!(folder.session([
        "dedup in.jsonl -o out.jsonl --field txet",
        "dedup in.jsonl -o out.jsonl --keep scroe:desc",
    ]), @"
    $ lookalike dedup in.jsonl -o out.jsonl --field txet
    exit 2
    --- stderr
    reading JSON lines of in.jsonl
    error: --field txet: none of 6 rows has a field of that name; skipped in.jsonl:1: no field txet; name one with --field: id, score, text

    $ lookalike dedup in.jsonl -o out.jsonl --keep scroe:desc
    exit 2
    --- stderr
    reading JSON lines of in.jsonl
    error: --keep scroe: no item has a field of that name with a value to go by
    ");
    assert_eq!(folder.names(), ["in.jsonl"]);
}

#[test]
fn standard_input_tells_texts_from_fingerprints() {
    let folder = Folder::new();
    let pairs = |stdin: &str| {
        let ran = folder.run_with("pairs -", stdin);
        (ran.exit, ran.stdout.lines().count())
    };
    assert_eq!(pairs(&corpus()), (0, 4));
    assert_eq!(pairs("1\n2\n3\n"), (0, 3));
}

#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_while_it_copies_files_leaves_none() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    for file in 0..3000 {
        fs::write(folder.path(&format!("in/{file}.txt")), format!("{FERRY} {file}")).unwrap();
    }
    let mut child = folder.command("dedup in -o out --similarity 1").spawn().unwrap();
    let is_writing = || {
        let partial = folder.names().into_iter().find(|name| name.ends_with(".partial"));
        partial.is_some_and(|name| {
            fs::read_dir(folder.path(&name)).is_ok_and(|mut entries| entries.next().is_some())
        })
    };
    while !is_writing() && child.try_wait().unwrap().is_none() {}
    // It may have come to its end before.
    let kill = format!("kill -INT {}", child.id());
    let _ = std::process::Command::new("sh").args(["-c", &kill]).status();
    let ended = child.wait().unwrap();
    let expected: &[&str] = if ended.success() { &["in", "out"] } else { &["in"] };
    assert_eq!(folder.names(), expected, "{ended}");
}

#[test]
fn levels_say_how_alike_removed_texts_must_be() {
    let folder = Folder::with("in.jsonl", corpus());
    let kept =
        |more: &str| ids(&folder.run(&format!("dedup in.jsonl -o - --keep first {more}")).stdout);
    assert_eq!(kept("--level similar"), "a b f");
    assert_eq!(kept("--similarity 1"), "a b c d f");
    assert_eq!(kept("--no-verify --distance 0"), "a b c d f");
    assert_eq!(kept("--recipe simhash64 --distance 0"), "a b c d f");
    snapshot!(folder.session(["dedup in.jsonl --level copies", "dedup in.jsonl --level part"]), @"
    $ lookalike dedup in.jsonl --level copies
    exit 2
    --- stderr
    error: invalid value 'copies' for '--level <NAME>'
      [possible values: copy, near, similar, part]

      tip: a similar value exists: 'copy'

    For more information, try '--help'.

    $ lookalike dedup in.jsonl --level part
    exit 2
    --- stderr
    error: --level part is for images; texts that contain each other: --measure containment
    ");
}

#[test]
fn the_answer_is_the_same_on_any_number_of_threads_and_in_little_memory() {
    let text = |row: usize| {
        let words = (0..60)
            .map(|word| format!("w{}", (row / 3 * 7919 + word * 31) % 4000 + word % (row % 3 + 2)));
        words.collect::<Vec<_>>().join(" ")
    };
    let names: Vec<String> = (0..600).map(|row| format!("r{row}")).collect();
    let all: Vec<_> = (0..600).map(|row| (names[row].as_str(), 1, text(row))).collect();
    let folder = Folder::with("in.jsonl", rows(&all));
    let at = |more: &str| {
        let ran = folder.run(&format!("dedup in.jsonl -o - -q --max-remove 1 {more}"));
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        ran.stdout
    };
    let expected = at("--threads 1");
    assert!((100..500).contains(&expected.lines().count()), "{}", expected.lines().count());
    for more in ["--threads 3", "--memory 1M", "--memory 1M --threads 2", "--kernel portable"] {
        assert_eq!(at(more), expected, "{more}");
    }
}

/// Texts of 50 words each, that begin at these of 90.
fn shifted(starts: &[usize]) -> String {
    let words: Vec<String> = (10..100).map(|word| format!("word{word}")).collect();
    let names: Vec<String> = starts.iter().map(|start| format!("t{start}")).collect();
    let texts = starts.iter().zip(&names);
    let all: Vec<_> =
        texts.map(|(at, name)| (&name[..], 1, words[*at..at + 50].join(" "))).collect();
    rows(&all)
}

#[test]
fn what_is_only_similar_is_listed_and_counted_and_stays() {
    // 35 of 65 words in common: similarity 0.53.
    let folder = Folder::with("in.jsonl", shifted(&[0, 2, 15]));
    let ran = folder.run(
        "dedup in.jsonl -o out.jsonl --groups g.jsonl --removed r.jsonl --pairs p.jsonl \
         --report r.html",
    );
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    items    3
    pairs    3: 1 copy, 2 similar
    groups   1, the largest of 2 items
    removed  1 (33.3 %): 1 copy
    kept     2 to out.jsonl
    looser   1 more matches a kept item less closely, and stays: 1 similar
    found    exact
    time     [TIME]
    ");
    assert_eq!(ids(&folder.read("out.jsonl")), "t0 t15");
    snapshot!(folder.read("g.jsonl"), @r#"{"group":1,"keep":"t0","members":[{"id":"t2","distance":13,"similarity":0.92258066,"level":"copy"}]}"#);
    snapshot!(folder.read("r.jsonl"), @r#"{"id":"t2","keep":"t0","distance":13,"similarity":0.92258066,"level":"copy"}"#);
    snapshot!(folder.read("p.jsonl"), @r#"
    {"a":"t0","b":"t2","distance":13,"similarity":0.92258066,"level":"copy"}
    {"a":"t0","b":"t15","distance":31,"similarity":0.53608245,"level":"similar"}
    {"a":"t2","b":"t15","distance":26,"similarity":0.5851064,"level":"similar"}
    "#);
    let page = folder.read("r.html");
    assert_eq!(page.matches("\"stays\":true").count(), 1);
    // Looking goes down to the level similar, or to what is asked for.
    snapshot!(folder.session([
        "dedup in.jsonl --quiet --json",
        "dedup in.jsonl --quiet --json --pairs p.jsonl --force",
        "dedup in.jsonl --quiet --json --pairs p.jsonl --force --level similar",
        "dedup in.jsonl --quiet --json --pairs p.jsonl --force --similarity 0.5",
    ]), @r#"
    $ lookalike dedup in.jsonl --quiet --json
    exit 0
    --- stderr
    {"items":3,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":1,"largest_group":2,"least_similarity":0.9225806593894958,"removed":1,"duplicate_ids":0,"removed_by_level":{"copy":1,"near":0,"other":0,"part":0,"similar":0},"kept":2,"looser":null,"looser_by_level":null,"lost_words":0.0,"warning":null,"raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6000000238418579,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":1,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}

    $ lookalike dedup in.jsonl --quiet --json --pairs p.jsonl --force
    exit 0
    --- stderr
    {"items":3,"skipped":0,"skipped_by_reason":{},"pairs":3,"pairs_by_level":{"copy":1,"near":0,"other":0,"part":0,"similar":2},"groups":1,"largest_group":2,"least_similarity":0.9225806593894958,"removed":1,"duplicate_ids":0,"removed_by_level":{"copy":1,"near":0,"other":0,"part":0,"similar":0},"kept":2,"looser":1,"looser_by_level":{"copy":0,"near":0,"other":0,"part":0,"similar":1},"lost_words":0.0,"warning":null,"raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6000000238418579,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":3,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}

    $ lookalike dedup in.jsonl --quiet --json --pairs p.jsonl --force --level similar
    exit 0
    --- stderr
    {"items":3,"skipped":0,"skipped_by_reason":{},"pairs":3,"pairs_by_level":{"copy":1,"near":0,"other":0,"part":0,"similar":2},"groups":1,"largest_group":3,"least_similarity":0.5360824465751648,"removed":2,"duplicate_ids":0,"removed_by_level":{"copy":1,"near":0,"other":0,"part":0,"similar":1},"kept":1,"looser":null,"looser_by_level":null,"lost_words":0.17,"warning":"17.0 % of the removed words occur in no kept item: look at --report, or ask for --level copy","raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.47 (words and word pairs)","bits":128,"distance":null,"similarity":0.4699999988079071,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":3,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}

    $ lookalike dedup in.jsonl --quiet --json --pairs p.jsonl --force --similarity 0.5
    exit 0
    --- stderr
    {"items":3,"skipped":0,"skipped_by_reason":{},"pairs":3,"pairs_by_level":{"copy":1,"near":0,"other":0,"part":0,"similar":2},"groups":1,"largest_group":3,"least_similarity":0.5360824465751648,"removed":2,"duplicate_ids":0,"removed_by_level":{"copy":1,"near":0,"other":0,"part":0,"similar":1},"kept":1,"looser":0,"looser_by_level":{"copy":0,"near":0,"other":0,"part":0,"similar":0},"lost_words":0.17,"warning":"17.0 % of the removed words occur in no kept item: look at --report, or ask for --level copy","raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.5 (words and word pairs)","bits":128,"distance":null,"similarity":0.5,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":3,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
}

#[test]
fn a_looser_match_of_another_set_is_counted_and_stays() {
    let folder = Folder::with("in.jsonl", shifted(&[2, 15, 30])).and("other.jsonl", shifted(&[0]));
    let ran = folder.run("dedup in.jsonl --against other.jsonl -o out.jsonl --pairs p.jsonl");
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    against JSON lines of other.jsonl
    items    3
    pairs    2: 1 copy, 1 similar
    groups   1, the largest of 2 items
    removed  1 (33.3 %): 1 copy
    kept     2 to out.jsonl
    looser   1 more matches a kept item less closely, and stays: 1 similar
    found    exact
    time     [TIME]
    ");
    assert_eq!(ids(&folder.read("out.jsonl")), "t15 t30");
}

#[test]
fn removing_words_that_no_kept_text_has_is_a_warning() {
    // 40 of 60 words in common: similarity 0.66, and 10 of the 50 that go are lost.
    let folder = Folder::with("in.jsonl", shifted(&[0, 10])).and("close.jsonl", shifted(&[0, 2]));
    snapshot!(folder.session([
        "dedup in.jsonl",
        "dedup in.jsonl --quiet --json",
        "dedup close.jsonl --quiet --json",
    ]), @r#"
    $ lookalike dedup in.jsonl
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    items    2
    groups   1, the largest of 2 items
    removed  would remove 1 (50.0 %): 1 near
    kept     1
    warning  20.0 % of the removed words occur in no kept item: look at --report, or ask for --level copy
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups

    $ lookalike dedup in.jsonl --quiet --json
    exit 0
    --- stderr
    {"items":2,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":1,"largest_group":2,"least_similarity":0.6648044586181641,"removed":1,"duplicate_ids":0,"removed_by_level":{"copy":0,"near":1,"other":0,"part":0,"similar":0},"kept":1,"looser":null,"looser_by_level":null,"lost_words":0.2,"warning":"20.0 % of the removed words occur in no kept item: look at --report, or ask for --level copy","raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6000000238418579,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":1,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}

    $ lookalike dedup close.jsonl --quiet --json
    exit 0
    --- stderr
    {"items":2,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":1,"largest_group":2,"least_similarity":0.9225806593894958,"removed":1,"duplicate_ids":0,"removed_by_level":{"copy":1,"near":0,"other":0,"part":0,"similar":0},"kept":1,"looser":null,"looser_by_level":null,"lost_words":0.04,"warning":null,"raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6000000238418579,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":1,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
}

#[test]
fn folders_come_back_as_folders() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/sub")).unwrap();
    fs::write(folder.path("in/a.txt"), FERRY).unwrap();
    fs::write(folder.path("in/sub/b.txt"), FERRY.replace("four", "five")).unwrap();
    fs::write(folder.path("in/sub/c.txt"), POTATOES).unwrap();
    let ran = folder.run("dedup in -o out --groups g.jsonl");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(folder.path("out/a.txt")).unwrap(), FERRY);
    assert_eq!(fs::read_to_string(folder.path("out/sub/c.txt")).unwrap(), POTATOES);
    assert!(!folder.path("out/sub/b.txt").exists() && folder.path("in/sub/b.txt").exists());
}

#[test]
fn rows_that_cannot_be_used_are_listed_and_kept() {
    let bad = format!("{}{{\"id\":\"g\"}}\nno json\n{}", corpus(), rows(&[("h", 1, "...".into())]));
    let folder = Folder::with("in.jsonl", &bad);
    snapshot!(folder.session([
        "dedup in.jsonl -o out.jsonl",
        "dedup in.jsonl -o other.jsonl --strict",
    ]), @r#"
    $ lookalike dedup in.jsonl -o out.jsonl
    exit 0
    --- stderr
    reading JSON lines of in.jsonl
    skipped in.jsonl:7: no field text; name one with --field: id
    skipped in.jsonl:8: is not a JSON object; write {"text":"..."} on one line
    items    7 (2 skipped: 1 without the field, 1 broken)
    groups   2, the largest of 3 items
    removed  3 (42.9 %): 2 copy, 1 near
    kept     4 and 2 records that could not be read to out.jsonl
    found    exact; 1 text with too little to compare, compared by content
    time     [TIME]

    $ lookalike dedup in.jsonl -o other.jsonl --strict
    exit 2
    --- stderr
    reading JSON lines of in.jsonl
    error: in.jsonl:7: no field text; name one with --field: id (--strict stops at the first; without it, it is skipped)
    "#);
    let kept = folder.read("out.jsonl");
    assert!(kept.contains("{\"id\":\"g\"}\nno json\n") && kept.contains("\"...\""), "{kept}");
    assert_eq!(folder.names(), ["in.jsonl", "out.jsonl"]);
}

#[test]
fn texts_without_words_match_equal_texts_and_empty_texts_match_nothing() {
    let texts = ["...", "\u{1f642}", " ...", "!", "", "\u{1f642}", "  "];
    let given: String = texts
        .iter()
        .enumerate()
        .map(|(id, text)| format!("{}\n", serde_json::json!({"id": id, "text": text})))
        .collect();
    let folder = Folder::with("in.jsonl", &given);
    snapshot!(folder.run("dedup in.jsonl -o - --max-remove 1 --keep first"), @r#"
    exit 0
    {"id":0,"text":"..."}
    {"id":1,"text":"🙂"}
    {"id":3,"text":"!"}
    {"id":4,"text":""}
    {"id":6,"text":"  "}
    --- stderr
    reading JSON lines of in.jsonl
    items    7
    groups   2, the largest of 2 items
    removed  2 (28.6 %): 2 copy
    kept     5 to standard output
    found    exact; 5 texts with too little to compare, compared by content; 2 texts empty, never matched
    time     [TIME]
    "#);
}

#[test]
fn outputs_are_never_overwritten_unless_asked() {
    let folder = Folder::with("in.jsonl", corpus()).and("out.jsonl", "mine");
    snapshot!(folder.session([
        "dedup in.jsonl -o out.jsonl",
        "dedup in.jsonl --pairs x.csv --groups x.csv",
    ]), @"
    $ lookalike dedup in.jsonl -o out.jsonl
    exit 2
    --- stderr
    error: out.jsonl: already exists (use --force to overwrite)

    $ lookalike dedup in.jsonl --pairs x.csv --groups x.csv
    exit 2
    --- stderr
    error: x.csv: two outputs share this path; give each its own
    ");
    assert_eq!(folder.read("out.jsonl"), "mine");
    assert_eq!(folder.run("dedup in.jsonl -o out.jsonl --force").exit, 0);
}

#[test]
fn the_summary_is_one_line_of_json_if_asked_for() {
    let ran = Folder::with("in.jsonl", corpus()).run("dedup in.jsonl --json --quiet");
    snapshot!(ran, @r#"
    exit 0
    --- stderr
    {"items":6,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":2,"largest_group":3,"least_similarity":0.7252747416496277,"removed":3,"duplicate_ids":0,"removed_by_level":{"copy":2,"near":1,"other":0,"part":0,"similar":0},"kept":3,"looser":null,"looser_by_level":null,"lost_words":0.0448,"warning":null,"raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6000000238418579,"short":0,"empty":0,"recall":1.0,"found":"set join","verified":2,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
}

#[test]
fn rows_may_carry_features_with_weights() {
    let rows = [
        r#"{"id":"a","features":[["sweet",5],["sour",1],["round",3],["red",2]]}"#,
        r#"{"id":"b","features":{"sweet":5,"sour":1,"round":3,"red":1}}"#,
        r#"{"id":"c","features":[["bitter",5],["long",4],["green",2]]}"#,
        r#"{"id":"d","features":[["sweet","much"]]}"#,
    ];
    let folder = Folder::with("in.jsonl", rows.join("\n") + "\n");
    snapshot!(folder.session([
        "dedup in.jsonl --field features --groups -",
        "hash in.jsonl --field features --quiet",
    ]), @r#"
    $ lookalike dedup in.jsonl --field features --groups -
    exit 0
    {"group":1,"keep":"a","members":[{"id":"b","distance":6,"similarity":1.0,"level":"copy"}]}
    --- stderr
    reading JSON lines of in.jsonl
    skipped in.jsonl:4: the field features is a list, but not of [feature, weight]; write a text, or a list of [feature, weight]
    items    3 (1 skipped: 1 of another type)
    groups   1, the largest of 2 items
    removed  would remove 1 (33.3 %): 1 copy
    kept     2
    found    exact
    time     [TIME]

    $ lookalike hash in.jsonl --field features --quiet
    exit 0
    {"id":"a","fingerprint":"0x5661b133c494d9cd22558daef43b3d46"}
    {"id":"b","fingerprint":"0x5661b133449099cc205589aef43b3d46"}
    {"id":"c","fingerprint":"0xda5c40445992efd1a881beb445005273"}
    "#);
}
