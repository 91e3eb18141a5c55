//! Input that cannot be used: a message that names place and remedy, or a count and a list.

use crate::{
    pairs_in::{npy, words},
    run::{Folder, Session, snapshot},
};

/// What `pairs` says of each of these files.
fn pairs_of(files: impl IntoIterator<Item = impl AsRef<[u8]>>, options: &str) -> Session {
    let run = |content: &[u8]| {
        let shown = content.escape_ascii().to_string();
        let title = if shown.len() > 60 { format!("{}...", &shown[..60]) } else { shown };
        (title, Folder::with("a", content).run(&format!("pairs a {options}")))
    };
    files.into_iter().map(|content| run(content.as_ref())).collect()
}

#[test]
fn lines_that_are_no_number_are_named_with_a_remedy() {
    let lines = b"1\nxyz\nabc\n-17\n17,x\n17 x\n0x\n1.5\n1e5\n\tid\n\xff\x00\n";
    let folder = Folder::with("a", lines);
    snapshot!(folder.session(["pairs a --kind hash", "pairs a --kind hash --strict"]), @r#"
    $ lookalike pairs a --kind hash
    exit 0
    --- stderr
    reading 64-bit fingerprints
    skipped a:2: "xyz" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:3: "abc" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number (if this is hex, write 0xabc)
    skipped a:4: "-17" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number (write a negative number as unsigned)
    skipped a:5: "17,x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number (separate the id by a tab)
    skipped a:6: "17 x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number (separate the id by a tab)
    skipped a:7: "0x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:8: "1.5" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:9: "1e5" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number (if this is hex, write 0x1e5)
    skipped a:10: "" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:11: "�\0" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    1 item (10 skipped: 10 not a number); 0 pairs with distance <= 3 of 64 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs a --kind hash --strict
    exit 2
    --- stderr
    reading 64-bit fingerprints
    error: a:2: "xyz" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number (--strict stops here; without it, this is skipped)
    "#);
}

#[test]
fn numbers_too_wide_name_the_width_that_fits() {
    let folder = Folder::with("wide", "1\n18446744073709551616\n")
        .and("wider", "4294967296\n")
        .and("huge", format!("0x1{}\n", "0".repeat(64)));
    snapshot!(folder.session([
        "pairs wide --strict",
        "pairs wider --bits 32 --strict",
        "pairs huge --strict",
    ]), @"
    $ lookalike pairs wide --strict
    exit 2
    --- stderr
    reading 64-bit fingerprints
    error: wide:2: 18446744073709551616 does not fit into 64 bits; use --bits 128 (--strict stops here; without it, this is skipped)

    $ lookalike pairs wider --bits 32 --strict
    exit 2
    --- stderr
    reading 32-bit fingerprints
    error: wider:1: 4294967296 does not fit into 32 bits; use --bits 64 (--strict stops here; without it, this is skipped)

    $ lookalike pairs huge --strict
    exit 2
    --- stderr
    reading 64-bit fingerprints
    error: huge:1: 0x10000000000000000000000000000000000000... does not fit into 64 bits; fingerprints have at most 256 bits (--strict stops here; without it, this is skipped)
    ");
}

#[test]
fn endless_lines_are_not_kept_in_memory() {
    let file = [b"1\n2\n3\n".as_slice(), &[b'7'; 200_000], b"\n4\n"].concat();
    snapshot!(Folder::with("a", file).run("pairs a --strict"), @"
    exit 2
    --- stderr
    reading 64-bit fingerprints
    error: a:4: the line has more than 65536 bytes; write a fingerprint as a decimal, 0x hex or 0b binary number (--strict stops here; without it, this is skipped)
    ");
}

#[test]
fn bad_lines_are_skipped_counted_and_listed() {
    let ran =
        Folder::with("a", "1\nx\n3\n99999999999999999999\n\n0\tzero\n").run("pairs a --distance 1");
    snapshot!(ran, @r#"
    exit 0
    {"a":1,"b":3,"distance":1,"similarity":null,"level":null}
    {"a":1,"b":"zero","distance":1,"similarity":null,"level":null}
    --- stderr
    reading 64-bit fingerprints
    skipped a:2: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:4: 99999999999999999999 does not fit into 64 bits; use --bits 128
    3 items (2 skipped: 1 not a number, 1 too wide); 2 pairs with distance <= 1 of 64 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]
    "#);
}

#[test]
fn the_list_of_skipped_lines_ends_after_twenty() {
    let text = "x\n".repeat(1_000) + "1\n";
    snapshot!(Folder::with("a", text).run("pairs a --kind hash"), @r#"
    exit 0
    --- stderr
    reading 64-bit fingerprints
    skipped a:1: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:2: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:3: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:4: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:5: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:6: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:7: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:8: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:9: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:10: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:11: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:12: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:13: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:14: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:15: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:16: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:17: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:18: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:19: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    skipped a:20: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    and 980 more; list all with --skipped FILE
    1 item (1,000 skipped: 1,000 not a number); 0 pairs with distance <= 3 of 64 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]
    "#);
}

#[test]
fn all_that_is_skipped_is_listed_in_a_file() {
    let row = |line: u64| match line {
        21 => "{\"id\":1}\n".to_owned(),
        line => format!("broken {line}\n"),
    };
    let rows: String = (1..=22).map(row).collect();
    let folder =
        Folder::with("a.jsonl", rows + "{\"text\":\"one two three\"}\n").and("b", "x\n1\n");
    let lists = ["dedup", "pairs", "hash"].map(|command| {
        let ran = folder.run(&format!("{command} a.jsonl --skipped s.csv --force"));
        assert_eq!(ran.exit, 0, "{ran}");
        folder.read("s.csv")
    });
    assert!(lists[0] == lists[1] && lists[1] == lists[2]);
    snapshot!(lists[0], @r#"
    file,line,items,reason,message
    a.jsonl,1,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,2,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,3,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,4,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,5,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,6,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,7,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,8,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,9,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,10,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,11,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,12,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,13,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,14,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,15,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,16,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,17,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,18,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,19,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,20,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    a.jsonl,21,1,without the field,no field text; choose one with --field: id
    a.jsonl,22,1,broken,"is not a JSON object; write one object per line, such as {""text"":""...""}"
    "#);
    snapshot!(folder.session([
        "dedup --kind hash b --skipped -",
        "dedup -o - a.jsonl --skipped -",
        "pairs a.jsonl --skipped -",
        "hash a.jsonl --skipped -",
    ]), @r#"
    $ lookalike dedup --kind hash b --skipped -
    exit 0
    {"file":"b","line":1,"items":1,"reason":"not a number","message":"\"x\" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number"}
    --- stderr
    reading 64-bit fingerprints
    skipped b:1: "x" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    items    1 (1 skipped: 1 not a number)
    groups   none
    removed  would remove 0 (0.0 %)
    kept     1
    found    exact
    time     [TIME]

    $ lookalike dedup -o - a.jsonl --skipped -
    exit 2
    --- stderr
    error: -: two outputs share this path; choose different paths

    $ lookalike pairs a.jsonl --skipped -
    exit 2
    --- stderr
    error: -: two outputs share this path; choose different paths

    $ lookalike hash a.jsonl --skipped -
    exit 2
    --- stderr
    error: -: two outputs share this path; choose different paths
    "#);
    assert_eq!(folder.run("dedup a.jsonl --skipped t.csv --dry-run").exit, 0);
    assert_eq!(folder.names(), ["a.jsonl", "b", "s.csv"]);
}

#[test]
fn texts_and_fingerprints_are_told_apart() {
    let text = "The quick\nbrown fox\n";
    let folder = Folder::with("a", "1\n").and("b", text).and("c.csv", "text\n1\n");
    snapshot!(folder.session(["pairs a", "pairs b", "pairs c.csv"]), @"
    $ lookalike pairs a
    exit 0
    --- stderr
    reading 64-bit fingerprints
    1 item; 0 pairs with distance <= 3 of 64 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs b
    exit 0
    --- stderr
    reading b
    1 item; 0 pairs with similarity >= 0.47 (words and word pairs); 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs c.csv
    exit 0
    --- stderr
    reading CSV rows of c.csv
    1 item; 0 pairs with similarity >= 0.47 (words and word pairs); 0 groups of equal items; exact; 1 text with too little to compare, compared by content; [TIME]
    plan: [PLAN]
    ");
    snapshot!(folder.run_with("pairs -", text), @"
    exit 0
    --- stderr
    reading stdin
    1 item; 0 pairs with similarity >= 0.47 (words and word pairs); 0 groups of equal items; exact; [TIME]
    plan: [PLAN]
    ");
    snapshot!(folder.run_with("pairs - --kind hash", text), @r#"
    exit 2
    --- stderr
    reading 64-bit fingerprints
    error: nothing could be read: 2 records skipped; first: stdin:1: "The quick" is not a number; write a fingerprint as a decimal, 0x hex or 0b binary number
    "#);
}

#[test]
fn arrays_that_are_no_fingerprints_are_refused_with_a_remedy() {
    let data = words(&[1, 2, 3, 4, 5, 6]);
    let array = |dtype: &str, shape: &str| {
        let ran = Folder::with("a", npy(1, dtype, shape, &data)).run("pairs a --strict");
        (format!("{dtype} {shape}"), ran)
    };
    let arrays: Session = [
        ("<i8", "(6,)"),
        ("<f8", "(6,)"),
        ("|u1", "(6, 8)"),
        (">u8", "(6,)"),
        ("<u8", "(2, 3)"),
        ("<u8", "()"),
        ("<u4", "(6, 2)"),
        ("<u8", "what"),
        ("<u8", "(7,)"),
        ("<u8", "(5,)"),
    ]
    .map(|(dtype, shape)| array(dtype, shape))
    .into_iter()
    .collect();
    snapshot!(arrays, @"
    <i8 (6,)
    exit 2
    --- stderr
    error: a: contains int64, shape (6,); save array.view('uint64') (or uint32) instead

    <f8 (6,)
    exit 2
    --- stderr
    error: a: holds float64, shape (6,); vectors have shape (n, d); save array.reshape(1, -1) for one vector

    |u1 (6, 8)
    exit 2
    --- stderr
    error: a: contains uint8, shape (6, 8); fingerprints must be uint64 (or uint32 for 32 bits)

    >u8 (6,)
    exit 2
    --- stderr
    error: a: contains big-endian uint64, shape (6,); save array.astype('<u8') instead

    <u8 (2, 3)
    exit 2
    --- stderr
    error: a: contains uint64, shape (2, 3); uint64 fingerprints must have shape (n,), (n, 2) or (n, 4)

    <u8 ()
    exit 2
    --- stderr
    error: a: contains uint64, shape (); uint64 fingerprints must have shape (n,), (n, 2) or (n, 4)

    <u4 (6, 2)
    exit 2
    --- stderr
    error: a: contains uint32, shape (6, 2); uint32 fingerprints must have shape (n,)

    <u8 what
    exit 2
    --- stderr
    error: a: has an invalid .npy header: {'descr': '<u8', 'fortran_order': False,...

    <u8 (7,)
    exit 2
    --- stderr
    reading 64-bit fingerprints
    error: a: ends after 6 of 7 rows; save or copy it again (--strict stops here; without it, this is skipped)

    <u8 (5,)
    exit 2
    --- stderr
    reading 64-bit fingerprints
    error: a: has more data after the array; save one array per file (--strict stops here; without it, this is skipped)
    ");

    let fortran =
        String::from_utf8_lossy(&npy(1, "<u8", "(3, 2)", b"")[10..]).replace("False", "True");
    let fortran =
        [b"\x93NUMPY\x01\0".as_slice(), &[fortran.len() as u8, 0], fortran.as_bytes()].concat();
    let files = [fortran.as_slice(), b"\x93NUMPY\x09\0\0\0", b"\x93NUMPY\x01\0\xff"];
    snapshot!(pairs_of(files, ""), @r"
    \x93NUMPY\x01\x00;\x00{\'descr\': \'<u8\', \'fortran_order\'...
    exit 2
    --- stderr
    error: a: contains uint64 in Fortran order, shape (3, 2); save numpy.ascontiguousarray(array) instead

    \x93NUMPY\t\x00\x00\x00
    exit 2
    --- stderr
    error: a: has .npy version 9; lookalike reads versions 1 to 3

    \x93NUMPY\x01\x00\xff
    exit 2
    --- stderr
    error: a: starts like a .npy array, but its header is incomplete
    ");
}

#[test]
fn widths_that_do_not_go_together_are_named() {
    let narrow = npy(1, "<u8", "(2,)", &words(&[1, 2]));
    let wide = npy(1, "<u8", "(1, 2)", &words(&[1, 2]));
    let folder = Folder::with("a.npy", narrow).and("b.npy", wide);
    snapshot!(folder.session([
        "pairs a.npy b.npy",
        "pairs a.npy b.npy --strict",
        "pairs b.npy --bits 64",
    ]), @r#"
    $ lookalike pairs a.npy b.npy
    exit 0
    {"a":1,"b":2,"distance":2,"similarity":null,"level":null}
    --- stderr
    reading 64-bit fingerprints
    skipped b.npy: has 128-bit fingerprints, but a.npy has 64 bits; search each width separately
    2 items (1 skipped: 1 unreadable input); 1 pair with distance <= 3 of 64 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs a.npy b.npy --strict
    exit 2
    --- stderr
    error: b.npy: has 128-bit fingerprints, but a.npy has 64 bits; search each width separately (--strict stops here; without it, this is skipped)

    $ lookalike pairs b.npy --bits 64
    exit 2
    --- stderr
    error: nothing could be read: 1 record skipped; first: b.npy: has 128-bit fingerprints, but --bits has 64 bits; omit --bits
    "#);
}

#[test]
fn inputs_that_cannot_be_opened_are_named() {
    let folder = Folder::with("a", "1\n3\n");
    snapshot!(folder.session([
        "pairs b",
        "pairs a b",
        "pairs b a",
        "pairs . --kind hash",
        "pairs - -",
    ]), @"
    $ lookalike pairs b
    exit 2
    --- stderr
    error: b: no such file; check the name

    $ lookalike pairs a b
    exit 2
    --- stderr
    error: b: no such file; check the name

    $ lookalike pairs b a
    exit 2
    --- stderr
    error: b: no such file; check the name

    $ lookalike pairs . --kind hash
    exit 2
    --- stderr
    error: .: is a folder; name the files in it

    $ lookalike pairs - -
    exit 2
    --- stderr
    error: -: standard input can be read only once; give - once
    ");
}

#[test]
fn damaged_files_and_formats_that_are_not_read_are_named() {
    let files = [
        b"\x04\x22\x4d\x18rest".as_slice(),
        b"PK\x03\x04rest",
        b"\x1f\x8b\x08\0garbage",
        b"BZh91AYgarbage",
        b"\xfd7zXZ\0garbage",
    ];
    snapshot!(pairs_of(files, ""), @r#"
    \x04\"M\x18rest
    exit 2
    --- stderr
    error: a: is compressed as lz4, which is not supported; decompress it first: lz4 -dc FILE | lookalike ... -

    PK\x03\x04rest
    exit 2
    --- stderr
    error: a: is a zip or .npz archive; save one array with numpy.save

    \x1f\x8b\x08\x00garbage
    exit 2
    --- stderr
    error: a: cannot be read: incomplete deflate stream; the file may be damaged or incomplete

    BZh91AYgarbage
    exit 2
    --- stderr
    error: a: cannot be read: bzip2: invalid data; the file may be damaged or incomplete

    \xfd7zXZ\x00garbage
    exit 2
    --- stderr
    error: a: cannot be read: XZ stream header CRC32 mismatch; the file may be damaged or incomplete
    "#);
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
    snapshot!(folder.session([
        "dedup --kind image images -o out",
        "pairs --kind image texts -o out.jsonl",
        "dedup a.jsonl -o out.jsonl",
        "dedup b.txt -o out",
        "pairs a.jsonl -o out.jsonl",
        "hash a.jsonl -o out.jsonl",
        "dedup good.jsonl --against a.jsonl -o out.jsonl",
    ]), @"
    $ lookalike dedup --kind image images -o out
    exit 2
    --- stderr
    reading the image images/a.png
    error: nothing could be read: 1 record skipped; first: images/a.png: cut off: the PNG ends too early

    $ lookalike pairs --kind image texts -o out.jsonl
    exit 2
    --- stderr
    reading the image texts/a.png
    error: nothing could be read: found 1 file, but no image

    $ lookalike dedup a.jsonl -o out.jsonl
    exit 2
    --- stderr
    reading JSON lines of a.jsonl
    error: nothing could be read: 2 records skipped; first: a.jsonl:1: the field body is a number; write a string or a list of [feature, weight]

    $ lookalike dedup b.txt -o out
    exit 2
    --- stderr
    reading b.txt
    error: nothing could be read: 1 record skipped; first: b.txt: is a PDF document; lookalike reads text and HTML files, .jsonl .ndjson .csv .tsv .parquet .warc, plain lines (--lines), each also compressed with gzip, zstd, bzip2 or xz

    $ lookalike pairs a.jsonl -o out.jsonl
    exit 2
    --- stderr
    reading JSON lines of a.jsonl
    error: nothing could be read: 2 records skipped; first: a.jsonl:1: the field body is a number; write a string or a list of [feature, weight]

    $ lookalike hash a.jsonl -o out.jsonl
    exit 2
    --- stderr
    reading JSON lines of a.jsonl
    error: nothing could be read: 2 records skipped; first: a.jsonl:1: the field body is a number; write a string or a list of [feature, weight]

    $ lookalike dedup good.jsonl --against a.jsonl -o out.jsonl
    exit 2
    --- stderr
    reading JSON lines of good.jsonl
    against JSON lines of a.jsonl
    error: nothing could be read: 2 records skipped; first: a.jsonl:1: the field body is a number; write a string or a list of [feature, weight]
    ");
    assert_eq!(folder.names(), names);
    snapshot!(folder.run("pairs empty.jsonl"), @"
    exit 0
    --- stderr
    reading 64-bit fingerprints
    0 items; 0 pairs with distance <= 3 of 64 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]
    ");
}

#[test]
fn an_output_never_replaces_what_is_read() {
    let rows = "{\"text\":\"some words\"}\n";
    let folder = Folder::with("a.jsonl", rows).and("b.jsonl", rows);
    std::fs::create_dir(folder.path("in")).unwrap();
    std::fs::write(folder.path("in/c.txt"), "some words").unwrap();
    std::fs::hard_link(folder.path("a.jsonl"), folder.path("hard.jsonl")).unwrap();
    snapshot!(folder.session([
        "dedup a.jsonl --force -o a.jsonl",
        "dedup a.jsonl --force -o ./a.jsonl",
        "dedup a.jsonl --force -o in/../a.jsonl",
        "dedup a.jsonl --force -o hard.jsonl",
        "dedup b.jsonl --force --against a.jsonl --groups a.jsonl",
        "dedup a.jsonl --force --report a.jsonl",
        "dedup a.jsonl --force --skipped a.jsonl",
        "pairs a.jsonl --force -o a.jsonl",
        "hash a.jsonl --force -o a.jsonl",
        "pairs in --force -o in/c.txt",
        "dedup a.jsonl -o x/",
        "dedup a.jsonl -o in",
    ]), @"
    $ lookalike dedup a.jsonl --force -o a.jsonl
    exit 2
    --- stderr
    error: a.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike dedup a.jsonl --force -o ./a.jsonl
    exit 2
    --- stderr
    error: ./a.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike dedup a.jsonl --force -o in/../a.jsonl
    exit 2
    --- stderr
    error: in/../a.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike dedup a.jsonl --force -o hard.jsonl
    exit 2
    --- stderr
    error: hard.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike dedup b.jsonl --force --against a.jsonl --groups a.jsonl
    exit 2
    --- stderr
    error: a.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike dedup a.jsonl --force --report a.jsonl
    exit 2
    --- stderr
    error: a.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike dedup a.jsonl --force --skipped a.jsonl
    exit 2
    --- stderr
    error: a.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike pairs a.jsonl --force -o a.jsonl
    exit 2
    --- stderr
    error: a.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike hash a.jsonl --force -o a.jsonl
    exit 2
    --- stderr
    error: a.jsonl: is an input, which is never overwritten; choose another output

    $ lookalike pairs in --force -o in/c.txt
    exit 2
    --- stderr
    error: in/c.txt: is inside the input in, which is never overwritten; choose another output

    $ lookalike dedup a.jsonl -o x/
    exit 2
    --- stderr
    error: x/: is the path of a folder; name a file in it

    $ lookalike dedup a.jsonl -o in
    exit 2
    --- stderr
    error: in: is a folder; name a file in it
    ");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.jsonl", folder.path("soft.jsonl")).unwrap();
        snapshot!(folder.run("dedup a.jsonl --force -o soft.jsonl"), @"
        exit 2
        --- stderr
        error: soft.jsonl: is an input, which is never overwritten; choose another output
        ");
    }
    assert_eq!(folder.read("a.jsonl"), rows);
}

#[test]
fn a_field_that_no_row_has_is_an_error_before_or_after_reading() {
    let folder = Folder::with("a.csv", "id,text\n1,some words\n")
        .and("a.jsonl", "{\"id\":1,\"text\":\"some words\"}\n");
    snapshot!(folder.session([
        "pairs a.csv --id key",
        "dedup a.csv --keep score:desc",
        "pairs a.jsonl --id key",
        "pairs a.csv a.jsonl --id id",
    ]), @r#"
    $ lookalike pairs a.csv --id key
    exit 2
    --- stderr
    error: --id key: no input has a column with this name

    $ lookalike dedup a.csv --keep score:desc
    exit 2
    --- stderr
    error: --keep score: no input has a column with this name

    $ lookalike pairs a.jsonl --id key
    exit 2
    --- stderr
    reading JSON lines of a.jsonl
    error: --id key: no field of this name in 1 row

    $ lookalike pairs a.csv a.jsonl --id id
    exit 0
    {"a":1,"b":1,"distance":0,"similarity":1.0,"level":"copy"}
    --- stderr
    reading CSV rows and JSON lines of 2 files
    note: 1 item has the same id as an earlier item; the first is "1"
    2 items; 1 pair with similarity >= 0.47 (words and word pairs); 1 group of equal items; exact; 2 texts with too little to compare, compared by content; [TIME]
    plan: [PLAN]
    "#);
}

#[test]
fn repeated_ids_are_counted() {
    let folder = Folder::with("a.csv", "id,text\nx,one two\ny,three four\nx,five six\n");
    snapshot!(folder.session([
        "pairs a.csv",
        "pairs a.csv --json --quiet",
        "dedup a.csv",
        "dedup a.csv --json --quiet",
    ]), @r#"
    $ lookalike pairs a.csv
    exit 0
    --- stderr
    reading CSV rows of a.csv
    note: 1 item has the same id as an earlier item; the first is "x"
    3 items; 0 pairs with similarity >= 0.47 (words and word pairs); 0 groups of equal items; exact; 3 texts with too little to compare, compared by content; [TIME]
    plan: [PLAN]

    $ lookalike pairs a.csv --json --quiet
    exit 0
    --- stderr
    {"items":3,"skipped":0,"skipped_by_reason":{},"pairs":0,"duplicate_ids":1,"equal_groups":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.47 (words and word pairs)","bits":128,"distance":null,"similarity":0.47,"short":3,"empty":0,"recall":1.0,"found":"set join","verified":0,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"seconds":"[seconds]","items_per_second":"[items_per_second]","plan":"set join"}

    $ lookalike dedup a.csv
    exit 0
    --- stderr
    reading CSV rows of a.csv
    note: 1 item has the same id as an earlier item; the first is "x"
    items    3
    groups   none
    removed  would remove 0 (0.0 %)
    kept     3
    found    exact; 3 texts with too little to compare, compared by content
    time     [TIME]
    nothing written; use -o KEPT to write what is kept, --report FILE.html to see the groups

    $ lookalike dedup a.csv --json --quiet
    exit 0
    --- stderr
    {"items":3,"skipped":0,"skipped_by_reason":{},"pairs":null,"pairs_by_level":null,"groups":0,"largest_group":0,"least_similarity":null,"removed":0,"duplicate_ids":1,"removed_by_level":{"copy":0,"near":0,"other":0,"part":0,"similar":0},"kept":3,"looser":null,"looser_by_level":null,"lost_words":0.0,"warning":null,"raw":0,"recipe":"words: words:1, log, mix, 128 bits, version 1","alike":"similarity >= 0.6 (words and word pairs)","bits":128,"distance":null,"similarity":0.6,"short":3,"empty":0,"recall":1.0,"found":"set join","verified":0,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
}

#[test]
fn a_list_of_texts_is_features_only_in_a_field_of_that_name() {
    let folder = Folder::with("a.jsonl", "{\"text\":[\"one\",\"two\"]}\n{\"text\":\"x\"}\n")
        .and("b.jsonl", "{\"features\":[\"one\",\"two\"]}\n");
    snapshot!(folder.session(["hash a.jsonl", "hash b.jsonl --field features"]), @r#"
    $ lookalike hash a.jsonl
    exit 0
    {"id":"a.jsonl:2","fingerprint":"0x95b21d407b39fb928dbafc1c5cfc59f0"}
    --- stderr
    reading JSON lines of a.jsonl
    skipped a.jsonl:1: the field text is a list of strings; join them into one string, or name the field features if each is a feature
    1 item (1 skipped: 1 of another type); words: words:1, log, mix, 128 bits, version 1; alike within 32 bits: search with pairs --distance 32; [TIME]

    $ lookalike hash b.jsonl --field features
    exit 0
    {"id":"b.jsonl:1","fingerprint":"0x14000409802c14214084811184488100"}
    --- stderr
    reading JSON lines of b.jsonl
    1 item; words: words:1, log, mix, 128 bits, version 1; alike within 32 bits: search with pairs --distance 32; [TIME]
    "#);
}

#[test]
fn html_files_are_compared_by_their_main_text() {
    let page = |text: &str| format!("<!doctype html><nav>Home News Shop</nav><p>{text}</p>");
    let folder = Folder::with("a.html", page("one two three four five six"))
        .and("b.txt", "one two three four five six")
        .and("c", page("seven eight nine ten eleven twelve"));
    snapshot!(folder.session([
        "pairs a.html b.txt c",
        "pairs a.html b.txt c --markup",
        "compare a.html b.txt",
        "compare a.html b.txt --markup",
    ]), @r#"
    $ lookalike pairs a.html b.txt c
    exit 0
    {"a":"a.html","b":"b.txt","distance":0,"similarity":1.0,"level":"copy"}
    --- stderr
    reading 3 text files
    note: 2 texts are web pages, compared by main text; use --markup to compare the markup
    3 items; 1 pair with similarity >= 0.47 (words and word pairs); 1 group of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs a.html b.txt c --markup
    exit 0
    --- stderr
    reading 3 text files
    3 items; 0 pairs with similarity >= 0.47 (words and word pairs); 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike compare a.html b.txt
    exit 0
    distance    0 of 128 bits
    similarity  1.0000
    level       copy
    verdict     alike
    criterion   similarity >= 0.47 (words and word pairs)
    --- stderr
    comparing the texts of two files

    $ lookalike compare a.html b.txt --markup
    exit 1
    distance    34 of 128 bits
    similarity  0.4250
    verdict     different
    criterion   similarity >= 0.47 (words and word pairs)
    --- stderr
    comparing the texts of two files
    "#);
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
fn zstd_windows_larger_than_the_memory_limit_are_refused() {
    // A frame that states a window of 2 GiB: descriptor 0, exponent 21.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x11, 0x00, 0x00, b'1', b'\n'];
    let folder = Folder::with("a.zst", frame);
    snapshot!(folder.run("pairs a.zst --kind hash --memory 300M"), @"
    exit 2
    --- stderr
    error: a.zst: cannot be decompressed within --memory: its window is too large; use --memory 4G, or decompress it first (zstd --long=31 -d, xz -d)
    ");
}

#[test]
fn a_memory_limit_too_small_for_the_texts_names_one_that_works() {
    let folder = Folder::with("a.txt", "word\n".repeat(400_000));
    snapshot!(folder.session([
        "pairs --lines a.txt --memory 1M",
        "dedup --lines a.txt --memory 1M",
    ]), @"
    $ lookalike pairs --lines a.txt --memory 1M
    exit 2
    --- stderr
    reading lines of a.txt
    error: --memory is too small for 400,000 texts; use at least --memory 15M

    $ lookalike dedup --lines a.txt --memory 1M
    exit 2
    --- stderr
    reading lines of a.txt
    error: --memory is too small for 400,000 texts; use at least --memory 15M
    ");
}

#[test]
fn a_zstd_file_may_begin_with_a_skippable_frame() {
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let file = [skipped.as_slice(), &zstd::encode_all(&b"1\n3\n"[..], 0).unwrap()].concat();
    assert_eq!(Folder::with("a", file).run("pairs a").pairs(), "1-2:1");
}

#[test]
fn choices_that_cannot_work_are_refused_with_one_that_can() {
    snapshot!(Folder::with("a", "1\n").session([
        "pairs a --distance 65",
        "pairs a --distance 33 --bits 32",
        "pairs a --blocks 3",
        "pairs a --blocks 65",
        "pairs a --threads 0",
        "pairs a --temp none",
    ]), @"
    $ lookalike pairs a --distance 65
    exit 2
    --- stderr
    error: --distance 65 is more than the 64 bits of a fingerprint; use 64 or less

    $ lookalike pairs a --distance 33 --bits 32
    exit 2
    --- stderr
    error: --distance 33 is more than the 32 bits of a fingerprint; use 32 or less

    $ lookalike pairs a --blocks 3
    exit 2
    --- stderr
    error: --blocks 3 cannot find pairs within 3 bits; use at least 4 blocks, or leave it out

    $ lookalike pairs a --blocks 65
    exit 2
    --- stderr
    error: --blocks: 64 bits cannot be cut into 65 blocks; use at most 64

    $ lookalike pairs a --threads 0
    exit 2
    --- stderr
    error: --threads 0: use at least 1, or omit --threads to use all cores

    $ lookalike pairs a --temp none
    exit 2
    --- stderr
    error: --temp none: no such folder; create it, or choose another
    ");
}

#[test]
fn values_that_cannot_be_read_say_how_to_write_them() {
    snapshot!(Folder::with("a", "1\n").session([
        "pairs a --bits 100",
        "pairs a --bits x",
        "pairs a --distance -1",
        "pairs a --distance x",
        "pairs a --memory x",
        "pairs a --memory 0",
        "pairs a --kernel sse9",
        "pairs a --equal non",
        "pairs a --kind hsh",
        "pairs a --distnace 3",
        "piars a",
    ]), @"
    $ lookalike pairs a --bits 100
    exit 2
    --- stderr
    error: invalid value '100' for '--bits <BITS>': fingerprints have 32, 64, 128 or 256 bits, not 100

    For more information, try '--help'.

    $ lookalike pairs a --bits x
    exit 2
    --- stderr
    error: invalid value 'x' for '--bits <BITS>': expected 32, 64, 128 or 256

    For more information, try '--help'.

    $ lookalike pairs a --distance -1
    exit 2
    --- stderr
    error: unexpected argument '-1' found

      tip: to pass '-1' as a value, use '-- -1'

    Usage: lookalike pairs [OPTIONS] <INPUT>...

    For more information, try '--help'.

    $ lookalike pairs a --distance x
    exit 2
    --- stderr
    error: invalid value 'x' for '--distance <K>': expected a number of bits, such as 3

    For more information, try '--help'.

    $ lookalike pairs a --memory x
    exit 2
    --- stderr
    error: invalid value 'x' for '--memory <SIZE>': expected a size such as 512M or 2G

    For more information, try '--help'.

    $ lookalike pairs a --memory 0
    exit 2
    --- stderr
    error: invalid value '0' for '--memory <SIZE>': expected a size such as 512M or 2G

    For more information, try '--help'.

    $ lookalike pairs a --kernel sse9
    exit 2
    --- stderr
    error: invalid value 'sse9' for '--kernel <KERNEL>': this machine supports [KERNELS]

    For more information, try '--help'.

    $ lookalike pairs a --equal non
    exit 2
    --- stderr
    error: invalid value 'non' for '--equal <EQUAL>'
      [possible values: all, first]

    For more information, try '--help'.

    $ lookalike pairs a --kind hsh
    exit 2
    --- stderr
    error: --kind hsh: did you mean hash? Kinds: text, image, vector, hash

    $ lookalike pairs a --distnace 3
    exit 2
    --- stderr
    error: unexpected argument '--distnace' found

      tip: a similar argument exists: '--distance'

    Usage: lookalike pairs --distance <K> <INPUT>...

    For more information, try '--help'.

    $ lookalike piars a
    exit 2
    --- stderr
    error: unrecognized subcommand 'piars'

      tip: a similar subcommand exists: 'pairs'

    Usage: lookalike <COMMAND>

    For more information, try '--help'.
    ");
}
