//! `hash` and `recipes`: fingerprints of texts.

use crate::run::{Folder, snapshot};

const LINES: &str = "The quick brown fox\nthe QUICK brown fox!\n\n...\nsomething else entirely\n";

#[test]
fn lines_get_fingerprints_by_number_and_empty_texts_none() {
    let ran = Folder::with("a.txt", LINES).run("hash --lines a.txt --recipe simhash64");
    snapshot!(ran, @r#"
    exit 0
    {"id":1,"fingerprint":"0x0408e106a9900220"}
    {"id":2,"fingerprint":"0x0408e106a9900220"}
    {"id":5,"fingerprint":"0xb52cd90dd0f7933e"}
    --- stderr
    reading lines of a.txt
    skipped a.txt:3: no features in it, so it has no fingerprint
    skipped a.txt:4: no features in it, so it has no fingerprint
    3 items (2 skipped: 2 no features); simhash64: words:3, tf, mix, 64 bits, version 1; alike within 3 bits: use pairs --distance 3; [TIME]
    "#);
}

#[test]
fn files_are_one_item_each_and_go_by_their_name() {
    let folder = Folder::with("a.txt", "one two three").and("b.txt", "one two three");
    let ran = folder.run_with("hash a.txt - b.txt --quiet", "one\ntwo\nthree");
    snapshot!(ran, @r#"
    exit 0
    {"id":"a.txt","fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    {"id":"stdin","fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    {"id":"b.txt","fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    "#);
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
        assert_eq!(named.to_string(), unnamed.to_string(), "{command}");
        assert!(named.exit == 0 && !named.stdout.is_empty(), "{named}");
    }
    assert_eq!(folder.names(), ["a.txt"]);
}

#[test]
fn ids_that_are_numbers_keep_their_digits() {
    let ids =
        ["123456789012345678901234567890", "1.0", "1e3", "-5", "18446744073709551615", "\"7\""];
    let row = |id| format!("{{\"id\": {id} ,\"text\":\"one two three\"}}\n");
    let folder = Folder::with("a.jsonl", ids.map(row).concat());
    let hashed = folder.run("hash a.jsonl -q");
    snapshot!(hashed, @r#"
    exit 0
    {"id":123456789012345678901234567890,"fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    {"id":1.0,"fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    {"id":1e3,"fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    {"id":-5,"fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    {"id":18446744073709551615,"fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    {"id":"7","fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    "#);
    let from_rows = folder.run("pairs a.jsonl -q --no-verify").stdout;
    assert!(from_rows.starts_with(&format!("{{\"a\":{},\"b\":1.0,", ids[0])), "{from_rows}");
    assert_eq!(folder.run_with("pairs - -q", &hashed.stdout).stdout, from_rows);
    folder.run("dedup a.jsonl --removed r.csv");
    snapshot!(folder.read("r.csv"), @"
    id,keep,distance,similarity,level
    1.0,123456789012345678901234567890,0,1.0,copy
    1e3,123456789012345678901234567890,0,1.0,copy
    -5,123456789012345678901234567890,0,1.0,copy
    18446744073709551615,123456789012345678901234567890,0,1.0,copy
    7,123456789012345678901234567890,0,1.0,copy
    ");
}

#[test]
fn fingerprints_of_two_widths_are_not_compared() {
    let folder = Folder::with("a.txt", "one two three\n");
    folder.run("hash a.txt -o a.jsonl");
    folder.run("hash a.txt -o b.jsonl --bits 64");
    let both = folder.read("a.jsonl") + &folder.read("b.jsonl") + "{\"id\":3}\n";
    let folder = folder.and("both.jsonl", both);
    snapshot!(folder.session([
        "pairs both.jsonl",
        "pairs both.jsonl --strict",
        "pairs a.jsonl b.jsonl --strict --kind hash",
    ]), @r#"
    $ lookalike pairs both.jsonl
    exit 0
    --- stderr
    reading fingerprints of 128 bits
    skipped both.jsonl:2: a fingerprint of 64 bits among such of 128; search each width by itself
    skipped both.jsonl:3: no fingerprint; write {"id":...,"fingerprint":"0x..."}
    1 item (2 skipped: 1 not a number, 1 other width); 0 pairs with distance <= 3 of 128 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs both.jsonl --strict
    exit 2
    --- stderr
    reading fingerprints of 128 bits
    error: both.jsonl:2: a fingerprint of 64 bits among such of 128; search each width by itself (--strict stops at the first; without it, it is skipped)

    $ lookalike pairs a.jsonl b.jsonl --strict --kind hash
    exit 2
    --- stderr
    error: b.jsonl: holds fingerprints of 64 bits, but a.jsonl has 128; search each width by itself (--strict stops at the first; without it, it is skipped)
    "#);
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
fn the_encoding_of_text_that_is_not_utf8_is_guessed_and_noted() {
    let folder = Folder::with("a.txt", b"caf\xe9 au lait\nfine as it is\n");
    snapshot!(folder.run("hash --lines a.txt"), @r#"
    exit 0
    {"id":1,"fingerprint":"0xf7d35d064649a9dcd15a0cbe02927084"}
    {"id":2,"fingerprint":"0x252210c06409110c1e4546e214c360bd"}
    --- stderr
    reading lines of a.txt
    note: not UTF-8, and read by its looks: 1 text, 1 as windows-1252
    2 items; words: words:1, log, mix, 128 bits, version 1; alike within 32 bits: use pairs --distance 32; [TIME]
    "#);
}

#[test]
fn what_cannot_be_hashed_is_refused() {
    let folder = Folder::with("a.csv", "a,b\n").and("a.txt", "some text");
    snapshot!(folder.session([
        "hash a.csv",
        "hash b.txt",
        "hash a.txt c.txt",
        "hash - -",
        "hash a.txt -o p.csv",
        "hash a.txt --hash md5-last8 --seed 1",
        "hash a.txt --format jsnl",
    ]), @"
    $ lookalike hash a.csv
    exit 2
    --- stderr
    error: a.csv: no field text; name one with --field: a, b

    $ lookalike hash b.txt
    exit 2
    --- stderr
    error: b.txt: no such file; check the name

    $ lookalike hash a.txt c.txt
    exit 2
    --- stderr
    error: c.txt: no such file; check the name

    $ lookalike hash - -
    exit 2
    --- stderr
    error: -: standard input can be read once only; give - once

    $ lookalike hash a.txt -o p.csv
    exit 2
    --- stderr
    error: p.csv: fingerprints are written as JSON lines; use .jsonl

    $ lookalike hash a.txt --hash md5-last8 --seed 1
    exit 2
    --- stderr
    error: --seed: md5-last8 takes a seed of 0 bits; 0x1 does not fit

    $ lookalike hash a.txt --format jsnl
    exit 2
    --- stderr
    error: invalid value 'jsnl' for '--format <FORMAT>'
      [possible values: jsonl, csv, tsv, parquet, warc, lines, text]

      tip: a similar value exists: 'jsonl'

    For more information, try '--help'.
    ");
}

#[test]
fn rows_are_read_and_bad_ones_listed() {
    let rows = "{\"body\":\"one two three\",\"id\":\"x\"}\nbroken\n{\"body\":\"one two three\"}\n";
    let folder = Folder::with("a.jsonl", rows);
    snapshot!(folder.session(["hash a.jsonl", "hash a.jsonl --strict"]), @r#"
    $ lookalike hash a.jsonl
    exit 0
    {"id":"x","fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    {"id":"a.jsonl:3","fingerprint":"0x3555050d84ac7429ea84a7d1a748b92c"}
    --- stderr
    reading JSON lines of a.jsonl
    note: rows have no field text, so body is read; --field names another
    skipped a.jsonl:2: is not a JSON object; write {"text":"..."} on one line
    2 items (1 skipped: 1 broken); words: words:1, log, mix, 128 bits, version 1; alike within 32 bits: use pairs --distance 32; [TIME]

    $ lookalike hash a.jsonl --strict
    exit 2
    --- stderr
    reading JSON lines of a.jsonl
    error: a.jsonl:2: is not a JSON object; write {"text":"..."} on one line (--strict stops at the first; without it, it is skipped)
    "#);
}

#[test]
fn standard_input_may_be_rows_of_any_format_compressed_or_not() {
    let folder = Folder::new();
    let print = |ran: crate::run::Ran| {
        assert_eq!(ran.exit, 0, "{ran}");
        ran.stdout.split("\"fingerprint\":").nth(1).unwrap().to_owned()
    };
    let text = print(folder.run_with("hash -", "one two three"));
    assert_eq!(print(folder.run_with("hash -", "{\"text\":\"one two three\"}\n")), text);
    let compressed = zstd::encode_all(&b"text\none two three\n"[..], 0).unwrap();
    assert_eq!(print(folder.run_with("hash - --format csv", compressed)), text);
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
    snapshot!("recipes", Folder::new().session(["recipes", "recipes --json"]));
}

#[test]
fn a_model_is_learned_once_and_used_by_name() {
    let folder = Folder::with("a.txt", "the cat\nthe dog\nthe end\n")
        .and("b.txt", "cat end\nthe cat the end\n");
    // The word that all texts have counts for nothing: the texts of b.txt are equal.
    snapshot!(folder.session([
        "recipes learn --lines a.txt --weights tfidf -o m.model",
        "recipes learn --lines a.txt --weights tfidf -o m.model",
        "hash --lines b.txt --weights tfidf --model m.model",
        "hash b.txt --weights tfidf",
        "hash b.txt --weights tfidf --model b.txt",
        "hash b.txt --features words:2 --weights tfidf --model m.model",
    ]), @r#"
    $ lookalike recipes learn --lines a.txt --weights tfidf -o m.model
    exit 0
    --- stderr
    learned from 3 texts: words:1, mix; use it with --model m.model

    $ lookalike recipes learn --lines a.txt --weights tfidf -o m.model
    exit 2
    --- stderr
    error: m.model: already exists (use --force to overwrite)

    $ lookalike hash --lines b.txt --weights tfidf --model m.model
    exit 0
    {"id":1,"fingerprint":"0x03802930106123031053988e00108c00"}
    {"id":2,"fingerprint":"0x03802930106123031053988e00108c00"}
    --- stderr
    reading lines of b.txt
    2 items; own: words:1, tfidf by 3 texts (model 788142505455927c), mix, 128 bits, version 1; alike within 32 bits: use pairs --distance 32; [TIME]

    $ lookalike hash b.txt --weights tfidf
    exit 2
    --- stderr
    error: own weighs by how rare words are elsewhere (tfidf) and needs a corpus model; make one with lookalike recipes learn, and name it with --model

    $ lookalike hash b.txt --weights tfidf --model b.txt
    exit 2
    --- stderr
    error: --model b.txt: this is not a corpus model

    $ lookalike hash b.txt --features words:2 --weights tfidf --model m.model
    exit 2
    --- stderr
    error: --model: the corpus model is of "words:1, mix", but the recipe has "words:2, mix"; learn one with this recipe
    "#);
}

#[test]
fn stop_words_are_taken_by_language_or_from_a_file() {
    let folder =
        Folder::with("a.txt", "the roof of a barn\nroof barn\n").and("own.txt", "THE\nof\na\n");
    for list in ["en", "de,en", "own.txt"] {
        let ran = folder.run(&format!("hash --lines a.txt --stop-words {list}"));
        let prints: Vec<_> = ran.stdout.lines().map(|line| line.split("print").nth(1)).collect();
        assert_eq!(prints[0], prints[1], "{list}: {ran}");
    }
    snapshot!(folder.run("hash a.txt --stop-words eng"), @r#"
    exit 2
    --- stderr
    error: --stop-words: no file eng, and: there are no stop words for "eng"; did you mean en?
    "#);
}
