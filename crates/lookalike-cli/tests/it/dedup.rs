//! `dedup`: what goes, what stays, and what is said about it.

use std::fs;

use crate::run::{Folder, Ran};

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

/// What `--json` says.
fn summary(ran: &Ran) -> serde_json::Value {
    let line = ran.stderr.lines().find(|line| line.starts_with('{')).unwrap();
    serde_json::from_str(line).unwrap()
}

#[test]
fn one_of_each_group_is_kept_byte_for_byte() {
    let folder = Folder::with("in.jsonl", corpus());
    let ran = folder.run(
        "dedup in.jsonl --keep first -o out.jsonl --pairs p.jsonl --groups g.jsonl --removed r.csv \
         --report r.html",
    );
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let corpus = corpus();
    let lines: Vec<_> = corpus.split_inclusive('\n').collect();
    assert_eq!(folder.read("out.jsonl"), [lines[0], lines[1], lines[5]].concat());
    assert!(
        folder
            .read("g.jsonl")
            .starts_with("{\"group\":1,\"keep\":\"a\",\"members\":[{\"id\":\"c\",\"distance\":")
    );
    assert_eq!(folder.read("g.jsonl").lines().count(), 2);
    assert!(folder.read("p.jsonl").starts_with("{\"a\":\"a\",\"b\":\"c\",\"distance\":"));
    let removed = folder.read("r.csv");
    let removed: Vec<_> = removed.lines().collect();
    assert_eq!(removed[0], "id,keep,distance,similarity,level");
    assert_eq!((removed.len(), removed[3]), (4, "e,b,0,1.0,copy"));
    let page = folder.read("r.html");
    assert!(page.contains("Bring a coat.") && !page.contains("http://"));
    for line in ["items    6\n", "groups   2, the largest of 3 items", "kept     3 to out.jsonl"] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
}

#[test]
fn what_is_kept_goes_to_standard_output_by_a_dash() {
    let ran = Folder::with("in.jsonl", corpus()).run("dedup in.jsonl -o - --keep first");
    assert_eq!((ran.exit, ids(&ran.stdout).as_str()), (0, "a b f"), "{}", ran.stderr);
    assert!(ran.stderr.contains("kept     3 to standard output\n"), "{}", ran.stderr);
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
        assert_eq!((ran.exit, ids(&ran.stdout).as_str()), (0, kept), "{rule}: {}", ran.stderr);
    }
    let ran = folder.run("dedup in.jsonl -o -");
    assert_eq!(ids(&ran.stdout), "b d f", "the longest is the default");
    let ran = folder.run("dedup in.jsonl --keep newest");
    ran.fails(
        "--keep newest: rows of a table have no time of change; name a field that has it, as in \
         --keep date:desc",
    );
    let ran = folder.run("dedup in.jsonl --keep score");
    assert!(ran.exit == 2 && ran.stderr.contains("score:asc or score:desc"), "{}", ran.stderr);
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
    let ran = folder.run("dedup in.jsonl -o out.jsonl --groups g.jsonl");
    ran.fails(
        "19 of 20 items would be removed, more than the part of 0.9 that --max-remove allows; the \
         largest group has 20 items, kept is x; what is kept was not written. Look at it with \
         --report, then ask for more likeness (--level copy) or allow it (--max-remove 1)",
    );
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
    let refused = |ran: Ran| (ran.exit, summary(&ran)["refused"].to_string());
    let blamed = r#"{"group":2,"items":40,"keep":"y"}"#.to_owned();
    assert_eq!(refused(folder.run("dedup in.jsonl -o out.jsonl --json")), (2, blamed));
    let allowed = folder.run("dedup in.jsonl -o out.jsonl --json --max-remove 1");
    assert_eq!(refused(allowed), (0, "null".to_owned()));
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = Folder::with("in.jsonl", corpus());
    let ran = folder.run("dedup in.jsonl -o out.jsonl --pairs p.csv --report r.html --dry-run");
    assert_eq!((ran.exit, folder.names()), (0, vec!["in.jsonl".to_owned()]));
    assert!(ran.stderr.contains("removed  would remove 3 (50.0 %)"), "{}", ran.stderr);
}

#[test]
fn against_another_set_removes_what_is_in_it_and_nothing_else() {
    let other =
        rows(&[("test-1", 1, POTATOES.replace("oil", "butter")), ("test-2", 1, "Unlike.".into())]);
    let folder = Folder::with("in.jsonl", corpus()).and("other.jsonl", other);
    let ran = folder.run("dedup in.jsonl --against other.jsonl -o out.jsonl --removed r.jsonl");
    assert_eq!(
        (ran.exit, ids(&folder.read("out.jsonl")).as_str()),
        (0, "a c d f"),
        "{}",
        ran.stderr
    );
    let removed = folder.read("r.jsonl");
    assert_eq!(removed.lines().count(), 2);
    for (line, id) in removed.lines().zip(["b", "e"]) {
        assert!(line.starts_with(&format!("{{\"id\":\"{id}\",\"keep\":\"test-1\",")), "{line}");
    }
    folder.run("dedup in.jsonl --against other.jsonl --group connected").fails(
        "--against removes what is alike something in OTHER; chains have no part in it: leave \
         --group out",
    );
    let ran = folder.run("dedup other.jsonl --against other.jsonl -o - --max-remove 1");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""));
}

#[test]
fn what_is_skipped_of_the_other_set_is_counted_apart() {
    let folder = Folder::with("in.jsonl", corpus() + "broken\n")
        .and("other.jsonl", format!("no json\n{{\"id\":1}}\n{}", corpus()));
    let ran = folder.run("dedup in.jsonl --against other.jsonl --max-remove 1");
    let expected = "items    6 (1 skipped: 1 broken)\n\
                    against  2 skipped: 1 without the field, 1 broken\n";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let ran = folder.run("dedup in.jsonl --against other.jsonl --max-remove 1 --json");
    let summary = summary(&ran);
    assert_eq!((&summary["skipped"], &summary["against"]["skipped"]), (&1.into(), &2.into()));
    assert_eq!(summary["against"]["skipped_by_reason"]["without the field"], 1);
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
fn a_chain_names_what_is_kept_and_what_each_is_alike() {
    let words: Vec<String> = (0..90).map(|word| format!("word{word}")).collect();
    let part = |from: usize| words[from..from + 50].join(" ");
    let chain = rows(&[("a", 1, part(0)), ("b", 1, part(15)), ("c", 1, part(30))]);
    let folder = Folder::with("in.jsonl", chain);
    let ran = folder.run(
        "dedup in.jsonl --keep first --distance 128 --similarity 0.4 --group connected \
         --removed r.csv --groups g.jsonl --report r.html",
    );
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let removed = folder.read("r.csv");
    let starts: Vec<_> = removed.lines().map(|line| line.split(',').take(3).collect()).collect();
    let starts: Vec<String> = starts.iter().map(|cells: &Vec<&str>| cells.join(",")).collect();
    assert_eq!(starts, ["id,keep,alike", "b,a,a", "c,a,b"]);
    let group: serde_json::Value = serde_json::from_str(&folder.read("g.jsonl")).unwrap();
    assert_eq!((&group["keep"], &group["members"][1]["alike"]), (&"a".into(), &"b".into()));
    let page = folder.read("r.html");
    assert_eq!(page.matches("\"alike\":").count(), 1);
    assert!(page.contains("\"alike\":\"b\",\"id\":\"c\""));
}

#[test]
fn a_damaged_input_does_not_stop_the_others() {
    let folder = Folder::with("in.jsonl", corpus())
        .and("cut.jsonl.zst", &zstd::encode_all(corpus().as_bytes(), 3).unwrap()[..9]);
    let ran = folder.run("dedup in.jsonl cut.jsonl.zst -o - --keep first");
    assert_eq!((ran.exit, ids(&ran.stdout).as_str()), (0, "a b f"), "{}", ran.stderr);
    assert!(ran.stderr.contains("skipped cut.jsonl.zst: "), "{}", ran.stderr);
    assert_eq!(folder.run("dedup cut.jsonl.zst -o -").exit, 2);
    assert_eq!(folder.run("dedup cut.jsonl.zst cut.jsonl.zst -o -").exit, 2);
    assert_eq!(folder.run("dedup in.jsonl nowhere.jsonl -o -").exit, 2);
    assert_eq!(folder.run("dedup in.jsonl cut.jsonl.zst -o - --strict").exit, 2);
}

#[test]
fn a_field_that_no_row_has_is_refused() {
    let folder = Folder::with("in.jsonl", corpus());
    let ran = folder.run("dedup in.jsonl -o out.jsonl --field txet");
    assert!(
        ran.exit == 2 && ran.stderr.contains("--field txet: none of 6 rows has"),
        "{}",
        ran.stderr
    );
    folder
        .run("dedup in.jsonl -o out.jsonl --keep scroe:desc")
        .fails("--keep scroe: no item has a field of that name with a value to go by");
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
fn levels_say_how_alike() {
    let folder = Folder::with("in.jsonl", corpus());
    let kept =
        |more: &str| ids(&folder.run(&format!("dedup in.jsonl -o - --keep first {more}")).stdout);
    assert_eq!(kept("--level similar"), "a b f");
    assert_eq!(kept("--similarity 1"), "a b c d f");
    assert_eq!(kept("--no-verify --distance 0"), "a b c d f");
    assert_eq!(kept("--recipe simhash64 --distance 0"), "a b c d f");
    let ran = folder.run("dedup in.jsonl --level copies");
    assert!(ran.exit == 2 && ran.stderr.contains("did you mean copy?"), "{}", ran.stderr);
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
         --report r.html --json",
    );
    assert_eq!(
        (ran.exit, ids(&folder.read("out.jsonl")).as_str()),
        (0, "t0 t15"),
        "{}",
        ran.stderr
    );
    let [groups, removed, pairs] =
        ["g", "r", "p"].map(|name| folder.read(&format!("{name}.jsonl")));
    assert_eq!([&groups, &removed, &pairs].map(|file| file.lines().count()), [1, 1, 3]);
    assert_eq!(pairs.matches("\"level\":\"similar\"").count(), 2, "{pairs}");
    let told = summary(&ran);
    assert_eq!((&told["removed"], &told["looser"]), (&1.into(), &1.into()), "{told}");
    assert_eq!((&told["looser_by_level"]["similar"], &told["pairs"]), (&1.into(), &3.into()));
    let page = folder.read("r.html");
    assert_eq!(page.matches("\"stays\":true").count(), 1);

    let plain = summary(&folder.run("dedup in.jsonl -o - --json"));
    assert_eq!((&plain["removed"], &plain["looser"]), (&1.into(), &serde_json::Value::Null));
    let ran = folder.run("dedup in.jsonl --pairs p.jsonl --force");
    let said = "looser   1 more matches a kept item less closely, and stays: 1 similar\n";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    for more in ["--level similar", "--similarity 0.5"] {
        let ran = folder.run(&format!("dedup in.jsonl -o - --json --pairs p.jsonl --force {more}"));
        assert_eq!(ids(&ran.stdout), "t0", "{more}");
        // Looking goes down to the level similar, or to what is asked for.
        assert_eq!(summary(&ran)["looser"].as_u64().unwrap_or(0), 0, "{more}");
    }
    folder
        .run("dedup in.jsonl --level part")
        .fails("--level part is for images; texts that contain each other: --measure containment");
}

#[test]
fn a_looser_match_of_another_set_is_counted_and_stays() {
    let folder = Folder::with("in.jsonl", shifted(&[2, 15, 30])).and("other.jsonl", shifted(&[0]));
    let ran = folder.run("dedup in.jsonl --against other.jsonl -o - --pairs p.jsonl --json");
    assert_eq!(ids(&ran.stdout), "t15 t30", "{}", ran.stderr);
    assert_eq!((&summary(&ran)["looser"], &summary(&ran)["removed"]), (&1.into(), &1.into()));
}

#[test]
fn words_that_no_kept_text_has_are_a_warning() {
    // 40 of 60 words in common: similarity 0.66, and 10 of the 50 that go are lost.
    let folder = Folder::with("in.jsonl", shifted(&[0, 10]));
    let ran = folder.run("dedup in.jsonl");
    let said = "warning  20.0 % of the removed words occur in no kept item: look at --report";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(summary(&folder.run("dedup in.jsonl --json"))["lost_words"], 0.2);
    let ran = Folder::with("in.jsonl", shifted(&[0, 2])).run("dedup in.jsonl --json");
    let told = summary(&ran);
    assert_eq!(told["warning"], serde_json::Value::Null, "{told}");
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
    let ran = folder.run("dedup in.jsonl -o out.jsonl");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let kept = folder.read("out.jsonl");
    assert!(kept.contains("{\"id\":\"g\"}\nno json\n") && kept.contains("\"...\""), "{kept}");
    assert!(ran.stderr.contains("skipped in.jsonl:7: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("skipped in.jsonl:8: "), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("1 text with too little to compare, compared by content"),
        "{}",
        ran.stderr
    );
    assert_eq!(folder.run("dedup in.jsonl --strict -o other.jsonl").exit, 2);
    assert_eq!(folder.names(), ["in.jsonl", "out.jsonl"]);
}

#[test]
fn texts_of_signs_alone_equal_the_same_signs_and_blank_ones_nothing() {
    let texts = ["...", "\u{1f642}", " ...", "!", "", "\u{1f642}", "  "];
    let given: String = texts
        .iter()
        .enumerate()
        .map(|(id, text)| format!("{}\n", serde_json::json!({"id": id, "text": text})))
        .collect();
    let folder = Folder::with("in.jsonl", &given);
    let ran = folder.run("dedup in.jsonl -o out.jsonl --max-remove 1 --keep first");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let gone = [2, 5];
    let lines = given.lines().enumerate().filter(|(line, _)| !gone.contains(line));
    let expected: String = lines.map(|(_, line)| format!("{line}\n")).collect();
    assert_eq!(folder.read("out.jsonl"), expected);
    assert!(ran.stderr.contains("5 texts with too little to compare"), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 texts empty, never matched"), "{}", ran.stderr);
}

#[test]
fn outputs_are_never_overwritten_unless_asked() {
    let folder = Folder::with("in.jsonl", corpus()).and("out.jsonl", "mine");
    let ran = folder.run("dedup in.jsonl -o out.jsonl");
    assert!(ran.exit == 2 && ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(folder.read("out.jsonl"), "mine");
    assert_eq!(folder.run("dedup in.jsonl -o out.jsonl --force").exit, 0);
    let ran = folder.run("dedup in.jsonl --pairs x.csv --groups x.csv");
    ran.fails("x.csv: two outputs share this path; give each its own");
}

#[test]
fn the_summary_speaks_json_too() {
    let ran = Folder::with("in.jsonl", corpus()).run("dedup in.jsonl --json -o -");
    let summary = summary(&ran);
    for (name, value) in [("items", 6), ("groups", 2), ("removed", 3), ("kept", 3), ("skipped", 0)]
    {
        assert_eq!(summary[name], value, "{name} in {summary}");
    }
    assert_eq!((&summary["exact"], &summary["recall"]), (&true.into(), &1.0.into()));
    assert_eq!(summary["removed_by_level"]["copy"].as_u64().map(|copies| copies >= 1), Some(true));
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
    let ran = folder.run("dedup in.jsonl --field features -o - --groups g.jsonl");
    assert_eq!((ran.exit, ids(&ran.stdout).as_str()), (0, "a c d"), "{}", ran.stderr);
    assert!(folder.read("g.jsonl").contains("\"keep\":\"a\",\"members\":[{\"id\":\"b\""));
    assert!(ran.stderr.contains("skipped in.jsonl:4: "), "{}", ran.stderr);
    let prints = folder.run("hash in.jsonl --field features --quiet");
    assert_eq!((prints.exit, prints.stdout.lines().count()), (0, 3), "{}", prints.stderr);
}
