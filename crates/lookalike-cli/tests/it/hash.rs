//! `hash` and `recipes`: fingerprints of texts.

use crate::run::Folder;

const LINES: &str = "The quick brown fox\nthe QUICK brown fox!\n\n...\nsomething else entirely\n";

#[test]
fn lines_get_fingerprints_by_number_and_empty_texts_none() {
    let ran = Folder::with("a.txt", LINES).run("hash --lines a.txt --recipe simhash64");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!((ran.exit, lines.len()), (0, 3), "{}", ran.stderr);
    let print = |line: &str| line.split("\"fingerprint\":").nth(1).unwrap().to_owned();
    assert_eq!(print(lines[0]), print(lines[1]));
    assert_eq!(print(lines[0]).len(), "\"0x0123456789abcdef\"}".len());
    assert!(lines[2].starts_with("{\"id\":5,\"fingerprint\":\"0x"), "{}", lines[2]);
    assert!(
        ran.stderr.starts_with(
            "reading lines of a.txt\n\
             skipped a.txt:3: no features in it, so it has no fingerprint\n\
             skipped a.txt:4: no features in it, so it has no fingerprint\n\
             3 items (2 skipped: 2 no features); simhash64: words:3, tf, mix, 64 bits, version 1; \
             alike within 3 bits: use pairs --distance 3; "
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn files_are_one_item_each_and_go_by_their_name() {
    let folder = Folder::with("a.txt", "one two three").and("b.txt", "one two three");
    let ran = folder.run_with("hash a.txt - b.txt --quiet", "one\ntwo\nthree");
    let ids: Vec<_> = ran.stdout.lines().map(|line| line.split(",\"").next().unwrap()).collect();
    assert_eq!(ids, ["{\"id\":\"a.txt\"", "{\"id\":\"stdin\"", "{\"id\":\"b.txt\""]);
    let prints: Vec<_> = ran.stdout.lines().map(|line| line.split("print").nth(1)).collect();
    assert!(prints[0] == prints[1] && prints[1] == prints[2]);
    assert_eq!(ran.stderr, "");
}

#[test]
fn pairs_reads_what_hash_writes() {
    let folder = Folder::with("a.txt", LINES).and("b.txt", "The quick, brown fox\n");
    for recipe in ["--recipe bare", "--recipe simhash64", "--features words:1 --bits 32"] {
        let prints = folder.run(&format!("hash --lines a.txt {recipe}")).stdout;
        assert_eq!(folder.run_with("pairs -", &prints).pairs(), "1-2:0", "{recipe}");
        folder.run(&format!("hash --lines a.txt b.txt {recipe} -o p.jsonl --force"));
        let expected = "a.txt:1-a.txt:2:0 a.txt:1-b.txt:1:0 a.txt:2-b.txt:1:0";
        assert_eq!(folder.run("pairs p.jsonl").pairs(), expected, "{recipe}");
    }
}

#[test]
fn a_dash_is_standard_output() {
    let folder = Folder::with("a.txt", LINES);
    for command in ["hash --lines a.txt --quiet", "pairs --lines a.txt --quiet"] {
        let (named, unnamed) = (folder.run(&format!("{command} -o -")), folder.run(command));
        assert_eq!((named.exit, named.all()), (0, unnamed.all()), "{command}");
        assert!(!named.stdout.is_empty(), "{command}");
    }
    assert_eq!(folder.names(), ["a.txt"]);
}

#[test]
fn ids_that_are_numbers_keep_their_digits() {
    let ids =
        ["123456789012345678901234567890", "1.0", "1e3", "-5", "18446744073709551615", "\"7\""];
    let row = |id| format!("{{\"id\": {id} ,\"text\":\"one two three\"}}\n");
    let folder = Folder::with("a.jsonl", ids.map(row).concat());
    let hashed = folder.run("hash a.jsonl -q").stdout;
    let written: Vec<_> = hashed.lines().map(|line| line.split(",\"f").next().unwrap()).collect();
    assert_eq!(written, ids.map(|id| format!("{{\"id\":{id}")));
    let from_rows = folder.run("pairs a.jsonl -q --no-verify").stdout;
    assert!(from_rows.starts_with(&format!("{{\"a\":{},\"b\":1.0,", ids[0])), "{from_rows}");
    assert_eq!(folder.run_with("pairs - -q", &hashed).stdout, from_rows);
    folder.run("dedup a.jsonl --removed r.csv");
    let removed = folder.read("r.csv");
    let starts: Vec<_> = removed.lines().skip(1).map(|line| line.split(',').next()).collect();
    assert_eq!(starts, ["1.0", "1e3", "-5", "18446744073709551615", "7"].map(Some));
}

#[test]
fn written_fingerprints_of_two_widths_do_not_meet() {
    let folder = Folder::with("a.txt", "one two three\n");
    folder.run("hash a.txt -o a.jsonl");
    folder.run("hash a.txt -o b.jsonl --bits 64");
    folder.run("pairs a.jsonl b.jsonl --strict --kind hash").fails(
        "b.jsonl: holds fingerprints of 64 bits, but a.jsonl has 128; \
         search each width by itself (--strict stops at the first; without it, it is skipped)",
    );
    let both = folder.read("a.jsonl") + &folder.read("b.jsonl") + "{\"id\":3}\n";
    let ran = folder.run_with("pairs - --strict", &both);
    ran.fails(
        "stdin:2: a fingerprint of 64 bits among such of 128; \
         search each width by itself (--strict stops at the first; without it, it is skipped)",
    );
    let ran = folder.run_with("pairs -", &both);
    assert!(ran.stderr.contains("(2 skipped: 1 not a number, 1 other width)"), "{}", ran.stderr);
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let text: String = (0..5_000).map(|line| format!("line {line} of many\n")).collect();
    let folder = Folder::with("a.txt", text);
    let one = folder.run("hash --lines a.txt --threads 1").stdout;
    assert_eq!(one.lines().count(), 5_000);
    assert_eq!(folder.run("hash --lines a.txt --threads 3").stdout, one);
}

#[test]
fn text_that_is_no_utf8_is_read_by_its_looks_and_noted() {
    let folder = Folder::with("a.txt", b"caf\xe9 au lait\nfine as it is\n");
    let ran = folder.run("hash --lines a.txt");
    assert_eq!(ran.stdout.lines().count(), 2);
    let note = "note: not UTF-8, and read by its looks: 1 text, 1 as windows-1252\n";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_hashed_is_refused() {
    let folder = Folder::with("a.csv", "a,b\n").and("a.txt", "some text");
    folder.run("hash a.csv").fails("a.csv: no field text; name one with --field: a, b");
    folder.run("hash b.txt").fails("b.txt: no such file; check the name");
    folder.run("hash a.txt c.txt").fails("c.txt: no such file; check the name");
    folder.run("hash - -").fails("-: standard input can be read once only; give - once");
    folder
        .run("hash a.txt -o p.csv")
        .fails("p.csv: fingerprints are written as JSON lines; use .jsonl");
    folder
        .run("hash a.txt --hash md5-last8 --seed 1")
        .fails("--seed: md5-last8 takes a seed of 0 bits; 0x1 does not fit");
    let ran = folder.run("hash a.txt --format jsnl");
    assert!(ran.stderr.contains("tip: a similar value exists: 'jsonl'"), "{}", ran.stderr);
}

#[test]
fn rows_are_read_and_bad_ones_listed() {
    let rows = "{\"body\":\"one two three\",\"id\":\"x\"}\nbroken\n{\"body\":\"one two three\"}\n";
    let folder = Folder::with("a.jsonl", rows);
    let ran = folder.run("hash a.jsonl");
    let ids: Vec<_> = ran.stdout.lines().map(|line| line.split(",\"").next().unwrap()).collect();
    assert_eq!(ids, ["{\"id\":\"x\"", "{\"id\":\"a.jsonl:3\""]);
    assert!(
        ran.stderr.starts_with(
            "reading JSON lines of a.jsonl\n\
             note: rows have no field text, so body is read; --field names another\n\
             skipped a.jsonl:2: is not a JSON object; write {\"text\":\"...\"} on one line\n\
             2 items (1 skipped: 1 broken); "
        ),
        "{}",
        ran.stderr
    );
    folder.run("hash a.jsonl --strict").fails(
        "a.jsonl:2: is not a JSON object; write {\"text\":\"...\"} on one line \
         (--strict stops at the first; without it, it is skipped)",
    );
}

#[test]
fn standard_input_may_be_rows_of_any_format_packed_or_not() {
    let folder = Folder::new();
    let print = |ran: crate::run::Ran| {
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        ran.stdout.split("\"fingerprint\":").nth(1).unwrap().to_owned()
    };
    let text = print(folder.run_with("hash -", "one two three"));
    assert_eq!(print(folder.run_with("hash -", "{\"text\":\"one two three\"}\n")), text);
    let packed = zstd::encode_all(&b"text\none two three\n"[..], 0).unwrap();
    assert_eq!(print(folder.run_with("hash - --format csv", packed)), text);
}

#[test]
fn html_is_read_without_its_template() {
    let folder = Folder::with("a.html", "<nav>Home</nav><p>one two three</p>");
    let text = folder.run_with("hash -", "one two three").stdout;
    let page = folder.run("hash a.html --html").stdout;
    assert_eq!(page, text.replace("stdin", "a.html"));
}

#[test]
fn recipes_are_listed_with_what_they_are_for() {
    let ran = Folder::new().run("recipes");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("NAME "));
    let first = "words       128       32  words:1      log     similarity >= 0.47 ";
    assert!(lines[1].starts_with(first), "{}", lines[1]);
    for name in ["words", "bare", "simhash64", "code", "chars"] {
        assert!(lines.iter().any(|line| line.starts_with(&format!("{name} "))), "{name}");
    }
    let ran = Folder::new().run("recipes --json");
    let first = "{\"name\":\"words\",\"bits\":128,\"radius\":32,\"features\":\"words:1\",\"weights\":\"log\",";
    assert!(ran.stdout.starts_with(first), "{}", ran.stdout);
}

#[test]
fn a_model_is_learned_once_and_used_by_name() {
    let folder = Folder::with("a.txt", "the cat\nthe dog\nthe end\n")
        .and("b.txt", "cat end\nthe cat the end\n");
    let learn = "recipes learn --lines a.txt --weights tfidf -o m.model";
    let ran = folder.run(learn);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr, "learned from 3 texts: words:1, mix; use it with --model m.model\n");
    assert_eq!(folder.run(learn).exit, 2);
    let ran = folder.run("hash --lines b.txt --weights tfidf --model m.model");
    let prints: Vec<_> = ran.stdout.lines().map(|line| line.split("print").nth(1)).collect();
    assert_eq!(prints[0], prints[1], "the is in all texts, and so counts nothing");
    folder.run("hash b.txt --weights tfidf").fails(
        "own weighs by how rare words are elsewhere (tfidf) and needs a corpus model; \
         make one with lookalike recipes learn, and name it with --model",
    );
    folder
        .run("hash b.txt --weights tfidf --model b.txt")
        .fails("--model b.txt: this is not a corpus model");
    folder.run("hash b.txt --features words:2 --weights tfidf --model m.model").fails(
        "--model: the corpus model is of \"words:1, mix\", but the recipe has \"words:2, mix\"; \
         learn one with this recipe",
    );
}

#[test]
fn stop_words_are_taken_by_language_or_from_a_file() {
    let folder =
        Folder::with("a.txt", "the roof of a barn\nroof barn\n").and("own.txt", "THE\nof\na\n");
    for list in ["en", "de,en", "own.txt"] {
        let ran = folder.run(&format!("hash --lines a.txt --stop-words {list}"));
        let prints: Vec<_> = ran.stdout.lines().map(|line| line.split("print").nth(1)).collect();
        assert_eq!(prints[0], prints[1], "{list}: {}", ran.stderr);
    }
    folder.run("hash a.txt --stop-words eng").fails(
        "--stop-words: no file eng, and: there are no stop words for \"eng\"; did you mean en?",
    );
}
