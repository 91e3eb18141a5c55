//! `compare`: two items, or two columns of lines.

use crate::run::{Folder, Ran, Session, run, snapshot};

fn compare(arguments: &[&str]) -> Ran {
    let folder = Folder::new();
    let mut command = folder.command("compare");
    command.args(arguments);
    run(command, b"")
}

/// Several comparisons, one after the other.
fn comparisons<const N: usize>(all: &[[&str; N]]) -> Session {
    all.iter().map(|arguments| (format!("$ compare {arguments:?}"), compare(arguments))).collect()
}

#[test]
fn fingerprints_within_the_radius_are_alike() {
    snapshot!(compare(&["0xff", "248"]), @"
    exit 0
    distance    3 of 64 bits
    verdict     alike; alike means distance <= 3 of 64 bits
    --- stderr
    comparing fingerprints
    ");
}

#[test]
fn fingerprints_beyond_the_radius_are_different() {
    snapshot!(compare(&["0xff", "248", "--distance", "2", "--quiet", "--kind", "hash"]), @"
    exit 1
    distance    3 of 64 bits
    verdict     different; alike means distance <= 2 of 64 bits
    ");
}

#[test]
fn texts_are_compared_by_their_words() {
    snapshot!(compare(&["To be, or not to be", "to be or NOT to be!", "--json"]), @r#"
    exit 0
    {"distance":0,"similarity":1.0,"level":"copy","verdict":"alike","bits":128,"radius":null,"verify":"similarity >= 0.47 (words and word pairs)"}
    --- stderr
    comparing texts
    "#);
    snapshot!(compare(&["To be, or not to be", "that is the question"]), @"
    exit 1
    distance    56 of 128 bits
    similarity  0.0000
    verdict     different; alike means similarity >= 0.47 (words and word pairs)
    --- stderr
    comparing texts
    ");
}

#[test]
fn every_part_of_a_recipe_can_be_chosen() {
    let plain = compare(&["abc def", "abc defg", "--json"]).stdout;
    for options in [
        ["--recipe", "simhash64"],
        ["--features", "chars:2"],
        ["--hash", "murmur3-128"],
        ["--bits", "256"],
        ["--seed", "7"],
    ] {
        let ran = compare(&["abc def", "abc defg", "--json", options[0], options[1]]);
        assert!(ran.exit < 2, "{}", ran.stderr);
        assert_ne!(ran.stdout, plain, "{options:?}");
    }
    assert!(compare(&["a b", "a b", "--weights", "set"]).exit == 0);
}

#[test]
fn two_names_of_files_mean_their_texts() {
    let folder = Folder::with("a.txt", "one two three").and("b.txt", "One two\nthree.");
    snapshot!(folder.session(["compare a.txt b.txt", "compare a.txt c.txt"]), @"
    $ lookalike compare a.txt b.txt
    exit 0
    distance    0 of 128 bits
    similarity  1.0000
    level       copy
    verdict     alike; alike means similarity >= 0.47 (words and word pairs)
    --- stderr
    comparing the texts of two files

    $ lookalike compare a.txt c.txt
    exit 2
    --- stderr
    error: a.txt is a file, but there is no file c.txt; name two files, or give two texts
    ");
}

#[test]
fn every_line_of_standard_input_gets_its_answer() {
    let folder = Folder::new();
    snapshot!(folder.run_with("compare --stdin", "0xff\t0xfe\n1\t0xffff\n5\t5"), @"
    exit 0
    1	alike
    15	different
    0	alike
    --- stderr
    comparing fingerprints
    ");
    let texts = "so it is\tSo it is\nso it is\tnot at all\n";
    snapshot!(folder.run_with("compare --stdin --quiet", texts), @"
    exit 0
    0	alike
    67	different
    ");
}

#[test]
fn bad_lines_are_skipped_or_stop_a_strict_run() {
    let folder = Folder::new();
    let lines = "1\t1\n7\n7 8 9\n7\t8\t9\n\n7\tx\n7\t99999999999999999999\n3\t0\n";
    snapshot!(folder.run_with("compare --stdin --kind hash", lines), @r#"
    exit 0
    0	alike
    -	skipped
    -	skipped
    -	skipped
    -	skipped
    -	skipped
    -	skipped
    2	alike
    --- stderr
    skipped stdin:2: one field; separate two items with a tab or a space
    skipped stdin:3: 3 fields; separate two items with a tab
    skipped stdin:4: 3 fields; separate two items with a tab
    skipped stdin:5: one field; separate two items with a tab or a space
    skipped stdin:6: "x" is not a number; write a fingerprint as decimal, 0x hex or 0b binary
    skipped stdin:7: 99999999999999999999 does not fit into 64 bits; use --bits 128
    6 lines skipped
    "#);
    snapshot!(folder.run_with("compare --stdin --kind hash --strict", lines), @"
    exit 2
    0	alike
    --- stderr
    error: stdin:2: one field; separate two items with a tab or a space (--strict stops at the first; without it, it is skipped)
    ");
    snapshot!(folder.run_with("compare --stdin --kind text --strict", "a b\t\n"), @"
    exit 2
    --- stderr
    error: stdin:1: an empty text has no fingerprint (--strict stops at the first; without it, it is skipped)
    ");
}

#[test]
fn the_name_of_a_missing_file_is_not_compared_as_a_text() {
    snapshot!(comparisons(&[
        ["nosuch1.txt", "nosuch2.txt"],
        ["no/such.jpg", "nosuch2.txt"],
        ["/no/such", "nosuch2.txt"],
        ["./such", "nosuch2.txt"],
    ]), @r#"
    $ compare ["nosuch1.txt", "nosuch2.txt"]
    exit 2
    --- stderr
    error: nosuch1.txt: no such file; check the name, or compare it as a text with --stdin

    $ compare ["no/such.jpg", "nosuch2.txt"]
    exit 2
    --- stderr
    error: no/such.jpg: no such file; check the name, or compare it as a text with --stdin

    $ compare ["/no/such", "nosuch2.txt"]
    exit 2
    --- stderr
    error: /no/such: no such file; check the name, or compare it as a text with --stdin

    $ compare ["./such", "nosuch2.txt"]
    exit 2
    --- stderr
    error: ./such: no such file; check the name, or compare it as a text with --stdin
    "#);
    snapshot!(comparisons(&[
        ["--kind", "text", "nosuch1.txt", "b"],
        ["--kind", "text", "/no/such", "b"],
    ]), @r#"
    $ compare ["--kind", "text", "nosuch1.txt", "b"]
    exit 2
    --- stderr
    error: nosuch1.txt: no such file; check the name, or compare it as a text with --stdin

    $ compare ["--kind", "text", "/no/such", "b"]
    exit 2
    --- stderr
    error: /no/such: no such file; check the name, or compare it as a text with --stdin
    "#);
    let ran = Folder::new().run_with("compare --stdin --kind text", "a.txt b\ta.txt b\n");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "0\talike\n"));
    assert_eq!(compare(&["http://example.org/a", "and/or"]).exit, 1);
}

#[test]
fn as_many_binary_digits_as_the_width_has_bits_are_bits() {
    for bits in [32, 64, 128, 256] {
        let (zeros, one) = ("0".repeat(bits), "0".repeat(bits - 1) + "1");
        let ran = compare(&[&zeros, &one]);
        let distance = format!("distance    1 of {bits} bits\n");
        assert!(ran.exit == 0 && ran.stdout.starts_with(&distance), "{ran}");
    }
    let digits = ["1".repeat(64), "0".repeat(128)];
    snapshot!(compare(&["--kind", "hash", "--bits", "256", &digits[0], &digits[1]]), @"
    exit 2
    --- stderr
    error: 1111111111111111111111111111111111111111... has 64 binary digits, not 256; use --bits 64
    ");
}

#[test]
fn wrong_items_and_choices_are_refused() {
    snapshot!(comparisons(&[
        ["1", "x", "--kind", "hash"],
        ["4294967296", "1", "--bits", "32"],
        ["a", "b", "--distance", "129"],
        ["a", "b", "--recipe", "wordz"],
        ["a", "b", "--weights", "logs"],
        ["a", "b", "--hash", "xxh"],
        ["a", "b", "--features", "word:2"],
        ["a", "b", "--features", "words:0"],
    ]), @r#"
    $ compare ["1", "x", "--kind", "hash"]
    exit 2
    --- stderr
    error: "x" is not a number; write a fingerprint as decimal, 0x hex or 0b binary

    $ compare ["4294967296", "1", "--bits", "32"]
    exit 2
    --- stderr
    comparing fingerprints
    error: 4294967296 does not fit into 32 bits; use --bits 64

    $ compare ["a", "b", "--distance", "129"]
    exit 2
    --- stderr
    error: --distance 129 is more than the 128 bits of a fingerprint; use 128 or less

    $ compare ["a", "b", "--recipe", "wordz"]
    exit 2
    --- stderr
    error: --recipe wordz: there is no recipe "wordz"; did you mean words?

    $ compare ["a", "b", "--weights", "logs"]
    exit 2
    --- stderr
    error: invalid value 'logs' for '--weights <HOW>'
      [possible values: set, tf, log, tfidf]

      tip: a similar value exists: 'log'

    For more information, try '--help'.

    $ compare ["a", "b", "--hash", "xxh"]
    exit 2
    --- stderr
    error: invalid value 'xxh' for '--hash <NAME>'
      [possible values: mix, xxh3, murmur3-64, murmur3-128, jenkins, md5-first8, md5-last8]

      tip: a similar value exists: 'xxh3'

    For more information, try '--help'.

    $ compare ["a", "b", "--features", "word:2"]
    exit 2
    --- stderr
    error: invalid value 'word:2' for '--features <WHAT:N>': unknown features "word:2"; did you mean words:2?

    For more information, try '--help'.

    $ compare ["a", "b", "--features", "words:0"]
    exit 2
    --- stderr
    error: invalid value 'words:0' for '--features <WHAT:N>': "words:0" needs a shingle size of 1 or more, as in words:2

    For more information, try '--help'.
    "#);
    snapshot!(compare(&["a b", ""]), @"
    exit 2
    --- stderr
    comparing texts
    error: an empty text has no fingerprint
    ");
    snapshot!(compare(&["a"]), @"
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      <B>

    Usage: lookalike compare <A> <B>

    For more information, try '--help'.
    ");
    snapshot!(compare(&["a", "b", "--stdin"]), @"
    exit 2
    --- stderr
    error: the argument '[A]' cannot be used with '--stdin'

    Usage: lookalike compare <A> <B>

    For more information, try '--help'.
    ");
}
