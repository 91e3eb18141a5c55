//! `compare`: two items, or two columns of lines.

use crate::run::{Folder, run};

fn compare(arguments: &[&str]) -> crate::run::Ran {
    let folder = Folder::new();
    let mut command = folder.command("compare");
    command.args(arguments);
    run(command, b"")
}

#[test]
fn fingerprints_within_the_radius_are_alike() {
    compare(&["0xff", "248"]).is("
        exit 0
        distance    3 of 64 bits
        verdict     alike; alike means distance <= 3 of 64 bits
        --- stderr
        comparing fingerprints");
}

#[test]
fn fingerprints_beyond_the_radius_are_different() {
    compare(&["0xff", "248", "--distance", "2", "--quiet", "--kind", "hash"]).is("
        exit 1
        distance    3 of 64 bits
        verdict     different; alike means distance <= 2 of 64 bits
        --- stderr");
}

#[test]
fn texts_are_compared_by_their_words() {
    let ran = compare(&["To be, or not to be", "to be or NOT to be!", "--json"]);
    ran.is(r#"
        exit 0
        {"distance":0,"similarity":1.0,"level":"copy","verdict":"alike","bits":128,"radius":null,"verify":"similarity >= 0.47 (words and word pairs)"}
        --- stderr
        comparing texts"#);
    assert_eq!(compare(&["To be, or not to be", "that is the question"]).exit, 1);
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
    let ran = folder.run("compare a.txt b.txt");
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, "comparing the texts of two files\n"));
    folder
        .run("compare a.txt c.txt")
        .fails("a.txt is a file, but there is no file c.txt; name two files, or give two texts");
}

#[test]
fn every_line_of_standard_input_gets_its_answer() {
    let folder = Folder::new();
    folder.run_with("compare --stdin", "0xff\t0xfe\n1\t0xffff\n5\t5").is("
        exit 0
        1\talike
        15\tdifferent
        0\talike
        --- stderr
        comparing fingerprints");
    folder.run_with("compare --stdin --quiet", "so it is\tSo it is\nso it is\tnot at all\n").is("
        exit 0
        0\talike
        67\tdifferent
        --- stderr");
}

#[test]
fn bad_lines_stop_a_strict_run_with_their_number() {
    let folder = Folder::new();
    let stops = "(--strict stops at the first; without it, it is skipped)";
    for (line, message) in [
        ("7", "one field; separate two items with a tab or a space"),
        ("7 8 9", "3 fields; separate two items with a tab"),
        ("7\t8\t9", "3 fields; separate two items with a tab"),
        ("", "one field; separate two items with a tab or a space"),
        ("7\tx", "\"x\" is not a number; write a fingerprint as decimal, 0x hex or 0b binary"),
        (
            "7\t99999999999999999999",
            "99999999999999999999 does not fit into 64 bits; use --bits 128",
        ),
    ] {
        let ran =
            folder.run_with("compare --stdin --strict --kind hash", format!("1\t1\n{line}\n"));
        assert_eq!(ran.exit, 2);
        assert_eq!(ran.stderr, format!("error: stdin:2: {message} {stops}\n"));
    }
    let ran = folder.run_with("compare --stdin --strict --kind text", "a b\t\n");
    let message = "an empty text has no fingerprint";
    assert_eq!(ran.stderr, format!("error: stdin:1: {message} {stops}\n"));
}

#[test]
fn skipped_lines_keep_the_answers_in_step() {
    Folder::new().run_with("compare --stdin", "1\t1\n2\n3\t0\n").is("
        exit 0
        0\talike
        -\tskipped
        2\talike
        --- stderr
        comparing fingerprints
        skipped stdin:2: one field; separate two items with a tab or a space
        1 line skipped");
}

#[test]
fn the_name_of_a_file_that_is_not_there_is_no_text() {
    let missing = "no such file; check the name, or compare it as a text with --stdin";
    for name in ["nosuch1.txt", "no/such.jpg", "/no/such", "./such"] {
        compare(&[name, "nosuch2.txt"]).fails(&format!("{name}: {missing}"));
        compare(&["--kind", "text", name, "b"]).fails(&format!("{name}: {missing}"));
    }
    let ran = Folder::new().run_with("compare --stdin --kind text", "a.txt b\ta.txt b\n");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "0\talike\n"));
    assert_eq!(compare(&["http://example.org/a", "and/or"]).exit, 1);
}

#[test]
fn as_many_binary_digits_as_the_width_has_bits_are_bits() {
    for bits in [32, 64, 128, 256] {
        let (zeros, one) = ("0".repeat(bits), "0".repeat(bits - 1) + "1");
        let ran = compare(&[&zeros, &one]);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        assert!(
            ran.stdout.starts_with(&format!("distance    1 of {bits} bits\n")),
            "{}",
            ran.stdout
        );
    }
    compare(&["--kind", "hash", "--bits", "256", &"1".repeat(64), &"0".repeat(128)]).fails(
        "1111111111111111111111111111111111111111... has 64 binary digits, not 256; use --bits 64",
    );
}

#[test]
fn wrong_items_and_choices_are_refused() {
    let fails = |arguments: &[&str], message: &str| compare(arguments).fails(message);
    fails(
        &["1", "x", "--kind", "hash"],
        "\"x\" is not a number; write a fingerprint as decimal, 0x hex or 0b binary",
    );
    fails(
        &["4294967296", "1", "--bits", "32"],
        "4294967296 does not fit into 32 bits; use --bits 64",
    );
    fails(&["a b", ""], "an empty text has no fingerprint");
    fails(
        &["a", "b", "--distance", "129"],
        "--distance 129 is more than the 128 bits of a fingerprint; use 128 or less",
    );
    for (option, value, message) in [
        ("--recipe", "wordz", "there is no recipe \"wordz\"; did you mean words?"),
        ("--weights", "logs", "unknown weights \"logs\"; did you mean log?"),
        ("--hash", "xxh", "there is no hash \"xxh\"; did you mean xxh3?"),
        ("--features", "word:2", "words"),
        ("--features", "words:0", "words"),
    ] {
        let ran = compare(&["a", "b", option, value]);
        assert_eq!(ran.exit, 2);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    assert_eq!(compare(&["a"]).exit, 2);
    assert_eq!(compare(&["a", "b", "--stdin"]).exit, 2);
}
