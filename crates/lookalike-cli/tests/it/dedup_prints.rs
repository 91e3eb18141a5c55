//! `dedup` of fingerprints: what goes, what stays, and in which form.

use std::{fs, io::Write};

use crate::{
    pairs_in::{npy, words},
    run::{Folder, Session, run, snapshot},
};

/// 1 and 2 differ in one bit, 2 and 4 in two, 5 and 1 are equal; 3 is far from all.
const HASHES: &str = "255\n0xfe\tb\n18446744069414584320\r\n\n  0b11110010\tid of d\n255\te\n";

/// What is left of them.
const KEPT: &str = "255\n18446744069414584320\r\n\n";

const NUMBERS: [u64; 5] = [0xff, 0xfe, u64::MAX << 32, 0xf2, 0xff];

#[test]
fn lines_are_kept_byte_for_byte_and_everything_else_is_listed() {
    let folder = Folder::with("in.txt", HASHES);
    let ran = folder.run(
        "dedup --kind hash in.txt -o out.txt --pairs p.jsonl --groups g.jsonl --removed r.csv",
    );
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    items    5
    pairs    6
    groups   1, the largest of 4 items
    removed  3 (60.0 %)
    kept     2 and 1 record that could not be read to out.txt
    found    exact
    time     [TIME]
    ");
    assert_eq!(folder.read("out.txt"), KEPT);
    snapshot!(folder.read("p.jsonl"), @r#"
    {"a":1,"b":"b","distance":1,"similarity":null,"level":null}
    {"a":1,"b":"id of d","distance":3,"similarity":null,"level":null}
    {"a":1,"b":"e","distance":0,"similarity":null,"level":null}
    {"a":"b","b":"id of d","distance":2,"similarity":null,"level":null}
    {"a":"b","b":"e","distance":1,"similarity":null,"level":null}
    {"a":"id of d","b":"e","distance":3,"similarity":null,"level":null}
    "#);
    snapshot!(folder.read("g.jsonl"), @r#"{"group":1,"keep":1,"members":[{"id":"b","distance":1,"similarity":null,"level":null},{"id":"id of d","distance":3,"similarity":null,"level":null},{"id":"e","distance":0,"similarity":null,"level":null}]}"#);
    snapshot!(folder.read("r.csv"), @"
    id,keep,distance,similarity,level
    b,1,1,,
    id of d,1,3,,
    e,1,0,,
    ");
}

#[test]
fn blocks_are_for_fingerprints_and_change_no_answer() {
    let folder = Folder::with("in.txt", HASHES);
    let ran = folder.run("dedup --kind hash in.txt -o - --blocks 5 --json");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, KEPT), "{ran}");
    snapshot!(folder.session([
        "dedup --kind hash in.txt --blocks 3",
        "dedup --kind text in.txt --blocks 5",
        "pairs --kind text in.txt --blocks 5",
    ]), @"
    $ lookalike dedup --kind hash in.txt --blocks 3
    exit 2
    --- stderr
    error: --blocks 3 cannot find pairs within 3 bits; use at least 4 blocks, or leave it out

    $ lookalike dedup --kind text in.txt --blocks 5
    exit 2
    --- stderr
    error: --blocks does not apply to texts, which take --recipe, --level, --similarity, --distance, --bits; if these are not texts, set --kind

    $ lookalike pairs --kind text in.txt --blocks 5
    exit 2
    --- stderr
    error: --blocks does not apply to texts, which take --recipe, --level, --similarity, --distance, --bits; if these are not texts, set --kind
    ");
}

#[test]
fn the_kind_is_guessed_where_all_is_clear() {
    let prints = "{\"id\":\"a\",\"fingerprint\":\"0x00000000000000ff\"}\n";
    let array = npy(1, "<u8", "(5,)", &words(&NUMBERS));
    let text = "1984 is a book\n";
    let row = "{\"id\":\"a\",\"fingerprint\":\"0x00000000000000ff\",\"text\":\"1984 is a book\"}\n";
    let folder = Folder::with("a", HASHES)
        .and("b.npy", array)
        .and("c.jsonl", prints.repeat(2))
        .and("text.txt", text)
        .and("rows.jsonl", row)
        .and("empty.jsonl", "");
    snapshot!(folder.session([
        "dedup a",
        "dedup b.npy",
        "dedup c.jsonl",
        "dedup text.txt",
        "dedup rows.jsonl",
        "dedup empty.jsonl",
        "dedup a --kind text",
        "dedup a --lines",
    ]), @r#"
    $ lookalike dedup a
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    items    5
    groups   1, the largest of 4 items
    removed  would remove 3 (60.0 %)
    kept     2
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --groups FILE lists the groups

    $ lookalike dedup b.npy
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    items    5
    groups   1, the largest of 4 items
    removed  would remove 3 (60.0 %)
    kept     2
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --groups FILE lists the groups

    $ lookalike dedup c.jsonl
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    note: 1 item has an id that an earlier item has, the first "a"
    items    2
    groups   1, the largest of 2 items
    removed  would remove 1 (50.0 %)
    kept     1
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --groups FILE lists the groups

    $ lookalike dedup text.txt
    exit 0
    --- stderr
    reading texts, one a file of text.txt
    items    1
    groups   none
    removed  would remove 0 (0.0 %)
    kept     1
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups

    $ lookalike dedup rows.jsonl
    exit 0
    --- stderr
    reading JSON lines of rows.jsonl
    items    1
    groups   none
    removed  would remove 0 (0.0 %)
    kept     1
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups

    $ lookalike dedup empty.jsonl
    exit 0
    --- stderr
    reading JSON lines of empty.jsonl
    items    0
    groups   none
    removed  would remove 0 (0.0 %)
    kept     0
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups

    $ lookalike dedup a --kind text
    exit 0
    --- stderr
    reading texts, one a file of a
    items    1
    groups   none
    removed  would remove 0 (0.0 %)
    kept     1
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups

    $ lookalike dedup a --lines
    exit 0
    --- stderr
    reading lines of a
    items    6
    groups   none
    removed  would remove 0 (0.0 %)
    kept     6
    found    exact; 4 texts with too little to compare, compared by content; 1 text empty, never matched
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups
    "#);
    assert_eq!(folder.run("dedup c.jsonl -o -").stdout, prints);
}

#[test]
fn arrays_come_back_as_arrays() {
    let kept = [NUMBERS[0], NUMBERS[2]];
    let wide = |numbers: &[u64], words: usize| {
        let wide = numbers.iter().flat_map(|&number| {
            let mut wide = vec![7; words];
            wide[0] = number;
            wide
        });
        wide.collect::<Vec<_>>()
    };
    let narrow = |numbers: &[u64]| -> Vec<u8> {
        numbers.iter().flat_map(|&number| (number as u32).to_le_bytes()).collect()
    };
    for (dtype, shape, all, rest) in [
        ("<u8", "(5,)", words(&NUMBERS), words(&kept)),
        ("<u8", "(5, 1)", words(&NUMBERS), words(&kept)),
        ("<u8", "(5, 2)", words(&wide(&NUMBERS, 2)), words(&wide(&kept, 2))),
        ("<u8", "(5, 4)", words(&wide(&NUMBERS, 4)), words(&wide(&kept, 4))),
        ("<u4", "(5,)", narrow(&NUMBERS), narrow(&kept)),
    ] {
        let folder = Folder::with("in.npy", npy(2, dtype, shape, &all));
        let ran = folder.run("dedup --kind hash in.npy -o out.npy");
        assert_eq!(ran.exit, 0, "{shape}: {}", ran.stderr);
        let out = fs::read(folder.path("out.npy")).unwrap();
        let (header, data) = out.split_at(128);
        let header = String::from_utf8_lossy(&header[10..]);
        let shape = shape.replace('5', "2");
        let expected =
            format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
        assert!(header.starts_with(&expected) && header.ends_with(" \n"), "{header}");
        assert_eq!(data, rest, "{shape}");
        // What comes out can go in again.
        assert_eq!(folder.run("dedup out.npy -o again.npy").exit, 0);
        assert_eq!(fs::read(folder.path("again.npy")).unwrap(), out);
    }
}

#[test]
fn compressed_inputs_and_standard_input_are_read_twice() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(HASHES.as_bytes()).unwrap();
    let array = npy(1, "<u8", "(5,)", &words(&NUMBERS));
    let folder = Folder::with("in.txt.gz", gzip.finish().unwrap())
        .and("in.npy.zst", zstd::encode_all(&*array, 1).unwrap());
    assert_eq!(folder.run("dedup in.txt.gz -o -").stdout, KEPT);
    assert_eq!(folder.run("dedup in.txt.gz -o out.zst").exit, 0);
    let plain = zstd::decode_all(&*fs::read(folder.path("out.zst")).unwrap()).unwrap();
    assert_eq!(plain, KEPT.as_bytes());
    let ran = folder.run_with("dedup - --kind hash -o -", HASHES);
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, KEPT), "{ran}");
    assert_eq!(folder.run_with("dedup - --kind hash -o out.npy", &array).exit, 0);
    let out = fs::read(folder.path("out.npy")).unwrap();
    assert!(out.ends_with(&words(&[NUMBERS[0], NUMBERS[2]])) && out.len() == 128 + 16);
    assert_eq!(folder.run("dedup in.npy.zst -o out.npy.gz").exit, 0);
    assert_eq!(folder.run("pairs out.npy.gz out.npy --json").stdout.lines().count(), 2);
}

#[test]
fn the_copy_of_standard_input_goes_to_the_folder_that_was_named() {
    let folder = Folder::with("in", HASHES);
    assert_eq!(folder.run("dedup in --removed r.parquet").exit, 0);
    let table = fs::read(folder.path("r.parquet")).unwrap();
    let rows = b"{\"text\":\"one and only\"}\n".as_slice();
    let without_temp: Session = [
        ("dedup - --kind hash -o -", HASHES.as_bytes()),
        ("dedup - -o -", rows),
        ("dedup - --field id --max-remove 1", &table),
        ("pairs - --kind text --field id", &table),
    ]
    .map(|(arguments, stdin)| {
        let run_in = |more: &str| {
            let mut command = folder.command(&format!("{arguments} {more}"));
            command.env("TMPDIR", folder.path("nowhere"));
            run(command, stdin)
        };
        let ran = run_in("--temp .");
        assert_eq!(ran.exit, 0, "{arguments}: {ran}");
        (format!("$ lookalike {arguments}"), run_in(""))
    })
    .into_iter()
    .collect();
    snapshot!(without_temp, @"
    $ lookalike dedup - --kind hash -o -
    exit 2
    --- stderr
    error: stdin: cannot be kept for a second reading: No such file or directory (os error 2); --temp names another folder for it

    $ lookalike dedup - -o -
    exit 2
    --- stderr
    error: stdin: cannot be kept for a second reading: No such file or directory (os error 2); --temp names another folder for it

    $ lookalike dedup - --field id --max-remove 1
    exit 2
    --- stderr
    error: stdin: cannot be unpacked: No such file or directory (os error 2)

    $ lookalike pairs - --kind text --field id
    exit 2
    --- stderr
    error: stdin: cannot be unpacked: No such file or directory (os error 2)
    ");
    assert_eq!(folder.names(), ["in", "r.parquet"]);
}

#[test]
fn several_inputs_follow_each_other() {
    let folder =
        Folder::with("a", "\u{feff}255").and("b", "\u{feff}7\n\n254\n0xff00").and("c", "8\n");
    let ran = folder.run("dedup a b c -o - --distance 1 --groups g.jsonl");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "\u{feff}255\n7\n\n0xff00\n8\n"));
    snapshot!(folder.read("g.jsonl"), @r#"{"group":1,"keep":"a:1","members":[{"id":"b:3","distance":1,"similarity":null,"level":null}]}"#);
    let arrays = [[1, 2], [1, 1 << 40]].map(|two| npy(1, "<u8", "(2,)", &words(&two)));
    let folder = folder.and("d.npy", &arrays[0]).and("e.npy", &arrays[1]);
    assert_eq!(folder.run("dedup d.npy e.npy -k 0 -o de.npy").exit, 0);
    let both = fs::read(folder.path("de.npy")).unwrap();
    assert_eq!(both[128..], words(&[1, 2, 1 << 40]));
    snapshot!(folder.run("dedup a d.npy -o x"), @"
    exit 2
    --- stderr
    error: a holds lines of fingerprints, but d.npy holds a NumPy array; kept data has one format: give inputs of one kind, or leave -o out
    ");
    assert_eq!(folder.run("dedup a d.npy --removed r.jsonl").exit, 0);
}

#[test]
fn distance_groups_and_keep_rules_decide_who_stays() {
    let folder = Folder::with("in", "0\n1\n3\n7\n15\n");
    let kept = |more: &str| {
        let ran = folder.run(&format!("dedup in --kind hash -o - {more}"));
        assert_eq!(ran.exit, 0, "{ran}");
        ran.stdout.replace('\n', " ").trim_end().to_owned()
    };
    assert_eq!(kept("--distance 0"), "0 1 3 7 15");
    assert_eq!(kept("--distance 1"), "0 3 15");
    assert_eq!(kept("-k 1 --group connected"), "0");
    assert_eq!(kept("-k 1 --keep last"), "0 3 15");
    assert_eq!(kept("-k 2 --keep last"), "1 15");
    assert_eq!(kept(""), "0 15");
    for more in ["--threads 1", "--memory 64M --temp .", "--kernel portable", "--bits 32"] {
        assert_eq!(kept(more), "0 15", "{more}");
    }
    let refused = ["longest", "largest", "newest", "best", "path:a", "first,score:desc"]
        .map(|rule| folder.run(&format!("dedup in --kind hash --keep {rule}")).to_string());
    assert!(refused.iter().all(|ran| *ran == refused[0]), "{refused:?}");
    snapshot!(refused[0], @"
    exit 2
    --- stderr
    error: --keep supports only first and last for fingerprints
    ");
}

#[test]
fn against_other_fingerprints_removes_what_is_near_them_and_nothing_else() {
    let array = npy(1, "<u8", "(2,)", &words(&[0xff, 1 << 50]));
    let wide = npy(1, "<u8", "(1, 2)", &words(&[0xff, 0]));
    let folder =
        Folder::with("in", "7000\n7000\n0xfe\tb\n").and("other.npy", array).and("wide.npy", wide);
    assert_eq!(folder.run("index add seen other.npy").exit, 0);
    snapshot!(folder.session([
        "dedup in --against other.npy -o -",
        "dedup in --against other.npy --removed -",
        "dedup in --against seen -o -",
        "dedup in --against seen --removed -",
        "dedup in --against wide.npy",
        "dedup in --against wide.npy --bits 128 -o -",
    ]), @r#"
    $ lookalike dedup in --against other.npy -o -
    exit 0
    7000
    7000
    --- stderr
    reading fingerprints of 64 bits
    against fingerprints of 64 bits
    items    3
    groups   1, the largest of 2 items
    removed  1 (33.3 %)
    kept     2 to standard output
    found    exact
    time     [TIME]

    $ lookalike dedup in --against other.npy --removed -
    exit 0
    {"id":"b","keep":1,"distance":1,"similarity":null,"level":null}
    --- stderr
    reading fingerprints of 64 bits
    against fingerprints of 64 bits
    items    3
    groups   1, the largest of 2 items
    removed  would remove 1 (33.3 %)
    kept     2
    found    exact
    time     [TIME]

    $ lookalike dedup in --against seen -o -
    exit 0
    7000
    7000
    --- stderr
    reading fingerprints of 64 bits
    against the collection seen
    items    3
    groups   1, the largest of 2 items
    removed  1 (33.3 %)
    kept     2 to standard output
    found    exact
    time     [TIME]

    $ lookalike dedup in --against seen --removed -
    exit 0
    {"id":"b","keep":"0x00000000000000ff","distance":1,"similarity":null,"level":null}
    --- stderr
    reading fingerprints of 64 bits
    against the collection seen
    items    3
    groups   1, the largest of 2 items
    removed  would remove 1 (33.3 %)
    kept     2
    found    exact
    time     [TIME]

    $ lookalike dedup in --against wide.npy
    exit 2
    --- stderr
    error: --against wide.npy has 128-bit fingerprints, the input 64-bit; if lines are as wide, set --bits

    $ lookalike dedup in --against wide.npy --bits 128 -o -
    exit 0
    7000
    7000
    --- stderr
    reading fingerprints of 128 bits
    against fingerprints of 128 bits
    items    3
    groups   1, the largest of 2 items
    removed  1 (33.3 %)
    kept     2 to standard output
    found    exact
    time     [TIME]
    "#);
}

#[test]
fn a_run_that_removes_too_much_stops_and_a_dry_run_writes_nothing() {
    let folder = Folder::with("in", "7\tx\n".repeat(20));
    snapshot!(folder.run("dedup in -o out --groups g.jsonl"), @r#"
    exit 2
    --- stderr
    reading fingerprints of 64 bits
    note: 19 items have an id that an earlier item has, the first "x"
    items    20
    groups   1, the largest of 20 items
    removed  would remove 19 (95.0 %)
    kept     1
    found    exact
    time     [TIME]
    error: 19 of 20 items would be removed, more than the part of 0.9 that --max-remove allows; the largest group has 20 items, kept is x; what is kept was not written. Look at it with --groups, then ask for a smaller --distance or allow it (--max-remove 1)
    "#);
    assert_eq!(folder.names(), ["g.jsonl", "in"]);
    let ran = folder.run("dedup in -o out --pairs p.csv --dry-run --max-remove 1 --json");
    snapshot!(ran, @r#"
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    note: 19 items have an id that an earlier item has, the first "x"
    {"items":20,"skipped":0,"skipped_by_reason":{},"pairs":190,"pairs_by_level":{"copy":0,"near":0,"other":190,"part":0,"similar":0},"groups":1,"largest_group":20,"least_similarity":null,"removed":19,"duplicate_ids":19,"removed_by_level":{"copy":0,"near":0,"other":19,"part":0,"similar":0},"kept":1,"looser":null,"looser_by_level":null,"lost_words":null,"warning":null,"raw":0,"recipe":"hash: 64 bits","alike":"distance <= 3 of 64 bits","bits":64,"distance":3,"similarity":null,"short":0,"empty":0,"recall":1.0,"found":"[PLAN]","verified":0,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"refused":null,"seconds":"[seconds]","items_per_second":"[items_per_second]"}
    "#);
    assert_eq!(folder.names(), ["g.jsonl", "in"]);
    assert_eq!(folder.run("dedup in -o out --max-remove 0.95").exit, 0);
    assert_eq!(folder.read("out"), "7\tx\n");
}

#[test]
fn a_million_equal_fingerprints_take_no_pairs() {
    let folder = Folder::with("in", "7\n".repeat(1_000_000));
    let ran =
        folder.run("dedup in -o out --removed r.csv --pairs p.csv --equal first --max-remove 1");
    snapshot!(ran, @"
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    items    1,000,000
    pairs    499,999,500,000
    groups   1, the largest of 1,000,000 items
    removed  999,999 (100.0 %)
    kept     1 to out
    found    exact
    time     [TIME]
    ");
    assert_eq!(folder.read("out"), "7\n");
    for table in ["r.csv", "p.csv"] {
        assert_eq!(folder.read(table).lines().count(), 1_000_000, "{table}");
    }
}

#[test]
fn what_cannot_be_read_stops_a_strict_run_or_stays_as_it_is() {
    let cut = npy(1, "<u8", "(9,)", &words(&NUMBERS));
    let folder =
        Folder::with("in", "255\nx\n254\n").and("b", "7\n").and("cut.npy", cut).and("empty", "");
    snapshot!(folder.session([
        "dedup in --kind hash -o out --strict",
        "dedup in -o -",
        "dedup cut.npy -o cut2.npy",
        "dedup b c -o out",
        "dedup --kind hash c",
        "dedup --kind hash . -o out",
        "dedup --kind hash empty -o -",
    ]), @r#"
    $ lookalike dedup in --kind hash -o out --strict
    exit 2
    --- stderr
    reading fingerprints of 64 bits
    error: in:2: "x" is not a number; write a fingerprint as decimal, 0x hex or 0b binary (--strict stops at the first; without it, it is skipped)

    $ lookalike dedup in -o -
    exit 0
    255
    x
    --- stderr
    reading fingerprints of 64 bits
    skipped in:2: "x" is not a number; write a fingerprint as decimal, 0x hex or 0b binary
    items    2 (1 skipped: 1 not a number)
    groups   1, the largest of 2 items
    removed  1 (50.0 %)
    kept     1 and 1 record that could not be read to standard output
    found    exact
    time     [TIME]

    $ lookalike dedup cut.npy -o cut2.npy
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    skipped cut.npy: ends after 5 of 9 rows; save or copy it again
    items    5 (4 skipped: 4 missing rows)
    groups   1, the largest of 4 items
    removed  3 (60.0 %)
    kept     2 to cut2.npy
    found    exact
    time     [TIME]

    $ lookalike dedup b c -o out
    exit 2
    --- stderr
    error: c: no such file; check the name

    $ lookalike dedup --kind hash c
    exit 2
    --- stderr
    error: c: no such file; check the name

    $ lookalike dedup --kind hash . -o out
    exit 2
    --- stderr
    error: .: is a folder; name the files in it

    $ lookalike dedup --kind hash empty -o -
    exit 0
    --- stderr
    reading fingerprints of 64 bits
    items    0
    groups   none
    removed  0 (0.0 %)
    kept     0 to standard output
    found    exact
    time     [TIME]
    "#);
    assert_eq!(fs::read(folder.path("cut2.npy")).unwrap()[128..], words(&[NUMBERS[0], NUMBERS[2]]));
}

#[test]
fn options_for_texts_and_images_are_refused() {
    let folder = Folder::with("in", HASHES).and("in.npy", npy(1, "<u8", "(0,)", b""));
    let refused = [
        "--recipe words",
        "--features words:2",
        "--seed 1",
        "--level copy",
        "--similarity 0.5",
        "--orientations",
        "--match partial",
        "--cache none",
        "--lines",
        "--field text",
        "--html",
        "--report r.html",
    ]
    .map(|options| {
        let name = options.split(' ').next().unwrap();
        let ran = folder.run(&format!("dedup --kind hash in -o out {options}"));
        ran.to_string().replace(name, "--option")
    });
    assert!(refused.iter().all(|ran| *ran == refused[0]), "{refused:?}");
    snapshot!(refused[0], @"
    exit 2
    --- stderr
    error: --option does not apply to fingerprints, which take --distance, --bits; if these are not fingerprints, set --kind
    ");
    snapshot!(folder.session([
        "dedup in --level copy",
        "dedup --kind hash in --delete",
        "dedup in --distance 65",
        "dedup --kind hash in -o out.npy",
        "dedup --kind hash in.npy -o out.txt",
        "dedup --kind hash in -o out.xz",
    ]), @"
    $ lookalike dedup in --level copy
    exit 2
    --- stderr
    error: --level does not apply to fingerprints, which take --distance, --bits; if these are not fingerprints, set --kind

    $ lookalike dedup --kind hash in --delete
    exit 2
    --- stderr
    error: --delete acts on files, and in holds rows; -o KEPT writes what is kept

    $ lookalike dedup in --distance 65
    exit 2
    --- stderr
    error: --distance 65 is more than the 64 bits of a fingerprint; use 64 or less

    $ lookalike dedup --kind hash in -o out.npy
    exit 2
    --- stderr
    error: out.npy: kept data has the format of its input, lines of fingerprints; use .txt

    $ lookalike dedup --kind hash in.npy -o out.txt
    exit 2
    --- stderr
    error: out.txt: kept data has the format of its input, a NumPy array; use .npy

    $ lookalike dedup --kind hash in -o out.xz
    exit 2
    --- stderr
    error: out.xz: .xz is read, but not written; use .gz or .zst
    ");
    assert_eq!(folder.names(), ["in", "in.npy"]);
}

/// As a shell makes them of `<(...)`: they can be opened once.
#[cfg(unix)]
#[test]
fn pipes_are_read_once_and_kept_for_the_second_reading() {
    let texts = "{\"id\":\"a\",\"text\":\"the ferry leaves at nine\"}\n";
    let mut twice = Vec::new();
    for (given, kind, out) in [(texts, "text", "out.jsonl"), (HASHES, "hash", "out.txt")] {
        let folder = Folder::with("empty", "");
        let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo is part of every Unix");
        let pipe = folder.path("pipe");
        let writer = std::thread::spawn(move || fs::write(pipe, given));
        let ran = folder.run(&format!("dedup --kind {kind} pipe -o {out}"));
        writer.join().unwrap().unwrap();
        assert_eq!(ran.exit, 0, "{ran}");
        assert_eq!(folder.read(out), if kind == "text" { texts } else { KEPT });
        twice.push(folder.run("dedup pipe pipe -o again.jsonl").to_string());
    }
    assert_eq!(twice[0], twice[1]);
    snapshot!(twice[0], @"
    exit 2
    --- stderr
    error: pipe: a pipe can be read once only; give it once
    ");
}
