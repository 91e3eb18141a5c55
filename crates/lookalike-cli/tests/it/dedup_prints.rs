//! `dedup` of fingerprints: what goes, what stays, and in which form.

use std::{fs, io::Write};

use crate::{
    pairs_in::{npy, words},
    run::{Folder, run},
};

/// 1 and 2 differ in one bit, 2 and 4 in two, 5 and 1 are equal; 3 is far from all.
const HASHES: &str = "255\n0xfe\tb\n18446744069414584320\r\n\n  0b11110010\tid of d\n255\te\n";

/// What is left of them.
const KEPT: &str = "255\n18446744069414584320\r\n\n";

const NUMBERS: [u64; 5] = [0xff, 0xfe, u64::MAX << 32, 0xf2, 0xff];

#[test]
fn lines_are_kept_byte_for_byte_and_everything_else_is_told() {
    let folder = Folder::with("in.txt", HASHES);
    let ran = folder.run(
        "dedup --kind hash in.txt -o out.txt --pairs p.jsonl --groups g.jsonl --removed r.csv",
    );
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(folder.read("out.txt"), KEPT);
    let pairs = folder.read("p.jsonl");
    assert_eq!(pairs.lines().count(), 6);
    assert!(
        pairs.starts_with(r#"{"a":1,"b":"b","distance":1,"similarity":null,"level":null}"#),
        "{pairs}"
    );
    assert_eq!(
        folder.read("g.jsonl"),
        "{\"group\":1,\"keep\":1,\"members\":[{\"id\":\"b\",\"distance\":1,\"similarity\":null,\"level\":null},\
         {\"id\":\"id of d\",\"distance\":3,\"similarity\":null,\"level\":null},\
         {\"id\":\"e\",\"distance\":0,\"similarity\":null,\"level\":null}]}\n"
    );
    assert_eq!(
        folder.read("r.csv"),
        "id,keep,distance,similarity,level\nb,1,1,,\nid of d,1,3,,\ne,1,0,,\n"
    );
    for line in [
        "reading fingerprints of 64 bits\nitems    5\npairs    6\n",
        "groups   1, the largest of 4 items\nremoved  3 (60.0 %)\n",
        "kept     2 and 1 record that could not be read to out.txt\nfound    exact\n",
    ] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
}

#[test]
fn blocks_are_for_fingerprints_and_change_no_answer() {
    let folder = Folder::with("in.txt", HASHES);
    let ran = folder.run("dedup --kind hash in.txt -o - --blocks 5 --json");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, KEPT), "{}", ran.stderr);
    folder.run("dedup --kind hash in.txt --blocks 3").fails(
        "--blocks 3 cannot find pairs within 3 bits; use at least 4 blocks, or leave it out",
    );
    for command in ["dedup", "pairs"] {
        folder.run(&format!("{command} --kind text in.txt --blocks 5")).fails(
            "--blocks does not apply to texts, which take --recipe, --level, --similarity, --distance, \
             --bits; if these are not texts, set --kind",
        );
    }
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
    for (input, what) in [
        ("a", "fingerprints of 64 bits\nitems    5"),
        ("b.npy", "fingerprints of 64 bits\nitems    5"),
        ("c.jsonl", "fingerprints of 64 bits\nnote: 1 item has an id that an earlier item has"),
        ("text.txt", "texts, one a file of text.txt\nitems    1"),
        ("rows.jsonl", "JSON lines of rows.jsonl\nitems    1"),
        ("empty.jsonl", "JSON lines of empty.jsonl\nitems    0"),
        ("a --kind text", "texts, one a file of a\nitems    1"),
        ("a --lines", "lines of a\nitems    6"),
    ] {
        let ran = folder.run(&format!("dedup {input}"));
        assert_eq!(ran.exit, 0, "{input}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(&format!("reading {what}")), "{input}: {}", ran.stderr);
    }
    let said = folder.run("dedup a").stderr;
    let last = "nothing was written: -o KEPT writes what is kept, --groups FILE lists the groups\n";
    assert!(said.ends_with(last), "{said}");
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
        let again = folder.run("dedup out.npy -o - --dry-run");
        assert!(again.stderr.contains("items    2\ngroups   none\n"), "{}", again.stderr);
    }
}

#[test]
fn packed_inputs_and_standard_input_are_read_twice() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(HASHES.as_bytes()).unwrap();
    let array = npy(1, "<u8", "(5,)", &words(&NUMBERS));
    let folder = Folder::with("in.txt.gz", gzip.finish().unwrap())
        .and("in.npy.zst", zstd::encode_all(&*array, 1).unwrap());
    assert_eq!(folder.run("dedup in.txt.gz -o -").stdout, KEPT);
    assert_eq!(folder.run("dedup in.txt.gz -o out.zst").exit, 0);
    let unpacked = zstd::decode_all(&*fs::read(folder.path("out.zst")).unwrap()).unwrap();
    assert_eq!(unpacked, KEPT.as_bytes());
    let ran = folder.run_with("dedup - --kind hash -o -", HASHES);
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, KEPT), "{}", ran.stderr);
    assert_eq!(folder.run_with("dedup - --kind hash -o out.npy", &array).exit, 0);
    let out = fs::read(folder.path("out.npy")).unwrap();
    assert!(out.ends_with(&words(&[NUMBERS[0], NUMBERS[2]])) && out.len() == 128 + 16);
    assert_eq!(folder.run("dedup in.npy.zst -o out.npy.gz").exit, 0);
    assert_eq!(folder.run("pairs out.npy.gz out.npy --json").stdout.lines().count(), 2);
}

#[test]
fn what_is_kept_of_standard_input_goes_to_the_folder_that_was_named() {
    let folder = Folder::with("in", HASHES);
    assert_eq!(folder.run("dedup in --removed r.parquet").exit, 0);
    let table = fs::read(folder.path("r.parquet")).unwrap();
    let rows = b"{\"text\":\"one and only\"}\n".as_slice();
    for (arguments, stdin, why) in [
        ("dedup - --kind hash -o -", HASHES.as_bytes(), "cannot be kept for a second reading"),
        ("dedup - -o -", rows, "cannot be kept for a second reading"),
        ("dedup - --field id --max-remove 1", &table, "cannot be unpacked"),
        ("pairs - --kind text --field id", &table, "cannot be unpacked"),
    ] {
        let run_in = |more: &str| {
            let mut command = folder.command(&format!("{arguments} {more}"));
            command.env("TMPDIR", folder.path("nowhere"));
            run(command, stdin)
        };
        let ran = run_in("--temp .");
        assert_eq!(ran.exit, 0, "{arguments}: {}", ran.stderr);
        let ran = run_in("");
        assert_eq!(ran.exit, 2, "{arguments}");
        assert!(ran.stderr.contains(&format!("error: stdin: {why}")), "{}", ran.stderr);
    }
    assert_eq!(folder.names(), ["in", "r.parquet"]);
}

#[test]
fn several_inputs_follow_each_other() {
    let folder =
        Folder::with("a", "\u{feff}255").and("b", "\u{feff}7\n\n254\n0xff00").and("c", "8\n");
    let ran = folder.run("dedup a b c -o - --distance 1 --groups g.jsonl");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "\u{feff}255\n7\n\n0xff00\n8\n"));
    assert!(folder.read("g.jsonl").contains(r#""keep":"a:1","members":[{"id":"b:3","#));
    let arrays = [[1, 2], [1, 1 << 40]].map(|two| npy(1, "<u8", "(2,)", &words(&two)));
    let folder = folder.and("d.npy", &arrays[0]).and("e.npy", &arrays[1]);
    assert_eq!(folder.run("dedup d.npy e.npy -k 0 -o de.npy").exit, 0);
    let both = fs::read(folder.path("de.npy")).unwrap();
    assert_eq!(both[128..], words(&[1, 2, 1 << 40]));
    folder.run("dedup a d.npy -o x").fails(
        "a holds lines of fingerprints, but d.npy holds a NumPy array; kept data has one format: \
         give inputs of one kind, or leave -o out",
    );
    assert_eq!(folder.run("dedup a d.npy --removed r.jsonl").exit, 0);
}

#[test]
fn distance_groups_and_keep_rules_decide_who_stays() {
    let folder = Folder::with("in", "0\n1\n3\n7\n15\n");
    let kept = |more: &str| {
        let ran = folder.run(&format!("dedup in --kind hash -o - {more}"));
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
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
    for rule in ["longest", "largest", "newest", "best", "path:a", "first,score:desc"] {
        folder
            .run(&format!("dedup in --kind hash --keep {rule}"))
            .fails("--keep supports only first and last for fingerprints");
    }
}

#[test]
fn against_other_fingerprints_removes_what_is_near_them_and_nothing_else() {
    let array = npy(1, "<u8", "(2,)", &words(&[0xff, 1 << 50]));
    let wide = npy(1, "<u8", "(1, 2)", &words(&[0xff, 0]));
    let folder = Folder::with("in", "7000\n7000\n0xfe\tb\n").and("other.npy", array);
    let ran = folder.run("dedup in --against other.npy -o - --removed r.jsonl");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "7000\n7000\n"), "{}", ran.stderr);
    let removed = r#"{"id":"b","keep":1,"distance":1,"similarity":null,"level":null}"#;
    assert_eq!(folder.read("r.jsonl").trim_end(), removed);
    let folder = folder.and("wide.npy", wide);
    folder.run("dedup in --against wide.npy").fails(
        "--against wide.npy has 128-bit fingerprints, the input 64-bit; if lines are as wide, set --bits",
    );
    let ran = folder.run("dedup in --against wide.npy --bits 128 -o -");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "7000\n7000\n"), "{}", ran.stderr);
    assert_eq!(folder.run("index add seen other.npy").exit, 0);
    let ran = folder.run("dedup in --against seen -o - --removed again.jsonl");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "7000\n7000\n"), "{}", ran.stderr);
    let removed =
        r#"{"id":"b","keep":"0x00000000000000ff","distance":1,"similarity":null,"level":null}"#;
    assert_eq!(folder.read("again.jsonl").trim_end(), removed);
}

#[test]
fn a_run_that_removes_too_much_stops_and_a_dry_run_writes_nothing() {
    let folder = Folder::with("in", "7\tx\n".repeat(20));
    folder.run("dedup in -o out --groups g.jsonl").fails(
        "19 of 20 items would be removed, more than the part of 0.9 that --max-remove allows; the \
         largest group has 20 items, kept is x; what is kept was not written. Look at it with \
         --groups, then ask for a smaller --distance or allow it (--max-remove 1)",
    );
    assert_eq!(folder.names(), ["g.jsonl", "in"]);
    let ran = folder.run("dedup in -o out --pairs p.csv --dry-run --max-remove 1 --json");
    assert_eq!((ran.exit, folder.names()), (0, vec!["g.jsonl".to_owned(), "in".to_owned()]));
    let summary: serde_json::Value =
        serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    for (name, value) in
        [("items", 20), ("pairs", 190), ("removed", 19), ("kept", 1), ("bits", 64), ("distance", 3)]
    {
        assert_eq!(summary[name], value, "{name}");
    }
    assert_eq!((&summary["exact"], &summary["skipped"]), (&true.into(), &0.into()));
    assert_eq!(folder.run("dedup in -o out --max-remove 0.95").exit, 0);
    assert_eq!(folder.read("out"), "7\tx\n");
}

#[test]
fn a_million_equal_fingerprints_take_no_pairs() {
    let folder = Folder::with("in", "7\n".repeat(1_000_000));
    let ran = folder
        .run("dedup in -o out --removed r.csv --pairs p.csv --equal first --max-remove 1 --json");
    assert_eq!((ran.exit, folder.read("out").as_str()), (0, "7\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\"pairs\":499999500000,"), "{}", ran.stderr);
    for table in ["r.csv", "p.csv"] {
        assert_eq!(folder.read(table).lines().count(), 1_000_000, "{table}");
    }
}

#[test]
fn what_cannot_be_read_stops_a_strict_run_or_stays_as_it_is() {
    let folder = Folder::with("in", "255\nx\n254\n").and("b", "7\n");
    folder.run("dedup in --kind hash -o out --strict").fails(
        "in:2: \"x\" is not a number; write a fingerprint as decimal, 0x hex or 0b binary (--strict \
         stops at the first; without it, it is skipped)",
    );
    let ran = folder.run("dedup in -o -");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "255\nx\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("skipped in:2: \"x\" is not a number"), "{}", ran.stderr);
    assert!(ran.stderr.contains("items    2 (1 skipped: 1 not a number)"), "{}", ran.stderr);
    folder.run("dedup b c -o out").fails("c: no such file; check the name");
    folder.run("dedup --kind hash c").fails("c: no such file; check the name");
    folder.run("dedup --kind hash . -o out").fails(".: is a folder; name the files in it");
    let cut = npy(1, "<u8", "(9,)", &words(&NUMBERS));
    let folder = folder.and("cut.npy", cut).and("empty", "");
    let ran = folder.run("dedup cut.npy -o cut2.npy");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("items    5 (4 skipped: 4 missing rows)"), "{}", ran.stderr);
    assert_eq!(fs::read(folder.path("cut2.npy")).unwrap()[128..], words(&[NUMBERS[0], NUMBERS[2]]));
    let ran = folder.run("dedup --kind hash empty -o -");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
}

#[test]
fn options_for_texts_and_images_are_refused() {
    let folder = Folder::with("in", HASHES).and("in.npy", npy(1, "<u8", "(0,)", b""));
    let these = "does not apply to fingerprints, which take --distance, --bits; if these are not \
                 fingerprints, set --kind";
    for options in [
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
    ] {
        let name = options.split(' ').next().unwrap();
        folder
            .run(&format!("dedup --kind hash in -o out {options}"))
            .fails(&format!("{name} {these}"));
    }
    folder.run("dedup in --level copy").fails(&format!("--level {these}"));
    folder.run("dedup --kind hash in --report r.html").fails(&format!("--report {these}"));
    folder
        .run("dedup --kind hash in --delete")
        .fails("--delete acts on files, and in holds rows; -o KEPT writes what is kept");
    folder
        .run("dedup in --distance 65")
        .fails("--distance 65 is more than the 64 bits of a fingerprint; use 64 or less");
    for (input, output, message) in [
        ("in", "out.npy", "kept data has the format of its input, lines of fingerprints; use .txt"),
        ("in.npy", "out.txt", "kept data has the format of its input, a NumPy array; use .npy"),
        ("in", "out.xz", ".xz is read, but not written; use .gz or .zst"),
    ] {
        folder
            .run(&format!("dedup --kind hash {input} -o {output}"))
            .fails(&format!("{output}: {message}"));
    }
    assert_eq!(folder.names(), ["in", "in.npy"]);
}

/// As a shell makes them of `<(...)`: they can be opened once.
#[cfg(unix)]
#[test]
fn pipes_are_read_once_and_kept_for_the_second_reading() {
    let texts = "{\"id\":\"a\",\"text\":\"the ferry leaves at nine\"}\n";
    for (given, kind, out) in [(texts, "text", "out.jsonl"), (HASHES, "hash", "out.txt")] {
        let folder = Folder::with("empty", "");
        let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo is part of every Unix");
        let pipe = folder.path("pipe");
        let writer = std::thread::spawn(move || fs::write(pipe, given));
        let ran = folder.run(&format!("dedup --kind {kind} pipe -o {out}"));
        writer.join().unwrap().unwrap();
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        assert_eq!(folder.read(out), if kind == "text" { texts } else { KEPT });
        let ran = folder.run("dedup pipe pipe -o again.jsonl");
        assert_eq!(ran.exit, 2);
        assert!(ran.stderr.contains("pipe: a pipe can be read once only"), "{}", ran.stderr);
    }
}
