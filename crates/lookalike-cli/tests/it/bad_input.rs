//! Input that cannot be used: a message that names place and remedy, or a count and a list.

use crate::{
    pairs_in::{npy, words},
    run::Folder,
};

const STOPS: &str = " (--strict stops at the first; without it, it is skipped)";

/// Something in the input is bad; the rest could do without it.
#[track_caller]
fn refused(content: impl AsRef<[u8]>, arguments: &str, message: &str) {
    unusable(content, &format!("{arguments} --strict"), &format!("{message}{STOPS}"));
}

/// The only input cannot be read at all: there is nothing to go on with.
#[track_caller]
fn unusable(content: impl AsRef<[u8]>, arguments: &str, message: &str) {
    Folder::with("a", content).run(arguments).fails(message);
}

#[test]
fn lines_that_are_no_number_are_named_with_a_remedy() {
    let how = "write a fingerprint as decimal, 0x hex or 0b binary";
    for (line, hint) in [
        ("xyz", ""),
        ("abc", " (if this is hex, write 0xabc)"),
        ("-17", " (it is negative: write it unsigned)"),
        ("17,x", " (an id goes behind a tab)"),
        ("17 x", " (an id goes behind a tab)"),
        ("0x", ""),
        ("1.5", ""),
        ("1e5", " (if this is hex, write 0x1e5)"),
    ] {
        let message = format!("a:2: \"{line}\" is not a number; {how}{hint}");
        refused(format!("1\n{line}\n2\n"), "pairs a", &message);
    }
    refused("1\n\tid\n", "pairs a", &format!("a:2: \"\" is not a number; {how}"));
    refused(b"1\n\xff\x00\n", "pairs a", &format!("a:2: \"\u{fffd}\\0\" is not a number; {how}"));
}

#[test]
fn numbers_too_wide_name_the_width_that_fits() {
    refused(
        "1\n18446744073709551616\n",
        "pairs a",
        "a:2: 18446744073709551616 does not fit into 64 bits; use --bits 128",
    );
    refused(
        "4294967296\n",
        "pairs a --bits 32",
        "a:1: 4294967296 does not fit into 32 bits; use --bits 64",
    );
    let huge = format!("0x1{}", "0".repeat(64));
    refused(
        format!("{huge}\n"),
        "pairs a",
        "a:1: 0x10000000000000000000000000000000000000... does not fit into 64 bits; \
         the widest fingerprints have 256 bits",
    );
}

#[test]
fn endless_lines_are_not_kept_in_memory() {
    refused(
        [b"1\n2\n3\n".as_slice(), &[b'7'; 200_000], b"\n4\n"].concat(),
        "pairs a",
        "a:4: more than 65536 bytes in a line; write a fingerprint as decimal, 0x hex or 0b binary",
    );
}

#[test]
fn bad_lines_are_skipped_counted_and_listed() {
    Folder::with("a", "1\nx\n3\n99999999999999999999\n\n0\tzero\n")
        .run("pairs a --distance 1")
        .is(r#"
        exit 0
        {"a":1,"b":3,"distance":1,"similarity":null,"level":null}
        {"a":1,"b":"zero","distance":1,"similarity":null,"level":null}
        --- stderr
        reading fingerprints of 64 bits
        skipped a:2: "x" is not a number; write a fingerprint as decimal, 0x hex or 0b binary
        skipped a:4: 99999999999999999999 does not fit into 64 bits; use --bits 128
        3 items (2 skipped: 1 not a number, 1 too wide); 2 pairs with distance <= 1 of 64 bits; 0 groups of equal items; exact ..."#);
}

#[test]
fn the_list_of_skipped_lines_ends_after_twenty() {
    let text = "x\n".repeat(1_000) + "1\n";
    let ran = Folder::with("a", text).run("pairs a --kind hash");
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 24);
    assert_eq!(lines[0], "reading fingerprints of 64 bits");
    assert!(lines[20].starts_with("skipped a:20: \"x\""), "{}", lines[20]);
    assert_eq!(lines[21], "and 980 more; --skipped FILE lists all");
    assert!(lines[22].starts_with("1 item (1,000 skipped: 1,000 not a number);"), "{}", lines[22]);
}

#[test]
fn all_that_is_skipped_is_listed_in_a_file() {
    let row = |line: u64| match line {
        25 => "{\"id\":1}\n".to_owned(),
        line => format!("broken {line}\n"),
    };
    let rows: String = (1..=30).map(row).collect();
    let folder =
        Folder::with("a.jsonl", rows + "{\"text\":\"one two three\"}\n").and("b", "x\n1\n");
    for command in ["dedup", "pairs", "hash"] {
        let ran = folder.run(&format!("{command} a.jsonl --skipped s.csv --force"));
        assert!(ran.exit == 0 && ran.stderr.contains("\nand 10 more\n"), "{}", ran.stderr);
        let list = folder.read("s.csv");
        let lines: Vec<_> = list.lines().collect();
        assert_eq!((lines[0], lines.len()), ("file,line,items,reason,message", 31), "{command}");
        assert_eq!(
            lines[25],
            "a.jsonl,25,1,without the field,no field text; name one with --field: id"
        );
    }
    let ran = folder.run("dedup --kind hash b --skipped -");
    assert!(ran.stdout.starts_with(r#"{"file":"b","line":1,"items":1,"reason":"not a number","#));
    for command in ["dedup -o - a.jsonl", "pairs a.jsonl", "hash a.jsonl"] {
        folder
            .run(&format!("{command} --skipped -"))
            .fails("-: two outputs share this path; give each its own");
    }
    assert_eq!(folder.run("dedup a.jsonl --skipped t.csv --dry-run").exit, 0);
    assert_eq!(folder.names(), ["a.jsonl", "b", "s.csv"]);
}

#[test]
fn text_is_told_apart_from_fingerprints() {
    let ran = Folder::new().run_with("pairs - --kind hash", "The quick\nbrown fox\n");
    let nothing = "nothing could be read: 2 records skipped; the first: stdin:1: \"The quick\"";
    assert!(ran.exit == 2 && ran.stderr.contains(nothing), "{}", ran.stderr);
    let ran = Folder::new().run_with("pairs -", "The quick\nbrown fox\n");
    assert!(ran.exit == 0 && ran.stderr.starts_with("reading text"), "{}", ran.stderr);
    let folder =
        Folder::with("a", "1\n").and("b", "The quick\nbrown fox\n").and("c.csv", "text\n1\n");
    for (input, what) in [("a", "fingerprints of 64 bits"), ("b", "text"), ("c.csv", "csv")] {
        let ran = folder.run(&format!("pairs {input}"));
        let said = ran.stderr.to_lowercase();
        assert!(ran.exit == 0 && said.starts_with(&format!("reading {what}")), "{input}: {said}");
    }
}

#[test]
fn arrays_that_are_no_fingerprints_are_refused_with_a_remedy() {
    let data = words(&[1, 2, 3, 4, 5, 6]);
    for (dtype, shape, message) in [
        ("<i8", "(6,)", "holds int64, shape (6,); save array.view('uint64') (or uint32) instead"),
        (
            "<f8",
            "(6,)",
            "holds float64, shape (6,); fingerprints are uint64 (or uint32 for 32 bits)",
        ),
        (
            "|u1",
            "(6, 8)",
            "holds uint8, shape (6, 8); fingerprints are uint64 (or uint32 for 32 bits)",
        ),
        (">u8", "(6,)", "holds big-endian uint64, shape (6,); save array.astype('<u8') instead"),
        (
            "<u8",
            "(2, 3)",
            "holds uint64, shape (2, 3); uint64 fingerprints have shape (n,), (n, 2) or (n, 4)",
        ),
        (
            "<u8",
            "()",
            "holds uint64, shape (); uint64 fingerprints have shape (n,), (n, 2) or (n, 4)",
        ),
        ("<u4", "(6, 2)", "holds uint32, shape (6, 2); uint32 fingerprints have shape (n,)"),
        (
            "<u8",
            "what",
            "has a .npy header that is not understood: {'descr': '<u8', 'fortran_order': False,...",
        ),
    ] {
        unusable(npy(1, dtype, shape, &data), "pairs a", &format!("a: {message}"));
    }
    let numbers = |shape| npy(1, "<u8", shape, &data);
    refused(numbers("(7,)"), "pairs a", "a: ends after 6 of 7 rows; save or copy it again");
    refused(numbers("(5,)"), "pairs a", "a: goes on after its array; save one array a file");
    let fortran =
        String::from_utf8_lossy(&npy(1, "<u8", "(3, 2)", b"")[10..]).replace("False", "True");
    let file =
        [b"\x93NUMPY\x01\0".as_slice(), &[fortran.len() as u8, 0], fortran.as_bytes()].concat();
    unusable(
        file,
        "pairs a",
        "a: holds uint64 in Fortran order, shape (3, 2); save numpy.ascontiguousarray(array) instead",
    );
    unusable(
        b"\x93NUMPY\x09\0\0\0",
        "pairs a",
        "a: .npy version 9 is not known; versions 1 to 3 are",
    );
    unusable(
        b"\x93NUMPY\x01\0\xff",
        "pairs a",
        "a: starts like a .npy array, but its header is cut short",
    );
}

#[test]
fn widths_that_do_not_go_together_are_named() {
    let narrow = npy(1, "<u8", "(2,)", &words(&[1, 2]));
    let wide = npy(1, "<u8", "(1, 2)", &words(&[1, 2]));
    let folder = Folder::with("a.npy", narrow).and("b.npy", wide);
    folder.run("pairs a.npy b.npy --strict").fails(&format!(
        "b.npy: holds fingerprints of 128 bits, but a.npy has 64; search each width by itself{STOPS}"
    ));
    folder.run("pairs b.npy --bits 64").fails(
        "nothing could be read: 1 record skipped; the first: b.npy: holds fingerprints of 128 bits, \
         but --bits has 64; leave --bits out",
    );
    let ran = folder.run("pairs a.npy b.npy");
    assert!(ran.stderr.contains("2 items (1 skipped: 1 unreadable input)"), "{}", ran.stderr);
}

#[test]
fn inputs_that_cannot_be_opened_are_named() {
    let folder = Folder::with("a", "1\n3\n");
    folder.run("pairs b").fails("b: no such file; check the name");
    folder.run("pairs . --kind hash").fails(".: is a folder; name the files in it");
    folder.run("pairs a b").fails("b: no such file; check the name");
    folder.run("pairs b a").fails("b: no such file; check the name");
    folder.run("pairs - -").fails("-: standard input can be read once only; give - once");
}

#[test]
fn foreign_and_damaged_packings_are_named() {
    unusable(
        b"\x04\x22\x4d\x18rest",
        "pairs a",
        "a: is packed as lz4, which is not read; unpack it first: lz4 -dc FILE | lookalike ... -",
    );
    unusable(
        b"PK\x03\x04rest",
        "pairs a",
        "a: is a zip or .npz archive; save one array with numpy.save",
    );
    for damaged in [b"\x1f\x8b\x08\0garbage".as_slice(), b"BZh91AYgarbage", b"\xfd7zXZ\0garbage"] {
        let ran = Folder::with("a", damaged).run("pairs a");
        assert_eq!(ran.exit, 2);
        assert!(ran.stderr.contains("a: cannot be read: "), "{}", ran.stderr);
    }
}

fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn utf_16_with_its_mark_is_read_in_every_text_format() {
    let text = |line: &str| utf16(&line.replace('|', "the same seven words are in both rows"));
    let folder = Folder::with("a.jsonl", text("{\"text\":\"|\"}\n{\"text\":\"|\"}\n"))
        .and("a.csv", text("id,text\r\n1,|\r\n2,|\r\n"))
        .and("a.tsv", text("id\ttext\n1\t|\n2\t|\n"))
        .and("a.txt", text("|\n|\n"))
        .and("hashes", text("1\n3\n"));
    for input in ["a.jsonl", "a.csv", "a.tsv", "--lines a.txt"] {
        let ran = folder.run(&format!("pairs {input}"));
        assert_eq!((ran.exit, ran.stdout.lines().count()), (0, 1), "{input}: {}", ran.stderr);
    }
    assert_eq!(folder.run("pairs hashes").pairs(), "1-2:1");
    let ran = folder.run_with("compare --stdin", utf16("one two\tone two\n"));
    assert_eq!(ran.stdout, "0\talike\n", "{}", ran.stderr);
    let ran = folder.run("dedup a.jsonl -o -");
    assert_eq!(ran.stdout, "{\"text\":\"the same seven words are in both rows\"}\n");
}

#[test]
fn a_run_that_could_read_nothing_fails_and_writes_nothing() {
    let folder = Folder::with("a.jsonl", "{\"body\":1}\n[]\n")
        .and("b.txt", b"%PDF-1.4\n\0")
        .and("good.jsonl", "{\"text\":\"some words\"}\n")
        .and("empty.jsonl", "");
    std::fs::create_dir(folder.path("images")).unwrap();
    std::fs::write(folder.path("images/a.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    std::fs::create_dir(folder.path("texts")).unwrap();
    std::fs::write(folder.path("texts/a.png"), b"no image").unwrap();
    let names = folder.names();
    for command in [
        "dedup --kind image images -o out",
        "pairs --kind image texts -o out.jsonl",
        "dedup a.jsonl -o out.jsonl",
        "dedup b.txt -o out",
        "pairs a.jsonl -o out.jsonl",
        "hash a.jsonl -o out.jsonl",
        "dedup good.jsonl --against a.jsonl -o out.jsonl",
    ] {
        let ran = folder.run(command);
        assert_eq!(ran.exit, 2, "{command}");
        assert!(ran.stderr.contains("error: nothing could be read: "), "{command}: {}", ran.stderr);
        assert_eq!(folder.names(), names, "{command}");
    }
    assert_eq!(folder.run("pairs empty.jsonl").exit, 0);
}

#[test]
fn an_output_never_replaces_what_is_read() {
    let rows = "{\"text\":\"some words\"}\n";
    let folder = Folder::with("a.jsonl", rows).and("b.jsonl", rows);
    std::fs::create_dir(folder.path("in")).unwrap();
    std::fs::write(folder.path("in/c.txt"), "some words").unwrap();
    std::fs::hard_link(folder.path("a.jsonl"), folder.path("hard.jsonl")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("a.jsonl", folder.path("soft.jsonl")).unwrap();
    for (command, target) in [
        ("dedup a.jsonl -o", "a.jsonl"),
        ("dedup a.jsonl -o", "./a.jsonl"),
        ("dedup a.jsonl -o", "in/../a.jsonl"),
        ("dedup a.jsonl -o", "hard.jsonl"),
        #[cfg(unix)]
        ("dedup a.jsonl -o", "soft.jsonl"),
        ("dedup b.jsonl --against a.jsonl --groups", "a.jsonl"),
        ("dedup a.jsonl --report", "a.jsonl"),
        ("dedup a.jsonl --skipped", "a.jsonl"),
        ("pairs a.jsonl -o", "a.jsonl"),
        ("hash a.jsonl -o", "a.jsonl"),
    ] {
        let message = format!("{target}: is an input, and never replaced; name another");
        folder.run(&format!("{command} {target} --force")).fails(&message);
    }
    folder
        .run("pairs in -o in/c.txt --force")
        .fails("in/c.txt: is in in, which is read, so it is never replaced; name another");
    folder.run("dedup a.jsonl -o x/").fails("x/: is the name of a folder; name a file in it");
    folder.run("dedup a.jsonl -o in").fails("in: is a folder; name a file in it");
    assert_eq!(folder.read("a.jsonl"), rows);
}

#[test]
fn a_field_that_no_row_has_is_an_error_before_or_after_reading() {
    let folder = Folder::with("a.csv", "id,text\n1,some words\n")
        .and("a.jsonl", "{\"id\":1,\"text\":\"some words\"}\n");
    folder.run("pairs a.csv --id key").fails("--id key: no input has a column of that name");
    folder
        .run("dedup a.csv --keep score:desc")
        .fails("--keep score: no input has a column of that name");
    folder.run("pairs a.jsonl --id key").fails("--id key: none of 1 row has a field of that name");
    assert_eq!(folder.run("pairs a.csv a.jsonl --id id").exit, 0);
}

#[test]
fn ids_that_come_again_are_counted() {
    let folder = Folder::with("a.csv", "id,text\nx,one two\ny,three four\nx,five six\n");
    for command in ["pairs a.csv", "dedup a.csv"] {
        let ran = folder.run(command);
        let note = "note: 1 item has an id that an earlier item has, the first \"x\"\n";
        assert!(ran.stderr.contains(note), "{}", ran.stderr);
        let ran = folder.run(&format!("{command} --json --quiet"));
        assert!(ran.stderr.contains("\"duplicate_ids\":1,"), "{}", ran.stderr);
    }
}

#[test]
fn a_list_of_texts_is_features_only_in_a_field_of_that_name() {
    let folder = Folder::with("a.jsonl", "{\"text\":[\"one\",\"two\"]}\n{\"text\":\"x\"}\n")
        .and("b.jsonl", "{\"features\":[\"one\",\"two\"]}\n");
    let ran = folder.run("hash a.jsonl");
    let said = "skipped a.jsonl:1: the field text is a list of texts; join them to one text, or call \
                the field features if each is a feature\n";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(folder.run("hash b.jsonl --field features").stdout.lines().count(), 1);
}

#[test]
fn html_files_are_compared_by_their_main_text() {
    let page = |text: &str| format!("<!doctype html><nav>Home News Shop</nav><p>{text}</p>");
    let folder = Folder::with("a.html", page("one two three four five six"))
        .and("b.txt", "one two three four five six")
        .and("c", page("seven eight nine ten eleven twelve"));
    let ran = folder.run("pairs a.html b.txt c");
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    let note =
        "note: 2 texts are web pages, compared by the main text; --markup keeps the markup\n";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    assert_eq!(folder.run("compare a.html b.txt").exit, 0);
    let ran = folder.run("pairs a.html b.txt c --markup");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(folder.run("compare a.html b.txt --markup").exit, 1);
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_one() {
    let folder = Folder::with("a", "1\n3\n").and(".lookalike-abc123.partial", "half");
    std::fs::create_dir(folder.path(".lookalike-XYZ789.partial")).unwrap();
    let alive = std::fs::File::create(folder.path(".lookalike-alive1.partial")).unwrap();
    alive.lock().unwrap();
    let folder = folder.and(".lookalike-7-1.partial", "of a journal");
    assert_eq!(folder.run("pairs a -o b.jsonl").exit, 0);
    let left = [".lookalike-7-1.partial", ".lookalike-alive1.partial", "a", "b.jsonl"];
    assert_eq!(folder.names(), left);
}

#[test]
fn windows_larger_than_the_memory_limit_are_refused() {
    // A frame that states a window of 2 GiB: descriptor 0, exponent 21.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x11, 0x00, 0x00, b'1', b'\n'];
    let folder = Folder::with("a.zst", frame);
    let ran = folder.run("pairs a.zst --kind hash --memory 300M");
    let message =
        "a.zst: cannot be unpacked within --memory: its window is too large; use --memory 4G";
    assert!(ran.exit == 2 && ran.stderr.contains(message), "{}", ran.stderr);
}

#[test]
fn a_memory_limit_too_small_for_the_texts_names_one_that_works() {
    let folder = Folder::with("a.txt", "word\n".repeat(400_000));
    for command in ["pairs", "dedup"] {
        folder
            .run(&format!("{command} --lines a.txt --memory 1M"))
            .fails("--memory is too small for 400,000 texts; use at least --memory 15M");
    }
}

#[test]
fn a_zstd_file_may_begin_with_a_frame_to_be_skipped() {
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let file = [skipped.as_slice(), &zstd::encode_all(&b"1\n3\n"[..], 0).unwrap()].concat();
    assert_eq!(Folder::with("a", file).run("pairs a").pairs(), "1-2:1");
}

#[test]
fn choices_that_cannot_work_are_refused_with_one_that_can() {
    let folder = Folder::with("a", "1\n");
    let run = |options: &str| folder.run(&format!("pairs a {options}"));
    run("--distance 65")
        .fails("--distance 65 is more than the 64 bits of a fingerprint; use 64 or less");
    run("--distance 33 --bits 32")
        .fails("--distance 33 is more than the 32 bits of a fingerprint; use 32 or less");
    run("--blocks 3").fails(
        "--blocks 3 cannot find pairs within 3 bits; use at least 4 blocks, or leave it out",
    );
    run("--blocks 65").fails("--blocks: 64 bits cannot be cut into 65 blocks; use at most 64");
    run("--threads 0").fails("--threads 0: use at least 1, or leave it out for all cores");
    run("--temp none").fails("--temp none: no such folder");
}

#[test]
fn values_that_cannot_be_read_say_how_to_write_them() {
    let folder = Folder::with("a", "1\n");
    for (options, message) in [
        ("--bits 100", "fingerprints have 32, 64, 128 or 256 bits, not 100"),
        ("--bits x", "write 32, 64, 128 or 256"),
        ("--distance -1", "unexpected argument '-1'"),
        ("--distance x", "write a number of bits, such as 3"),
        ("--memory x", "write a size such as 512M or 2G"),
        ("--memory 0", "write a size such as 512M or 2G"),
        ("--kernel sse9", "this machine can run: portable"),
        ("--equal non", "[possible values: all, first]"),
        ("--kind hsh", "--kind hsh: did you mean hash?"),
        ("--distnace 3", "tip: a similar argument exists: '--distance'"),
    ] {
        let ran = folder.run(&format!("pairs a {options}"));
        assert_eq!(ran.exit, 2);
        assert!(ran.stderr.contains(message), "{options}: {}", ran.stderr);
    }
    let ran = folder.run("piars a");
    assert!(ran.stderr.contains("'pairs'"), "{}", ran.stderr);
}
