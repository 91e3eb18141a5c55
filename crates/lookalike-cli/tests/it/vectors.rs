//! Vectors from arrays, tables and lines, in every command.

use std::fmt::Write;

use crate::run::Folder;

/// An array as NumPy saves it.
fn npy(dtype: &str, fortran: bool, shape: &str, content: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let text = format!("{text:<width$}\n", width = length - 1);
    [b"\x93NUMPY\x01\x00", &(length as u16).to_le_bytes()[..], text.as_bytes(), content].concat()
}

const ROWS: [[f32; 3]; 6] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [2.0, 0.5, 0.0],
    [0.0, 0.0, 0.0],
    [4.0, 0.0, 0.0],
    [0.25, f32::NAN, 0.0],
];

fn singles(rows: &[[f32; 3]]) -> Vec<u8> {
    rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect()
}

fn array() -> Vec<u8> {
    npy("<f4", false, "(6, 3)", &singles(&ROWS))
}

/// The pairs of [`ROWS`] in an input of this name.
fn pairs_of(name: &str) -> String {
    let pair = |a: u32, b: u32, figures: &str| {
        format!("{{\"a\":\"{name}:{a}\",\"b\":\"{name}:{b}\",\"distance\":null,{figures}}}\n")
    };
    let near = "\"similarity\":0.97014,\"level\":\"near\"";
    let copy = "\"similarity\":1.0,\"level\":\"copy\"";
    pair(1, 3, near) + &pair(1, 5, copy) + &pair(3, 5, near)
}

#[test]
fn an_array_of_floats_is_taken_for_vectors() {
    let folder = Folder::with("e.npy", array());
    let ran = folder.run("pairs e.npy --similarity .9");
    assert_eq!((ran.exit, ran.stdout), (0, pairs_of("e.npy")), "{}", ran.stderr);
    for said in [
        "reading NumPy rows of e.npy",
        "3 pairs with cosine >= 0.9",
        "exact",
        "e.npy:4: a zero vector has no direction, so it matches nothing",
        "e.npy:6: number 2 of the vector is NaN or infinite",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
}

#[test]
fn every_type_and_order_of_numbers_gives_the_same_pairs() {
    let doubles: Vec<u8> =
        ROWS.iter().flatten().flat_map(|&it| f64::from(it).to_le_bytes()).collect();
    let mut columns = Vec::new();
    for column in 0..3 {
        columns.extend(ROWS.iter().flat_map(|row| row[column].to_le_bytes()));
    }
    let half = |number: f32| -> u16 {
        match number {
            0.0 => 0,
            0.25 => 0x3400,
            0.5 => 0x3800,
            1.0 => 0x3c00,
            2.0 => 0x4000,
            4.0 => 0x4400,
            _ => 0x7e00,
        }
    };
    let halves: Vec<u8> =
        ROWS.iter().flatten().flat_map(|&number| half(number).to_le_bytes()).collect();
    let folder = Folder::with("f8.npy", npy("<f8", false, "(6, 3)", &doubles))
        .and("f2.npy", npy("<f2", false, "(6, 3)", &halves))
        .and("fortran.npy", npy("<f4", true, "(6, 3)", &columns));
    for name in ["f8.npy", "f2.npy", "fortran.npy"] {
        let ran = folder.run(&format!("pairs {name} --similarity .9 -q"));
        assert_eq!((ran.exit, ran.stdout), (0, pairs_of(name)), "{name}: {}", ran.stderr);
    }
    let ran = folder.run_with("pairs - --kind vector -q", array());
    assert_eq!((ran.exit, ran.stdout), (0, pairs_of("stdin")), "{}", ran.stderr);
}

#[test]
fn kept_rows_are_written_as_an_array_with_what_cannot_be_read() {
    let folder = Folder::with("e.npy", array());
    let ran = folder.run("dedup e.npy -o kept.npy --removed removed.jsonl --max-remove 1");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    // Row 3 is near row 1, and row 5 equals it.
    let kept = [ROWS[0], ROWS[1], ROWS[3], ROWS[5]];
    let written = std::fs::read(folder.path("kept.npy")).unwrap();
    assert_eq!(written, npy("<f4", false, "(4, 3)", &singles(&kept)));
    assert_eq!(folder.read("removed.jsonl").lines().count(), 2);
    let ran = folder.run("dedup e.npy -o kept.parquet");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("written in the format of the input, NumPy rows"));
}

#[test]
fn arrays_that_are_no_vectors_are_refused_with_a_remedy() {
    let folder = Folder::with("i1.npy", npy("|i1", false, "(1, 3)", &[1, 2, 3]))
        .and("big.npy", npy(">f4", false, "(1, 2)", &[0; 8]))
        .and("one.npy", npy("<f4", false, "(2, 1)", &[0; 8]))
        .and("flat.npy", npy("<f4", false, "(2,)", &[0; 8]))
        .and("prints.npy", npy("<u8", false, "(1, 2)", &[0; 16]));
    for (name, said) in [
        ("i1.npy", "int8, shape (1, 3); it may be quantised vectors or bytes of fingerprints"),
        ("big.npy", "save array.astype('<f4') instead"),
        ("one.npy", "a cosine needs at least 2 dimensions, not 1 dimension"),
        ("flat.npy", "save array.reshape(1, -1) for one vector"),
        ("prints.npy", "these may be fingerprints; use --kind hash"),
    ] {
        let ran = folder.run(&format!("pairs {name} --kind vector"));
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{name}");
        assert!(ran.stderr.contains(said), "{name}: {}", ran.stderr);
    }
    let ran = folder.run("pairs i1.npy");
    assert!(ran.exit == 2 && ran.stderr.contains("array.astype('float32')"), "{}", ran.stderr);
}

#[test]
fn a_cut_or_lengthened_array_is_told() {
    let whole = array();
    let folder = Folder::with("cut.npy", &whole[..whole.len() - 20])
        .and("long.npy", [&whole[..], b"x"].concat());
    let ran = folder.run("pairs cut.npy");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("ends after 4 of 6 rows; save or copy it again"), "{}", ran.stderr);
    let ran = folder.run("pairs long.npy");
    assert!(ran.stderr.contains("goes on after its array"), "{}", ran.stderr);
    assert_eq!(folder.run("pairs long.npy --strict").exit, 2);
}

fn lines() -> String {
    let mut lines = String::new();
    for (number, row) in ROWS[..3].iter().enumerate() {
        writeln!(lines, "{{\"id\":\"r{number}\",\"e\":{row:?},\"n\":{number}}}").unwrap();
    }
    lines
        + "{\"id\":\"short\",\"e\":[1,2]}\n{\"id\":\"null\",\"e\":[1,null,2]}\n{\"id\":\"text\",\"e\":\"x\"}\n"
}

#[test]
fn lines_with_lists_of_numbers_are_vectors_if_asked_for() {
    let folder = Folder::with("e.jsonl", lines());
    let ran = folder.run("pairs e.jsonl --kind vector --field e");
    let expected =
        "{\"a\":\"r0\",\"b\":\"r2\",\"distance\":null,\"similarity\":0.97014,\"level\":\"near\"}\n";
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, expected), "{}", ran.stderr);
    for said in [
        "e.jsonl:4: a vector of 2 dimensions, but the others have 3",
        "e.jsonl:5: the field e is a list of numbers with null in it; write a list of numbers",
        "e.jsonl:6: the field e is a text; write a list of numbers",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let ran =
        folder.run("dedup e.jsonl --kind vector --field e --keep n:desc -o - -q --max-remove 1");
    assert!(!ran.stdout.contains("r0") && ran.stdout.contains("r2"), "{}", ran.stderr);
    let ran = folder.run("pairs e.jsonl --kind text --field e");
    assert!(ran.stderr.contains("--kind vector compares vectors"), "{}", ran.stderr);
}

#[test]
fn two_vectors_are_compared() {
    let folder = Folder::with("a.npy", npy("<f4", false, "(1, 3)", &singles(&ROWS[..1])))
        .and("b.npy", npy("<f4", false, "(1, 3)", &singles(&ROWS[2..3])));
    let ran = folder.run("compare a.npy b.npy");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let expected =
        "similarity  0.9701\nlevel       near\nverdict     alike\ncriterion   cosine >= 0.9\n";
    assert_eq!(ran.stdout, expected);
    let ran = folder.run("compare [1,0] [0.5,0.5] --kind vector");
    assert_eq!(ran.exit, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("similarity  0.7071"), "{}", ran.stdout);
    let ran = folder.run("compare [1,0] [1,0] --kind vector --distance 3");
    assert!(ran.exit == 2 && ran.stderr.contains("--similarity"), "{}", ran.stderr);
}

#[test]
fn a_collection_of_vectors_is_searched() {
    let folder = Folder::with("e.npy", array())
        .and("q.npy", npy("<f4", false, "(1, 3)", &singles(&[[1.0, 0.1, 0.0]])))
        .and(
            "four.npy",
            npy(
                "<f4",
                false,
                "(1, 4)",
                &[0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63],
            ),
        );
    let ran = folder.run("index add c e.npy");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let ran = folder.run("index search c q.npy -q");
    let levels: Vec<_> = ran
        .stdout
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["line"].as_u64().unwrap(), line["level"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected =
        [(1, "copy"), (5, "copy"), (3, "near")].map(|(row, level)| (row, level.to_owned()));
    assert_eq!(levels, expected, "{}", ran.stderr);
    let ran = folder.run("index search c q.npy -q --similarity .999");
    assert_eq!(ran.stdout.lines().count(), 0, "{}", ran.stdout);
    let ran = folder.run("index add c four.npy");
    assert!(ran.stderr.contains("4 dimensions, but the others have 3"), "{}", ran.stderr);
}

#[test]
fn hyperplanes_make_bits() {
    let folder = Folder::with("e.npy", array());
    let ran = folder.run("hash e.npy --recipe hyperplanes");
    assert_eq!((ran.exit, ran.stdout.lines().count()), (0, 4), "{}", ran.stderr);
    let ran = folder.run("pairs e.npy --recipe hyperplanes");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("\"distance\":0,\"similarity\":null"), "{}", ran.stdout);
    assert!(ran.stderr.contains("within 55 of 256 bits are"), "{}", ran.stderr);
    let ran = folder.run("pairs e.npy --recipe hyperplanes --similarity .9");
    assert!(ran.exit == 2 && ran.stderr.contains("--distance"), "{}", ran.stderr);
}

#[test]
fn inputs_of_different_dimensions_are_an_error() {
    let folder = Folder::with("a.npy", array())
        .and("b.npy", npy("<f4", false, "(1, 2)", &[0, 0, 128, 63, 0, 0, 128, 63]));
    let ran = folder.run("pairs a.npy b.npy");
    assert!(ran.exit == 2 && ran.stderr.contains("vectors of 3 dimensions, but b.npy of 2"));
    let ran = folder.run("dedup a.npy --against b.npy --dry-run");
    assert!(ran.exit == 2 && ran.stderr.contains("has vectors of 2 dimensions"), "{}", ran.stderr);
}

#[test]
fn pairs_are_counted_at_several_similarities() {
    let folder = Folder::with("e.npy", array());
    let ran = folder.run("pairs e.npy --count");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let expected = "\
0.8        3 pairs        would remove 2
0.85       3 pairs        would remove 2
0.9        3 pairs        would remove 2
0.92       3 pairs        would remove 2
0.95       3 pairs        would remove 2
0.97       3 pairs        would remove 2
0.99       1 pair         would remove 1
";
    assert_eq!(ran.stdout, expected);
    let ran = folder.run("pairs e.npy --count --similarity .96 --json -q");
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let thresholds: Vec<_> = lines.iter().map(|line| line["similarity"].to_string()).collect();
    assert_eq!(thresholds, ["0.96", "0.97", "0.99"]);
    let counts: Vec<_> = lines.iter().map(|line| line["pairs"].as_u64().unwrap()).collect();
    assert_eq!(counts, [3, 3, 1], "{}", ran.stdout);
    let ran = Folder::with("a.txt", "1\n2\n").run("pairs a.txt --kind hash --count");
    assert!(ran.exit == 2 && ran.stderr.contains("--count does not apply to fingerprints"));
}
